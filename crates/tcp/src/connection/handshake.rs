//! Opening a connection: SYN, SYN-ACK, what they agree on, and RST (RFC 9293 3.5, 3.10.7).
//!
//! A segment that belongs to no connection is answered with a RST. A RST or SYN that may be forged is answered with a
//! challenge ACK, at most twice per second (RFC 5961).
//!
//! Not implemented: simultaneous open (a SYN that crosses ours is ignored, and the timers do not repair this), data on
//! a SYN, and giving up (a SYN and data are sent again for ever).

use fairport_units::Instant;

use super::Connection;
use crate::ecn::Ecn;
use crate::report::Events;
use crate::segment::{Flags, Segment, SynOptions, Timestamps};
use crate::sender::Agreed;
use crate::seq;
use crate::settings::{MSS_MIN, Settings, TIMESTAMP_BYTES};

/// How far the connection is open. Closing needs no phases, because each half tracks its own FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// both ends have closed, this one first or at the same time: what comes again is acknowledged
    TimeWait,
    /// closed after the peer, with our FIN acknowledged (RFC 9293 3.3.2, LAST-ACK to CLOSED)
    Closed,
    /// reset by the peer, or aborted by the application
    Reset,
}

/// The MSS of a peer that does not send one (RFC 9293 3.7.1).
const MSS_DEFAULT: u16 = 536;

/// What the handshake needs and what it negotiates.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    /// number of the flow, for congestion control
    pub(crate) flow: u32,
    /// a SYN or SYN-ACK is to be sent at the next poll
    pub(crate) due: bool,
    /// when the SYN or SYN-ACK was first sent
    sent: Option<Instant>,
    /// how often it was sent again
    repeats: u32,
    /// the options of the peer's SYN
    peer: Option<SynOptions>,
    /// the RST that answers a segment of no connection, or the ACK that answers one in TIME-WAIT
    answer: Option<Segment>,
}

impl Handshake {
    pub(crate) fn new(settings: &Settings, seed: u64, phase: Phase) -> Self {
        Self {
            settings: settings.clone(),
            seed,
            flow: 0,
            due: phase == Phase::SynSent,
            sent: None,
            repeats: 0,
            peer: None,
            answer: None,
        }
    }
}

/// The RST that answers a segment of no connection; none if the segment is itself a RST (RFC 9293 3.10.7.1).
fn refusal(segment: &Segment) -> Option<Segment> {
    if segment.flags.contains(Flags::RST) {
        return None;
    }
    let rst = Segment {
        flags: Flags::RST,
        fixed_header: segment.fixed_header,
        ..Segment::default()
    };
    Some(if segment.flags.contains(Flags::ACK) {
        Segment {
            seq: segment.ack,
            ..rst
        }
    } else {
        Segment {
            ack: segment.seq.wrapping_add(segment.sequence_length()),
            flags: Flags::RST | Flags::ACK,
            ..rst
        }
    })
}

impl Connection {
    /// Handles a segment with SYN or RST, or one that arrives before the connection is established.
    #[cold]
    pub(crate) fn on_handshake(
        &mut self,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        events: &mut impl Events,
    ) {
        let has = |flags| segment.flags.contains(flags);
        match self.phase {
            Phase::TimeWait => self.on_repeated(now, segment),
            Phase::Closed | Phase::Reset => self.handshake.answer = refusal(segment),
            Phase::Listen => {
                if has(Flags::ACK) {
                    self.handshake.answer = refusal(segment);
                } else if has(Flags::SYN) && !has(Flags::RST) {
                    self.take_syn(segment);
                    self.handshake.due = true;
                    self.phase = Phase::SynReceived;
                }
            }
            Phase::SynSent => {
                if has(Flags::ACK) && segment.ack != seq::wire(self.sender.start()) {
                    self.handshake.answer = refusal(segment);
                } else if has(Flags::ACK) {
                    if has(Flags::RST) {
                        self.reset();
                    } else if has(Flags::SYN) {
                        self.take_syn(segment);
                        self.establish(now, segment, 0, events);
                        self.receiver.acks.at_once();
                    }
                }
            }
            Phase::SynReceived | Phase::Established => self.on_late(now, segment, ecn, events),
        }
    }

    /// Handles a segment in TIME-WAIT. The answer has neither SACK blocks nor a newer timestamp
    /// (`tcp_timewait_state_process`).
    fn on_repeated(&mut self, now: Instant, segment: &Segment) {
        let in_place = segment.seq == seq::wire(self.receiver.nxt());
        if segment.flags.contains(Flags::RST) {
            if in_place {
                self.phase = Phase::Closed;
            }
        } else if segment.sequence_length() > 0 || (!in_place && self.answers_again(now)) {
            self.ecn.on = false;
            self.ecn.codepoint = Ecn::NotEct;
            self.handshake.answer = Some(self.segment(now, self.sender.nxt()));
        }
    }

    /// Handles such a segment after the peer's SYN.
    fn on_late(&mut self, now: Instant, segment: &Segment, ecn: Ecn, events: &mut impl Events) {
        if segment.flags.contains(Flags::RST) {
            if self.receiver.is_reset_by(segment, self.sack) {
                self.reset();
            } else if self.phase == Phase::Established
                && self.receiver.accepts(segment)
                && self.answers_again(now)
            {
                // a RST elsewhere in the window may be forged: a genuine peer answers the challenge ACK with a RST at
                // the right number (RFC 5961 3.2)
                self.receiver.acks.at_once();
            }
        } else if segment.flags.contains(Flags::SYN) {
            // the peer has not received our SYN-ACK or ACK
            if !self.answers_again(now) {
                return;
            }
            if self.phase == Phase::Established {
                self.receiver.acks.at_once();
            } else {
                self.handshake.due = true;
                self.timers.stop_retransmission();
            }
        } else if !segment.flags.contains(Flags::ACK) {
            // it is dropped: every segment after the SYN acknowledges something
        } else if segment.ack != seq::wire(self.sender.start()) {
            self.handshake.answer = refusal(segment);
        } else if self.receiver.accepts(segment) {
            self.establish(now, segment, self.peer_window_scale(), events);
            self.on_established(now, segment, ecn, events);
        } else if self.answers_again(now) {
            self.handshake.answer = Some(self.segment(now, self.sender.start()));
        }
    }

    /// The connection was reset or aborted.
    pub(crate) fn reset(&mut self) {
        self.phase = Phase::Reset;
        self.ecn.on = false;
        self.ecn.codepoint = Ecn::NotEct;
        self.handshake.due = false;
        self.released.clear();
        self.timers.stop_all();
        self.sender.abort();
        self.receiver.abort();
    }

    fn peer_window_scale(&self) -> u8 {
        let peer = self.handshake.peer.unwrap_or_default();
        // RFC 7323 2.3: a shift above 14 is taken as 14
        peer.window_scale.unwrap_or(0).min(14)
    }

    /// Processes the peer's SYN. Window scaling, timestamps, SACK and ECN are used only if both sides offer them.
    fn take_syn(&mut self, segment: &Segment) {
        let peer = segment.options.syn().unwrap_or(SynOptions {
            mss: MSS_DEFAULT,
            window_scale: None,
            sack_permitted: false,
        });
        self.receiver.synchronise(segment.seq);
        self.timestamps &= segment.options.timestamps().is_some();
        if self.timestamps {
            self.receiver.note_timestamp(segment);
        }
        if peer.window_scale.is_none() {
            self.window_scale = 0;
        }
        self.sack &= peer.sack_permitted;
        // RFC 3168 6.1.1: a SYN offers ECN with ECE and CWR; the SYN-ACK agrees with ECE alone
        let asked = segment.flags.contains(Flags::ECE);
        let offered = segment.flags.contains(Flags::CWR);
        self.ecn.on &= asked && offered == (self.phase == Phase::Listen);
        if !self.ecn.on {
            self.ecn.codepoint = Ecn::NotEct;
        }
        self.handshake.peer = Some(peer);
    }

    /// The peer has answered. `window_shift` is the shift of the window in this segment, 0 in a SYN.
    fn establish(
        &mut self,
        now: Instant,
        segment: &Segment,
        window_shift: u8,
        events: &mut impl Events,
    ) {
        let handshake = &self.handshake;
        let peer = handshake.peer.unwrap_or_default();
        let mss = handshake.settings.mss_bytes.min(peer.mss).max(MSS_MIN);
        let stamps = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        let echoed = segment.options.timestamps().map(|it| it.ecr);
        if let Some(sent) = handshake.sent
            && handshake.repeats == 0
        {
            self.sender.handshake_rtt(now, now - sent);
        } else if let Some(echoed) = echoed {
            self.sender.handshake_echo(now, echoed);
        }
        // the answer to the first of them shows that no timeout was needed (`tcp_try_undo_spurious_syn`)
        let first = handshake.sent.map(|sent| self.sender.timestamp(sent));
        let is_needless = handshake.settings.undo && echoed.is_some() && echoed == first;
        let timed_out = self.sender.counters().timeouts > 0;
        let agreed = Agreed {
            at: now,
            seed: handshake.seed,
            flow: handshake.flow,
            payload: mss - stamps,
            repeats: if timed_out && !is_needless {
                handshake.repeats
            } else {
                0
            },
            sack: self.sack,
            peer_window_scale: self.peer_window_scale(),
        };
        self.sender.open(
            &mut self.timers,
            &handshake.settings,
            agreed,
            self.receiver.nxt(),
            u64::from(segment.window) << window_shift,
        );
        self.receiver.acks.begin(now, mss - stamps, stamps);
        if !self.sack {
            self.receiver.acks.without_sack();
        }
        if self.ecn.on {
            self.sender.use_ecn();
            self.receiver.use_ecn(self.sender.needs_ecn());
        }
        if timed_out && self.phase == Phase::SynSent {
            self.sender.note_lost_syn();
        }
        self.phase = Phase::Established;
        self.answers_from = Instant::ZERO;
        events.established(now);
    }

    /// The SYN or SYN-ACK, if one is to be sent.
    #[cold]
    pub(crate) fn poll_handshake(&mut self, now: Instant) -> Option<Segment> {
        if let Some(answer) = self.handshake.answer.take() {
            return Some(answer);
        }
        if self.phase == Phase::TimeWait && self.receiver.acks.is_due() {
            return Some(self.acknowledgement(now));
        }
        if !std::mem::take(&mut self.handshake.due) {
            return None;
        }
        self.sender.await_handshake(&mut self.timers, now);
        self.handshake.repeats += u32::from(self.handshake.sent.is_some());
        self.handshake.sent.get_or_insert(now);
        let settings = &self.handshake.settings;
        let answers = self.phase == Phase::SynReceived;
        let offers_scale = self
            .handshake
            .peer
            .is_none_or(|peer| peer.window_scale.is_some());
        let mut segment = Segment {
            seq: seq::wire(self.sender.start() - 1),
            // a SYN's window is never scaled (RFC 7323 2.2)
            window: self.receiver.window().min(u64::from(u16::MAX)) as u16,
            flags: Flags::SYN,
            fixed_header: settings.fixed_header_bytes,
            ..Segment::default()
        };
        segment.options.set_syn(SynOptions {
            mss: settings.mss_bytes,
            window_scale: offers_scale.then_some(settings.window_scale),
            sack_permitted: self.sack,
        });
        if answers {
            segment.flags |= Flags::ACK;
            if self.ecn.on {
                segment.flags |= Flags::ECE;
            }
            segment.ack = seq::wire(self.receiver.nxt());
        }
        let falls_back = settings.ecn_fallback && self.handshake.repeats > 0;
        if !answers && self.ecn.on && !falls_back {
            segment.flags |= Flags::ECE | Flags::CWR;
        }
        if self.timestamps {
            segment.options.set_timestamps(Timestamps {
                val: self.sender.timestamp(now),
                ecr: self.receiver.ts_recent(),
            });
        }
        Some(segment)
    }
}
