//! TCP as pure state machines: no clock, no network, no allocation after warm-up. Random numbers come only from a seed
//! that the caller gives.
//!
//! A [`Connection`] gets events with their times (`on_segment`, `on_timer`). It returns what to send
//! (`poll_transmit`, until that returns `None`) and when to come back (`poll_timer`). The same code is driven by a
//! simulator, by tables of exchanges and by scripts.
//!
//! Each policy is separate. Congestion control ([`Controller`]) decides how large the window is, loss recovery what is
//! sent again and when, payload sizing how long a segment is, pacing when a segment may leave, and the ACK policy when
//! the receiver acknowledges. The [`Settings`] of a stack choose among them; a [`Preset`] is a complete list of
//! settings, each with its source.
//!
//! ```
//! use fairport_tcp::{Connection, Settings};
//! use fairport_units::{Duration, Instant};
//!
//! let settings = Settings::preset("linux-2.6").expect("a preset");
//! let mut client = Connection::active(&settings);
//! let mut server = Connection::passive(&settings);
//! client.write(100_000);
//! // a path of 100 us each way that loses nothing
//! let mut now = Instant::ZERO;
//! while server.delivered_bytes() < 100_000 {
//!     now += Duration::from_us(100);
//!     while let Some(segment) = client.poll_transmit(now) {
//!         server.on_segment(now + Duration::from_us(100), &segment, &mut ());
//!     }
//!     now += Duration::from_us(100);
//!     while let Some(segment) = server.poll_transmit(now) {
//!         client.on_segment(now + Duration::from_us(100), &segment, &mut ());
//!     }
//! }
//! assert_eq!(client.counters().retransmits, 0);
//! ```
//!
//! Implemented, if the settings ask for it: window scaling, timestamps and PAWS (RFC 7323), SACK and DSACK (RFC 2018,
//! 2883), recovery by RFC 6582, 6675 and 8985, undo (RFC 3522, 3708, 4015, 5682), ECN (RFC 3168, 8257), a smaller
//! window after idle periods (RFC 2861), probes of a closed window, challenge ACKs (RFC 5961, without its limit per
//! second).
//!
//! Not implemented: simultaneous open, the end of TIME-WAIT, giving up after many timeouts, urgent data, path MTU
//! discovery, data on a SYN, keep-alive, a receive window that closes (the application reads at once).

mod congestion;
mod connection;
mod decision;
mod delivery_rate;
mod ecn;
mod presets;
mod random;
mod ranges;
mod receiver;
mod recovery;
mod report;
mod scoreboard;
mod segment;
mod sender;
mod seq;
mod settings;
mod sizing;
mod timers;

pub use congestion::{
    AckSample, CongestionControl, Controller, ControllerFactory, Controllers, Custom, EcnAck,
    Setup, Start, Window,
};
pub use connection::Connection;
pub use decision::{Decision, DecisionCause, DecisionKind};
pub use delivery_rate::{RateSample, Totals};
pub use ecn::Ecn;
pub use presets::Preset;
pub use recovery::State as RecoveryState;
pub use report::{Counters, Events, Gauges, Timeout, TimeoutCause};
pub use segment::{Flags, Options, SackBlock, Segment, SynOptions, Timestamps};
pub use sender::{CaState, Info};
pub use settings::{
    AckPolicy, Pacing, PayloadSizing, RtoRule, SettingError, Settings, WindowReduction, WindowUnit,
};
pub use sizing::{Sizing, TcpRand};
