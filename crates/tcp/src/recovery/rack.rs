//! Loss by time: RACK (RFC 8985), as Linux has it (`tcp_recovery.c`).
//!
//! A segment is lost once another that was sent later has arrived, and the time that the later one
//! took, plus a reordering window, has passed since the segment was sent. So nothing is counted,
//! a lost retransmission shows like any other loss, and small windows are served too.
//!
//! The window is zero while no reordering was seen and loss is likely, else a quarter of the
//! smallest round-trip time, a quarter more for each round trip in which a duplicate SACK told of a
//! needless retransmission, up to SRTT.

use fairport_units::Time;

/// SACKed segments that are taken for loss as long as no reordering was seen
/// (`tcp_reordering`), and what this may grow to (`tcp_max_reordering`).
const DUP_THRESH: u64 = 3;
const DUP_THRESH_MAX: u64 = 300;
/// Recoveries for which a widened window is kept (`TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u32 = 16;
/// Quarters of the round-trip time at most.
const STEPS_MAX: u64 = 255;
/// For how long a smallest round-trip time holds: 300 s (`tcp_min_rtt_wlen`) in two halves.
const HALF_MEMORY: Time = Time::from_secs(150);

/// The smallest round-trip time of the last 150 to 300 s.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    since: Time,
    now: Time,
    before: Time,
}

impl MinRtt {
    #[inline]
    fn sample(&mut self, now: Time, rtt: Time) {
        if now.saturating_sub(self.since) > HALF_MEMORY {
            self.before = self.now;
            self.now = rtt;
            self.since = now;
        }
        self.now = self.now.min(rtt);
    }

    #[inline]
    fn get(&self) -> Time {
        self.now.min(self.before)
    }
}

/// What RACK knows besides the times on the scoreboard.
#[derive(Debug)]
pub(crate) struct Rack {
    min_rtt: MinRtt,
    /// of the transmission that was delivered last
    rtt: Time,
    /// times that something came late
    reordering_seen: u64,
    dup_thresh: u64,
    steps: u64,
    /// recoveries until the window is narrow again
    persistence: u32,
    /// duplicate SACKs count again once this is acknowledged: one step a round trip
    round_end: u64,
}

impl Rack {
    /// Where the handshake had measured `rtt`.
    pub(crate) fn new(rtt: Option<Time>) -> Self {
        let rtt = rtt.unwrap_or(Time::NEVER);
        Self {
            min_rtt: MinRtt {
                since: Time::ZERO,
                now: rtt,
                before: Time::NEVER,
            },
            rtt: Time::ZERO,
            reordering_seen: 0,
            dup_thresh: DUP_THRESH,
            steps: 1,
            persistence: 0,
            round_end: 0,
        }
    }

    /// The smallest round-trip time; [`Time::NEVER`] before the first.
    #[inline]
    pub(crate) fn min_rtt(&self) -> Time {
        self.min_rtt.get()
    }

    /// A transmission was delivered that took `rtt`; `once`, what was sent once took that.
    #[inline]
    pub(crate) fn on_delivery(&mut self, now: Time, rtt: Option<Time>, once: Option<Time>) {
        if let Some(rtt) = rtt {
            self.rtt = rtt;
        }
        if let Some(once) = once {
            self.min_rtt.sample(now, once);
        }
    }

    /// Something came `segments` later than what was sent after it (`tcp_check_sack_reordering`).
    pub(crate) fn on_reordering(&mut self, segments: u64) {
        self.reordering_seen += 1;
        self.dup_thresh = self.dup_thresh.max(segments).min(DUP_THRESH_MAX);
    }

    /// Whether the window grows for what is SACKed above a hole, too: where things come late as a rule
    /// (`tcp_may_raise_cwnd`).
    pub(crate) fn raises_on_sack(&self) -> bool {
        self.dup_thresh > DUP_THRESH
    }

    /// How often something came late.
    pub(crate) fn reordering_seen(&self) -> u64 {
        self.reordering_seen
    }

    /// Segments by which something may come late without counting as lost (`tcpi_reordering`).
    pub(crate) fn reordering(&self) -> u64 {
        self.dup_thresh
    }

    /// A retransmission was needless, says a duplicate SACK with an ACK up to `una`.
    pub(crate) fn on_needless(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen > 0 && una >= self.round_end {
            self.steps = (self.steps + 1).min(STEPS_MAX);
            self.persistence = PERSISTENCE;
            self.round_end = nxt;
        }
    }

    /// A recovery ended; `needed`, or else what was sent again had arrived.
    pub(crate) fn on_recovered(&mut self, needed: bool) {
        if needed {
            self.persistence = self.persistence.saturating_sub(1);
        } else {
            self.persistence = (self.persistence + 1).min(PERSISTENCE);
        }
        if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// How long a segment may be late: the reordering window (`tcp_rack_reo_wnd`) when `sacked`
    /// segments are SACKed.
    fn window(&self, recovering: bool, sacked: u64, srtt: Time) -> Time {
        if self.reordering_seen == 0 && (recovering || sacked >= self.dup_thresh) {
            return Time::ZERO;
        }
        let quarters = (self.min_rtt.get().as_ps() / 4).saturating_mul(self.steps);
        Time::from_ps(quarters).min(srtt)
    }

    /// After how long a segment is lost that was sent before what was delivered last.
    pub(crate) fn span(&self, recovering: bool, sacked: u64, srtt: Option<Time>) -> Time {
        self.rtt + self.window(recovering, sacked, srtt.unwrap_or(Time::ZERO))
    }

    /// After how long a segment is lost when a timeout fired (`tcp_timeout_mark_lost`).
    pub(crate) fn timed_out_span(&self) -> Time {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_ms(40);

    #[test]
    fn without_reordering_seen_three_sacked_segments_leave_no_room() {
        let rack = Rack::new(Some(RTT));
        assert_eq!(rack.window(false, 2, RTT), RTT / 4);
        assert_eq!(rack.window(false, 3, RTT), Time::ZERO);
        assert_eq!(rack.window(true, 1, RTT), Time::ZERO);
    }

    #[test]
    fn a_duplicate_sack_a_round_trip_widens_the_window_by_a_quarter_up_to_srtt() {
        let mut rack = Rack::new(Some(RTT));
        rack.on_needless(100, 200);
        assert_eq!(rack.window(false, 0, RTT), RTT / 4);
        rack.on_reordering(2);
        for (una, quarters) in [(100, 2), (150, 2), (200, 3), (300, 4), (400, 4)] {
            rack.on_needless(una, una + 100);
            assert_eq!(rack.window(true, 9, RTT), RTT / 4 * quarters, "at {una}");
        }
        // sixteen recoveries later it is narrow again
        for _ in 0..15 {
            rack.on_recovered(true);
        }
        assert_eq!(rack.window(true, 9, RTT), RTT);
        rack.on_recovered(true);
        assert_eq!(rack.window(true, 9, RTT), RTT / 4);
    }

    #[test]
    fn the_smallest_round_trip_is_forgotten_after_300_seconds() {
        let mut rack = Rack::new(Some(RTT));
        let longer = Some(RTT * 2);
        for s in 1..=320 {
            rack.on_delivery(Time::from_secs(s), longer, longer);
        }
        assert_eq!(rack.min_rtt(), RTT * 2);
    }
}
