//! The recording of an exchange: it runs the stack and its peer, and writes the script line by line.

use std::fmt::Write as _;

use fairport_drill::ast::Packet;
use fairport_tcp::{Connection, Ecn, Segment};
use fairport_units::{Duration, Instant};

use super::dice::Dice;
use super::draw::{Draw, Side, Theme};
use super::kernel_clock::{KernelClock, LATE_IF_LONG};
use super::paced::Watch;
use super::path::{Item, Path};
use super::peer::Peer;
use super::script::state;
use super::{BEGIN, Machine, PSH, TOO_LONG};

/// Runs the stack and its peer, and writes the script line by line.
pub(super) struct Scribe {
    side: Side,
    stack: Connection,
    peer: Peer,
    lines: String,
    /// sequence numbers at which the writes of the stack's application end
    pushed: Vec<u32>,
    /// those of them at which a segment ended: if it is joined to another, its PSH stays (`tcp_collapse_retrans`)
    marked: Vec<u32>,
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
    clock: KernelClock,
    /// how often BBR may take a random phase of its cycle; the exchange ends before the next time
    phases: u32,
    watch: Watch,
}

/// How a recording continues after an event.
enum Step {
    Next,
    /// the exchange ends before this event
    End,
    /// a kernel's clock would decide the order of events
    Doubtful,
}

impl Scribe {
    pub(super) fn new(draw: &Draw, machine: Machine, late: Option<Dice>) -> Self {
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
            side: draw.side,
            stack,
            peer: Peer::new(peer),
            lines: String::new(),
            pushed: Vec::new(),
            marked: Vec::new(),
            read: 0,
            socket: draw.active.then_some(3),
            within_write: machine.within_write,
            uses_ecn: draw.ecn,
            full: draw.payload(),
            clock: KernelClock::new(draw.paced),
            phases: u32::from(draw.theme == Theme::Cycles),
            watch: Watch::default(),
        }
    }

    /// The events of the exchange as lines of a script, or None if a kernel's clock would decide the order of its
    /// events.
    pub(super) fn record(mut self, draw: &Draw, dice: &mut Dice) -> Option<String> {
        let mut path = Path::new(draw);
        if draw.active {
            self.line(
                BEGIN,
                "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)",
            );
            self.sends(BEGIN, Duration::ZERO, Duration::ZERO, &mut path, dice);
        } else {
            self.peer.answers(BEGIN, &mut path, dice);
        }
        let mut now = BEGIN;
        loop {
            let writer = match self.side {
                Side::Sender => &self.stack,
                Side::Receiver => &self.peer.connection,
            };
            if !path.is_open() && writer.is_established() {
                path.open(now + Duration::from_us(20_500));
            }
            let next = path.next_time();
            let timer = self.stack.poll_ticking_timer().unwrap_or(Instant::NEVER);
            let pacer = self.stack.next_departure().unwrap_or(Instant::NEVER);
            let of_peer = self.peer.connection.poll_timer().unwrap_or(Instant::NEVER);
            now = next.min(timer).min(pacer).min(of_peer);
            if now == Instant::NEVER || now > BEGIN + draw.lasts {
                return Some(self.lines);
            }
            let step = if now == pacer {
                self.on_pacer(now, &mut path, dice)
            } else if next == now {
                if path.next_is_for_stack()
                    && let Some(until) = self.clock.held_back_until(now, pacer)
                {
                    path.hold_back(until);
                    continue;
                }
                self.on_path(now, timer, &mut path, dice)
            } else if of_peer == now {
                self.peer.connection.on_timer(now, &mut ());
                self.peer.answers(now, &mut path, dice);
                Step::Next
            } else {
                self.on_timer(now, pacer, &mut path, dice)
            };
            match step {
                Step::Next => {}
                Step::End => return Some(self.lines),
                Step::Doubtful => return None,
            }
        }
    }

    /// Something happens on the path. The next of the stack's ticking timers is due at `timer`.
    fn on_path(&mut self, now: Instant, timer: Instant, path: &mut Path, dice: &mut Dice) -> Step {
        match path.pop() {
            Item::ToPeer(segment, ecn) => {
                self.peer.connection.on_packet(now, &segment, ecn, &mut ());
                self.peer.answers(now, path, dice);
            }
            Item::ToStack(segment, ecn) => {
                if self.clock.is_doubtful(now, timer) {
                    return Step::Doubtful;
                }
                let before = self.lines.len();
                self.line(now, &format!("< {}", self.written(&segment, ecn)));
                let handled = self.handled(now);
                self.stack
                    .on_packet(handled, &segment, ecn, &mut self.watch);
                if self.watch.phases > self.phases {
                    self.lines.truncate(before);
                    return Step::End;
                }
                self.clock.after_timer = false;
                if self.socket.is_none() && self.stack.is_established() {
                    self.line(now, "accept(3, ..., ...) = 4");
                    self.socket = Some(4);
                }
                self.reads(now);
                self.sends(now, handled - now, Duration::ZERO, path, dice);
                self.state();
            }
            Item::Window(bytes) => self.peer.announces(now, bytes, path, dice),
            Item::Close(side) if side != self.side => {
                self.peer.connection.close();
                self.peer.answers(now, path, dice);
            }
            Item::Close(side) if self.socket.is_none() => {
                // nothing is closed before it is accepted
                path.schedule(now + Duration::from_ms(10), Item::Close(side));
            }
            Item::Close(_) => {
                if self.clock.is_doubtful(now, timer) {
                    return Step::Doubtful;
                }
                self.call(now, "shutdown", "SHUT_WR", 0);
                self.stack.close();
                self.sends_at_once(now, path, dice);
            }
            Item::Write(bytes) if self.side == Side::Receiver => {
                self.peer.connection.write(bytes);
                self.peer.answers(now, path, dice);
            }
            Item::Write(bytes) => {
                if self.clock.is_doubtful(now, timer) {
                    return Step::Doubtful;
                }
                self.call(now, "write", &format!("..., {bytes}"), bytes);
                let end = self.pushed.last().map_or(1, |end| *end) + bytes as u32;
                self.pushed.push(end);
                self.stack.write(bytes);
                self.sends_at_once(now, path, dice);
            }
        }
        Step::Next
    }

    /// A timer of the stack that runs on ticks fires. The pacer would send something at `pacer`.
    fn on_timer(&mut self, now: Instant, pacer: Instant, path: &mut Path, dice: &mut Dice) -> Step {
        let waited = now - self.clock.last_event;
        if waited > TOO_LONG {
            return Step::End;
        }
        let before = self.stack.info();
        self.stack.on_timer(now, &mut ());
        if self.clock.may_swap(now, pacer) {
            return Step::Doubtful;
        }
        let after_timer = std::mem::replace(&mut self.clock.after_timer, self.clock.paced);
        let acted = self.sends(now, Duration::ZERO, Duration::ZERO, path, dice)
            || self.stack.info() != before;
        if acted {
            self.clock.timer_fired(now);
            self.state();
        } else {
            self.clock.after_timer = after_timer;
        }
        Step::Next
    }

    /// The application has written, or closed.
    fn sends_at_once(&mut self, now: Instant, path: &mut Path, dice: &mut Dice) {
        let handled = self.handled(now);
        self.sends(now, handled - now, self.within_write, path, dice);
    }

    /// The pacer releases a segment.
    fn on_pacer(&mut self, now: Instant, path: &mut Path, dice: &mut Dice) -> Step {
        let handled = self.handled(now);
        self.stack.on_timer(handled, &mut ());
        self.sends(now, handled - now, Duration::ZERO, path, dice);
        self.clock.paced_at = now;
        Step::Next
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
            let expected = format!("> {}", self.expected(&segment));
            if self.clock.after_timer {
                let from = self.clock.earliest(now);
                let _ = write!(self.lines, "{}~", seconds(from));
                self.line(now + LATE_IF_LONG, &expected);
            } else {
                self.line(now, &expected);
            }
            path.forward(now, segment, self.stack.codepoint(), dice);
            now += gap;
            any = true;
        }
        any
    }

    /// A segment from the peer, as a script writes it. A short one ends a write. (So may a full one, but the peer is a
    /// stack that does not set PSH.)
    fn written(&self, segment: &Segment, ecn: Ecn) -> String {
        let mut packet = Packet::from(segment);
        if (1..self.full).contains(&u64::from(packet.payload)) {
            packet.flags |= PSH;
        }
        packet.ecn.extend(self.uses_ecn.then_some(ecn));
        packet.to_string()
    }

    /// A segment from the stack, as a script expects it, without its window.
    fn expected(&mut self, segment: &Segment) -> String {
        let mut packet = Packet::from(segment);
        packet.window = None;
        let codepoint = self.stack.codepoint();
        packet.ecn.extend(self.uses_ecn.then_some(codepoint));
        let end = packet.seq.wrapping_add(packet.payload);
        if packet.payload > 0 {
            if self.pushed.contains(&end) {
                self.marked.push(end);
            }
            if self
                .marked
                .iter()
                .any(|it| (packet.seq + 1..=end).contains(it))
            {
                packet.flags |= PSH;
            }
        }
        packet.to_string()
    }

    /// A call of the stack's application.
    fn call(&mut self, now: Instant, name: &str, arguments: &str, result: u64) {
        let socket = self.socket.expect("the connection is accepted");
        self.line(now, &format!("{name}({socket}, {arguments}) = {result}"));
    }

    fn line(&mut self, at: Instant, what: &str) {
        let _ = writeln!(self.lines, "{} {what}", seconds(at));
    }

    /// Writes the sender's state as a comment, for finding the reason of a difference.
    fn state(&mut self) {
        if self.side == Side::Receiver || !self.stack.is_established() {
            return;
        }
        let _ = writeln!(self.lines, "{}", state(&self.stack.info()));
    }
}

fn seconds(at: Instant) -> String {
    let us = at.as_ps() / 1_000_000;
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}
