//! Decides whether it pays to cut a run into regions, from how the run behaves on one core.
//!
//! A run begins in one region. Its load may grow for a while, so the decision is repeated each time the number of
//! packet-hops has doubled, from the work done since the last time. If cutting pays, the run is started again in
//! several regions.

use fairport_net::{CutRules, Observer, Partition, PortId};
use fairport_plan::Plan;
use fairport_record::{Simulated, Watcher};
use fairport_units::Duration;

use crate::simulation::Simulation;

/// Packet-hops before the first look: about 10 ms of work.
const HOPS_BEFORE_FIRST_LOOK: u64 = 200_000;
/// After this fraction of its duration (one tenth) a run stays as it is: too much would have to be simulated again.
const LAST_LOOK: u64 = 10;
/// With fewer packet-hops than this per lookahead and core, polling the other regions' clocks takes longer than
/// a second core saves.
const HOPS_PER_LOOKAHEAD_AND_CORE: f64 = 30.0;
/// The busiest region may have this many times its equal share of the work.
const MOST_IMBALANCE: f64 = 1.4;

/// Watches a run in one region and decides whether to cut it.
#[derive(Debug)]
pub struct RegionChoice {
    cores: u16,
    /// none if there is no further look
    rules: Option<CutRules>,
    /// packet-hops at which the next look is due
    next_look: u64,
    /// how far the run had come at the last look
    simulated: Duration,
    /// by port: packets that had arrived there by the last look
    arrivals: Vec<u64>,
}

impl RegionChoice {
    /// The choice for a run of this plan on `cores` cores at most.
    pub fn new(plan: &Plan, cores: u16) -> Self {
        let may_be_cut = cores > 1 && !plan.workloads_hear();
        Self {
            cores,
            rules: may_be_cut.then(|| plan.cut_rules()),
            next_look: HOPS_BEFORE_FIRST_LOOK,
            simulated: Duration::ZERO,
            arrivals: vec![0; plan.topology().ports().len()],
        }
    }

    /// The number of regions into which it pays to cut the run; none if it stays as it is, at least for now.
    pub fn look<P: Simulated + Send, O: Observer<P> + Watcher + Send>(
        &mut self,
        run: &Simulation<P, O>,
    ) -> Option<u16> {
        let hops = run.packet_hops();
        if hops < self.next_look {
            return None;
        }
        let rules = self.rules.take()?;
        if run.simulated() * LAST_LOOK > run.duration() {
            return None;
        }
        let topology = run.flows().topology();
        let arrivals: Vec<u64> = topology
            .port_ids()
            .map(|id| run.flows().domains.network_of(id).totals(id).arrivals)
            .collect();
        let since = run.simulated() - self.simulated;
        let new = arrivals
            .iter()
            .zip(&self.arrivals)
            .map(|(now, then)| now - then);
        let work: Vec<u64> = new.collect();
        let pays = |regions: &u16| {
            let partition = Partition::new(topology, &rules, *regions);
            partition.regions() > 1 && is_worth_cutting(&partition, &work, since)
        };
        let regions = (2..=self.cores).rev().find(pays);
        if regions.is_none() {
            self.simulated = run.simulated();
            self.arrivals = arrivals;
            self.next_look = 2 * hops;
            self.rules = Some(rules);
        }
        regions
    }
}

/// Whether the regions have enough work per lookahead, and about equal shares of it. `work` is the number of packets
/// that arrived at each port within the duration `since`.
fn is_worth_cutting(partition: &Partition, work: &[u64], since: Duration) -> bool {
    let mut of_region = vec![0; usize::from(partition.regions())];
    for (port, work) in (0..).map(PortId).zip(work) {
        of_region[usize::from(partition.port_region(port))] += work;
    }
    let all = of_region.iter().sum::<u64>() as f64;
    let most = of_region.iter().max().map_or(0.0, |most| *most as f64);
    let regions = f64::from(partition.regions());
    let lookaheads = since.as_secs_f64() / partition.lookahead().as_secs_f64();
    all >= HOPS_PER_LOOKAHEAD_AND_CORE * regions * lookaheads
        && most * regions <= MOST_IMBALANCE * all
}
