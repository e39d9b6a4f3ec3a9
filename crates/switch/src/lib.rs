//! The network of a plan in real time, between real Linux hosts.
//!
//! Hosts are network namespaces. The other ends of their veth pairs lie in one namespace, in which a
//! [`Switch`] reads every frame, moves it through the same forwarding core, disciplines, topology and
//! routing as the simulator does, and sends it to its receiver when it is due. It fills the same tables of
//! drops, marks and queues, and it measures itself: [`Health`] says how late frames were.
//!
//! What the switch forwards is IP of the hosts that it was given; ARP and the like are ignored, so
//! hosts know each other's link-layer addresses beforehand.
#![cfg(target_os = "linux")]

mod agenda;
mod answers;
mod attachment;
mod capture;
mod clock;
mod edge;
mod flows;
mod frames;
mod health;
mod identify;
mod lag;
mod outlet;
mod realtime;
mod rest;
mod ring;
mod switch;
mod timeouts;

pub use agenda::{Agenda, Task};
pub use attachment::{Attachment, Limits};
pub use capture::{Event, Sight, Writer};
pub use health::{Health, Stall};
pub use lag::LagHistogram;
pub use realtime::{Class, Granted, available_class, prepare};
pub use switch::{Outcome, Switch};
