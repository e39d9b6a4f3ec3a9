//! The time that a node spends on each packet: a distribution, served in order.

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::interrupts::Interrupts;
use crate::stream::Stream;

/// How long the processing of one packet takes. Packets are served one after another, so a short time never overtakes a
/// long one, and no link reorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Processing {
    /// a constant time
    Constant {
        /// picoseconds
        value_ps: u64,
    },
    /// uniform between two bounds, both included
    Uniform {
        /// picoseconds
        min_ps: u64,
        /// picoseconds
        max_ps: u64,
    },
    /// exponentially distributed
    Exponential {
        /// picoseconds
        mean_ps: u64,
    },
}

impl Processing {
    /// No processing time.
    pub const NONE: Self = Self::Constant { value_ps: 0 };

    /// The mean of the times.
    pub fn mean(self) -> Duration {
        Duration::from_ps(match self {
            Self::Constant { value_ps } => value_ps,
            Self::Uniform { min_ps, max_ps } => u64::midpoint(min_ps, max_ps),
            Self::Exponential { mean_ps } => mean_ps,
        })
    }

    /// Draws the time for one packet.
    #[inline(never)] // one hop in seven calls it, and the logarithm would take registers from the others
    pub fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Constant { value_ps } => Duration::from_ps(value_ps),
            Self::Uniform { min_ps, max_ps } => {
                Duration::from_ps(min_ps + stream.up_to(max_ps - min_ps))
            }
            Self::Exponential { mean_ps } => stream.exponential(Duration::from_ps(mean_ps)),
        }
    }
}

/// A server that processes packets one after another, each for a drawn time.
#[derive(Clone, Debug)]
pub struct Server {
    interrupts: Interrupts,
    processing: Processing,
    stream: Stream,
    free_at: Instant,
    /// each packet is handed on later by a time drawn uniformly up to this, in order
    jitter: Duration,
    /// when the last packet was handed on, including jitter
    handed_at: Instant,
}

impl Server {
    /// An idle server.
    pub fn new(processing: Processing, stream: Stream) -> Self {
        Self {
            interrupts: Interrupts::new(Duration::ZERO),
            processing,
            stream,
            free_at: Instant::ZERO,
            jitter: Duration::ZERO,
            handed_at: Instant::ZERO,
        }
    }

    /// Adds a delay, drawn uniformly up to `jitter`, to each packet when it is handed on. It makes times irregular
    /// without taking capacity: packets wait for each other only to keep their order.
    #[must_use]
    pub fn with_jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Lets packets begin to be processed only at interrupts, which are at least `interval` apart.
    #[must_use]
    pub fn with_interrupt_interval(self, interval: Duration) -> Self {
        let interrupts = Interrupts::new(interval);
        Self { interrupts, ..self }
    }

    /// When the server will have processed all packets that it was given.
    #[inline]
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When the packet that reaches the server at `at` is handed on. Calls are in order of time.
    #[inline]
    pub fn serve(&mut self, at: Instant) -> Instant {
        let at = self.interrupts.next(at);
        self.free_at = at.max(self.free_at) + self.processing.draw(&mut self.stream);
        if self.jitter == Duration::ZERO {
            return self.free_at;
        }
        let late = self.stream.span_up_to(self.jitter);
        self.handed_at = self.handed_at.max(self.free_at + late);
        self.handed_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_makes_the_next_packet_wait() {
        let constant = Processing::Constant { value_ps: 1_000 };
        let mut server = Server::new(constant, Stream::new(1, "test", 0));
        assert_eq!(server.serve(Instant::from_ps(100)), Instant::from_ps(1_100));
        assert_eq!(server.serve(Instant::from_ps(200)), Instant::from_ps(2_100));
        assert_eq!(
            server.serve(Instant::from_ps(5_000)),
            Instant::from_ps(6_000)
        );
        assert_eq!(server.free_at(), Instant::from_ps(6_000));
    }

    #[test]
    fn jitter_delays_by_up_to_its_length_keeps_the_order_and_holds_nobody_up() {
        let jitter = Duration::from_us(20);
        let mut server =
            Server::new(Processing::NONE, Stream::new(1, "test", 0)).with_jitter(jitter);
        // ten packets arrive within the time of a jitter
        let at = |i: u64| Instant::from_ps(2_000_000 * i);
        let handed: Vec<_> = (0..500_000).map(|i| server.serve(at(i))).collect();
        assert!(handed.is_sorted());
        let waits = || (0..).map(at).zip(&handed).map(|(at, handed)| *handed - at);
        assert!(waits().all(|wait| wait <= jitter));
        // the largest of several draws: few packets come early, and some take nearly the whole jitter
        assert!(waits().min() < Some(Duration::from_us(3)));
        assert!(waits().max() > Some(Duration::from_us(19)));
        // a single packet takes a uniform time, 10 us on average
        let mut alone =
            Server::new(Processing::NONE, Stream::new(2, "test", 0)).with_jitter(jitter);
        let at = |i: u64| Instant::from_ps(100_000_000 * i);
        let total: u64 = (0..10_000)
            .map(|i| (alone.serve(at(i)) - at(i)).as_ps())
            .sum();
        assert!((total as f64 / 1e11 - 1.0).abs() < 0.02, "{total}");
    }

    #[test]
    fn an_exponential_server_has_its_mean() {
        let exponential = Processing::Exponential { mean_ps: 1_000_000 };
        let mut stream = Stream::new(1, "test", 0);
        let total: u64 = (0..100_000)
            .map(|_| exponential.draw(&mut stream).as_ps())
            .sum();
        assert!((total as f64 / 1e11 - 1.0).abs() < 0.01, "{total}");
    }

    #[test]
    fn a_uniform_time_lies_between_its_bounds_and_reaches_both() {
        let uniform = Processing::Uniform {
            min_ps: 7,
            max_ps: 10,
        };
        let mut stream = Stream::new(1, "test", 0);
        let drawn: std::collections::BTreeSet<u64> = (0..1000)
            .map(|_| uniform.draw(&mut stream).as_ps())
            .collect();
        assert!(drawn.into_iter().eq(7..=10));
    }
}
