//! The sending half: what an ACK means, what a timeout means. What goes out is in `transmit`.

mod ecn;
mod eifel;
mod holds;
mod info;
mod peer_window;
mod rate;
mod repair;
mod timeout;
mod transmit;
mod window_use;

use fairport_units::Time;

use self::ecn::Reaction;
use self::peer_window::PeerWindow;
use self::rate::BeforeAck;
use self::repair::Repair;
use self::window_use::WindowUse;
use crate::clock::TimestampClock;
use crate::congestion::{AckSample, Congestion};
use crate::offload::Offload;
use crate::pacing::Pacer;
use crate::recovery::undo::Undo;
use crate::recovery::{Recovery, State};
use crate::report::{Counters, Events, Gauges};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Acked, Chunk, Scoreboard};
use crate::segment::Segment;
use crate::seq;
use crate::settings::Settings;
use crate::sizing::Sizing;
use crate::small_queue::SmallQueue;
use crate::timers::{Timer, Timers};

/// Where the stream of an application that never stops ends: farther than any connection comes.
const ENDLESS: u64 = u64::MAX / 2;

/// What was agreed on in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// when
    pub(crate) at: Time,
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
    /// RACK, TLP, PRR, undo, F-RTO, where any of it is on
    repair: Option<Box<Repair>>,
    /// undo without SACK, where that is on
    eifel: Option<Box<Undo>>,
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
    sack: bool,
    nagle: bool,
    minshall: bool,
    /// where the last short segment ended (Linux's `snd_sml`)
    short_end: u64,
    /// RFC 5827
    early_retransmit: bool,
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
    /// what the kernel adds to the timers of `repair`
    timer_slack: Time,
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
            recovery: Recovery::new(settings.sack, settings.limited_transmit, start - 1),
            repair: None,
            eifel: None,
            rtt: RttEstimator::new(settings),
            clock: TimestampClock::new(settings.clock_granularity_ps),
            payload: settings.mss_bytes,
            sizing: Sizing::new(settings, seed),
            pacer: Pacer::new(settings, congestion.pacing_rate().is_some(), seed),
            before_ack: None,
            small_queue: SmallQueue::new(settings, congestion.pacing_rate().is_some()),
            offload: settings.segmentation_offload.then(Box::default),
            ecn: None,
            sack: settings.sack,
            nagle: settings.nagle,
            minshall: settings.minshall,
            short_end: 0,
            early_retransmit: settings.early_retransmit,
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
            timer_slack: Time::from_ps(settings.timer_slack_ps),
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
        self.sack = agreed.sack;
        self.congestion = Congestion::new(settings, agreed.payload);
        if self.counters.timeouts > 0 {
            self.congestion.start_small();
        }
        self.board = Scoreboard::new(self.start, self.congestion.window().unit());
        self.recovery = Recovery::new(agreed.sack, settings.limited_transmit, self.start - 1);
        self.peer = PeerWindow::open(agreed.peer_window_scale, peer_nxt, self.start, window);
        self.rtt.handshake_done();
        timers.stop_retransmission();
        if agreed.sack
            && let Some(repair) = Repair::new(settings, self.rtt.srtt())
        {
            self.board.track_deliveries();
            if repair.is_by_time() {
                self.recovery.rely_on_time();
            }
            self.repair = Some(repair);
        }
        self.eifel = (settings.undo && !agreed.sack).then(|| Box::new(Undo::new(true)));
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
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        self.clock.value(now)
    }

    #[inline]
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Takes in the acknowledgement, the window and the SACK blocks of a segment. False if it
    /// acknowledges what was not sent.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        timers: &mut Timers,
        now: Time,
        segment: &Segment,
        events: &mut impl Events,
    ) -> bool {
        if self.before_ack.is_some() {
            self.note_before_ack();
        }
        let una = self.board.una();
        let ack = seq::unwrap(una, segment.ack);
        if ack > self.board.nxt() {
            return false;
        }
        if ack < una {
            return self.on_old_ack(timers, now, ack, segment, events);
        }
        if self.ecn.is_some() {
            self.on_echo(ack, segment.flags);
        }
        let window_changed = self.peer.update(segment, ack, ack > una);
        if let Some(mut repair) = self.repair.take() {
            self.on_ack_repaired(
                timers,
                &mut repair,
                now,
                (ack, segment),
                window_changed,
                events,
            );
            self.repair = Some(repair);
            return true;
        }
        if ack > una {
            self.on_advance(timers, now, ack, segment, events);
        } else if segment.sequence_length() == 0 && !window_changed && !self.board.is_empty() {
            self.recovery.on_duplicate(&self.board);
        }
        if self.sack && segment.options.has_sacks() {
            let mut news = false;
            for block in segment.options.sacks() {
                news |= self.board.sack(block);
            }
            if news {
                self.board.mark_lost_by_sack();
            }
        }
        if self.recovery.is_due(&self.board)
            || (self.early_retransmit
                && !self.has_unsent()
                && self.recovery.is_due_early(&mut self.board))
        {
            let before = self.present_window();
            self.note_episode(before);
            self.reduce_window();
            self.recovery.enter_fast(&mut self.board);
            self.counters.fast_recoveries += 1;
        }
        true
    }

    /// An acknowledgement that was overtaken: its SACK blocks may tell something new still. False if it
    /// is older than any that can be under way (RFC 5961 5.2).
    #[cold]
    #[inline(never)]
    fn on_old_ack(
        &mut self,
        timers: &mut Timers,
        now: Time,
        ack: u64,
        segment: &Segment,
        events: &mut impl Events,
    ) -> bool {
        let una = self.board.una();
        if ack + self.peer.largest().min(una - self.start) < una {
            return false;
        }
        if segment.options.has_sacks()
            && let Some(mut repair) = self.repair.take()
        {
            self.on_ack_repaired(timers, &mut repair, now, (ack, segment), true, events);
            self.repair = Some(repair);
        }
        true
    }

    /// The congestion control's answer to a loss.
    fn reduce_window(&mut self) {
        self.queue_cwr();
        let window = self.congestion.window();
        // unless an undo has taken the reduction back meanwhile
        let stands = window.cwnd == window.ssthresh && self.is_reduced(self.board.una());
        if stands && !self.congestion.halves_on_loss() {
            return;
        }
        let before = self.congestion.window().cwnd;
        self.congestion.on_loss();
        self.begin_epoch(before);
    }

    /// The window has fallen from `before`, for a loss or a mark.
    fn begin_epoch(&mut self, before: u64) {
        if let Some(sizing) = &mut self.sizing {
            sizing.on_loss(before, self.congestion.window().ssthresh);
        }
    }

    /// `SND.UNA` moves to `ack`.
    #[inline]
    fn on_advance(
        &mut self,
        timers: &mut Timers,
        now: Time,
        ack: u64,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        let (acked, rtt) = self.take_ack(now, ack, segment, events);
        if self.board.is_empty() {
            timers.stop_retransmission();
        } else {
            // RFC 6298 5.3
            timers.start(Timer::Retransmission, now, self.rtt.rto());
        }
        if self.recovery.state() != State::Open && self.eifel.is_some() {
            self.heed_echo(segment);
        }
        let state = self.recovery.state();
        let told = if self.counts_duplicates {
            // what fills the hole is news at least
            let most = u64::from(acked.segments).saturating_sub(1);
            self.recovery.told().min(most)
        } else {
            0
        };
        self.recovery.on_advance(&mut self.board, acked.amount);
        let delivered = acked.amount.saturating_sub(told * self.board.unit());
        self.grow(now, delivered, acked.segments - told as u32, rtt, state);
    }

    /// Takes what is acknowledged off the scoreboard, and the round-trip time that it tells.
    #[inline]
    fn take_ack(
        &mut self,
        now: Time,
        ack: u64,
        segment: &Segment,
        events: &mut impl Events,
    ) -> (Acked, Option<Time>) {
        let acked = self.board.ack(ack);
        let rtt = match acked.sent {
            Some(sent) if !acked.retransmitted => Some(now - sent),
            _ => self.echoed_rtt(now, segment),
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(now, rtt, ack, self.board.nxt());
            events.rtt_sample(now, rtt);
        } else {
            self.rtt.no_sample();
        }
        self.timeouts = 0;
        (acked, rtt)
    }

    /// Tells congestion control of an ACK that moved `SND.UNA`.
    #[inline]
    fn grow(&mut self, now: Time, acked: u64, segments: u32, rtt: Option<Time>, state: State) {
        self.congestion.on_ack(&AckSample {
            now,
            acked,
            segments,
            marked: self.marked_of(acked),
            rtt,
            srtt: self.rtt.srtt(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            state,
            limited: self.is_window_limited() && !self.is_reduced(self.board.una()),
        });
        self.note_growth(now);
    }

    /// What the timestamps option says of a round trip (RFC 7323 4): where a segment was
    /// retransmitted, the echo tells which transmission is acknowledged.
    #[cold]
    fn echoed_rtt(&self, now: Time, segment: &Segment) -> Option<Time> {
        let timestamps = segment.options.timestamps()?;
        self.clock.since(now, timestamps.ecr)
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
