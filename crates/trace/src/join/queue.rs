//! The occupancy of the port's buffer, reconstructed from arrivals and departures.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairport_net::discipline::Backlog;
use fairport_record::tables::{QueueRow, QueueRows};
use fairport_units::Instant;

/// Maximum number of samples. If there would be more, every second one is removed.
const MOST_SAMPLES: usize = 1 << 18;

/// The occupancy of one port's buffer, from its accepted packets in order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    /// when each waiting packet leaves, and its bytes
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
    bytes: u64,
    now_ns: u64,
    /// integral over time, in bytes times ns
    integral: u128,
    max_bytes: u64,
    interval_ns: u64,
    next_sample_ns: u64,
    samples: Vec<(u64, u64, u32)>,
}

impl Occupancy {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self {
            leaving: BinaryHeap::new(),
            bytes: 0,
            now_ns: 0,
            integral: 0,
            max_bytes: 0,
            interval_ns,
            next_sample_ns: interval_ns,
            samples: Vec::new(),
        }
    }

    /// Adds an arriving packet that will leave at `left_ns`.
    #[inline]
    pub(crate) fn accept(&mut self, arrived_ns: u64, left_ns: u64, bytes: u32) {
        self.advance(arrived_ns);
        if left_ns <= self.now_ns {
            return;
        }
        self.leaving.push(Reverse((left_ns, bytes)));
        self.bytes += u64::from(bytes);
        self.max_bytes = self.max_bytes.max(self.bytes);
    }

    /// Advances the time, and removes packets that have left.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while let Some(Reverse((left_ns, bytes))) = self.leaving.peek().copied() {
            if left_ns > now_ns {
                break;
            }
            self.pass(left_ns);
            self.leaving.pop();
            self.bytes -= u64::from(bytes);
        }
        self.pass(now_ns);
    }

    /// The packets that wait now.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes as u32,
            packets: self.leaving.len() as u32,
        }
    }

    #[inline]
    fn pass(&mut self, to_ns: u64) {
        while self.next_sample_ns <= to_ns {
            self.sample();
        }
        if to_ns > self.now_ns {
            self.integral += u128::from(self.bytes) * u128::from(to_ns - self.now_ns);
            self.now_ns = to_ns;
        }
    }

    fn sample(&mut self) {
        self.samples
            .push((self.next_sample_ns, self.bytes, self.leaving.len() as u32));
        self.next_sample_ns += self.interval_ns;
        if self.samples.len() >= MOST_SAMPLES {
            self.interval_ns *= 2;
            let interval_ns = self.interval_ns;
            self.samples
                .retain(|(time_ns, ..)| time_ns % interval_ns == 0);
            self.next_sample_ns = self.next_sample_ns.next_multiple_of(interval_ns);
        }
    }

    /// The mean and the maximum number of bytes so far.
    pub(crate) fn mean_and_max_bytes(&self) -> (f64, u64) {
        (
            self.integral as f64 / self.now_ns.max(1) as f64,
            self.max_bytes,
        )
    }

    /// The samples as rows of this port.
    pub(crate) fn into_rows(self, port: u32) -> QueueRows {
        let mut rows = QueueRows::with_capacity(self.samples.len());
        for (time_ns, bytes, packets) in self.samples {
            rows.push(QueueRow {
                time_s: Instant::from_ns(time_ns),
                port,
                bytes,
                packets: u64::from(packets),
            });
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_from_its_arrival_to_its_departure() {
        let mut queue = Occupancy::new(10);
        queue.accept(5, 25, 100);
        queue.accept(15, 35, 200);
        queue.advance(40);
        // 100 B for 20 ns and 200 B for 20 ns, in 40 ns
        assert_eq!(queue.mean_and_max_bytes(), (150.0, 300));
        assert_eq!(
            queue.samples,
            [(10, 100, 1), (20, 300, 2), (30, 200, 1), (40, 0, 0)]
        );
    }

    #[test]
    fn many_samples_become_fewer() {
        let mut queue = Occupancy::new(1);
        queue.advance(3 * MOST_SAMPLES as u64);
        assert!(queue.samples.len() < MOST_SAMPLES && queue.interval_ns > 1);
    }
}
