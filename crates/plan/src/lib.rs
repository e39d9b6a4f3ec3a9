//! A run before any packet moves: topology, routes, stacks, flows and workloads.
//!
//! A [`Job`] is the document to which the Python front end converts a scenario: it says what is asked for. A [`Plan`]
//! says what will happen: ports, hosts, flows with their drawn start times, and workloads. It does not depend on the
//! simulator: workloads and sources of datagrams take the time as an argument, so they also work with real hosts.
//!
//! The example of `fairport-sim` reads a job, makes its plan and runs it.

mod ends;
mod expected;
pub mod flow;
mod flow_factory;
mod host_profile;
mod ideal;
pub mod job;
mod layout;
mod offered_load;
mod permutation;
mod plan;
mod router;
mod sampling;
mod stacks;
mod topology;
pub mod udp;
mod watch;
mod wiring;
pub mod workload;

pub use expected::Expected;
pub use fairport_net::BuildError;
pub use flow_factory::FlowFactory;
pub use host_profile::{Answer, HostProfile, MeasuredHost};
pub use job::Job;
pub use layout::{FlowLayout, Layout, LinkLayout, NodeLayout, layout};
pub use offered_load::FullestLink;
pub use plan::{Customs, MeasureFrom, MeasurementRule, Parts, Plan};
pub use router::FlowPaths;
pub use watch::Watch;
pub use wiring::{HostOutput, HostTime, Timing};
