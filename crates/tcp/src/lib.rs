//! TCP as pure state machines: no clock, no network, no random numbers, no allocation once warm.
//!
//! A [`Connection`] is told what happened and when (`on_segment`, `on_timer`) and asked what to
//! send (`poll_transmit`, until it says `None`) and when to be woken (`poll_timer`). The same
//! code is driven by a simulator, by tables of exchanges and by scripts.
//!
//! What varies is kept apart: congestion control says how large the window is, loss recovery
//! says what to send again and when, payload sizing how long a segment is, pacing when it may leave, and the acknowledgement
//! policy says when the receiver speaks.
//! Which of them a stack has is in its [`Settings`]; a preset is such a list of settings.
//!
//! ```
//! use fairport_tcp::{Connection, Settings};
//! use fairport_units::Time;
//!
//! let settings = Settings::preset("linux-2.6").expect("a preset");
//! let mut client = Connection::active(&settings);
//! let mut server = Connection::passive(&settings);
//! client.write(100_000);
//! // a path of 100 us each way that loses nothing
//! let mut now = Time::ZERO;
//! while server.delivered_bytes() < 100_000 {
//!     now += Time::from_us(100);
//!     while let Some(segment) = client.poll_transmit(now) {
//!         server.on_segment(now + Time::from_us(100), &segment, &mut ());
//!     }
//!     now += Time::from_us(100);
//!     while let Some(segment) = server.poll_transmit(now) {
//!         client.on_segment(now + Time::from_us(100), &segment, &mut ());
//!     }
//! }
//! assert_eq!(client.counters().retransmits, 0);
//! ```
//!
//! Not here: simultaneous open, TIME-WAIT, giving up, urgent data, path MTU discovery, PAWS, a smaller
//! window after idle periods (RFC 5681 4.1).

mod ack_policy;
mod checks;
mod clock;
mod congestion;
mod connection;
mod decision;
mod delivery_rate;
mod ecn;
mod handshake;
mod info;
mod offload;
mod pacing;
mod presets;
mod random;
mod ranges;
mod receive_offload;
mod receiver;
mod recovery;
mod report;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod seq;
mod settings;
mod sizing;
mod small_queue;
mod timers;

pub use checks::SettingError;
pub use congestion::{
    AckSample, CongestionControl, Controller, ControllerFactory, Controllers, Custom, Setup, Start,
    Window,
};
pub use connection::Connection;
pub use decision::{Decision, DecisionCause, DecisionKind};
pub use delivery_rate::{RateSample, Totals};
pub use ecn::Ecn;
pub use info::{CaState, Info};
pub use presets::Preset;
pub use recovery::State as RecoveryState;
pub use report::{Counters, Events, Gauges, Timeout, TimeoutCause};
pub use segment::{Flags, Options, SackBlock, Segment, SynOptions, Timestamps};
pub use settings::{
    AckPolicy, Pacing, PayloadSizing, RtoRule, Settings, WindowReduction, WindowUnit,
};
pub use sizing::TcpRand;
