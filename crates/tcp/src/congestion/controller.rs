//! What a congestion control is: a trait with a default for everything.
//!
//! The defaults are NewReno (RFC 5681), so an algorithm says only where it differs. A new one is a
//! file in this folder and a line in [`super::algorithm`]; one outside this crate is a type that
//! implements [`Controller`] and a factory for it ([`super::Controllers`]).
//!
//! Loss recovery finds losses, decides what is sent again, and sets the window during fast
//! recovery. The algorithm grows the window with each ACK and says how far it falls. Amounts of data
//! are in the window's unit ([`Window::unit`]): segments or bytes, as the stack counts.

use std::fmt::Debug;

use fairport_units::{Duration, Instant};

use super::Window;
use crate::delivery_rate::RateSample;
use crate::recovery::State;
use crate::settings::Settings;

/// What a congestion control may know of its connection when it is made.
///
/// It is made twice: for the handshake, and once more with the segment size that both sides agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The settings of the stack.
    pub settings: &'a Settings,
    /// Payload of a full segment, in bytes.
    pub segment_bytes: u16,
    /// A full segment in the window's unit: 1, or its bytes.
    pub unit: u64,
}

/// The handshake is complete.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// When.
    pub now: Instant,
    /// The round-trip time that the handshake measured.
    pub rtt: Option<Duration>,
    /// Seed for everything random: the same seed must give the same run.
    pub seed: u64,
}

/// An ACK that acknowledges new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged data, in the window's unit. With SACK recovery of Linux: newly delivered.
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
    /// `SND.NXT`, likewise. A round trip ends when what is next to be sent now is acknowledged.
    pub nxt: u64,
    /// The state of loss recovery: before this ACK, or after it in a rate sample.
    pub state: State,
    /// The window was what held the sender back, and it is not being reduced for an ECN mark. A
    /// window that is not used does not grow (RFC 7661 3; Linux's `tcp_is_cwnd_limited`).
    pub limited: bool,
}

impl AckSample {
    /// Whether the window may grow for this ACK.
    #[inline]
    pub fn may_grow(&self) -> bool {
        self.limited && self.state != State::Fast
    }
}

/// A congestion control. Every method has a default; together they are NewReno.
pub trait Controller: Debug + Send + Sync {
    /// The handshake is complete, and data may follow.
    fn on_established(&mut self, _window: &mut Window, _start: &Start) {}

    /// An ACK acknowledged new data: the window may grow, where [`AckSample::may_grow`] says so.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.grow_as_newreno(ack);
    }

    /// The window does not grow for an ACK, but what it SACKs gives a round-trip time (`pkts_acked` of Linux).
    fn on_sack_rtt(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// An ACK arrived at a sender that [`Self::wants_rate_samples`], whether it acknowledges new data
    /// or not. `ack.acked` counts what was SACKed as well.
    fn on_rate_sample(&mut self, _window: &mut Window, _ack: &AckSample, _rate: &RateSample) {}

    /// Data was lost: set the slow-start threshold ([`Window::lower_threshold`]). Loss recovery brings
    /// the window down to it, at once or gradually.
    fn on_loss(&mut self, window: &mut Window) {
        window.lower_threshold(window.cwnd / 2);
    }

    /// An ECN mark was reported, once per window of data: set the threshold (RFC 3168 6.1.2).
    fn on_mark(&mut self, window: &mut Window) {
        self.on_loss(window);
    }

    /// The retransmission timer fired. The window is already down to one segment, and for the first of
    /// several timeouts [`Self::on_loss`] was called.
    fn on_timeout(&mut self, _window: &mut Window) {}

    /// The last reduction was needless. Window and threshold are what they were, unless the algorithm
    /// [`sets_window`](Self::sets_window).
    fn on_undo(&mut self) {}

    /// Data goes out, and nothing was outstanding for `idle`.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    /// The first segment goes out after the application had nothing to send. Called where it
    /// [`wants_rate_samples`](Self::wants_rate_samples).
    fn on_resume(&mut self, _window: &mut Window, _now: Instant) {}

    /// Both sides use ECN.
    fn use_ecn(&mut self) {}

    /// An ACK up to position `una` arrived at a sender that uses ECN, before it is looked at;
    /// `nxt` is next to be sent.
    fn on_ecn_ack(&mut self, _una: u64, _nxt: u64) {}

    /// Whether a loss lowers the threshold even where a mark has done so in the same window of data.
    fn reduces_after_mark(&self) -> bool {
        false
    }

    /// Whether it needs ECN, as DCTCP does: ECN is offered whatever the settings say, every
    /// segment is ECN-capable, and ACKs report exactly which data was marked (RFC 8257).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// The window at which a gradual reduction by rate halving ends.
    fn least_window(&self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// Whether it alone sets the window: loss recovery and idle periods do not change it.
    fn sets_window(&self) -> bool {
        false
    }

    /// Whether every ACK is to bring a [`RateSample`].
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether it holds the flight small to measure the round-trip time, so that rate samples count
    /// as limited by the application.
    fn is_probing_rtt(&self) -> bool {
        false
    }

    /// Pacing rate in bytes per second, where the algorithm sets it: from the start, or never.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}
