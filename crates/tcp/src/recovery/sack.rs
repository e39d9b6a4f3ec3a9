//! Fast recovery with SACK: RFC 6675.
//!
//! Departures:
//! - a segment is lost when three SACKed *segments* lie above it; the RFC counts octets there;
//! - recovery starts when that is so of any segment, without a count of duplicate ACKs beside it
//!   (each of which SACKs a segment);
//! - a loss above the recovery point starts the next episode as soon as the present one ends.
//!
//! As in the RFC, a retransmission that is lost itself is left to the timer.

use super::State;
use crate::scoreboard::Scoreboard;

#[derive(Debug)]
pub(super) struct Sack {
    limited_transmit: bool,
    /// whether the one rescue retransmission of this episode went out
    rescued: bool,
}

impl Sack {
    pub(super) fn new(limited_transmit: bool) -> Self {
        Self {
            limited_transmit,
            rescued: false,
        }
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

    pub(super) fn enter(&mut self) {
        self.rescued = false;
    }

    /// `NextSeg` rules 3 and 4: holes that are not yet lost, then the last segment once.
    pub(super) fn next_speculative(&mut self, board: &mut Scoreboard) -> Option<u64> {
        if let Some(hole) = board.next_hole() {
            return Some(hole);
        }
        if self.rescued {
            return None;
        }
        let last = board.last_unsacked()?;
        self.rescued = true;
        Some(last)
    }
}
