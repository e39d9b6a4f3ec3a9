//! Loss by time: RACK (RFC 8985), as Linux has it (`tcp_recovery.c`).
//!
//! A segment is lost once a segment that was sent later has arrived and enough time has passed since it was sent: the
//! round trip of that later segment plus a reordering window. No duplicates are counted, so a lost retransmission is
//! found like any other loss, and small windows work too.
//!
//! The reordering window is zero while no reordering was seen and loss is likely. Otherwise it is a quarter of the
//! smallest round-trip time. It grows by a quarter for each round trip in which a duplicate SACK reported a needless
//! retransmission, up to SRTT. A round trip ends when something that was sent after its beginning is delivered,
//! acknowledged or SACKed (in RFC 8985, when what was sent at its beginning is acknowledged).

use fairport_units::{Duration, Instant};

use super::reordering::Reordering;
use crate::scoreboard::{Arrival, Transmission};

/// Recoveries for which a wider window is kept (`TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u32 = 16;
/// Maximum of the window, in quarters of the smallest round-trip time.
const STEPS_MAX: u64 = 255;

/// Whether a transmission is lost at `now` (RFC 8985 6.2 step 5). `latest` is the last-sent transmission that has
/// arrived; `allowed` is its round trip plus the reordering window.
#[inline]
pub(crate) fn detect(
    transmission: Transmission,
    latest: Transmission,
    allowed: Duration,
    now: Instant,
) -> Arrival {
    if transmission >= latest {
        return Arrival::Open;
    }
    let due = transmission.sent + allowed;
    if due > now {
        Arrival::Late(due - now)
    } else {
        Arrival::Lost
    }
}

/// What RACK knows in addition to the times on the scoreboard.
#[derive(Debug)]
pub(super) struct Rack {
    /// round-trip time of the latest delivered transmission
    rtt: Duration,
    /// size of the window, in quarters of the smallest round-trip time
    steps: u64,
    /// recoveries left until the window is narrow again
    persistence: u32,
    /// when a duplicate SACK last counted; the next one does once something sent since is delivered
    widened_at: Instant,
    /// a duplicate SACK reported a needless retransmission, and no ACK has delivered anything since (`dsack_seen`)
    needless: bool,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            rtt: Duration::ZERO,
            steps: 1,
            persistence: 0,
            widened_at: Instant::ZERO,
            needless: false,
        }
    }
}

impl Rack {
    /// The round-trip time of the latest delivered transmission. When the retransmission timer fires, segments sent
    /// longer ago than this are lost (`tcp_timeout_mark_lost`).
    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// A transmission was delivered after `rtt`.
    #[inline]
    pub(super) fn on_delivery(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// A duplicate SACK reported a needless retransmission on a path that reorders.
    pub(super) fn on_needless(&mut self) {
        self.needless = true;
    }

    /// Whether the next delivery may widen the window.
    #[inline]
    pub(super) fn is_asking(&self) -> bool {
        self.needless
    }

    /// An ACK. If it delivers something, of which the latest was sent at `newest`, a needless retransmission widens the
    /// window (`tcp_rack_update_reo_wnd`). Returns true if it became wider.
    #[cold]
    pub(super) fn on_ack(&mut self, now: Instant, newest: Option<Instant>) -> bool {
        self.needless && newest.is_some_and(|newest| self.widen(now, newest))
    }

    fn widen(&mut self, now: Instant, newest: Instant) -> bool {
        self.needless = false;
        if newest < self.widened_at {
            return false;
        }
        let before = self.steps;
        self.steps = (self.steps + 1).min(STEPS_MAX);
        self.persistence = PERSISTENCE;
        self.widened_at = now;
        self.steps > before
    }

    /// A recovery ended, after fast retransmit or after a timeout, and nothing showed it to be needless
    /// (`tcp_try_undo_recovery`). Returns true if the window became narrow again.
    pub(super) fn on_recovered(&mut self) -> bool {
        self.persistence = self.persistence.saturating_sub(1);
        let narrows = self.persistence == 0 && self.steps > 1;
        if narrows {
            self.steps = 1;
        }
        narrows
    }

    /// Duplicate SACKs undid a reduction: the window stays wide for one recovery more (`tcp_try_undo_dsack`).
    pub(super) fn on_dsack_undo(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// The reordering window (`tcp_rack_reo_wnd`): how late a segment may be, while `sacked` segments are SACKed.
    pub(super) fn window(
        &self,
        path: &Reordering,
        recovering: bool,
        sacked: u64,
        srtt: Option<Duration>,
    ) -> Duration {
        if path.seen() == 0 && (recovering || sacked >= path.degree()) {
            return Duration::ZERO;
        }
        let quarters = (path.min_rtt().as_ps() / 4).saturating_mul(self.steps);
        Duration::from_ps(quarters).min(srtt.unwrap_or(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_ms(40);

    /// A duplicate SACK in an ACK that also delivers what was sent at `newest`.
    fn is_widened(rack: &mut Rack, now: u64, newest: u64) -> bool {
        rack.on_needless();
        rack.on_ack(Instant::from_ms(now), Some(Instant::from_ms(newest)))
    }

    /// `tcp_rack_update_reo_wnd` needs `rs->prior_delivered`, which an ACK has only if it delivers something.
    #[test]
    fn a_duplicate_sack_alone_counts_with_the_next_delivery() {
        let mut rack = Rack::default();
        let at = Instant::from_ms;
        rack.on_needless();
        assert!(!rack.on_ack(at(100), None));
        assert!(rack.on_ack(at(150), Some(at(50))));
        assert!(!rack.on_ack(at(300), Some(at(200))), "it counts once");
        // if what is delivered was sent before the last one, it is forgotten
        assert!(!is_widened(&mut rack, 301, 149) && !rack.on_ack(at(302), Some(at(150))));
        assert!(is_widened(&mut rack, 303, 150));
    }

    #[test]
    fn a_segment_is_lost_once_a_later_one_arrived_and_its_time_has_passed() {
        let at = |ms, end| Transmission {
            sent: Instant::from_ms(ms),
            end,
        };
        let now = Instant::from_ms(60);
        let lost = |transmission| detect(transmission, at(20, 3000), RTT, now);
        assert_eq!(lost(at(20, 4000)), Arrival::Open);
        assert_eq!(lost(at(20, 2000)), Arrival::Lost);
        // at equal times the order is that of the data
        let wider = RTT + Duration::from_ms(5);
        assert_eq!(
            detect(at(20, 2000), at(20, 3000), wider, now),
            Arrival::Late(Duration::from_ms(5))
        );
        assert_eq!(lost(at(19, 9000)), Arrival::Lost);
    }

    #[test]
    fn without_reordering_seen_three_sacked_segments_leave_no_room() {
        let (rack, path) = (Rack::default(), Reordering::new(Some(RTT)));
        let window = |recovering, sacked| rack.window(&path, recovering, sacked, Some(RTT));
        assert_eq!(window(false, 2), RTT / 4);
        assert_eq!(window(false, 3), Duration::ZERO);
        assert_eq!(window(true, 1), Duration::ZERO);
    }

    #[test]
    fn a_duplicate_sack_per_round_trip_widens_the_window_by_a_quarter_up_to_srtt() {
        let (mut rack, mut path) = (Rack::default(), Reordering::new(Some(RTT)));
        path.on_late(2);
        for (now, newest, quarters) in [
            (100, 0, 2),
            (150, 50, 2),
            (200, 100, 3),
            (300, 200, 4),
            (400, 300, 4),
        ] {
            is_widened(&mut rack, now, newest);
            let window = rack.window(&path, true, 9, Some(RTT));
            assert_eq!(window, RTT / 4 * quarters, "at {now}");
        }
        // sixteen recoveries later it is narrow again
        for _ in 0..15 {
            assert!(!rack.on_recovered());
        }
        assert_eq!(rack.window(&path, true, 9, Some(RTT)), RTT);
        assert!(rack.on_recovered());
        assert_eq!(rack.window(&path, true, 9, Some(RTT)), RTT / 4);
    }

    #[test]
    fn without_a_round_trip_time_a_segment_may_not_be_late() {
        let (rack, mut path) = (Rack::default(), Reordering::new(None));
        path.on_late(5);
        assert_eq!(rack.window(&path, false, 0, None), Duration::ZERO);
        // while no smallest round-trip time is known, SRTT is the limit
        assert_eq!(rack.window(&path, false, 0, Some(RTT)), RTT);
    }

    /// `tcp_rack_reo_wnd`: once as many segments are SACKed as the degree of reordering, the window is zero, unless
    /// reordering was seen before.
    #[test]
    fn once_reordering_was_seen_the_window_stays_however_much_is_sacked() {
        let (rack, mut path) = (Rack::default(), Reordering::new(Some(RTT)));
        path.on_late(2);
        for (recovering, sacked) in [(true, 0), (false, 3), (true, 100)] {
            assert_eq!(rack.window(&path, recovering, sacked, Some(RTT)), RTT / 4);
        }
        assert_eq!(rack.window(&path, false, 0, Some(RTT / 8)), RTT / 8);
    }

    /// RFC 8985 6.2 step 4: 16 recoveries. In the kernel, each reduction that duplicate SACKs undo adds one to them.
    #[test]
    fn a_widened_window_is_kept_for_sixteen_recoveries_and_one_more_for_each_undo() {
        let mut rack = Rack::default();
        assert!(!rack.on_recovered(), "the window is already narrow");
        assert!(is_widened(&mut rack, 100, 0));
        assert!(
            !is_widened(&mut rack, 199, 99),
            "at most one step per round trip"
        );
        let recoveries = |rack: &mut Rack| (1..100).find(|_| rack.on_recovered());
        for _ in 0..4 {
            rack.on_recovered();
        }
        rack.on_dsack_undo();
        assert_eq!(recoveries(&mut rack), Some(13));
        assert!(!rack.on_recovered());
        // sixteen are the most
        assert!(is_widened(&mut rack, 200, 100));
        for _ in 0..5 {
            rack.on_dsack_undo();
        }
        assert_eq!(recoveries(&mut rack), Some(16));
    }

    #[test]
    fn the_window_is_255_quarters_at_most() {
        let mut rack = Rack::default();
        let wider = (1..300)
            .filter(|round| is_widened(&mut rack, round * 10, round * 10))
            .count();
        assert_eq!(wider, 254);
        let mut path = Reordering::new(Some(RTT));
        path.on_late(9);
        let far = Some(Duration::from_secs(100));
        assert_eq!(rack.window(&path, false, 0, far), RTT / 4 * 255);
    }
}
