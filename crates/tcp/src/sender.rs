//! The sending half. `ack_facts` collects the facts of an ACK, `ack` applies them, `episode` changes the window for a
//! loss, `timeout` handles a timeout, and `transmit` decides what is sent.

mod ack;
mod ack_facts;
mod clock;
mod ecn;
mod episode;
mod info;
mod loss_timers;
mod offload;
mod pacing;
mod peer_window;
mod persist;
mod policies;
mod rate;
mod rtt;
mod small_queue;
mod stream;
mod timeout;
mod transmit;
mod window_use;

use fairport_units::Instant;

use self::clock::TimestampClock;
use self::ecn::Reaction;
pub use self::info::{CaState, Info};
use self::peer_window::PeerWindow;
use self::persist::Persist;
use self::policies::Policies;
use self::rate::BeforeAck;
use self::rtt::RttEstimator;
use self::stream::{ENDLESS, Stream};
use self::timeout::RtoSeries;
use self::window_use::WindowUse;
use crate::congestion::Congestion;
use crate::recovery::Recovery;
use crate::report::{Counters, Gauges};
use crate::scoreboard::{Chunk, Scoreboard};
use crate::seq;
use crate::settings::Settings;
use crate::timers::Timers;

/// What the handshake agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// when the handshake was completed
    pub(crate) at: Instant,
    /// seed of the random numbers
    pub(crate) seed: u64,
    pub(crate) flow: u32,
    /// largest payload of a data segment, without the bytes of options
    pub(crate) payload: u16,
    /// how often the SYN or SYN-ACK was sent again; 0 if no timeout of it was needed
    pub(crate) repeats: u32,
    pub(crate) sack: bool,
    /// shift of the windows in the peer's segments
    pub(crate) peer_window_scale: u8,
}

/// What the sender wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Data(Chunk),
    /// An empty segment below the window, which the peer must acknowledge.
    Probe,
}

/// The sending half of an endpoint.
#[derive(Debug)]
#[repr(C)] // what the end that receives data reads as well comes first
pub(crate) struct Sender {
    /// the data that the application wrote, and how it is cut into segments
    stream: Stream,
    persist: Persist,
    /// the peer's window
    peer: PeerWindow,
    /// none if the connection does not use ECN, unless its window falls because the host's queue was full
    ecn: Option<Reaction>,
    /// none unless congestion control wants to know the delivery rate
    before_ack: Option<Box<BeforeAck>>,
    clock: TimestampClock,
    rtt: RttEstimator,
    /// the outstanding segments
    board: Scoreboard,
    /// other rules for when data is sent, and in what pieces
    policies: Policies,
    counters: Counters,
    rto: RtoSeries,
    usage: WindowUse,
    recovery: Recovery,
    /// the congestion window
    congestion: Congestion,
}

impl Sender {
    /// A sender before the handshake. `isn` is the sequence number of the SYN.
    pub(crate) fn new(settings: &Settings, isn: u32, seed: u64) -> Self {
        let start = seq::first(isn) + 1;
        let congestion = Congestion::new(settings, settings.mss_bytes);
        Self {
            stream: Stream::new(settings, start),
            board: Scoreboard::new(start, congestion.window().unit()),
            peer: PeerWindow::default(),
            persist: Persist::default(),
            usage: WindowUse::new(settings, congestion.sets_window()),
            ecn: None,
            recovery: Recovery::new(settings, settings.sack, start - 1, None),
            rto: RtoSeries::new(settings),
            rtt: RttEstimator::new(settings),
            clock: TimestampClock::new(settings.clock_granularity_ps),
            policies: Policies::new(settings, &congestion, seed),
            before_ack: None,
            congestion,
            counters: Counters::default(),
        }
    }

    /// Sets after how many timeouts of its SYN or SYN-ACK the timeout begins to double.
    pub(crate) fn opening(mut self, linear_timeouts: u32) -> Self {
        self.rto.linear_timeouts = u64::from(linear_timeouts);
        self
    }

    /// The handshake is complete. `window` is the peer's first window in bytes, and `peer_nxt` the next byte that it
    /// sends.
    pub(crate) fn open(
        &mut self,
        timers: &mut Timers,
        settings: &Settings,
        agreed: Agreed,
        peer_nxt: u64,
        window: u64,
    ) {
        self.stream.payload = agreed.payload;
        self.congestion = Congestion::new(settings, agreed.payload);
        if (1..=agreed.repeats).contains(&settings.syn_timeouts_to_one_segment) {
            self.congestion.start_with_one_segment();
        }
        self.board = Scoreboard::new(self.stream.start, self.congestion.window().unit());
        self.recovery = Recovery::new(
            settings,
            agreed.sack,
            self.stream.start - 1,
            self.rtt.srtt(),
        );
        self.peer = PeerWindow::open(
            agreed.peer_window_scale,
            peer_nxt,
            self.stream.start,
            window,
        );
        self.rtt.handshake_done();
        self.usage.begin(agreed.at);
        timers.stop_retransmission();
        if self.recovery.tracks_deliveries() {
            self.board.track_deliveries();
        }
        self.begin_rate(agreed);
    }

    /// The SYN timed out. This is a timeout of the connection (`tcp_enter_loss`).
    pub(crate) fn note_lost_syn(&mut self) {
        self.queue_cwr();
        self.recovery.hold_after_syn(self.board.una());
    }

    /// The application writes `bytes` more.
    pub(crate) fn write(&mut self, bytes: u64) {
        assert!(!self.stream.closing, "nothing is written after close");
        if self.before_ack.is_some() {
            self.note_gap();
        }
        self.stream.write(bytes);
    }

    /// The application writes data without end.
    pub(crate) fn write_endless(&mut self) {
        self.write(ENDLESS);
    }

    /// The application closes: FIN follows the last byte.
    pub(crate) fn close(&mut self) {
        self.stream.closing = true;
    }

    /// The application stops: data that was not sent is discarded, and FIN follows.
    pub(crate) fn stop(&mut self) {
        self.stream.stop(self.board.nxt());
    }

    /// From now on, segments that are sent again keep their boundaries.
    pub(crate) fn keep_boundaries(&mut self) {
        self.stream.joins = false;
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.stream.closing
    }

    /// The first byte of data: the number after the SYN's.
    pub(crate) fn start(&self) -> u64 {
        self.stream.start
    }

    /// `SND.NXT`
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.stream.has_unsent(self.board.nxt())
    }

    /// `SND.NXT`, or a lower number that the peer accepts, for a segment without data.
    #[inline]
    pub(crate) fn acceptable_nxt(&self) -> u64 {
        self.peer.acceptable(self.board.nxt())
    }

    /// Whether there was something to send, and all of it is acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.board.is_empty() && !self.stream.is_unused() && !self.has_unsent()
    }

    /// The value of the timestamp clock.
    #[inline]
    pub(crate) fn timestamp(&self, now: Instant) -> u32 {
        self.clock.value(now)
    }

    #[inline]
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Converts an amount in the window's unit into bytes.
    fn bytes(&self, amount: u64) -> u64 {
        self.congestion.window().bytes(amount)
    }

    /// See [`Gauges`].
    pub(crate) fn gauges(&self) -> Gauges {
        let window = self.congestion.window();
        let fin_sent = self.stream.fin_sent;
        let fin_acked = fin_sent && self.board.is_empty();
        let sent_bytes = self.board.nxt() - self.stream.start - u64::from(fin_sent);
        let acked_bytes = self.board.una() - self.stream.start - u64::from(fin_acked);
        Gauges {
            cwnd_bytes: self.bytes(window.cwnd),
            ssthresh_bytes: self.bytes(window.ssthresh),
            srtt: self.rtt.srtt(),
            in_flight_bytes: sent_bytes - acked_bytes,
            acked_bytes,
        }
    }

    /// See [`Counters`].
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }
}
