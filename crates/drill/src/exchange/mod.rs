//! Random lossy exchanges, written as packetdrill scripts. A script holds what a Linux stack of `crates/tcp` sends to a
//! peer behind a path that loses, reorders and delays, so that a kernel can be compared with it. The stack is the
//! sender or the receiver.
//!
//! Some exchanges are useless for the comparison: a timer and a segment are so close together that the kernel's clock
//! decides which comes first. They are drawn again; [`exchange`] returns how often.

mod draw;
mod handshakes;
mod path;
mod script;

use std::fmt::Write as _;

use fairport_tcp::{Connection, Ecn, Segment};
use fairport_units::{Duration, Instant};

use self::draw::{Dice, Draw};
pub use self::draw::{Side, Theme};
use self::path::{Item, Path};
use self::script::script;
use crate::runner::wire::{Numbering, written_codepoint};
use crate::text;

/// The time of the first SYN. It leaves time for the calls before it, which wait for the commands.
const BEGIN: Instant = Instant::from_ps(300_000_000_000);
/// How much earlier than here a kernel's timer may fire: a tick, since the kernel's ticks lie elsewhere.
const EARLY: Duration = Duration::from_ms(6);
/// A timer that waits for a shorter time than this runs on a precise clock in Linux (`hrtimer`).
const PRECISE: Duration = Duration::from_ms(2);
/// How much earlier than here a timer on the precise clock may fire.
const PRECISE_EARLY: Duration = Duration::from_us(300);
/// How much later than here a kernel's timer may fire, because of ticks and a loaded machine.
const LATE: Duration = Duration::from_ms(10);
/// How much later a timer may fire that waited longer than [`LONG`]. From 63 ticks on, Linux's timer wheel rounds up to
/// a multiple of 8 ticks, which is 32 ms at 250 Hz.
const LATE_IF_LONG: Duration = Duration::from_ms(45);
const LONG: Duration = Duration::from_ms(190);
/// The longest wait for a timer: an exchange ends before a longer one. From 512 ticks on, the timer wheel rounds up to
/// a multiple of 64 ticks, which is more than any tolerance.
const TOO_LONG: Duration = Duration::from_ms(2_020);
/// The window scale of the peer, as the preset `linux-6` has it.
const WINDOW_SCALE: u32 = 7;
/// The flag `PSH`, which Linux sets at the end of a write.
const PSH: u8 = 0x08;

/// The properties of the machine that an exchange is made for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The number of ticks of the kernel's clock per second.
    pub hz: u32,
    /// The time from one segment of a write to the next. A kernel copies a write and sends it segment by segment, so
    /// each segment is sent a little later than the one before. With zero, all are sent at once, as in a simulation.
    pub within_write: Duration,
}

/// Draws an exchange from `seed` and writes a script of what the stack `linux-6` does in it on `side`, for a kernel on
/// `machine`. Also returns the number of draws that were discarded because a kernel's clock would have decided them.
///
/// # Panics
/// Never, unless the preset `linux-6` is broken.
pub fn exchange(side: Side, theme: Theme, seed: u64, machine: Machine) -> (String, u64) {
    let mut attempt = 0;
    loop {
        let mut dice = Dice::new(seed, attempt);
        let draw = Draw::new(side, theme, &mut dice);
        let record = |late| Scribe::new(&draw, machine, late).record(&draw, &mut dice.clone());
        if let (Some(events), Some(later)) = (record(None), record(Some(Dice::new(seed, attempt))))
            && text::without_times(&events).eq(text::without_times(&later))
        {
            return (script(seed, attempt, &draw, &events), attempt);
        }
        attempt += 1;
    }
}

/// Runs the stack and its peer, and writes the script line by line.
struct Scribe {
    side: Side,
    stack: Connection,
    peer: Connection,
    numbering: Numbering,
    lines: String,
    /// sequence numbers at which the writes of the stack's application end
    pushed: Vec<u32>,
    /// number of bytes that the stack's application has read
    read: u64,
    /// descriptor of the stack's connection; none until it is accepted
    socket: Option<u8>,
    within_write: Duration,
    uses_ecn: bool,
    /// payload of a full segment in bytes
    full: u64,
    /// draws how much later the stack handles each event; none: it does so at once
    late: Option<Dice>,
    /// window that the peer announces; none: its whole buffer
    window_bytes: Option<u64>,
    /// the peer's last ACK, which announces a new window
    last_ack: Option<Segment>,
    /// time until which the last timer of the stack may still fire late in a kernel
    late_until: Instant,
    last_event: Instant,
}

impl Scribe {
    fn new(draw: &Draw, machine: Machine, late: Option<Dice>) -> Self {
        let (of_stack, of_peer) = (draw.stack(machine.hz), draw.peer());
        let (mut stack, mut peer) = if draw.active {
            (Connection::active(&of_stack), Connection::passive(&of_peer))
        } else {
            (Connection::passive(&of_stack), Connection::active(&of_peer))
        };
        stack.set_closes_with_peer(false);
        stack.set_nagle(draw.nagle);
        peer.set_closes_with_peer(draw.reader_closes_at.is_none());
        peer.set_nagle(draw.nagle);
        Self {
            late,
            window_bytes: None,
            last_ack: None,
            side: draw.side,
            stack,
            peer,
            numbering: Numbering::new(0),
            lines: String::new(),
            pushed: Vec::new(),
            read: 0,
            socket: draw.active.then_some(3),
            within_write: machine.within_write,
            uses_ecn: draw.ecn,
            full: draw.payload(),
            late_until: Instant::ZERO,
            last_event: BEGIN,
        }
    }

    /// The events of the exchange as lines of a script, or None if a kernel's clock would decide the order of its
    /// events.
    fn record(mut self, draw: &Draw, dice: &mut Dice) -> Option<String> {
        let mut path = Path::new(draw);
        if draw.active {
            self.line(
                BEGIN,
                "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)",
            );
            self.sends(BEGIN, Duration::ZERO, Duration::ZERO, &mut path, dice);
        } else {
            self.answers(BEGIN, &mut path, dice);
        }
        let mut now = BEGIN;
        loop {
            let writer = match self.side {
                Side::Sender => &self.stack,
                Side::Receiver => &self.peer,
            };
            if !path.is_open() && writer.is_established() {
                path.open(now + Duration::from_us(20_500));
            }
            let next = path.next_time();
            let timer = self.stack.poll_timer().unwrap_or(Instant::NEVER);
            let of_peer = self.peer.poll_timer().unwrap_or(Instant::NEVER);
            now = next.min(timer).min(of_peer);
            if now == Instant::NEVER || now > BEGIN + draw.lasts {
                return Some(self.lines);
            }
            if next == now {
                match path.pop() {
                    Item::ToPeer(segment, ecn) => {
                        self.peer.on_packet(now, &segment, ecn, &mut ());
                        self.answers(now, &mut path, dice);
                    }
                    Item::ToStack(segment, ecn) => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.line(now, &format!("< {}", self.written(&segment, ecn)));
                        let handled = self.handled(now);
                        self.stack.on_packet(handled, &segment, ecn, &mut ());
                        if self.socket.is_none() && self.stack.is_established() {
                            self.line(now, "accept(3, ..., ...) = 4");
                            self.socket = Some(4);
                        }
                        self.reads(now);
                        self.sends(now, handled - now, Duration::ZERO, &mut path, dice);
                        self.state();
                    }
                    Item::Window(bytes) => {
                        self.window_bytes = Some(bytes);
                        if let Some(mut update) = self.last_ack {
                            update.window = (bytes >> WINDOW_SCALE) as u16;
                            path.back(now, update, Ecn::NotEct, dice);
                        }
                    }
                    Item::Close(side) if side != self.side => {
                        self.peer.close();
                        self.answers(now, &mut path, dice);
                    }
                    Item::Close(side) if self.socket.is_none() => {
                        // nothing is closed before it is accepted
                        path.schedule(now + Duration::from_ms(10), Item::Close(side));
                    }
                    Item::Close(_) => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.call(now, "shutdown", "SHUT_WR", 0);
                        let handled = self.handled(now);
                        self.stack.close();
                        self.sends(now, handled - now, self.within_write, &mut path, dice);
                    }
                    Item::Write(bytes) if self.side == Side::Receiver => {
                        self.peer.write(bytes);
                        self.answers(now, &mut path, dice);
                    }
                    Item::Write(bytes) => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.call(now, "write", &format!("..., {bytes}"), bytes);
                        let end = self.pushed.last().map_or(1, |end| *end) + bytes as u32;
                        self.pushed.push(end);
                        let handled = self.handled(now);
                        self.stack.write(bytes);
                        self.sends(now, handled - now, self.within_write, &mut path, dice);
                    }
                }
            } else if of_peer == now {
                self.peer.on_timer(now, &mut ());
                self.answers(now, &mut path, dice);
            } else {
                let waited = now - self.last_event;
                if waited > TOO_LONG {
                    return Some(self.lines);
                }
                let before = self.stack.info();
                self.stack.on_timer(now, &mut ());
                let acted = self.sends(now, Duration::ZERO, Duration::ZERO, &mut path, dice)
                    || self.stack.info() != before;
                if acted {
                    let late = if waited > LONG { LATE_IF_LONG } else { LATE };
                    self.late_until = now + late;
                    self.last_event = now;
                    self.state();
                }
            }
        }
    }

    /// Whether a kernel may order this event and a timer of the stack differently from the stack here.
    fn is_doubtful(&mut self, now: Instant, timer: Instant) -> bool {
        let early = if timer < self.last_event + PRECISE {
            PRECISE_EARLY
        } else {
            EARLY
        };
        self.last_event = now;
        now < self.late_until || timer < now + early
    }

    /// The stack's application reads all data that has arrived in order, as soon as it arrives.
    fn reads(&mut self, now: Instant) {
        let bytes = self.stack.delivered_bytes() - self.read;
        if bytes > 0 {
            self.call(now, "read", &format!("..., {bytes}"), bytes);
            self.read += bytes;
        }
    }

    /// The time at which the stack handles an event that happens `now`.
    fn handled(&mut self, now: Instant) -> Instant {
        match &mut self.late {
            Some(dice) => now + Duration::from_us(dice.between(20, 120)),
            None => now,
        }
    }

    /// Sends what the stack has to send, which is `late` with it: each segment goes onto the path and into the script,
    /// with `gap` after it. Returns whether there was any.
    fn sends(
        &mut self,
        mut now: Instant,
        late: Duration,
        gap: Duration,
        path: &mut Path,
        dice: &mut Dice,
    ) -> bool {
        let mut any = false;
        while let Some(segment) = self.stack.poll_transmit(now + late) {
            self.line(now, &format!("> {}", self.expected(&segment)));
            path.forward(now, segment, self.stack.codepoint(), dice);
            now += gap;
            any = true;
        }
        any
    }

    fn answers(&mut self, now: Instant, path: &mut Path, dice: &mut Dice) {
        while let Some(mut segment) = self.peer.poll_transmit(now) {
            if let Some(bytes) = self.window_bytes {
                segment.window = (bytes >> WINDOW_SCALE) as u16;
            }
            self.last_ack = Some(segment);
            path.back(now, segment, self.peer.codepoint(), dice);
        }
    }

    /// A segment from the peer, as a script writes it. A short one ends a write. (So may a full one, but the peer is a
    /// stack that does not set PSH.)
    fn written(&self, segment: &Segment, ecn: Ecn) -> String {
        let mut packet = self.numbering.outbound(segment);
        if (1..self.full).contains(&u64::from(packet.payload)) {
            packet.flags |= PSH;
        }
        packet.ecn = self.uses_ecn.then(|| written_codepoint(ecn));
        text::segment(&packet)
    }

    /// A segment from the stack, as a script expects it, without its window.
    fn expected(&self, segment: &Segment) -> String {
        let mut packet = self.numbering.outbound(segment);
        packet.window = None;
        packet.ecn = self
            .uses_ecn
            .then(|| written_codepoint(self.stack.codepoint()));
        let end = packet.seq.wrapping_add(packet.payload);
        if packet.payload > 0 && self.pushed.contains(&end) {
            packet.flags |= PSH;
        }
        text::segment(&packet)
    }

    /// A call of the stack's application.
    fn call(&mut self, now: Instant, name: &str, arguments: &str, result: u64) {
        let socket = self.socket.expect("the connection is accepted");
        self.line(now, &format!("{name}({socket}, {arguments}) = {result}"));
    }

    fn line(&mut self, at: Instant, what: &str) {
        let us = at.as_ps() / 1_000_000;
        let _ = writeln!(
            self.lines,
            "{}.{:06} {what}",
            us / 1_000_000,
            us % 1_000_000
        );
    }

    /// Writes the sender's state as a comment, for finding the reason of a difference.
    fn state(&mut self) {
        if self.side == Side::Receiver || !self.stack.is_established() {
            return;
        }
        let info = self.stack.info();
        let threshold = info
            .snd_ssthresh
            .map_or("none".to_owned(), |it| it.to_string());
        let _ = writeln!(
            self.lines,
            "// {:?}: cwnd {}, ssthresh {threshold}, unacked {}, sacked {}, lost {}, \
             retrans {}, reordering {}, min_rtt {} us, rto {} ms",
            info.ca_state,
            info.snd_cwnd,
            info.unacked,
            info.sacked,
            info.lost,
            info.retrans,
            info.reordering,
            info.min_rtt.map_or(0, |it| it.as_ps() / 1_000_000),
            info.rto.as_ps() / 1_000_000_000,
        );
    }
}
