//! The edge classifier of RIO-PS: separates packets of short flows from those of long flows.
//!
//! Guo & Matta, "The War Between Mice and Elephants", ICNP 2001, section 4.1. The edge router counts the packets of
//! each flow, and the first `L_t` belong to a short flow. A flow that is silent for `T_u` has ended. `L_t` is constant,
//! or is recomputed every `T_c` so that short and long flows have a given ratio.

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::BuildError;

/// The class of packets of long flows, and of all packets if nothing classifies.
pub const LONG: u8 = 0;
/// The class of packets of flows that are still short.
pub const SHORT: u8 = 1;

/// How an edge router separates short flows from long flows, in the plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `L_t`: this many packets of a flow count as short; the first value, if `L_t` is tuned
    pub threshold_packets: u32,
    /// `T_u`: a flow that is silent for longer has ended, and starts again from zero
    pub flow_timeout_ps: Duration,
    /// how `L_t` is tuned; none: it is constant
    pub tuning: Option<Tuning>,
}

/// How `L_t` is tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// `T_c`: time between two adjustments
    pub interval_ps: Duration,
    /// SLR: number of short flows per long flow, in parts of 10^6
    pub short_to_long_ppm: u64,
}

impl Config {
    /// The classifiers of `edges` edge routers, without any flows yet.
    ///
    /// # Errors
    /// If the tuning has a ratio or an interval of 0.
    pub fn build(self, edges: usize) -> Result<Classifier, BuildError> {
        if let Some(tuning) = self.tuning
            && (tuning.short_to_long_ppm == 0 || tuning.interval_ps == Duration::ZERO)
        {
            return Err(BuildError::new(
                "classifier.short_to_long",
                0,
                "cannot be tuned to",
                "give a ratio and an interval above 0, or leave short_to_long out",
            ));
        }
        Ok(Classifier::new(self, edges))
    }
}

/// The classifiers of all edge routers, and the flows that they have seen.
#[derive(Clone, Debug)]
pub struct Classifier {
    config: Config,
    edges: Vec<Edge>,
    /// by number of the flow's direction
    flows: Vec<Flow>,
}

/// One edge router.
#[derive(Clone, Debug)]
struct Edge {
    threshold_packets: u32,
    next_tuning: Instant,
}

/// One direction of a flow, at the edge router where it enters.
#[derive(Clone, Debug, Default)]
struct Flow {
    edge: u32,
    packets: u32,
    last: Instant,
}

impl Classifier {
    /// The classifiers of `edges` edge routers, without any flows yet.
    pub fn new(config: Config, edges: usize) -> Self {
        let edge = Edge {
            threshold_packets: config.threshold_packets,
            next_tuning: config
                .tuning
                .map_or(Instant::NEVER, |tuning| Instant::ZERO + tuning.interval_ps),
        };
        Self {
            config,
            edges: vec![edge; edges],
            flows: Vec::new(),
        }
    }

    /// The class of a packet of `flow` that arrives at router `edge` at `now`. The two directions of a connection are
    /// two flows. Flow numbers index a table, so they must be small.
    pub fn classify(&mut self, now: Instant, edge: u32, flow: u32) -> u8 {
        if now >= self.edges[edge as usize].next_tuning {
            self.tune(now, edge);
        }
        let threshold_packets = self.edges[edge as usize].threshold_packets;
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, Flow::default());
        }
        let count = &mut self.flows[flow as usize];
        if now.saturating_sub(count.last) > self.config.flow_timeout_ps {
            count.packets = 0;
        }
        count.edge = edge;
        count.last = now;
        count.packets = count.packets.saturating_add(1);
        if count.packets <= threshold_packets {
            SHORT
        } else {
            LONG
        }
    }

    /// Sets `L_t` to the length that would have divided the router's present flows in the wanted ratio. The paper gives
    /// the goal but no rule; this rule needs no gain.
    #[cold]
    fn tune(&mut self, now: Instant, edge: u32) {
        let Some(tuning) = self.config.tuning else {
            return;
        };
        let is_present = |flow: &&Flow| {
            flow.edge == edge
                && flow.packets > 0
                && now.saturating_sub(flow.last) <= self.config.flow_timeout_ps
        };
        let present = self.flows.iter().filter(is_present);
        let mut lengths: Vec<u32> = present.map(|flow| flow.packets).collect();
        lengths.sort_unstable();
        let short_to_long = tuning.short_to_long_ppm as f64 / 1e6;
        let share = short_to_long / (1.0 + short_to_long);
        let short = libm::round(lengths.len() as f64 * share) as usize;
        let router = &mut self.edges[edge as usize];
        if let Some(last_short) = lengths.get(short.saturating_sub(1)) {
            router.threshold_packets = *last_short;
        }
        router.next_tuning = router.next_tuning.next_after(now, tuning.interval_ps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classifier(tuning: Option<Tuning>) -> Classifier {
        let config = Config {
            threshold_packets: 5,
            flow_timeout_ps: Duration::from_secs(1),
            tuning,
        };
        Classifier::new(config, 2)
    }

    /// Sends `packets` of `flow`, one microsecond apart. Returns how many were short.
    fn short(
        classifier: &mut Classifier,
        from: Instant,
        edge: u32,
        flow: u32,
        packets: u64,
    ) -> usize {
        let at = |i| from + Duration::from_us(i);
        (0..packets)
            .filter(|i| classifier.classify(at(*i), edge, flow) == SHORT)
            .count()
    }

    #[test]
    fn the_first_packets_of_a_flow_are_short() {
        let mut classifier = classifier(None);
        assert_eq!(short(&mut classifier, Instant::ZERO, 0, 0, 100), 5);
        assert_eq!(short(&mut classifier, Instant::ZERO, 0, 1, 3), 3);
    }

    #[test]
    fn a_flow_begins_anew_after_its_timeout_and_not_before() {
        let mut classifier = classifier(None);
        assert_eq!(short(&mut classifier, Instant::ZERO, 0, 0, 1), 1);
        let gap = Duration::from_secs(1);
        assert_eq!(short(&mut classifier, Instant::ZERO + gap, 0, 0, 10), 4);
        let silent = Instant::ZERO + gap + gap + Duration::from_us(10);
        assert_eq!(short(&mut classifier, silent, 0, 0, 10), 5);
    }

    #[test]
    fn tuning_parts_the_present_flows_in_the_ratio_wanted() {
        let tuning = Tuning {
            interval_ps: Duration::from_secs(10),
            short_to_long_ppm: 3_000_000,
        };
        let mut classifier = classifier(Some(tuning));
        let late = Instant::from_ms(9_900);
        for (flow, packets) in [(0, 2), (1, 30), (2, 8), (3, 1000)] {
            short(&mut classifier, late, 0, flow, packets);
        }
        // one flow has ended, and one is at another router: neither counts
        short(&mut classifier, Instant::ZERO, 0, 4, 500);
        short(&mut classifier, late, 1, 5, 500);
        // 3 of 4 flows should be short: those with 2, 8 and 30 packets
        let tuned = Instant::from_secs(10);
        assert_eq!(short(&mut classifier, tuned, 0, 6, 100), 30);
        // the other router tunes by its only flow, which becomes short
        assert_eq!(short(&mut classifier, tuned, 1, 7, 600), 500);
    }
}
