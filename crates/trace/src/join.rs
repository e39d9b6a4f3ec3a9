//! The join of packets that came into a switch with packets that went out. It gives the fate of every packet.
//!
//! Packets wait in a window for their copy at the other side. The key of a packet consists of its flow, its
//! identification (IPv4) or else its timestamps, its sequence and acknowledgement numbers and its length, so a
//! retransmission counts as another packet. When a packet leaves the window, in order of arrival, its fate is decided:
//!
//! - its copy was seen at the egress: *forwarded*;
//! - its data was acknowledged, although no copy was seen at the egress: *unseen*, the egress capture lost it;
//! - the egress capture ends too early: *open*;
//! - otherwise *dropped*.
//!
//! A packet at the egress that was never seen coming in was lost by the ingress capture. It counts as an arrival, at a
//! time estimated from its neighbours' delay. Its exact place is not known, so drops of the same ingress port next to
//! it do not count as consecutive. An incomplete capture therefore does not create blackouts.
//!
//! A switch may have several outputs. A packet that left by any of them was forwarded. One that left by none counts as
//! dropped at the output by which its flow leaves.

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
pub use emitted::{Completeness, Emitted, Fate, Joined, Side};
pub(crate) use packets::key;
pub(crate) use switch::JoinedSwitch;
pub use switch::OutputSummary;
pub use window::Join;
