//! The network of a plan in real time, between real Linux hosts.
//!
//! Hosts are network namespaces. The other ends of their veth pairs are in one namespace, where a [`Switch`] reads
//! every frame, moves it through the simulator's forwarding core, disciplines, topology and routing, and sends it to
//! its receiver when it is due. It fills the same tables of drops, marks and queues. It also measures itself:
//! [`Health`] says how late frames were.
//!
//! The switch forwards only IP packets of the hosts that it was given. ARP and similar traffic is ignored, so hosts
//! must know each other's link-layer addresses in advance.
#![cfg(target_os = "linux")]

mod agenda;
mod answers;
mod attachment;
mod capture;
mod clock;
mod edge;
mod finders;
mod flows;
mod frames;
mod health;
mod hosts;
mod identify;
mod lag;
mod outlet;
mod realtime;
mod rest;
mod ring;
mod round_trips;
mod switch;
mod timeouts;

pub use agenda::{Agenda, Task};
pub use attachment::{Attachment, Limits};
pub use capture::{CapturedPacket, Event, Writer};
pub use health::{Health, Stall};
pub use lag::LagHistogram;
pub use realtime::{Class, Granted, Neighbour, available_class, prepare};
pub use switch::{Outcome, Switch};
