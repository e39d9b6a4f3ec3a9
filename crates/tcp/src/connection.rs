//! One endpoint of a connection: the handshake, and the two halves that it opens.

mod handshake;
mod status;
mod transmit;

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

use crate::ecn::{Ecn, EcnUse};
use crate::receiver::{OwnRtt, Receiver};
use crate::report::Events;
use crate::segment::{Flags, Segment};
use crate::sender::Sender;
use crate::seq;
use crate::settings::Settings;
use crate::timers::Timers;
use handshake::{Handshake, Phase};

/// Minimum time between two answers to segments that are out of place (`tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Duration = Duration::from_ms(500);

/// One endpoint: a sender, a receiver, and the handshake that joins them to their peer.
///
/// After each event ([`Self::on_segment`], [`Self::on_timer`], a write) call [`Self::poll_transmit`] until it returns
/// `None`, then ask [`Self::poll_timer`] for the next deadline. The first poll of an active endpoint sends its SYN.
///
/// The application is assumed to read data as soon as it arrives, and to close when its peer has closed unless
/// [`Self::set_closes_with_peer`] says otherwise.
// More than 15 fields: the results of the handshake, which both halves use, are kept beside the halves.
#[derive(Debug)]
#[repr(C)] // what a data segment reads comes first, then what an ACK reads
pub struct Connection {
    pub(crate) phase: Phase,
    /// the connection does not use ECN, and `released` is empty
    plain: bool,
    /// timestamps go on every segment
    pub(crate) timestamps: bool,
    /// both sides use SACK
    pub(crate) sack: bool,
    pub(crate) ecn: EcnUse,
    /// shift of the windows in outgoing segments
    pub(crate) window_scale: u8,
    fixed_header: u8,
    finished: bool,
    paws: bool,
    answers_invalid_acks: bool,
    /// the application closes as soon as its peer has closed
    pub(crate) closes_with_peer: bool,
    /// the peer had already closed when this end closed
    closes_last: bool,
    /// the deadlines of both halves
    pub(crate) timers: Timers,
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
    /// from when on a segment that is out of place is answered again
    answers_from: Instant,
    /// segments that an ACK has released, to be polled before all others, with the codepoint of each
    released: VecDeque<(Segment, Ecn)>,
    pub(crate) handshake: Box<Handshake>,
}

impl Connection {
    /// An endpoint that opens the connection. Its first sequence number is 0.
    pub fn active(settings: &Settings) -> Self {
        Self::new(settings, 0, 0, Phase::SynSent)
    }

    /// An endpoint that waits for a SYN. Its first sequence number is 0.
    pub fn passive(settings: &Settings) -> Self {
        Self::new(settings, 0, 0, Phase::Listen)
    }

    /// Sets the initial sequence number, which is 0 otherwise. Call it before the handshake.
    #[must_use]
    pub fn with_isn(self, isn: u32) -> Self {
        self.assert_new();
        let handshake = &self.handshake;
        Self::new(&handshake.settings, isn, handshake.seed, self.phase)
    }

    /// Sets the seed of the random numbers that some settings use, which is 0 otherwise. Endpoints with the same seed
    /// draw the same numbers. Call it before the handshake.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.assert_new();
        let isn = seq::wire(self.sender.start() - 1);
        Self::new(&self.handshake.settings, isn, seed, self.phase)
    }

    /// Sets the number of the flow, which is 0 otherwise. A congestion control sees it ([`Start::flow`]). Call it after the
    /// other two.
    ///
    /// [`Start::flow`]: crate::Start::flow
    #[must_use]
    pub fn with_flow(mut self, flow: u32) -> Self {
        self.assert_new();
        self.handshake.flow = flow;
        self
    }

    fn assert_new(&self) {
        let is_new = matches!(self.phase, Phase::Listen | Phase::SynSent);
        assert!(is_new, "the handshake has already begun");
    }

    fn new(settings: &Settings, isn: u32, seed: u64, phase: Phase) -> Self {
        let sender = Sender::new(settings, isn, seed).opening(match phase {
            Phase::SynSent => settings.syn_linear_timeouts,
            _ => 0,
        });
        let needs_ecn = sender.needs_ecn();
        Self {
            phase,
            plain: false,
            timestamps: settings.timestamps,
            sack: settings.sack,
            ecn: EcnUse {
                on: settings.ecn || needs_ecn,
                on_all: needs_ecn,
                codepoint: Ecn::NotEct,
            },
            window_scale: settings.window_scale,
            fixed_header: settings.fixed_header_bytes,
            paws: settings.paws,
            answers_invalid_acks: settings.answers_invalid_acks,
            answers_from: Instant::ZERO,
            released: VecDeque::new(),
            finished: false,
            closes_with_peer: true,
            closes_last: false,
            timers: Timers::new(settings.clock_tick_ps),
            sender,
            receiver: Receiver::new(settings),
            handshake: Box::new(Handshake::new(settings, seed, phase)),
        }
    }

    /// The application writes `bytes` of data.
    ///
    /// # Panics
    /// If the connection is closed by this side, or by the peer and read to its end.
    pub fn write(&mut self, bytes: u64) {
        self.finished = false;
        self.sender.write(bytes);
    }

    /// The application writes data without end.
    ///
    /// # Panics
    /// As [`Self::write`].
    pub fn write_endless(&mut self) {
        self.finished = false;
        self.sender.write_endless();
    }

    /// The application closes: FIN follows the last byte written, even if the handshake is not complete yet. (RFC 9293
    /// 3.10.4 would drop the connection in that case; [`Self::abort`] does so.)
    pub fn close(&mut self) {
        self.begin_close();
        self.sender.close();
    }

    /// The application stops: data that was written but not yet sent is discarded, and FIN follows what was sent.
    pub fn stop(&mut self) {
        self.begin_close();
        self.sender.stop();
    }

    /// From now on the connection is finished only when the FIN is acknowledged. If the peer's FIN has arrived already,
    /// this end closes last (RFC 9293 3.6).
    fn begin_close(&mut self) {
        self.finished = false;
        if !self.sender.is_closing() {
            self.closes_last = self.receiver.is_closed();
        }
    }

    /// A segment arrived, in a packet without ECN.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, events: &mut impl Events) {
        self.on_packet(now, segment, Ecn::NotEct, events);
    }

    /// A segment arrived, in a packet with the codepoint `ecn`.
    #[inline]
    pub fn on_packet(
        &mut self,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        events: &mut impl Events,
    ) {
        if self.phase == Phase::Established && !segment.flags.intersects(Flags::SYN | Flags::RST) {
            self.on_established(now, segment, ecn, events);
        } else {
            self.on_handshake(now, segment, ecn, events);
        }
    }

    /// Processes a segment by RFC 9293 3.10.7.4, from the ACK field on.
    #[expect(clippy::inline_always, reason = "the hot path: every packet received")]
    #[inline(always)]
    pub(crate) fn on_established(
        &mut self,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        events: &mut impl Events,
    ) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if !self.receiver.accepts(segment) {
            if !self.is_old_ack(segment) {
                self.refuse(now, segment);
            }
            return;
        }
        let stale = self.timestamps && self.receiver.is_stale(segment);
        if stale && self.rejects_stale(now, segment) {
            return;
        }
        if !self.sender.on_ack(&mut self.timers, now, segment, events) {
            if self.answers_invalid_acks {
                self.receiver.acks.at_once();
            }
            return;
        }
        if self.timestamps && !stale {
            self.receiver.note_timestamp(segment);
        }
        if segment.sequence_length() > 0 && !self.is_over() {
            if self.sender.is_in_episode() {
                self.send_released(now, segment);
            }
            if self.ecn.on && !self.receiver.is_bare_fin(segment) {
                let cwr = segment.flags.contains(Flags::CWR);
                self.receiver.note_codepoint(ecn, cwr);
            }
            let rtt = self.sender.rtt();
            let own = OwnRtt {
                rto: rtt.rto(),
                srtt: rtt.srtt(),
            };
            self.receiver.on_data(&mut self.timers, now, segment, own);
            if self.ecn.on {
                self.receiver.acks.answer_ecn(self.receiver.window());
            }
            if self.receiver.is_closed() {
                self.on_peer_closed(now);
            }
        }
        if !self.finished && self.is_all_acknowledged() {
            self.finish(now, events);
        }
    }

    /// The peer has closed. If the application closed before it, no later FIN will carry the ACK (`tcp_fin`).
    #[cold]
    fn on_peer_closed(&mut self, now: Instant) {
        if self.sender.is_closing() {
            self.receiver.acks.at_once();
            if self.receiver.owes_ack_of_fin() && !self.closes_last {
                self.acknowledge_fin(now);
            }
            return;
        }
        self.receiver.forget_report_before();
        if self.closes_with_peer {
            self.close();
        }
    }

    /// All data is acknowledged. If both ends have closed, the end that closed last is now closed; the other end stays,
    /// to acknowledge the peer's FIN if it arrives again.
    #[cold]
    fn finish(&mut self, now: Instant, events: &mut impl Events) {
        self.finished = true;
        if self.sender.is_closing() {
            self.phase = if self.closes_last {
                Phase::Closed
            } else {
                Phase::TimeWait
            };
            self.answers_from = Instant::ZERO;
            self.timers.stop_all();
        }
        events.finished(now);
    }

    /// Whether PAWS drops a pure ACK in silence, because data overtook it (`tcp_disordered_ack_check`, since 6.14).
    #[cold]
    fn is_old_ack(&self, segment: &Segment) -> bool {
        self.paws && segment.sequence_length() == 0 && self.receiver.is_overtaken(segment)
    }

    /// Answers a segment that is not acceptable with what is still missing (RFC 9293 3.10.7.4, RFC 7323 5.3 R1). A pure
    /// ACK, which may be the answer to such an answer, is answered at most twice per second (`tcp_oow_rate_limited`).
    #[cold]
    fn refuse(&mut self, now: Instant, segment: &Segment) {
        if segment.sequence_length() > 0 || self.answers_again(now) {
            self.receiver.on_unacceptable(segment);
        }
    }

    /// Whether to drop a segment with an old timestamp, which PAWS requires. A duplicate ACK that was overtaken is not
    /// dropped, unless it would change the window (`tcp_disordered_ack`).
    #[cold]
    #[inline(never)]
    fn rejects_stale(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.paws || !self.receiver.is_long_stale(segment) {
            return false;
        }
        if self.is_old_ack(segment) {
            return true;
        }
        if segment.sequence_length() == 0 && self.sender.is_duplicate(segment) {
            return false;
        }
        self.refuse(now, segment);
        true
    }

    /// Whether a segment that is out of place is answered: at most twice per second (`tcp_oow_rate_limited`).
    #[cold]
    pub(crate) fn answers_again(&mut self, now: Instant) -> bool {
        let answers = now >= self.answers_from;
        if answers {
            self.answers_from = now + ANSWER_INTERVAL;
        }
        answers
    }

    /// Handles the timers that are due at `now`. Does nothing before [`Self::poll_timer`].
    pub fn on_timer(&mut self, now: Instant, events: &mut impl Events) {
        let rto = self.sender.rtt().rto();
        self.receiver.acks.on_timer(&mut self.timers, now, rto);
        self.sender.pass_decisions(now, events);
        if self.sender.on_timer(&mut self.timers, now, events) {
            self.handshake.due = true;
        }
        self.sender.pass_decisions(now, events);
    }

    /// When [`Self::on_timer`] must be called next; none if no timer is running.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        let deadline = self.timers.next();
        (deadline != Instant::NEVER).then_some(deadline)
    }

    /// Whether the handshake is complete at this end.
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// Whether there was something to send and all of it is acknowledged. If either side has closed, both FINs must
    /// have arrived as well.
    #[inline]
    pub fn is_finished(&self) -> bool {
        let open = [Phase::Established, Phase::TimeWait, Phase::Closed];
        open.contains(&self.phase) && self.is_all_acknowledged()
    }

    /// The same test as [`Self::is_finished`], without looking at the phase.
    #[inline]
    fn is_all_acknowledged(&self) -> bool {
        self.sender.is_done() && (!self.sender.is_closing() || self.receiver.is_closed())
    }

    /// Whether both ends have closed, and both FINs are acknowledged. Of the segment that acknowledges this end's FIN
    /// nothing else counts (`TCP_CLOSING` and `TCP_LAST_ACK` in `tcp_rcv_state_process`).
    #[inline]
    fn is_over(&self) -> bool {
        self.sender.is_closing() && self.is_all_acknowledged()
    }

    /// Sets whether a short segment waits while data is unacknowledged (`TCP_NODELAY` turns this off).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.sender.set_nagle(nagle);
    }

    /// Sets whether the application closes when its peer has closed. If not, it may go on writing (RFC 9293 3.6,
    /// half-close) until [`Self::close`].
    pub fn set_closes_with_peer(&mut self, closes: bool) {
        self.closes_with_peer = closes;
    }

    /// The application aborts (RFC 9293 3.10.5): nothing more is sent or received. Returns the RST to send, if the peer
    /// holds the connection open.
    pub fn abort(&mut self, now: Instant) -> Option<Segment> {
        let open = self.is_established();
        let mut rst = self.segment(now, self.sender.nxt());
        rst.flags |= Flags::RST;
        self.reset();
        open.then_some(rst)
    }
}
