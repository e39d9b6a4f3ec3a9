//! All deadlines of a connection, in one table.
//!
//! Retransmission, tail loss probe, reordering, persist and the handshake share one slot. An endpoint waits for one of
//! them at a time, and starting one stops the others (Linux: one timer, whose purpose is in `icsk_pending`). Each other
//! timer has a slot of its own.

use fairport_units::{Duration, Instant};

/// From this many ticks on, a span is rounded up to a multiple of 8 ticks; from eight times as many on, to a multiple
/// of 64, and so on (`LVL_START`, `LVL_CLK_SHIFT`).
const WHEEL_FIRST: u64 = 63;
const WHEEL_SHIFT: u32 = 3;
const WHEEL_SHIFT_MAX: u32 = 24;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// No answer to a SYN or SYN-ACK has arrived.
    Handshake,
    /// No acknowledgement of data has arrived (RFC 6298).
    Retransmission,
    /// No ACK of the tail has arrived: probe it (RFC 8985 7).
    TailProbe,
    /// Segments that might only be late now count as lost (RFC 8985 6).
    Reordering,
    /// The peer's window is still zero: probe it (RFC 9293 3.8.6.1).
    Persist,
    /// A delayed ACK is due (RFC 5681 4.2).
    DelayedAck,
    /// The merge of segments for one ACK ends (receive offload).
    ReceiveOffload,
    /// The pacer releases the next segment.
    Pacing,
    /// Enough data of this flow has left the host's queue.
    SmallQueue,
}

impl Timer {
    const SLOTS: usize = Self::SmallQueue.slot() + 1;

    /// Index in the table; the first five timers share index 0.
    const fn slot(self) -> usize {
        (self as usize).saturating_sub(Self::Persist as usize)
    }
}

/// The table of deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// [`Instant::NEVER`] if the timer is not running
    deadlines: [Instant; Timer::SLOTS],
    /// which timer runs in the shared slot
    pending: Timer,
    /// when the timer in the shared slot was started
    since: Instant,
    /// the kernel's timers fire at multiples of this, in ps; zero: at any time
    tick: u64,
    /// 2^64 / tick, rounded down; multiplying by it replaces a division per start
    reciprocal: u64,
}

impl Timers {
    /// No timer is running. `tick` is the tick of the kernel's timers.
    pub(crate) fn new(tick: Duration) -> Self {
        let tick = tick.as_ps();
        Self {
            deadlines: [Instant::NEVER; Timer::SLOTS],
            pending: Timer::Handshake,
            since: Instant::ZERO,
            tick,
            reciprocal: u64::MAX.checked_div(tick).unwrap_or(0),
        }
    }

    /// The earliest deadline, or [`Instant::NEVER`].
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let mut next = self.deadlines[0];
        for deadline in &self.deadlines[1..] {
            next = next.min(*deadline);
        }
        next
    }

    /// (Re)starts a timer of the shared slot, for `span` from now.
    #[inline]
    pub(crate) fn start(&mut self, timer: Timer, now: Instant, span: Duration) {
        self.restart(timer, now, span, now);
    }

    /// (Re)starts a timer of the shared slot for `span` from now, with a wait that began at `since`.
    #[inline]
    pub(crate) fn restart(&mut self, timer: Timer, now: Instant, span: Duration, since: Instant) {
        debug_assert_eq!(timer.slot(), 0, "this timer must share the slot");
        self.since = since;
        self.deadlines[0] = self.after(now, span);
        self.pending = timer;
    }

    /// Stops the timer in the shared slot.
    #[inline]
    pub(crate) fn stop_retransmission(&mut self) {
        self.deadlines[0] = Instant::NEVER;
    }

    /// Sets a timer with a slot of its own to fire at exactly `deadline`.
    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, deadline: Instant) {
        debug_assert_ne!(timer.slot(), 0, "this timer must have a slot of its own");
        self.deadlines[timer.slot()] = deadline;
    }

    /// Sets a kernel timer that has a slot of its own to `span` from now, unless it fires earlier already.
    pub(crate) fn advance(&mut self, timer: Timer, now: Instant, span: Duration) {
        let earlier = self.deadline(timer).min(self.after(now, span));
        self.set(timer, earlier);
    }

    /// Stops a timer with a slot of its own.
    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.set(timer, Instant::NEVER);
    }

    /// The connection is closed: stops every timer.
    pub(crate) fn stop_all(&mut self) {
        self.deadlines = [Instant::NEVER; Timer::SLOTS];
    }

    /// When a timer with a slot of its own fires; [`Instant::NEVER`] if it is not running.
    #[inline]
    pub(crate) fn deadline(&self, timer: Timer) -> Instant {
        debug_assert_ne!(timer.slot(), 0, "this timer must have a slot of its own");
        self.deadlines[timer.slot()]
    }

    /// Whether the timer is running.
    #[inline]
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        let slot = timer.slot();
        self.deadlines[slot] != Instant::NEVER && (slot > 0 || self.pending == timer)
    }

    /// The timer of the shared slot, if it is due.
    #[inline]
    pub(crate) fn expired(&self, now: Instant) -> Option<Expired> {
        (self.deadlines[0] <= now).then_some(Expired {
            timer: self.pending,
            since: self.since,
            deadline: self.deadlines[0],
        })
    }

    /// When a timer fires that is started now for `span`.
    ///
    /// As in Linux since 4.8 (`kernel/time/timer.c`, `calc_index`), the span is rounded up to whole ticks and counted
    /// from the last tick, and the timer fires at the next edge after that. Edges are one tick apart, or eight ticks
    /// beyond 62 ticks, 64 beyond 503, and so on.
    #[inline]
    fn after(&self, now: Instant, span: Duration) -> Instant {
        if self.tick == 0 {
            return now + span;
        }
        let ticks = self.whole(span.as_ps().saturating_add(self.tick - 1));
        let expires = self.whole(now.as_ps()).saturating_add(ticks);
        let mut shift = 0;
        while ticks >= WHEEL_FIRST << shift && shift < WHEEL_SHIFT_MAX {
            shift += WHEEL_SHIFT;
        }
        let edge = ((expires >> shift) + 1).saturating_mul(1 << shift);
        Instant::from_ps(edge.saturating_mul(self.tick))
    }

    /// The last tick of the kernel's clock (`jiffies`) at or before `now`; `now` itself if the clock is exact.
    #[inline]
    pub(crate) fn tick_of(&self, now: Instant) -> Instant {
        Instant::from_ps(self.floor(now.as_ps()))
    }

    /// The span rounded down to whole ticks.
    #[inline]
    pub(crate) fn whole_ticks(&self, span: Duration) -> Duration {
        Duration::from_ps(self.floor(span.as_ps()))
    }

    /// One tick: the time from the end of a timer's span to the edge at which it fires.
    #[inline]
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_ps(self.tick)
    }

    #[inline]
    fn floor(&self, ps: u64) -> u64 {
        if self.tick == 0 {
            return ps;
        }
        self.whole(ps) * self.tick
    }

    /// The number of whole ticks in `ps`.
    #[inline]
    fn whole(&self, ps: u64) -> u64 {
        let below = ((u128::from(ps) * u128::from(self.reciprocal)) >> 64) as u64;
        below + u64::from(ps - below * self.tick >= self.tick)
    }
}

/// A timer of the shared slot that fired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expired {
    pub(crate) timer: Timer,
    /// when the timer was started
    pub(crate) since: Instant,
    pub(crate) deadline: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tick, of 4 ms, at which a timer fires that is started at `now` for `span`, both in us.
    fn fires(now: u64, span: u64) -> u64 {
        let mut timers = Timers::new(Duration::from_ms(4));
        let now = Instant::from_us(now);
        timers.start(Timer::Retransmission, now, Duration::from_us(span));
        let at = timers.next().as_ps();
        assert_eq!(at % Duration::from_ms(4).as_ps(), 0);
        at / Duration::from_ms(4).as_ps()
    }

    #[test]
    fn a_timer_waits_for_whole_ticks_from_the_last_one_and_fires_at_the_next_edge() {
        // 12 ms are three ticks: it fires at the fourth tick, whether started at a tick or just before the next
        assert_eq!((fires(0, 12_000), fires(3_999, 12_000)), (4, 4));
        assert_eq!(fires(4_000, 12_000), 5);
        // 9.7 ms count as three ticks as well
        assert_eq!(fires(1_000, 9_700), 4);
        // Linux 6.18 was observed to fire after 28, 52, 100 and 196 ms for doublings of 12 ms, started at a tick
        let seen = [24, 48, 96, 192].map(|ms| 4 * fires(0, 1000 * ms));
        assert_eq!(seen, [28, 52, 100, 196]);
    }

    #[test]
    fn a_long_wait_ends_at_an_edge_of_eight_ticks_or_of_sixty_four() {
        // 62 ticks are the longest exact span; 63 ticks end at the next multiple of 8
        assert_eq!((fires(0, 62 * 4000), fires(0, 63 * 4000)), (63, 64));
        assert_eq!((fires(0, 64 * 4000), fires(0, 71 * 4000)), (72, 72));
        assert_eq!((fires(0, 503 * 4000), fires(0, 504 * 4000)), (504, 512));
        assert_eq!(fires(0, 512 * 4000), 576);
    }

    /// `LVL_DEPTH`: nine levels, each eight times as coarse as the one before.
    #[test]
    fn the_coarsest_steps_are_of_eight_to_the_eighth_ticks() {
        let mut timers = Timers::new(Duration::from_ps(1));
        let coarsest = 1 << 24;
        for ticks in [63 * coarsest / 8, 63 * coarsest, 1_000_000 * coarsest] {
            let (now, span) = (Instant::ZERO, Duration::from_ps(ticks));
            timers.start(Timer::Retransmission, now, span);
            let edge = (ticks / coarsest + 1) * coarsest;
            assert_eq!(timers.next(), Instant::from_ps(edge));
        }
        let finer = Duration::from_ps(63 * coarsest / 8 - 1);
        timers.start(Timer::Retransmission, Instant::ZERO, finer);
        let edge = 63 * coarsest / 8;
        assert_eq!(timers.next(), Instant::from_ps(edge));
    }

    #[test]
    fn a_timer_in_ticks_is_never_early_and_exact_without_ticks() {
        for tick in [1, 3, 1_000_000_000, 4_000_000_000] {
            let mut timers = Timers::new(Duration::from_ps(tick));
            for ps in [0, 1, 2, 3, tick - 1, tick, tick + 1, 1_000_000_007] {
                let (now, span) = (Instant::from_ps(5 * ps), Duration::from_ps(ps));
                timers.start(Timer::Retransmission, now, span);
                assert!(timers.next() > now + span || tick == 1);
                timers.start(Timer::Retransmission, now, Duration::NEVER);
                assert!(timers.next() > now + Duration::from_secs(1_000_000));
            }
        }
        let mut exact = Timers::new(Duration::ZERO);
        exact.start(
            Timer::Retransmission,
            Instant::from_ps(7),
            Duration::from_ps(5),
        );
        assert_eq!(exact.next(), Instant::from_ps(12));
    }

    #[test]
    fn the_next_deadline_is_the_earliest_and_the_retransmission_timers_replace_each_other() {
        let at = Instant::from_ms;
        let mut timers = Timers::new(Duration::ZERO);
        assert_eq!(timers.next(), Instant::NEVER);
        timers.start(Timer::TailProbe, at(1), Duration::from_ms(4));
        timers.start(Timer::Retransmission, at(2), Duration::from_ms(8));
        timers.advance(Timer::DelayedAck, at(20), Duration::from_ms(20));
        timers.set(Timer::Pacing, at(20));
        assert!(!timers.is_running(Timer::TailProbe) && timers.is_running(Timer::Pacing));
        assert_eq!(timers.next(), at(10));
        assert!(timers.expired(at(9)).is_none());
        let expired = timers.expired(at(10)).unwrap();
        assert_eq!(
            (expired.timer, expired.since),
            (Timer::Retransmission, at(2))
        );
        timers.stop_retransmission();
        assert_eq!(timers.next(), at(20));
        timers.stop(Timer::Pacing);
        timers.advance(Timer::DelayedAck, at(30), Duration::from_ms(20));
        assert_eq!(timers.next(), at(40));
        timers.stop_all();
        assert_eq!(timers.next(), Instant::NEVER);
    }
}
