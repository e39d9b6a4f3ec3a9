//! The flow factory: gives a flow that starts its paths and its reference.

use fairport_net::Topology;
use fairport_tcp::Settings;
use fairport_units::{Duration, Instant};

use crate::flow::{FlowSpec, Start};
use crate::ideal::EmptyNetwork;
use crate::paths::FlowPaths;
use crate::router::Router;

/// What flows are made from, before the run and during it.
#[derive(Debug)]
pub struct FlowFactory {
    seed: u64,
    stacks: Vec<Settings>,
    router: Router,
    empty: EmptyNetwork,
}

impl FlowFactory {
    pub(crate) fn new(
        seed: u64,
        stacks: Vec<Settings>,
        router: Router,
        empty: EmptyNetwork,
    ) -> Self {
        Self {
            seed,
            stacks,
            router,
            empty,
        }
    }

    /// What all random streams derive from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stack of this number.
    pub fn stack(&self, number: u32) -> &Settings {
        &self.stacks[number as usize]
    }

    /// The paths of the flow of this number.
    pub fn paths(&mut self, topology: &Topology, number: u32, how: &Start) -> FlowPaths {
        self.router
            .paths(topology, number, how.src.host, how.dst.host)
    }

    /// The flow of this number, which starts at `start`, and its paths.
    pub fn create(
        &mut self,
        topology: &Topology,
        number: u32,
        start: Instant,
        how: Start,
    ) -> (FlowSpec, FlowPaths) {
        let paths = self.paths(topology, number, &how);
        let ideal = if how.udp.is_some() || how.persistent {
            Duration::NEVER
        } else {
            let stack = self.stack(how.src.stack);
            self.empty.completion(&how, &paths.forward[0], stack)
        };
        let spec = FlowSpec {
            start,
            how,
            hops: paths.hops,
            ideal,
        };
        (spec, paths)
    }
}
