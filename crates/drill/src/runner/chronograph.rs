//! Measures how long the sender had data to send, and how long the peer's window held that data back. Linux:
//! `tcp_chrono`, `tcpi_busy_time` and `tcpi_rwnd_limited`.

use fairport_tcp::{Flags, Segment};
use fairport_units::{Duration, Instant};

/// A sum of time intervals, the last of which may still be running.
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

/// Both times, and the state that they follow from.
#[derive(Debug)]
pub(super) struct Chronograph {
    busy: Stopwatch,
    window: Stopwatch,
    /// sequence number of the first byte of data
    first: u32,
    /// bits by which the peer's windows are shifted, except in a SYN
    shift: u8,
    /// offset of the right edge of the peer's window from the first byte of data
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

    /// Takes the window from a segment of the peer.
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

    /// Updates both times. `sent` is the number of bytes sent so far, and `acked` says whether all of them are
    /// acknowledged. `waiting` bytes are not sent yet, and the next segment would carry `next` of them.
    pub(super) fn watch(&mut self, now: Instant, sent: u64, acked: bool, waiting: u64, next: u64) {
        self.busy.set(now, !acked || waiting > 0);
        let held = waiting > 0 && sent + next > self.edge;
        self.window.set(now, held);
    }

    /// The time during which data was waiting or unacknowledged.
    pub(super) fn busy(&self, now: Instant) -> Duration {
        self.busy.value(now)
    }

    /// The time during which the peer's window held data back.
    pub(super) fn window_limited(&self, now: Instant) -> Duration {
        self.window.value(now)
    }
}
