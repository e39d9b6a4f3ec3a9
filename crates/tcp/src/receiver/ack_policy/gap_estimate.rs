//! The time between segments, as Linux estimates it (`ato`). A delayed ACK waits for it.

use fairport_units::{Duration, Instant};

use super::{AckSchedule, QUICK_MAX};
use crate::receiver::offload::InOrder;
use crate::timers::Timers;

impl AckSchedule {
    /// `tcp_event_data_recv`: estimates the time between segments. Times are in ticks (`tcp_jiffies32`), and half of an
    /// odd number of ticks is rounded down.
    #[inline]
    pub(super) fn estimate_gap(&mut self, timers: &Timers, now: Instant, data: &InOrder) {
        if self.ato == Duration::ZERO {
            self.raise_quick(data.window, QUICK_MAX);
            self.ato = self.delay_min;
            return;
        }
        let gap = now.saturating_sub(self.last_data);
        // while segments follow each other closely, the estimate settles at the minimum or one tick below, because half
        // of it is rounded down
        let (tick, least) = (timers.tick(), self.half_min * 2);
        let follows = gap + tick <= self.half_min && gap <= data.own.rto;
        let settled = self.ato == least || self.ato + tick == least;
        if !follows || !settled {
            self.estimate_anew(timers, now, data, gap);
        }
    }

    /// Updates the estimate after a longer gap, or while it has not settled.
    #[inline(never)]
    fn estimate_anew(&mut self, timers: &Timers, now: Instant, data: &InOrder, mut gap: Duration) {
        if gap + timers.tick() > self.half_min {
            gap = self.gap(timers, now);
        }
        let within = gap <= self.half_min || gap < self.ato;
        if gap > self.half_min || self.ato != self.half_min * 2 {
            let half = timers.whole_ticks(self.ato / 2);
            if gap <= self.half_min {
                self.ato = half + self.half_min;
            } else if within {
                self.ato = (half + gap).min(data.own.rto);
            }
        }
        // with a minimum RTO of 200 ms, a gap longer than the RTO is never shorter than the estimate
        if gap > data.own.rto && (self.quick_rules.within_ato || !within) {
            self.raise_quick(data.window, QUICK_MAX);
        }
    }

    /// Time since data last arrived, in whole ticks.
    pub(super) fn gap(&self, timers: &Timers, now: Instant) -> Duration {
        timers
            .tick_of(now)
            .saturating_sub(timers.tick_of(self.last_data))
    }
}
