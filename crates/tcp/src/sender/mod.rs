//! The sending half. What an ACK does is in `ack`, what a loss does to the window in `episode`, what a
//! timeout does in `timeout`, what goes out in `transmit`.

mod ack;
mod ecn;
mod episode;
mod holds;
mod info;
mod loss_timers;
mod peer_window;
mod rate;
mod timeout;
mod transmit;
mod window_use;

use fairport_units::{Duration, Instant};

use self::ecn::Reaction;
use self::peer_window::PeerWindow;
use self::rate::BeforeAck;
use self::window_use::WindowUse;
use crate::clock::TimestampClock;
use crate::congestion::Congestion;
use crate::offload::Offload;
use crate::pacing::Pacer;
use crate::recovery::Recovery;
use crate::report::{Counters, Gauges};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Chunk, Scoreboard};
use crate::seq;
use crate::settings::Settings;
use crate::sizing::Sizing;
use crate::small_queue::SmallQueue;
use crate::timers::Timers;

/// Where the stream of an application that never stops ends: farther than any connection comes.
const ENDLESS: u64 = u64::MAX / 2;

/// What was agreed on in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// when
    pub(crate) at: Instant,
    /// of what is drawn at random
    pub(crate) seed: u64,
    /// largest payload of a data segment, options taken out
    pub(crate) payload: u16,
    pub(crate) sack: bool,
    /// by which the peer's windows are shifted
    pub(crate) peer_window_scale: u8,
}

/// What the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Data(Chunk),
    /// An empty segment below the window, which the peer must answer.
    Probe,
}

/// The sending half of an endpoint.
#[derive(Debug)]
pub(crate) struct Sender {
    board: Scoreboard,
    /// where the data that the application wrote ends
    write_end: u64,
    peer: PeerWindow,
    congestion: Congestion,
    recovery: Recovery,
    rtt: RttEstimator,
    clock: TimestampClock,
    /// largest payload of a data segment
    payload: u16,
    /// draws payloads; none: they are the largest
    sizing: Option<Box<Sizing>>,
    /// spaces segments; none: they leave back to back
    pacer: Option<Box<Pacer>>,
    /// sends bursts; none: single segments
    offload: Option<Box<Offload>>,
    /// where each ACK is to tell congestion control how fast the network delivers
    before_ack: Option<Box<BeforeAck>>,
    /// limits what waits in the host; none: any amount
    small_queue: Option<Box<SmallQueue>>,
    /// where both sides use ECN
    ecn: Option<Reaction>,
    nagle: bool,
    minshall: bool,
    /// where the last short segment ended (Linux's `snd_sml`)
    short_end: u64,
    /// the timer restarts when the first outstanding segment is sent again
    restart_on_head: bool,
    /// a duplicate ACK counts a segment as delivered, which is not counted once more when `SND.UNA` moves
    counts_duplicates: bool,
    usage: WindowUse,
    /// the application is done writing
    closing: bool,
    fin_sent: bool,
    /// the peer's window is to be probed with the next poll
    probe: bool,
    /// probes in a row
    probes: u32,
    /// timeouts in a row, without `SND.UNA` moving
    timeouts: u32,
    /// timeouts of the handshake that do not double the timeout
    linear_timeouts: u64,
    /// what the kernel adds to the timer of late segments
    timer_slack: Duration,
    /// the first octet of data
    start: u64,
    counters: Counters,
}

impl Sender {
    /// Before the handshake; `isn` is the number of the SYN.
    pub(crate) fn new(settings: &Settings, isn: u32, seed: u64) -> Self {
        let start = seq::first(isn) + 1;
        let congestion = Congestion::new(settings, settings.mss_bytes);
        Self {
            board: Scoreboard::new(start, congestion.window().unit()),
            write_end: start,
            peer: PeerWindow::default(),
            recovery: Recovery::new(settings, settings.sack, start - 1, None),
            rtt: RttEstimator::new(settings),
            clock: TimestampClock::new(settings.clock_granularity_ps),
            payload: settings.mss_bytes,
            sizing: Sizing::new(settings, seed),
            pacer: Pacer::new(settings, congestion.pacing_rate().is_some(), seed),
            before_ack: None,
            small_queue: SmallQueue::new(settings, congestion.pacing_rate().is_some()),
            offload: settings.segmentation_offload.then(Box::default),
            ecn: None,
            nagle: settings.nagle,
            minshall: settings.minshall,
            short_end: 0,
            restart_on_head: settings.rto_restarts_on_retransmit,
            counts_duplicates: settings.duplicate_acks_deliver && settings.abc,
            usage: WindowUse::new(settings, congestion.sets_window()),
            congestion,
            closing: false,
            fin_sent: false,
            probe: false,
            probes: 0,
            timeouts: 0,
            linear_timeouts: 0,
            timer_slack: Duration::from_ps(settings.timer_slack_ps),
            start,
            counters: Counters::default(),
        }
    }

    /// Its SYN or SYN-ACK is waited for `linear_timeouts` times before the timeout begins to double.
    pub(crate) fn opening(self, linear_timeouts: u32) -> Self {
        Self {
            linear_timeouts: u64::from(linear_timeouts),
            ..self
        }
    }

    /// The handshake is over: `window` is the first one of the peer, in octets, and `peer_nxt` the
    /// next octet that it sends.
    pub(crate) fn open(
        &mut self,
        timers: &mut Timers,
        settings: &Settings,
        agreed: Agreed,
        peer_nxt: u64,
        window: u64,
    ) {
        self.payload = agreed.payload;
        self.congestion = Congestion::new(settings, agreed.payload);
        if self.counters.timeouts > 0 {
            self.congestion.start_small();
        }
        self.board = Scoreboard::new(self.start, self.congestion.window().unit());
        self.recovery = Recovery::new(settings, agreed.sack, self.start - 1, self.rtt.srtt());
        self.peer = PeerWindow::open(agreed.peer_window_scale, peer_nxt, self.start, window);
        self.rtt.handshake_done();
        timers.stop_retransmission();
        if self.recovery.tracks_deliveries() {
            self.board.track_deliveries();
        }
        self.begin_rate(agreed);
    }

    /// The application hands over `bytes` more.
    pub(crate) fn write(&mut self, bytes: u64) {
        assert!(!self.closing, "nothing is written after close");
        if self.before_ack.is_some() {
            self.note_gap();
        }
        self.write_end = self.write_end.saturating_add(bytes).min(ENDLESS);
    }

    /// The application never stops.
    pub(crate) fn write_endless(&mut self) {
        self.write(ENDLESS);
    }

    /// The application is done: FIN follows the last octet.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// The application takes back what was not sent, and is done.
    pub(crate) fn stop(&mut self) {
        if !self.fin_sent {
            self.write_end = self.board.nxt();
        }
        self.closing = true;
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// `SND.UNA`
    pub(crate) fn una(&self) -> u64 {
        self.board.una()
    }

    /// The first octet of data: the number after the SYN's.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// `SND.NXT`
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.board.nxt() < self.write_end || (self.closing && !self.fin_sent)
    }

    /// Whether there was anything to send, and all of it is acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.board.is_empty() && !self.has_unsent() && (self.closing || self.write_end > self.start)
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

    /// An amount in the window's unit, in octets.
    fn octets(&self, amount: u64) -> u64 {
        match self.congestion.window().unit() {
            1 => amount.saturating_mul(u64::from(self.payload)),
            _ => amount,
        }
    }

    /// See [`Gauges`].
    pub(crate) fn gauges(&self) -> Gauges {
        let window = self.congestion.window();
        let octets = |amount| self.octets(amount);
        let fin_acked = self.fin_sent && self.board.is_empty();
        Gauges {
            cwnd_bytes: octets(window.cwnd),
            ssthresh_bytes: octets(window.ssthresh),
            srtt: self.rtt.srtt(),
            in_flight_bytes: octets(self.board.pipe()),
            acked_bytes: self.board.una() - self.start - u64::from(fin_acked),
        }
    }

    /// See [`Counters`].
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }
}
