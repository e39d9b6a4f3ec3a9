//! Loss detection by SACKed segments: RFC 6675, and forward acknowledgement.
//!
//! Differences from the RFC:
//! - a segment is lost when three SACKed *segments* are above it; the RFC counts bytes there;
//! - recovery starts as soon as any segment is lost in this way; duplicate ACKs are not counted in addition, since each
//!   of them SACKs a segment;
//! - a loss above the recovery point starts the next episode as soon as the present one ends;
//! - there is no rescue retransmission (`NextSeg` rule 4): Linux has none, and it is needless if the tail is merely
//!   still in the network.
//!
//! As in the RFC, a lost retransmission is left to the timer. Forward acknowledgement (Mathis and Mahdavi, SIGCOMM
//! 1996; Linux up to 4.14) counts all segments below the highest SACKed one, SACKed or not, and finds lost
//! retransmissions. It is turned off once a segment arrives late (`tcp_disable_fack`).

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

    /// A segment arrived late, so gaps below the highest SACKed segment no longer show losses.
    pub(super) fn on_reordering(&mut self) {
        self.fack = false;
    }

    /// Marks lost segments. Returns how much of the newly lost data was a retransmission, in the window's unit.
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

    /// The cause of a recovery that this detection starts.
    pub(super) fn cause(&self) -> DecisionCause {
        if self.fack {
            DecisionCause::Fack
        } else {
            DecisionCause::Sack
        }
    }
}
