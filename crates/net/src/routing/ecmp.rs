//! Equal-cost multi-path: every switch chooses one of its shortest ways by a hash of the flow's 5-tuple. The range of the
//! hash is divided evenly among the ways (the hash-threshold algorithm of RFC 2992).
//!
//! By default each switch has a seed of its own, derived from the run's seed. The seed derives from the number of the
//! switch's node, so it changes if a host is added before it. With a shared hash all switches have the same seed. Then
//! the flows that came to the same switch have hashes in the same part of the range, and leave some of its ways unused
//! (polarisation).

use super::expected_load::{Demand, add_by_gateway};
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy.
pub struct Ecmp {
    seed: u64,
    is_shared: bool,
    shortest: ShortestPaths,
}

impl Ecmp {
    /// The policy for this topology. The switches' seeds derive from `seed`.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        Self {
            seed,
            is_shared: false,
            shortest: ShortestPaths::new(topology),
        }
    }

    /// Gives all switches the same hash.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }
}

/// Divides the range of a hash, from 0 to 1, into parts in which all hashes choose the same of any of these numbers of
/// ways.
fn parts_of_hash(counts: &[usize]) -> Vec<[f64; 2]> {
    let bounds = |count: &usize| {
        let count = *count;
        (0..=count).map(move |way| way as f64 / count as f64)
    };
    let mut bounds: Vec<f64> = counts.iter().flat_map(bounds).collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds.windows(2).map(|part| [part[0], part[1]]).collect()
}

impl Routing for Ecmp {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path> {
        let ways = self.shortest.towards_host(topology, destination);
        let choose = |node: crate::NodeId, count| {
            let own = if self.is_shared { 0 } else { u64::from(node.0) };
            flow.choose(self.seed ^ own << 32, count)
        };
        let path = ways.walk(topology.hosts()[source], choose);
        path.into_iter().collect()
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        add_by_gateway(topology, demand, load, |ways, to_one, receivers, load| {
            let carried = |share: f64| -> Vec<f64> {
                let factor = share * receivers.len() as f64;
                to_one.iter().map(|bps| bps * factor).collect()
            };
            if !self.is_shared {
                ways.carry(carried(1.0), |_| 1.0, load);
                return;
            }
            let alike = vec![(); to_one.len()];
            for [from, to] in parts_of_hash(&ways.counts()) {
                let choose = |(), count: usize| (f64::midpoint(from, to) * count as f64) as usize;
                ways.carry_by_choice(carried(to - from), &alike, choose, load);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_in_one_part_of_the_range_choose_the_same_of_any_number_of_ways() {
        // a switch with 4 ways has bounds at quarters, one with 3 at thirds
        let parts = parts_of_hash(&[1, 3, 4]);
        let begins: Vec<f64> = parts.iter().map(|[from, _]| *from).collect();
        assert_eq!(begins, [0.0, 0.25, 1.0 / 3.0, 0.5, 2.0 / 3.0, 0.75]);
        for [from, to] in parts {
            for count in [1.0, 3.0, 4.0] {
                let choices = [from + 1e-9, to - 1e-9].map(|hash| (hash * count) as usize);
                assert_eq!(choices[0], choices[1], "{from} to {to}, {count} ways");
            }
        }
    }
}
