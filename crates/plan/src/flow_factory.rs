//! The flow factory, which gives a flow its paths and its reference completion time when it starts.

use fairport_net::Topology;
use fairport_tcp::Settings;
use fairport_units::{Duration, Instant};

use crate::flow::{Application, Flow, FlowSpec};
use crate::ideal::EmptyNetwork;
use crate::router::{FlowPaths, Router};

/// What is needed to create flows, before the run and during it.
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

    /// The seed from which all random streams derive.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stack with this number.
    pub fn stack(&self, number: u32) -> &Settings {
        &self.stacks[number as usize]
    }

    /// The paths of the flow with this number.
    pub fn paths(&mut self, topology: &Topology, number: u32, spec: &FlowSpec) -> FlowPaths {
        self.router
            .paths(topology, number, spec.hosts(), spec.protocol())
    }

    /// The flow with this number, which starts at `start`, and its paths.
    pub fn create(
        &mut self,
        topology: &Topology,
        number: u32,
        start: Instant,
        spec: FlowSpec,
    ) -> (Flow, FlowPaths) {
        let paths = self.paths(topology, number, &spec);
        let ideal = match spec.application {
            Application::Transfer {
                size_bytes: Some(bytes),
            } => {
                let stack = self.stack(spec.src.stack);
                self.empty
                    .completion(bytes, spec.src.host, &paths.forward[0], stack)
            }
            _ => Duration::NEVER,
        };
        let flow = Flow {
            start,
            spec,
            hops: paths.hops,
            ideal,
        };
        (flow, paths)
    }
}
