//! What a congestion control is: a trait with a default for everything.
//!
//! The defaults are NewReno (RFC 5681), so an algorithm implements only what differs. To add one, write a file in this
//! folder and a line in [`super::algorithm`]. One outside this crate is a type that implements [`Controller`], and a
//! factory for it ([`super::Controllers`]).
//!
//! Loss recovery finds losses, decides what is sent again, and sets the window during fast recovery. The algorithm
//! grows the window with each ACK and decides how far it falls. Amounts of data are in the window's unit
//! ([`Window::unit`]): segments or bytes, depending on the stack.

use std::fmt::Debug;

use fairport_units::{Duration, Instant};
use serde_json::{Map, Value};

use super::{CongestionControl, Window};
use crate::delivery_rate::{RateSample, Totals};
use crate::recovery::State;
use crate::settings::Settings;

/// What a congestion control is given when it is created.
///
/// It is created twice: for the handshake, and again with the segment size on which both sides agreed.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The settings of the stack.
    pub settings: &'a Settings,
    /// Payload of a full segment, in bytes.
    pub segment_bytes: u16,
    /// A full segment in the window's unit: 1, or its bytes.
    pub unit: u64,
}

impl<'a> Setup<'a> {
    /// The parameters that a scenario gives its custom congestion control.
    pub fn parameters(&self) -> Option<&'a Map<String, Value>> {
        match &self.settings.congestion_control {
            CongestionControl::Custom(it) => Some(it.parameters()),
            _ => None,
        }
    }
}

/// The handshake is complete.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// When the handshake was completed.
    pub now: Instant,
    /// The round-trip time that the handshake measured.
    pub rtt: Option<Duration>,
    /// Seed for all random numbers: the same seed must give the same run.
    pub seed: u64,
    /// Number of the flow ([`Connection::with_flow`](crate::Connection::with_flow)).
    pub flow: u32,
    /// Bytes that the application has written so far: 0 at a receiver. None: without end.
    pub size_bytes: Option<u64>,
}

/// An ACK that acknowledges new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Instant,
    /// Newly acknowledged data, in the window's unit. With Linux's SACK recovery it is newly delivered data.
    pub acked: u64,
    /// Newly acknowledged segments.
    pub segments: u32,
    /// The part of `acked` that the receiver reported as CE-marked.
    pub marked: u64,
    /// The round-trip time of this ACK, where Karn's rule allows one.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// `SND.UNA` after the ACK, as a position in the stream of bytes.
    pub una: u64,
    /// `SND.NXT` after the ACK, as a position in the stream of bytes. A round trip ends when data that is sent from
    /// here on is acknowledged.
    pub nxt: u64,
    /// The state of loss recovery before this ACK; in a call with a rate sample, after it.
    pub state: State,
    /// The window limited the sender, and is not being reduced for an ECN mark. A window that is not fully used does
    /// not grow (RFC 7661 3; Linux's `tcp_is_cwnd_limited`).
    pub limited: bool,
}

/// An ACK at a sender that uses ECN, whether it acknowledges new data or not.
#[derive(Clone, Copy, Debug)]
pub struct EcnAck {
    /// `SND.UNA` after the ACK, as a position in the stream of bytes.
    pub una: u64,
    /// `SND.NXT`, as a position in the stream of bytes.
    pub nxt: u64,
    /// All data delivered so far, in the window's unit: acknowledged, or `SACKed` if the stack counts that.
    pub delivered: u64,
    /// The part of `delivered` that ACKs with ECE delivered.
    pub marked: u64,
}

impl AckSample {
    /// Whether the window may grow for this ACK.
    #[inline]
    pub fn may_grow(&self) -> bool {
        self.limited && self.state != State::Fast
    }
}

/// A congestion control. Every method has a default; together they are NewReno.
///
/// A window or a threshold below one segment and a pacing rate of 0 stop the run with a message, in a congestion control
/// from outside this crate.
pub trait Controller: Debug + Send + Sync {
    /// The handshake is complete, and data may follow.
    fn on_established(&mut self, _window: &mut Window, _start: &Start) {}

    /// An ACK acknowledged new data. The window may grow if [`AckSample::may_grow`] says so.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.grow_as_newreno(ack);
    }

    /// The window does not grow for this ACK, but its SACK blocks give a round-trip time (Linux's `pkts_acked`).
    fn on_sack_rtt(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// An ACK arrived and [`Self::wants_rate_samples`] is true, whether or not it acknowledges new data. `ack.acked`
    /// includes SACKed data.
    fn on_rate_sample(&mut self, _window: &mut Window, _ack: &AckSample, _rate: &RateSample) {}

    /// Data was lost: set the slow-start threshold ([`Window::lower_threshold`]). Loss recovery brings
    /// the window down to it, at once or gradually.
    fn on_loss(&mut self, window: &mut Window) {
        window.lower_threshold(window.cwnd / 2);
    }

    /// An ECN mark was reported: set the threshold. Called once per window of data (RFC 3168 6.1.2).
    fn on_mark(&mut self, window: &mut Window) {
        self.on_loss(window);
    }

    /// The retransmission timer fired at `now`, when `nxt` was the position of the next new byte to send. The window is
    /// already one segment. For the first timeout of a series, [`Self::on_loss`] was called before.
    fn on_timeout(&mut self, _window: &mut Window, _now: Instant, _nxt: u64) {}

    /// After [`Self::on_timeout`], everything outstanding has been marked lost. Called only if
    /// [`wants_rate_samples`](Self::wants_rate_samples) is true.
    fn on_all_lost(&mut self, _window: &mut Window, _now: Instant, _totals: Totals) {}

    /// The last reduction was needless. Window and threshold are already restored, unless the algorithm
    /// [`sets_window`](Self::sets_window) itself.
    fn on_undo(&mut self) {}

    /// Data is sent after nothing was outstanding for `idle`.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    /// The first segment was sent after the application had nothing to send. Called only if
    /// [`wants_rate_samples`](Self::wants_rate_samples) is true.
    fn on_resume(&mut self, _window: &mut Window, _now: Instant) {}

    /// Both sides have agreed to use ECN.
    fn use_ecn(&mut self) {}

    /// An ACK arrived at a sender that uses ECN. Called before the window changes for it.
    fn on_ecn_ack(&mut self, _ack: &EcnAck) {}

    /// Whether a loss lowers the threshold even if a mark has lowered it in the same window of data.
    fn reduces_after_mark(&self) -> bool {
        false
    }

    /// Whether the algorithm needs ECN, as DCTCP does. ECN is then offered whatever the settings say, every segment is
    /// ECN-capable, and ACKs report exactly which data was marked (RFC 8257).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// The smallest window of a gradual reduction by rate halving.
    fn least_window(&self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// Whether the algorithm alone sets the window; loss recovery and idle periods then do not change it.
    fn sets_window(&self) -> bool {
        false
    }

    /// Whether every ACK brings a [`RateSample`].
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether the algorithm keeps the flight small to measure the round-trip time. Rate samples then count as limited
    /// by the application.
    fn is_probing_rtt(&self) -> bool {
        false
    }

    /// Pacing rate in bytes per second, if the algorithm sets one. It must do so from the start, or never.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}
