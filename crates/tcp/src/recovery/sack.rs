//! Fast recovery with SACK: RFC 6675.
//!
//! Departures:
//! - a segment is lost when three SACKed *segments* lie above it; the RFC counts octets there;
//! - recovery starts when that is so of any segment, without a count of duplicate ACKs beside it
//!   (each of which SACKs a segment);
//! - a loss above the recovery point starts the next episode as soon as the present one ends;
//! - no rescue retransmission (`NextSeg` rule 4): Linux has none, and it is needless wherever the
//!   tail was only on its way.
//!
//! As in the RFC, a retransmission that is lost itself is left to the timer.

use super::State;
use crate::scoreboard::Scoreboard;

#[derive(Debug)]
pub(super) struct Sack {
    limited_transmit: bool,
    speculates: bool,
}

impl Sack {
    pub(super) fn new(limited_transmit: bool) -> Self {
        Self {
            limited_transmit,
            speculates: true,
        }
    }

    /// RACK finds what is lost, and would mistake the times of what is not.
    pub(super) fn rely_on_time(&mut self) {
        self.speculates = false;
    }

    /// Whether holes are sent again that may still be on their way.
    pub(super) fn speculates(&self) -> bool {
        self.speculates
    }

    /// Before recovery each SACKed segment lets a new one out (RFC 6675 5 step 3.3), unless limited
    /// transmit is off.
    #[inline]
    pub(super) fn pipe(&self, state: State, board: &Scoreboard) -> u64 {
        if state == State::Open && !self.limited_transmit {
            board.outstanding()
        } else {
            board.pipe()
        }
    }
}
