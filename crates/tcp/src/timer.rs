//! The retransmission timer: one deadline, and what it is for.

use fairport_units::Time;

/// What the timer waits for. An endpoint waits for one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The acknowledgement of a SYN.
    Handshake,
    /// The acknowledgement of data.
    Data,
    /// An ACK of the tail, before it is probed (RFC 8985 7).
    TailProbe,
    /// Segments that may be late, before they count as lost (RFC 8985 6).
    Reordering,
    /// The peer to open its window (RFC 9293 3.8.6.1).
    Window,
}

/// The timer of one endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    deadline: Time,
    start: Time,
    wait: Wait,
    /// it fires on edges of this; zero: at any time
    tick: u64,
    /// 2^64 / tick, rounded down: a division for each start would cost more than the rest
    reciprocal: u64,
}

impl Timer {
    pub(crate) fn new(tick_ps: u64) -> Self {
        Self {
            deadline: Time::NEVER,
            start: Time::ZERO,
            wait: Wait::Handshake,
            tick: tick_ps,
            reciprocal: u64::MAX.checked_div(tick_ps).unwrap_or(0),
        }
    }

    /// (Re)starts it.
    #[inline]
    pub(crate) fn start(&mut self, now: Time, span: Time, wait: Wait) {
        self.start_until(now, now.saturating_add(span), wait);
    }

    /// (Re)starts it for a deadline that is reckoned from `start`.
    #[inline]
    pub(crate) fn start_until(&mut self, start: Time, deadline: Time, wait: Wait) {
        self.start = start;
        self.deadline = deadline;
        if self.tick > 0 {
            let upper = deadline.as_ps().saturating_add(self.tick - 1);
            let below = ((u128::from(upper) * u128::from(self.reciprocal)) >> 64) as u64;
            let edge = below * self.tick;
            let short = upper - edge >= self.tick;
            self.deadline = Time::from_ps(edge + if short { self.tick } else { 0 });
        }
        self.wait = wait;
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// When it fires, or [`Time::NEVER`].
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    pub(crate) fn runs_for(&self, wait: Wait) -> bool {
        self.deadline != Time::NEVER && self.wait == wait
    }

    /// What for, and since when, if it is due.
    #[inline]
    pub(crate) fn expired(&self, now: Time) -> Option<(Wait, Time)> {
        (self.deadline <= now).then_some((self.wait, self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_in_ticks_is_never_early_and_less_than_a_tick_late() {
        for tick in [1, 3, 1_000_000_000, 4_000_000_000] {
            let mut timer = Timer::new(tick);
            for ps in [
                0,
                1,
                2,
                3,
                tick - 1,
                tick,
                tick + 1,
                1_000_000_007 * tick + 1,
            ] {
                timer.start(Time::ZERO, Time::from_ps(ps), Wait::Data);
                assert_eq!(timer.deadline().as_ps(), ps.next_multiple_of(tick));
            }
        }
    }
}
