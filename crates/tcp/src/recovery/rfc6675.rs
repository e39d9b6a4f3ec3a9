//! Loss by SACKed segments: RFC 6675, and forward acknowledgement.
//!
//! Departures from the RFC:
//! - a segment is lost when three SACKed *segments* are above it; the RFC counts bytes there;
//! - recovery starts when that is so of any segment, without a count of duplicate ACKs beside it
//!   (each of which SACKs a segment);
//! - a loss above the recovery point starts the next episode as soon as the present one ends;
//! - no rescue retransmission (`NextSeg` rule 4): Linux has none, and it is needless wherever the
//!   tail was only on its way.
//!
//! As in the RFC, a retransmission that is lost itself is left to the timer. Forward acknowledgement
//! (Mathis and Mahdavi, SIGCOMM 1996; Linux up to 4.14) counts from the highest SACKed segment, whether
//! those between were SACKed or not, and finds lost retransmissions; until anything comes late
//! (`tcp_disable_fack`).

use crate::decision::DecisionCause;
use crate::scoreboard::Scoreboard;

#[derive(Debug)]
pub(super) struct Rfc6675 {
    fack: bool,
}

impl Rfc6675 {
    pub(super) fn new(fack: bool) -> Self {
        Self { fack }
    }

    /// Something came late: gaps below the highest SACKed segment do not show losses any more.
    pub(super) fn on_reordering(&mut self) {
        self.fack = false;
    }

    /// Marks what is lost; returns how much of it was a retransmission, in the window's unit.
    pub(super) fn mark_lost(&self, board: &mut Scoreboard, recovering: bool) -> u64 {
        if !self.fack {
            board.mark_lost_by_sack();
            return 0;
        }
        board.mark_lost_by_fack();
        if recovering {
            board.mark_overtaken()
        } else {
            0
        }
    }

    /// What a recovery starts for.
    pub(super) fn cause(&self) -> DecisionCause {
        if self.fack {
            DecisionCause::Fack
        } else {
            DecisionCause::Sack
        }
    }
}
