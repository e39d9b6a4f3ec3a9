//! Whether a run pays to be cut into regions, from what it shows on one core.
//!
//! A run begins in one region. Its load may grow for a while, so it is looked at again and again: each time it has
//! come twice as far, by what it did since the last time. If it pays, it begins once more in several regions.

use fairport_net::{Observer, Partition, PortId};
use fairport_plan::Plan;
use fairport_record::{Simulated, Watcher};
use fairport_units::Duration;

use crate::simulation::Simulation;

/// What a run does before the first look: some 10 ms of work.
const HOPS_BEFORE_FIRST_LOOK: u64 = 200_000;
/// After this part of its time a run stays as it is: to begin once more would cost as much.
const LAST_LOOK: u64 = 10;
/// With fewer packet-hops than this in one lookahead for each core, looking at the others' clocks takes longer than
/// a second core saves.
const HOPS_PER_LOOKAHEAD_AND_CORE: f64 = 30.0;
/// The busiest region may have so much more than its share of the work.
const MOST_IMBALANCE: f64 = 1.4;

/// Looks at a run in one region.
#[derive(Debug)]
pub struct Pilot {
    cores: u16,
    /// by port
    lookaheads: Vec<Duration>,
    /// whether the ports of a switch do
    shares_memory: bool,
    /// as far as the run had come at the last look
    simulated: Duration,
    /// by port: packets that had arrived there by then
    arrivals: Vec<u64>,
    /// the next look is after so many packet-hops; none: there is none
    next_look: Option<u64>,
}

impl Pilot {
    /// Of a run of this plan that may use so many cores.
    pub fn new(plan: &Plan, cores: u16) -> Self {
        let may_be_cut = cores > 1 && !plan.workloads_hear();
        Self {
            cores,
            lookaheads: plan.lookaheads(),
            shares_memory: plan.shares_memory(),
            simulated: Duration::ZERO,
            arrivals: vec![0; plan.topology().ports().len()],
            next_look: may_be_cut.then_some(HOPS_BEFORE_FIRST_LOOK),
        }
    }

    /// The number of regions into which it pays to cut the run; none: it stays as it is, for now at least.
    pub fn look<P: Simulated + Send, O: Observer<P> + Watcher + Send>(
        &mut self,
        run: &Simulation<P, O>,
    ) -> Option<u16> {
        let hops = run.packet_hops();
        if hops < self.next_look? {
            return None;
        }
        self.next_look = None;
        if run.simulated().saturating_mul(LAST_LOOK) > run.duration {
            return None;
        }
        let ports = (0..self.arrivals.len() as u32).map(PortId);
        let arrivals: Vec<u64> = ports
            .map(|id| run.network_of(id).totals(id).arrivals)
            .collect();
        let since = run.simulated() - self.simulated;
        let new = arrivals
            .iter()
            .zip(&self.arrivals)
            .map(|(now, then)| now - then);
        let work: Vec<u64> = new.collect();
        let pays = |regions: &u16| {
            let partition = Partition::new(
                &run.topology,
                &self.lookaheads,
                self.shares_memory,
                *regions,
            );
            partition.regions() > 1 && is_worth_cutting(&partition, &work, since)
        };
        let regions = (2..=self.cores).rev().find(pays);
        if regions.is_none() {
            self.simulated = run.simulated();
            self.arrivals = arrivals;
            self.next_look = Some(2 * hops);
        }
        regions
    }
}

/// Whether regions have enough to do in each lookahead, and about the same, if the `work` of each port is what it did
/// in the time `since`.
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
