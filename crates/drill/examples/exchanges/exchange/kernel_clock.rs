//! Which events a kernel's clock may put into another order than they have here. Its timers run on ticks or are late, and
//! it needs time to handle a segment.

use fairport_units::{Duration, Instant};

use super::BEGIN;

/// How much earlier than here a kernel's timer may fire: a tick, since the kernel's ticks lie elsewhere.
const EARLY: Duration = Duration::from_ms(6);
/// A timer that waits for a shorter time than this runs on a precise clock in Linux (`hrtimer`).
const PRECISE: Duration = Duration::from_ms(2);
/// How much earlier than here a timer on the precise clock may fire.
const PRECISE_EARLY: Duration = Duration::from_us(300);
/// How much later than here a kernel's timer may fire, because of ticks and a loaded machine.
const LATE: Duration = Duration::from_ms(10);
/// How much later a timer may fire that waited longer than [`LONG`]. From 63 ticks on, Linux's timer wheel rounds up to
/// a multiple of 8 ticks, which is 32 ms at 250 Hz.
pub(super) const LATE_IF_LONG: Duration = Duration::from_ms(45);
const LONG: Duration = Duration::from_ms(190);
/// The shortest time between an arrival and what the pacer sends. A kernel needs a part of it to handle either.
const PACED_APART: Duration = Duration::from_us(500);

/// The latest events whose order a kernel's clock may change.
pub(super) struct KernelClock {
    /// time until which the last timer of the stack may still fire late in a kernel
    late_until: Instant,
    pub(super) last_event: Instant,
    /// when the pacer last sent something
    pub(super) paced_at: Instant,
    /// a timer that runs on ticks has sent something since the last arrival, so the pacer's times are not exact
    pub(super) after_timer: bool,
    pub(super) paced: bool,
}

impl KernelClock {
    pub(super) fn new(paced: bool) -> Self {
        Self {
            late_until: Instant::ZERO,
            last_event: BEGIN,
            paced_at: Instant::ZERO,
            after_timer: false,
            paced,
        }
    }

    /// Whether a kernel may order this event and a timer of the stack differently from the stack here.
    pub(super) fn is_doubtful(&mut self, now: Instant, timer: Instant) -> bool {
        let early = if timer < self.last_event + PRECISE {
            PRECISE_EARLY
        } else {
            EARLY
        };
        self.last_event = now;
        now < self.late_until || timer < now + early
    }

    /// Whether a timer that fires on a tick `now` may come before the pacer's last segment in a kernel, or after its
    /// next one, which is due at `pacer`.
    pub(super) fn may_swap(&self, now: Instant, pacer: Instant) -> bool {
        self.paced && (now < self.paced_at + EARLY || pacer < now + LATE)
    }

    /// A timer of the stack fired, and the stack acted.
    pub(super) fn timer_fired(&mut self, now: Instant) {
        let late = if now - self.last_event > LONG {
            LATE_IF_LONG
        } else {
            LATE
        };
        self.late_until = now + late;
        self.last_event = now;
    }

    /// Until when an arrival `now` is held back, because it is close to what the pacer has sent or will send at `pacer`: a
    /// kernel would decide which is first. None if it is not close.
    pub(super) fn held_back_until(&self, now: Instant, pacer: Instant) -> Option<Instant> {
        let sent = if pacer < now + PACED_APART {
            pacer
        } else {
            self.paced_at
        };
        let until = sent + PACED_APART;
        (now < until).then_some(until)
    }

    /// The earliest time at which a kernel may send what a timer on ticks sends `now`.
    pub(super) fn earliest(&self, now: Instant) -> Instant {
        now.earlier_by(EARLY)
            .max(self.last_event.max(self.paced_at))
    }
}
