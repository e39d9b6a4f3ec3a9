//! The small-queue limit: how much data of one flow may wait in its own host.
//!
//! Linux (`tcp_small_queue_check`, since 3.6) pauses a flow while more than two segments of it, and more than 1/1024 s
//! at its pacing rate, wait in the host. So one flow's window does not fill the queue that all flows share. The limit
//! is doubled in recovery, where lost segments are sent first. There is no limit while at most one segment is
//! outstanding (since 6.7), because nothing else would let the flow continue.
//!
//! Linux counts a segment's memory, which is about half as much again; here the packet's size counts. The host says
//! when each packet will have left ([`SmallQueue::queued`]); a host that says nothing has no queue.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

use super::pacing::Load;
use crate::settings::{Pacing, Settings};
use crate::timers::{Timer, Timers};

/// `tcp_limit_output_bytes` up to 6.15 (4 MB since, even if the sender paces); applies if nothing is paced.
const LIMIT_MAX_BYTES: u64 = 1 << 20;

/// Segments that may wait whatever the pacing rate is.
const LEAST_SEGMENTS: u64 = 2;

/// The packets of one flow that wait in its host.
#[derive(Debug)]
pub(crate) struct SmallQueue {
    /// when each packet will have left, and its bytes; in order of departure
    departures: VecDeque<(Instant, u32)>,
    bytes: u64,
    /// when the last packet will have left, mostly before the next ACK arrives
    empty_from: Instant,
    unpaced: bool,
}

impl SmallQueue {
    /// 1/1024 s: a second shifted by `sk_pacing_shift` = 10.
    pub(crate) const SPAN: Duration = Duration::from_ps(Duration::from_secs(1).as_ps() >> 10);

    /// None if there is no limit. `sets_rate`: congestion control sets the pacing rate.
    pub(crate) fn new(settings: &Settings, sets_rate: bool) -> Option<Self> {
        settings.small_queue.then(|| Self {
            departures: VecDeque::new(),
            bytes: 0,
            empty_from: Instant::ZERO,
            unpaced: settings.pacing == Pacing::Off && !sets_rate,
        })
    }

    /// A data packet waits in the host, and will have left it at `departs`.
    pub(crate) fn queued(&mut self, departs: Instant, bytes: u32) {
        self.empty_from = departs;
        self.departures.push_back((departs, bytes));
        self.bytes += u64::from(bytes);
    }

    /// Whether all packets have left. This is the usual case when an ACK arrives, and needs no look at each packet.
    #[inline]
    pub(crate) fn is_empty(&mut self, now: Instant) -> bool {
        let is_empty = self.empty_from <= now;
        if is_empty {
            self.departures.clear();
            self.bytes = 0;
        }
        is_empty
    }

    /// Whether so little waits that another segment of `segment_bytes` may be handed to the host at any pacing rate.
    /// The rate then need not be computed.
    #[inline]
    pub(crate) fn is_short(&mut self, now: Instant, segment_bytes: u64) -> bool {
        while let Some((departs, bytes)) = self.departures.front()
            && *departs <= now
        {
            self.bytes -= u64::from(*bytes);
            self.departures.pop_front();
        }
        self.bytes <= LEAST_SEGMENTS * segment_bytes
    }

    /// Whether the waiting data is certainly within the limit: Linux's pacing rate is at least 120 % of `cwnd_bytes`
    /// per round trip. Most flows are far below the limit, so the division for the exact rate is rarely needed.
    #[inline]
    pub(crate) fn is_surely_within(&self, cwnd_bytes: u64, srtt: Option<Duration>) -> bool {
        let Some(srtt) = srtt else { return false };
        let least = u128::from(cwnd_bytes) * u128::from(120 * Self::SPAN.as_ps());
        self.unpaced
            && self.bytes <= LIMIT_MAX_BYTES
            && u128::from(100 * self.bytes) * u128::from(srtt.as_ps()) <= least
    }

    /// Whether another segment of `segment_bytes` may be handed to the host now. If not, the timer fires when enough
    /// data has left.
    pub(crate) fn allows(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment_bytes: u64,
        load: &Load,
        twice: bool,
    ) -> bool {
        timers.stop(Timer::SmallQueue);
        if self.is_short(now, segment_bytes) {
            return true;
        }
        let limit = self.limit(segment_bytes, load) << u32::from(twice);
        if self.bytes <= limit {
            return true;
        }
        let mut left = self.bytes;
        let leaves = |(departs, bytes): &(Instant, u32)| {
            left -= u64::from(*bytes);
            (left <= limit).then_some(*departs)
        };
        let resume = self.departures.iter().find_map(leaves).unwrap_or(now);
        timers.set(Timer::SmallQueue, resume);
        false
    }

    fn limit(&self, segment_bytes: u64, load: &Load) -> u64 {
        let paced = load.linux_bytes_in(Self::SPAN);
        let paced = if self.unpaced {
            paced.min(LIMIT_MAX_BYTES)
        } else {
            paced
        };
        paced.max(LEAST_SEGMENTS * segment_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small_queue() -> SmallQueue {
        SmallQueue::new(&Settings::preset("linux-6").unwrap(), false).unwrap()
    }

    fn load(cwnd_bytes: u64, srtt: Duration) -> Load {
        Load {
            cwnd_bytes,
            out_bytes: 0,
            rises: false,
            srtt: Some(srtt),
            rate: None,
            sent: 100,
            una: 0,
            nxt: 0,
        }
    }

    #[test]
    fn a_slow_flow_has_three_segments_in_the_host_and_goes_on_when_one_has_left() {
        let mut it = small_queue();
        let mut timers = Timers::new(Duration::ZERO);
        // 12 kB in 100 ms: 141 B in 1/1024 s
        let load = load(12_000, Duration::from_ms(100));
        for ms in 1..=3 {
            assert!(it.allows(&mut timers, Instant::ZERO, 1500, &load, false));
            it.queued(Instant::from_ms(ms), 1500);
        }
        assert!(!it.allows(&mut timers, Instant::ZERO, 1500, &load, false));
        assert_eq!(timers.next(), Instant::from_ms(1));
        assert!(it.allows(&mut timers, Instant::ZERO, 1500, &load, true));
        assert!(it.allows(&mut timers, Instant::from_ms(1), 1500, &load, false));
        assert_eq!(timers.next(), Instant::NEVER);
    }

    #[test]
    fn a_fast_flow_has_a_millisecond_of_its_rate_in_the_host() {
        let mut it = small_queue();
        let mut timers = Timers::new(Duration::ZERO);
        // 120 % of 100 kB in 1 ms: 117187 B in 1/1024 s, so that the 79th segment waits
        let load = load(100_000, Duration::from_ms(1));
        let mut handed = 0;
        while it.allows(&mut timers, Instant::ZERO, 1500, &load, false) {
            it.queued(Instant::from_ms(1), 1500);
            handed += 1;
        }
        assert_eq!(handed, 117_187 / 1500 + 1);
    }

    #[test]
    fn two_segments_may_wait_at_any_rate() {
        for (bytes, short) in [(0, true), (2999, true), (3000, true), (3001, false)] {
            let mut it = small_queue();
            it.queued(Instant::from_ms(5), bytes);
            assert_eq!(it.is_short(Instant::ZERO, 1500), short);
            // a packet that leaves at this moment has left
            let almost = Instant::from_ps(Instant::from_ms(5).as_ps() - 1);
            assert_eq!(it.is_short(almost, 1500), short);
            assert!(it.is_short(Instant::from_ms(5), 1500));
            assert_eq!(it.bytes, 0);
            assert!(it.is_empty(Instant::from_ms(5)));
        }
    }

    #[test]
    fn a_held_flow_goes_on_when_enough_has_left_for_its_limit() {
        // 30 kB in 10 ms at 120 %: 3515 B in 1/1024 s; four packets leave at 1, 2, 3 and 4 ms
        let load = load(30_000, Duration::from_ms(10));
        for (sizes, twice, resumes) in [
            ([1500; 4], false, Some(2)),
            ([3000; 4], false, Some(3)),
            ([3000; 4], true, Some(2)),
            ([3000, 3000, 515, 0], false, Some(1)),
            ([3000, 3000, 516, 0], false, Some(2)),
            ([1500, 1500, 515, 0], false, None),
            ([1500, 1500, 516, 0], false, Some(1)),
        ] {
            let mut timers = Timers::new(Duration::ZERO);
            let mut it = small_queue();
            for (ms, bytes) in (1..).zip(sizes) {
                it.queued(Instant::from_ms(ms), bytes);
            }
            let allowed = it.allows(&mut timers, Instant::ZERO, 1500, &load, twice);
            assert_eq!(allowed, resumes.is_none(), "{sizes:?}");
            let at = resumes.map_or(Instant::NEVER, Instant::from_ms);
            assert_eq!(timers.next(), at, "{sizes:?}");
        }
    }

    /// `tcp_limit_output_bytes` applies if nothing is paced.
    #[test]
    fn a_mebibyte_may_wait_where_nothing_is_paced() {
        let load = load(1 << 30, Duration::from_ms(1));
        let mut settings = Settings::preset("linux-6").unwrap();
        for (pacing, sets_rate, limited) in [
            (Pacing::Off, false, true),
            (Pacing::Off, true, false),
            (Pacing::Linux, false, false),
        ] {
            settings.pacing = pacing;
            let mut it = SmallQueue::new(&settings, sets_rate).unwrap();
            let mut timers = Timers::new(Duration::ZERO);
            it.queued(Instant::from_ms(1), 1 << 20);
            assert!(it.allows(&mut timers, Instant::ZERO, 1500, &load, false));
            assert_eq!(
                it.is_surely_within(1 << 21, Some(Duration::from_us(100))),
                limited
            );
            it.queued(Instant::from_ms(2), 1);
            let allowed = it.allows(&mut timers, Instant::ZERO, 1500, &load, false);
            assert_eq!(allowed, !limited);
            assert!(!it.is_surely_within(1 << 21, Some(Duration::from_us(100))));
        }
        settings.small_queue = false;
        assert!(SmallQueue::new(&settings, false).is_none());
    }

    #[test]
    fn what_is_surely_within_the_limit_is_so_by_linuxs_lowest_rate() {
        // 20 packets of 1500 bytes are 30 kB; a window of 30 kB has this limit at 120 % if a round trip takes 1.2/1024
        // s
        for (cwnd_bytes, srtt_us, within) in [
            (30_000, 100, true),
            (30_000, 1171, true),
            (30_000, 1172, false),
            (29_999, 1171, true),
            (15_000, 586, false),
            (15_000, 585, true),
        ] {
            let srtt = Duration::from_us(srtt_us);
            let mut it = small_queue();
            let mut timers = Timers::new(Duration::ZERO);
            for _ in 0..20 {
                it.queued(Instant::from_ms(1), 1500);
            }
            assert_eq!(
                it.is_surely_within(cwnd_bytes, Some(srtt)),
                within,
                "{srtt_us}"
            );
            // the limit itself gives the same answer
            let load = load(cwnd_bytes, srtt);
            let allowed = it.allows(&mut timers, Instant::ZERO, 1500, &load, false);
            assert_eq!(allowed, within, "{srtt_us}");
        }
        assert!(!small_queue().is_surely_within(30_000, None));
    }

    #[test]
    fn what_has_left_is_forgotten_at_once_when_it_was_the_last() {
        let mut it = small_queue();
        assert!(it.is_empty(Instant::ZERO));
        it.queued(Instant::from_ms(1), 1500);
        it.queued(Instant::from_ms(2), 500);
        assert!(!it.is_empty(Instant::from_ms(1)));
        assert_eq!(it.bytes, 2000);
        assert!(it.is_short(Instant::from_ms(1), 250));
        assert_eq!(it.bytes, 500);
        assert!(it.is_empty(Instant::from_ms(2)));
        assert_eq!((it.bytes, it.departures.len()), (0, 0));
    }
}
