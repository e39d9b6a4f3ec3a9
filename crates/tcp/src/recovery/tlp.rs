//! Tail loss probes (RFC 8985 7), as Linux has them (`tcp_send_loss_probe`).
//!
//! If the last segments of a flight are lost, no ACK shows it. After about two round trips a probe is sent: new data,
//! or the last segment again. Its ACK shows the loss; only if that fails too does the sender wait for the
//! retransmission timer. A probe that repaired the only loss would hide it from congestion control, so the end of the
//! episode checks whether both copies arrived.

use fairport_units::Duration;

use super::AckFacts;
use crate::settings::Settings;

/// The probe of one sender.
#[derive(Debug)]
pub(crate) struct TailProbe {
    /// added to two smoothed round trips, because timers of the kernel take two ticks
    slack: Duration,
    /// added instead for a single segment, whose ACK may be delayed
    delayed_ack: Duration,
    /// the wait as long as no round-trip time is known (`TCP_TIMEOUT_INIT`)
    initial: Duration,
    /// `SND.NXT` after the probe, until the probe's outcome is known
    high: Option<u64>,
    /// the probe repeated the last segment
    repeats: bool,
    /// the probe is to be sent at the next poll
    pub(crate) due: bool,
}

impl TailProbe {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            slack: settings.timer_slack_ps,
            delayed_ack: settings.rto_min_ps,
            initial: settings.rto_initial_ps,
            high: None,
            repeats: false,
            due: false,
        }
    }

    /// How long to wait for an ACK before probing (RFC 8985 7.2). `lone`: only one segment is outstanding.
    #[inline]
    pub(crate) fn timeout(&self, srtt: Option<Duration>, lone: bool) -> Duration {
        let Some(srtt) = srtt else {
            return self.initial;
        };
        srtt * 2 + if lone { self.delayed_ack } else { self.slack }
    }

    /// Whether a probe was sent whose outcome is not known yet. No second one is sent then (RFC 8985 7.3).
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.high.is_some()
    }

    /// Retransmissions in the network because of the probe: 0 or 1.
    pub(crate) fn repeated(&self) -> u32 {
        u32::from(self.is_out() && self.repeats)
    }

    /// The probe was sent, and `nxt` is `SND.NXT` after it. `repeats`: it repeated the last segment.
    pub(crate) fn on_sent(&mut self, nxt: u64, repeats: bool) {
        self.high = Some(nxt);
        self.repeats = repeats;
        self.due = false;
    }

    /// Loss recovery has begun and replaces the probe.
    pub(crate) fn forget(&mut self) {
        self.high = None;
        self.due = false;
    }

    /// Whether a duplicate SACK up to `end` reports the probe.
    pub(crate) fn is_answer(&self, end: u64) -> bool {
        self.high == Some(end)
    }

    /// Whether an ACK shows that the probe repaired a loss, which must then be reported to congestion control (RFC 8985
    /// 7.4.2; `tcp_process_tlp_ack`).
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &AckFacts) -> bool {
        let Some(high) = self.high.filter(|high| ack.ack >= *high) else {
            return false;
        };
        let copied = ack
            .dsack
            .is_some_and(|it| it.segments == 1 && it.end == high);
        let needless = !self.repeats || copied;
        let repaired = !needless && ack.ack > high;
        if needless || repaired || ack.is_duplicate {
            self.high = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::super::Dsack;
    use super::*;

    fn facts(ack: u64) -> AckFacts {
        AckFacts {
            ack,
            advances: true,
            ..AckFacts::default()
        }
    }

    fn probed(repeats: bool) -> TailProbe {
        let mut probe = TailProbe::new(&Settings::preset("linux-6").unwrap());
        probe.on_sent(1000, repeats);
        probe
    }

    #[test]
    fn it_waits_two_round_trips_and_for_a_lone_segment_a_delayed_ack_too() {
        let probe = probed(true);
        let srtt = Some(Duration::from_ms(10));
        assert_eq!(probe.timeout(srtt, false), Duration::from_ms(22));
        assert_eq!(probe.timeout(srtt, true), Duration::from_ms(220));
        // before the first sample, whatever the timeout is
        assert_eq!(probe.timeout(None, true), Duration::from_secs(1));
    }

    #[test]
    fn an_ack_beyond_a_repeated_segment_without_a_duplicate_sack_is_a_repaired_loss() {
        let mut probe = probed(true);
        assert!(!probe.on_ack(&facts(900)));
        assert!(!probe.on_ack(&facts(1000)));
        assert!(probe.is_out());
        assert!(probe.on_ack(&facts(1001)));
        assert!(!probe.is_out());
    }

    #[test]
    fn a_duplicate_sack_or_a_duplicate_ack_says_that_both_copies_arrived() {
        let mut by_dsack = probed(true);
        assert!(!by_dsack.on_ack(&AckFacts {
            dsack: Some(Dsack {
                of_resent: true,
                late_by: 0,
                end: 1000,
                segments: 1
            }),
            ..facts(1000)
        }));
        let mut by_duplicate = probed(true);
        assert!(!by_duplicate.on_ack(&AckFacts {
            advances: false,
            is_duplicate: true,
            ..facts(1000)
        }));
        // a probe with new data hides no loss
        let mut by_new_data = probed(false);
        assert!(!by_new_data.on_ack(&facts(1001)));
        for probe in [by_dsack, by_duplicate, by_new_data] {
            assert!(!probe.is_out());
        }
    }

    #[test]
    fn a_duplicate_sack_of_other_data_says_nothing_of_the_probe() {
        for (end, segments) in [(900, 1), (1000, 2)] {
            let mut probe = probed(true);
            assert!(!probe.on_ack(&AckFacts {
                dsack: Some(Dsack {
                    of_resent: true,
                    late_by: 0,
                    end,
                    segments
                }),
                ..facts(1000)
            }));
            assert!(probe.is_out(), "{segments} up to {end}");
        }
    }

    #[test]
    fn only_a_repeated_segment_counts_as_a_retransmission_in_the_network() {
        assert_eq!(
            [true, false].map(|repeats| probed(repeats).repeated()),
            [1, 0]
        );
        let mut probe = probed(true);
        assert!(probe.is_answer(1000) && !probe.is_answer(999));
        probe.forget();
        assert!(!probe.is_out() && !probe.is_answer(1000));
        assert_eq!(probe.repeated(), 0);
        assert!(!probe.on_ack(&facts(5000)));
        probe.due = true;
        probe.on_sent(2000, false);
        assert!(!probe.due && probe.is_out());
        probe.due = true;
        probe.forget();
        assert!(!probe.due);
    }

    #[test]
    fn an_ack_of_exactly_the_tail_leaves_open_which_copy_it_is_of() {
        let mut probe = probed(true);
        assert!(!probe.on_ack(&facts(1000)));
        assert!(probe.is_out());
        // a probe with new data is not a copy
        let mut new = probed(false);
        assert!(!new.on_ack(&facts(1000)) && !new.is_out());
        // the ACK covers the probe, and a duplicate SACK reports it: both copies arrived
        let mut copied = probed(true);
        let dsack = Dsack {
            of_resent: true,
            late_by: 0,
            end: 1000,
            segments: 1,
        };
        assert!(!copied.on_ack(&AckFacts {
            dsack: Some(dsack),
            ..facts(1500)
        }));
        assert!(!copied.is_out());
    }
}
