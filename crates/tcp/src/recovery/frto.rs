//! F-RTO (RFC 5682 3.1, with SACK) as in Linux (`tcp_process_loss`): decides whether a timeout was needless.
//!
//! After a timeout only the first segment is sent again. When it is acknowledged, new data is sent instead of the data
//! that counts as lost. If data that was never sent again is acknowledged next, the network was slow and nothing was
//! lost.

use super::AckFacts;

/// What an ACK says after a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    pub(crate) advances: bool,
    /// it acknowledges everything sent before the timeout
    pub(crate) complete: bool,
    /// it acknowledges or SACKs data that was sent before the timeout and not again since
    pub(crate) delivers_original: bool,
    /// it SACKs something, or it is a duplicate ACK
    pub(crate) shows_gap: bool,
    /// new data was sent since the timeout
    pub(crate) sent_new: bool,
    /// there is new data, and the peer's window has room for it
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
                // without SACK, the ACK of a retransmitted segment does not show which transmission arrived
                None => ack.advances && ack.once && ack.from < point,
            },
            shows_gap: ack.newly_sacked || ack.is_duplicate,
            sent_new: nxt > point,
            has_new: ack.new_data.unsent && ack.new_data.fits,
        }
    }
}

/// The state of F-RTO during the repair of one timeout.
#[derive(Debug, Default)]
pub(crate) struct Frto {
    active: bool,
    /// new data is sent before lost segments, until the next ACK
    prefers_new: bool,
    /// Nagle's rule does not delay it, for the ACK that releases it only
    pushes: bool,
}

impl Frto {
    /// A timeout. `alone`: no other recovery was in progress (RFC 5682 3.1 step 1).
    pub(crate) fn begin(&mut self, alone: bool) {
        *self = Self {
            active: alone,
            ..Self::default()
        };
    }

    #[inline]
    pub(crate) fn prefers_new(&self) -> bool {
        self.prefers_new
    }

    #[inline]
    pub(crate) fn pushes(&self) -> bool {
        self.pushes
    }

    /// Enough new data was sent.
    pub(crate) fn lost_first(&mut self) {
        self.prefers_new = false;
    }

    /// What the ACK released was sent: Nagle's rule holds for later writes (`tcp_xmit_recovery`).
    pub(crate) fn obey_nagle(&mut self) {
        self.pushes = false;
    }

    /// New data could not be sent after all.
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
            self.pushes = facts.has_new;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::NewData;
    use crate::scoreboard::Arrived;

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

    #[test]
    fn a_timeout_amid_another_recovery_is_not_questioned() {
        let mut frto = Frto::default();
        frto.begin(false);
        let original = Evidence {
            delivers_original: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(ADVANCE) && !frto.prefers_new());
        assert!(!frto.on_ack(original));
    }

    #[test]
    fn an_ack_of_all_that_was_sent_before_ends_the_test() {
        let mut frto = timed_out();
        let complete = Evidence {
            complete: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(complete) && !frto.prefers_new());
        // a duplicate ACK alone changes nothing
        let duplicate = Evidence {
            advances: false,
            shows_gap: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(duplicate) && !frto.prefers_new());
        frto.on_ack(ADVANCE);
        assert!(frto.prefers_new());
        // the preference lasts for one ACK
        frto.on_ack(duplicate);
        assert!(!frto.prefers_new());
    }

    #[test]
    fn where_no_new_data_could_go_out_the_test_is_given_up() {
        let mut frto = timed_out();
        frto.on_ack(ADVANCE);
        frto.give_up();
        assert!(!frto.prefers_new());
        let original = Evidence {
            delivers_original: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(original));
    }

    #[test]
    fn without_a_gap_the_test_goes_on_after_new_data() {
        let mut frto = timed_out();
        frto.on_ack(ADVANCE);
        let quiet = Evidence {
            sent_new: true,
            ..ADVANCE
        };
        assert!(!frto.on_ack(quiet));
        let original = Evidence {
            delivers_original: true,
            sent_new: true,
            ..ADVANCE
        };
        assert!(frto.on_ack(original));
        // after one answer it is over
        assert!(!frto.on_ack(original));
    }

    /// What an ACK from 1000 says about a timeout before which data up to 5000 was sent.
    fn evidence(ack: AckFacts, nxt: u64) -> Evidence {
        Evidence::new(&ack, 5000, false, nxt)
    }

    /// RFC 5682 3.1: data that was sent before the timeout, only once, and is acknowledged after it.
    #[test]
    fn the_original_is_known_by_its_times_or_without_sack_by_one_transmission() {
        let once = AckFacts {
            advances: true,
            once: true,
            from: 4999,
            ..AckFacts::default()
        };
        assert!(evidence(once, 5000).delivers_original);
        for other in [
            AckFacts {
                advances: false,
                ..once
            },
            AckFacts {
                once: false,
                ..once
            },
            AckFacts { from: 5000, ..once },
        ] {
            assert!(!evidence(other, 5000).delivers_original);
        }
        let arrived = |first_once_end| AckFacts {
            arrived: Some(Arrived {
                sent: None,
                sent_once: None,
                sacked: None,
                first_once_end,
                late_by: 0,
            }),
            ..AckFacts::default()
        };
        assert!(evidence(arrived(5000), 5000).delivers_original);
        assert!(!evidence(arrived(5001), 5000).delivers_original);
        assert!(!evidence(arrived(u64::MAX), 5000).delivers_original);
    }

    #[test]
    fn a_gap_is_a_new_sack_or_a_duplicate_and_new_data_must_be_there_and_fit() {
        let none = evidence(AckFacts::default(), 5000);
        assert!(!none.shows_gap && !none.sent_new && !none.has_new && !none.advances);
        assert!(
            evidence(
                AckFacts {
                    newly_sacked: true,
                    ..AckFacts::default()
                },
                5000
            )
            .shows_gap
        );
        assert!(
            evidence(
                AckFacts {
                    is_duplicate: true,
                    ..AckFacts::default()
                },
                5000
            )
            .shows_gap
        );
        assert!(evidence(AckFacts::default(), 5001).sent_new);
        for (unsent, fits) in [(true, true), (true, false), (false, true)] {
            let new_data = NewData { unsent, fits };
            let it = evidence(
                AckFacts {
                    new_data,
                    ..AckFacts::default()
                },
                5000,
            );
            assert_eq!(it.has_new, unsent && fits);
        }
    }
}
