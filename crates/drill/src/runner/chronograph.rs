//! For how long the sender had something to send, and for how long of that the peer's window held it
//! back: Linux's `tcp_chrono`, `tcpi_busy_time` and `tcpi_rwnd_limited`.

use fairport_tcp::{Flags, Segment};
use fairport_units::{Duration, Instant};

/// A sum of times, the last of which may go on still.
#[derive(Clone, Copy, Debug, Default)]
struct Stopwatch {
    total: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    fn set(&mut self, now: Instant, runs: bool) {
        if let Some(since) = self.since.take() {
            self.total += now.saturating_sub(since);
        }
        self.since = runs.then_some(now);
    }

    fn value(&self, now: Instant) -> Duration {
        let running = self
            .since
            .map_or(Duration::ZERO, |since| now.saturating_sub(since));
        self.total + running
    }
}

/// Both times, and what they follow from.
#[derive(Debug)]
pub(super) struct Chronograph {
    busy: Stopwatch,
    window: Stopwatch,
    /// the first byte of data on the wire
    first: u32,
    /// bits by which the peer's windows are shifted; none in a SYN
    shift: u8,
    /// bytes up to the right edge of the peer's window
    edge: u64,
}

impl Chronograph {
    pub(super) fn new(isn: u32) -> Self {
        Self {
            busy: Stopwatch::default(),
            window: Stopwatch::default(),
            first: isn.wrapping_add(1),
            shift: 0,
            edge: 0,
        }
    }

    /// The peer's segment: what it allows.
    pub(super) fn on_segment(&mut self, segment: &Segment) {
        let mut shift = self.shift;
        if segment.flags.contains(Flags::SYN) {
            let offered = segment.options.syn().and_then(|syn| syn.window_scale);
            self.shift = offered.unwrap_or(0).min(14);
            shift = 0;
        }
        if segment.flags.contains(Flags::ACK) {
            let acked = u64::from(segment.ack.wrapping_sub(self.first));
            self.edge = acked + (u64::from(segment.window) << shift);
        }
    }

    /// `sent` bytes were sent in all, `acked` says whether all of them are acknowledged, and
    /// `waiting` bytes are not sent; the next segment has `next` of them.
    pub(super) fn watch(&mut self, now: Instant, sent: u64, acked: bool, waiting: u64, next: u64) {
        self.busy.set(now, !acked || waiting > 0);
        let held = waiting > 0 && sent + next > self.edge;
        self.window.set(now, held);
    }

    /// With something to send or unacknowledged.
    pub(super) fn busy(&self, now: Instant) -> Duration {
        self.busy.value(now)
    }

    /// Held back by the peer's window.
    pub(super) fn window_limited(&self, now: Instant) -> Duration {
        self.window.value(now)
    }
}
