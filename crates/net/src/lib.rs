//! The network: packets, queue disciplines, ports, topologies, routing, and the forwarding core
//! that moves packets through them. It knows nothing of TCP: a packet's content is an opaque `P`.
//!
//! The path of one packet: [`Network::inject`] puts it on its host's port. The port ([`port`]) asks its queue
//! discipline ([`discipline`]) whether to admit the packet. A FIFO knows the departure of each packet that it accepts,
//! so the port puts the packet straight on the link (`link`), with the time at which the next node will decide about
//! it. The event queue ([`event_queue`]) holds the first packet of every busy link. [`Network::advance`] takes the
//! earliest of these. The packet's route ([`routing`]) gives its next port, and the same steps follow until the route
//! ends at a host ([`Hosts`]).

#![expect(
    clippy::inline_always,
    reason = "what each packet-hop needs is one loop: a call in it would cost up to a tenth of its time"
)]

pub mod arbitration;
mod buffer;
mod busy_time;
pub mod classifier;
mod context;
pub mod discipline;
pub mod error;
pub mod event_queue;
pub mod framing;
mod interrupts;
pub mod limit;
mod link;
pub mod loss;
mod network;
mod observer;
mod packet;
mod partition;
mod pool;
pub mod port;
mod prefetch;
pub mod processing;
pub mod queue;
pub mod routing;
pub mod scheduler;
pub mod shaper;
pub mod stream;
pub mod topology;

pub use error::BuildError;
pub use limit::Limit;
pub use network::{Access, Balance, Crossing, Feeders, Hosts, Network};
pub use observer::{Arrival, Counts, Observer};
pub use packet::{Addresses, Header, Packet};
pub use partition::{CutRules, Partition};
pub use prefetch::prefetch;
pub use queue::QueueConfig;
pub use topology::{NodeId, PortId, Topology};
