//! Whether a run pays to be cut into regions, from what it has shown so far on one core.

use fairport_net::{Observer, Partition, PortId};
use fairport_plan::Plan;
use fairport_record::{Simulated, Watcher};

use crate::simulation::Simulation;

/// With fewer packet-hops than this in one lookahead for each core, looking at the others' clocks takes longer than
/// a second core saves.
const HOPS_PER_LOOKAHEAD_AND_CORE: f64 = 30.0;
/// The busiest region may have so much more than its share of the work.
const MOST_IMBALANCE: f64 = 1.4;

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// How many regions a run of this plan pays to be cut into on so many cores, as far as this one, of the same
    /// plan in one region, has come: 1 if it does not.
    pub fn regions_that_pay(&self, plan: &Plan, cores: u16) -> u16 {
        if plan.workloads_hear() {
            return 1;
        }
        let lookaheads = plan.lookaheads();
        let pays = |regions: &u16| {
            let partition = Partition::new(plan.topology(), &lookaheads, *regions);
            partition.regions() > 1 && self.is_worth_cutting(&partition)
        };
        (2..=cores).rev().find(pays).unwrap_or(1)
    }

    fn is_worth_cutting(&self, partition: &Partition) -> bool {
        let regions = f64::from(partition.regions());
        let lookaheads = self.simulated().as_secs_f64() / partition.lookahead().as_secs_f64();
        let hops = self.packet_hops() as f64 / lookaheads;
        if hops < HOPS_PER_LOOKAHEAD_AND_CORE * regions {
            return false;
        }
        let mut work = vec![0; usize::from(partition.regions())];
        for (id, port) in (0..).map(PortId).zip(self.topology.ports()) {
            let region = usize::from(partition.region(port.node));
            work[region] += self.network_of(id).totals(id).arrivals;
        }
        let (all, most): (u64, u64) = (work.iter().sum(), work.iter().copied().max().unwrap_or(0));
        (most as f64) * regions <= MOST_IMBALANCE * all as f64
    }
}
