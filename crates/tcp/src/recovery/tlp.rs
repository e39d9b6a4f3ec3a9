//! Tail loss probes (RFC 8985 7), as Linux has them (`tcp_send_loss_probe`).
//!
//! Where the last segments of a flight are lost no ACK tells of it. After about two round trips a
//! probe goes out, new data or the last segment again, whose ACK does; only if that fails too
//! is the retransmission timer waited for. A probe that repaired the only loss hides it from
//! congestion control, unless the end of the episode shows whether both copies arrived.

use fairport_units::Time;

/// What an ACK says of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing: there is none, or it is not known yet.
    Pending,
    /// The probe was not needed.
    Needless,
    /// The probe repaired a loss: congestion control has to know (RFC 8985 7.4.2).
    Repaired,
}

/// What the end of an episode is told by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckFacts {
    pub(crate) ack: u64,
    pub(crate) advances: bool,
    /// where a duplicate SACK of one segment ended
    pub(crate) duplicate_end: Option<u64>,
    /// it neither moved anything nor carried anything
    pub(crate) is_pure_duplicate: bool,
}

/// The probe of one sender.
#[derive(Debug)]
pub(crate) struct TailProbe {
    /// added to the smoothed round trips: timers of the kernel take two ticks
    slack: Time,
    /// for a lone segment, whose ACK may be delayed
    delayed_ack: Time,
    /// `SND.NXT` after the probe, while its episode lasts
    high: Option<u64>,
    /// it was the last segment again
    repeats: bool,
    /// it is to be sent with the next poll
    pub(crate) due: bool,
}

impl TailProbe {
    pub(crate) fn new(slack: Time, delayed_ack: Time) -> Self {
        Self {
            slack,
            delayed_ack,
            high: None,
            repeats: false,
            due: false,
        }
    }

    /// How long to wait for an ACK (RFC 8985 7.2) of what `lone` says is one segment only.
    #[inline]
    pub(crate) fn timeout(&self, srtt: Time, lone: bool) -> Time {
        srtt * 2 + if lone { self.delayed_ack } else { self.slack }
    }

    /// One is out that was not judged yet: there is no second (RFC 8985 7.3).
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.high.is_some()
    }

    /// Retransmissions that the probe put into the network: none or one.
    pub(crate) fn repeated(&self) -> u32 {
        u32::from(self.is_out() && self.repeats)
    }

    /// It went out, and `nxt` follows.
    pub(crate) fn on_sent(&mut self, nxt: u64, repeats: bool) {
        self.high = Some(nxt);
        self.repeats = repeats;
        self.due = false;
    }

    /// Loss recovery has begun, which looks after everything.
    pub(crate) fn forget(&mut self) {
        self.high = None;
        self.due = false;
    }

    /// Whether a duplicate SACK up to `end` is that of the probe.
    pub(crate) fn is_answer(&self, end: u64) -> bool {
        self.high == Some(end)
    }

    /// Judges the probe by an ACK (`tcp_process_tlp_ack`).
    #[inline]
    pub(crate) fn on_ack(&mut self, facts: &AckFacts) -> Verdict {
        let Some(high) = self.high else {
            return Verdict::Pending;
        };
        if facts.ack < high {
            return Verdict::Pending;
        }
        let verdict = if !self.repeats || facts.duplicate_end == Some(high) {
            Verdict::Needless
        } else if facts.ack > high {
            Verdict::Repaired
        } else if facts.is_pure_duplicate && !facts.advances {
            Verdict::Needless
        } else {
            return Verdict::Pending;
        };
        self.high = None;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(ack: u64) -> AckFacts {
        AckFacts {
            ack,
            advances: true,
            duplicate_end: None,
            is_pure_duplicate: false,
        }
    }

    fn probed(repeats: bool) -> TailProbe {
        let mut probe = TailProbe::new(Time::from_ms(2), Time::from_ms(200));
        probe.on_sent(1000, repeats);
        probe
    }

    #[test]
    fn it_waits_two_round_trips_and_for_a_lone_segment_a_delayed_ack_too() {
        let probe = probed(true);
        let srtt = Time::from_ms(10);
        assert_eq!(probe.timeout(srtt, false), Time::from_ms(22));
        assert_eq!(probe.timeout(srtt, true), Time::from_ms(220));
    }

    #[test]
    fn an_ack_beyond_a_repeated_segment_without_a_duplicate_sack_is_a_repaired_loss() {
        let mut probe = probed(true);
        assert_eq!(probe.on_ack(&facts(900)), Verdict::Pending);
        assert_eq!(probe.on_ack(&facts(1000)), Verdict::Pending);
        assert_eq!(probe.on_ack(&facts(1001)), Verdict::Repaired);
        assert!(!probe.is_out());
    }

    #[test]
    fn a_duplicate_sack_or_a_duplicate_ack_says_that_both_copies_arrived() {
        let told = AckFacts {
            duplicate_end: Some(1000),
            ..facts(1000)
        };
        assert_eq!(probed(true).on_ack(&told), Verdict::Needless);
        let plain = AckFacts {
            advances: false,
            is_pure_duplicate: true,
            ..facts(1000)
        };
        assert_eq!(probed(true).on_ack(&plain), Verdict::Needless);
        // new data as a probe hides nothing
        assert_eq!(probed(false).on_ack(&facts(1001)), Verdict::Needless);
    }
}
