//! F-RTO (RFC 5682 3.1, with SACK), as Linux has it (`tcp_process_loss`): was the timeout needless?
//!
//! After a timeout only the first segment goes out again. When its ACK comes, new data is sent
//! instead of what counts as lost. If then anything is acknowledged that was never sent again, the
//! network was late and nothing was lost.

use super::AckFacts;

/// What an ACK says after a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    pub(crate) advances: bool,
    /// it reaches the end of what was sent before the timeout
    pub(crate) complete: bool,
    /// it delivers data that was sent before the timeout and has not been sent again
    pub(crate) delivers_original: bool,
    /// it SACKs something, or is a duplicate ACK
    pub(crate) shows_gap: bool,
    /// new data went out since the timeout
    pub(crate) sent_new: bool,
    /// there is new data, and the peer's window takes it
    pub(crate) has_new: bool,
}

impl Evidence {
    /// The facts of an ACK in an episode that began when `SND.NXT` was `point`.
    pub(super) fn new(ack: &AckFacts, point: u64, complete: bool, nxt: u64) -> Self {
        Self {
            advances: ack.advances,
            complete,
            delivers_original: match ack.arrived {
                Some(it) => it.first_once_end <= point,
                // without SACK a retransmission leaves it open which of the two arrived
                None => ack.advances && ack.once && ack.from < point,
            },
            shows_gap: ack.newly_sacked || ack.is_duplicate,
            sent_new: nxt > point,
            has_new: ack.new_data.unsent && ack.new_data.fits,
        }
    }
}

/// The state of one timeout's repair.
#[derive(Debug, Default)]
pub(crate) struct Frto {
    active: bool,
    /// new data goes before lost segments, until the next ACK
    prefers_new: bool,
}

impl Frto {
    /// A timeout; `alone`, no other recovery was under way (RFC 5682 3.1 step 1).
    pub(crate) fn begin(&mut self, alone: bool) {
        self.active = alone;
        self.prefers_new = false;
    }

    #[inline]
    pub(crate) fn prefers_new(&self) -> bool {
        self.prefers_new
    }

    /// No new data could be sent after all.
    pub(crate) fn give_up(&mut self) {
        *self = Self::default();
    }

    /// Whether an ACK shows that the timeout was needless.
    pub(super) fn on_ack(&mut self, facts: Evidence) -> bool {
        self.prefers_new = false;
        if !self.active {
            return false;
        }
        if facts.delivers_original {
            // step 3.b
            self.active = false;
            return true;
        }
        if facts.sent_new {
            // step 3.a
            self.active &= !facts.shows_gap;
        } else if facts.advances && !facts.complete {
            // step 2.b
            self.active = facts.has_new;
            self.prefers_new = facts.has_new;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVANCE: Evidence = Evidence {
        advances: true,
        complete: false,
        delivers_original: false,
        shows_gap: false,
        sent_new: false,
        has_new: true,
    };

    fn timed_out() -> Frto {
        let mut frto = Frto::default();
        frto.begin(true);
        frto
    }

    #[test]
    fn new_data_goes_first_and_an_ack_of_the_original_flight_shows_a_needless_timeout() {
        let mut frto = timed_out();
        assert!(!frto.on_ack(ADVANCE));
        assert!(frto.prefers_new());
        let original = Evidence {
            delivers_original: true,
            sent_new: true,
            ..ADVANCE
        };
        assert!(frto.on_ack(original));
    }

    #[test]
    fn a_gap_after_new_data_shows_a_real_loss() {
        let mut frto = timed_out();
        frto.on_ack(ADVANCE);
        let gap = Evidence {
            advances: false,
            shows_gap: true,
            sent_new: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(gap));
        assert!(!frto.prefers_new());
        let original = Evidence {
            delivers_original: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(original));
    }

    #[test]
    fn without_new_data_the_repair_goes_on() {
        let mut frto = timed_out();
        let nothing = Evidence {
            has_new: false,
            ..ADVANCE
        };
        frto.on_ack(nothing);
        assert!(!frto.prefers_new());
    }
}
