//! A port's configuration and its totals.

use fairport_units::{Duration, Rate, Serializer};

use crate::framing::Framing;
use crate::loss::Loss;
use crate::processing::Server;
use crate::queue::Queueing;
use crate::scheduler::PacketScheduler;
use crate::shaper::Shaper;

/// A port's configuration.
#[derive(Debug)]
pub struct PortConfig {
    /// nominal rate of its link
    pub rate: Rate,
    /// its clock's error in parts per billion, positive if it is fast (IEEE 802.3 allows ±100 000)
    pub clock_error_ppb: i32,
    /// from the last bit's departure to the next node's decision: propagation, and the constant
    /// part of that node's processing
    pub latency: Duration,
    /// the random part of the next node's processing, served in order
    pub far_processing: Option<Server>,
    /// which packets are accepted, and which goes next
    pub queueing: Queueing,
    /// the shaper that holds packets back before they go to the line
    pub shaper: Option<Shaper>,
    /// the loss models in front of the queue, in the order in which packets pass them
    pub losses: Vec<Loss>,
    /// whether a packet that leaves the buffer in the picosecond in which another arrives makes
    /// room for it
    pub departure_first: bool,
}

impl PortConfig {
    /// Whether the backlog at other ports of its switch counts too, because they share a memory.
    pub fn shares_memory(&self) -> bool {
        matches!(&self.queueing, Queueing::Scheduled(scheduler) if scheduler.shares_memory())
    }

    /// The least time from a packet's acceptance here to the next node's decision: the smallest frame's time
    /// on the line, and the latency. It is zero if there is no latency, because a discipline may then decide
    /// too late.
    pub fn lookahead(&self, framing: Framing) -> Duration {
        if self.latency == Duration::ZERO {
            return Duration::ZERO;
        }
        let wire_bytes = framing.wire_bytes(0);
        let line = Serializer::new(self.rate, self.clock_error_ppb).time_of(u64::from(wire_bytes));
        // one picosecond for the remainder that a line carries over, and one for a discipline that decides late
        (self.latency + line).saturating_sub(Duration::from_ps(2))
    }
}

/// Counts of a port since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTotals {
    /// packets that arrived, accepted or not
    pub arrivals: u64,
    /// packets accepted, marked ones included
    pub accepted: u64,
    /// packets accepted and marked
    pub marked: u64,
    /// bytes accepted, as the buffer counts them
    pub accepted_bytes: u64,
    /// most bytes in the buffer
    pub backlog_max_bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::DropTail;
    use crate::queue::{BufferRelease, Discipline};

    #[test]
    fn nothing_crosses_a_link_faster_than_the_shortest_frame() {
        let lookahead = |latency, clock_error_ppb| {
            let port = PortConfig {
                rate: Rate::from_bps(1_000_000_000),
                clock_error_ppb,
                latency,
                far_processing: None,
                queueing: Queueing::Fifo {
                    discipline: Discipline::DropTail(DropTail::packets(1)),
                    release: BufferRelease::StartOfService,
                },
                shaper: None,
                losses: Vec::new(),
                departure_first: true,
            };
            port.lookahead(Framing::ETHERNET)
        };
        // 64 bytes, preamble and gap take 672 ns (IEEE 802.3); 2 ps are subtracted for rounding and late decisions
        let shortest = Duration::from_ps(672_000 - 2);
        let latency = Duration::from_us(1);
        assert_eq!(lookahead(latency, 0), latency + shortest);
        assert_eq!(lookahead(Duration::ZERO, 0), Duration::ZERO);
        // a fast clock takes less
        assert!(lookahead(latency, 100_000) < latency + shortest);
        assert!(lookahead(latency, -100_000) > latency + shortest);
    }
}
