//! The join of what came into a switch with what went out: the fate of every packet.
//!
//! Packets wait in a window for their copy at the other side. The key of a packet is its flow, its
//! identification (IPv4), its sequence and acknowledgement numbers, length and timestamps, so that a
//! retransmission is another packet. When a packet leaves the window, in order of arrival, its fate is decided:
//!
//! - its copy was seen at the egress: *forwarded*;
//! - its data was acknowledged, though no copy of it was seen at the egress: *unseen*, the egress capture
//!   lost it;
//! - the egress capture does not reach so far: *open*;
//! - otherwise *dropped*.
//!
//! A packet at the egress that was never seen coming in was lost by the ingress capture. It counts as an
//! arrival, at the time that the delay of its neighbours says. Since its exact place is not known, drops of the
//! same ingress port next to it do not count as consecutive: an incomplete capture makes no blackout.
//!
//! A switch may have several outputs. A packet that left by any of them was forwarded; one that left by none counts
//! as dropped at the output by which its flow leaves.

mod clock;
mod direction;
mod emitted;
mod output;
mod packets;
mod port;
mod queue;
mod switch;
mod waiting;
mod window;

pub use clock::Clock;
pub(crate) use clock::Sampler;
pub use emitted::{Completeness, Emitted, Joined, Side};
pub(crate) use packets::key;
pub use port::Fate;
pub(crate) use port::{Facts, Passed};
pub(crate) use switch::JoinedSwitch;
pub use switch::OutputSummary;
pub use window::Join;
