//! Random lossy exchanges, written as packetdrill scripts: what a Linux stack of `crates/tcp` sends to a
//! peer behind a path that loses, reorders and delays, so that a kernel can be compared with it. The stack is
//! the sender or the receiver.
//!
//! Some exchanges say nothing about a kernel: those in which a timer and a segment come so close together
//! that the kernel's clock decides which is first. They are drawn again; [`exchange`] says how often.

mod draw;
mod path;

use std::fmt::Write as _;

use fairport_tcp::{Connection, Segment};
use fairport_units::{Duration, Instant};

pub use self::draw::Side;
use self::draw::{Dice, Draw};
use self::path::{Item, Path};
use crate::runner::wire::Numbering;
use crate::text;

/// When the peer's SYN comes: a while after the calls, which wait for the commands.
const BEGIN: Instant = Instant::from_ps(300_000_000_000);
/// An exchange that is not over by then ends here.
const END: Duration = Duration::from_secs(5);
/// A kernel's timer may fire a tick early, seen from a clock whose ticks lie elsewhere.
const EARLY: Duration = Duration::from_ms(6);
/// A timer of so short a wait has a clock of its own (`hrtimer`),
const PRECISE: Duration = Duration::from_ms(2);
/// and is early or late by no more than this.
const PRECISE_EARLY: Duration = Duration::from_us(300);
/// By how much another may be late: ticks, and a loaded machine.
const LATE: Duration = Duration::from_ms(10);
/// Linux's timer wheel rounds up to 8 ticks from 63 ticks on, at 250 Hz by 32 ms.
const LATE_IF_LONG: Duration = Duration::from_ms(45);
const LONG: Duration = Duration::from_ms(190);
/// From 512 ticks on it rounds up to 64 ticks, which is more than any tolerance.
const TOO_LONG: Duration = Duration::from_ms(1_900);
/// `PSH`, which Linux sets where a write ends.
const PSH: u8 = 0x08;

/// What there is to know of the machine that an exchange is for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Ticks of the kernel's clock per second.
    pub hz: u32,
    /// A kernel copies a write and sends it segment by segment, so that each segment is sent a little later
    /// than the one before; zero: all at once, as in a simulation.
    pub within_write: Duration,
}

/// Draws an exchange by `seed` and writes what the stack `linux-6` does in it, as one of its sides, on such a machine. The second value is how many draws a kernel's clock would have decided.
///
/// # Panics
/// Never, unless a preset is broken.
pub fn exchange(side: Side, seed: u64, machine: Machine) -> (String, u64) {
    let mut attempt = 0;
    loop {
        let mut dice = Dice::new(seed, attempt);
        let draw = Draw::new(side, &mut dice);
        if let Some(events) = Scribe::new(&draw, machine).record(&draw, &mut dice) {
            return (script(seed, attempt, &draw, &events), attempt);
        }
        attempt += 1;
    }
}

/// The stack at work, and what it and its peer do, line by line.
struct Scribe {
    side: Side,
    stack: Connection,
    peer: Connection,
    numbering: Numbering,
    lines: String,
    /// ends of the application's writes, as sequence numbers
    pushed: Vec<u32>,
    /// bytes that the stack's application has read
    read: u64,
    within_write: Duration,
    /// until when a timer of the stack's may be late
    late_until: Instant,
    last_event: Instant,
}

impl Scribe {
    fn new(draw: &Draw, machine: Machine) -> Self {
        Self {
            side: draw.side,
            stack: Connection::passive(&draw.stack(machine.hz)),
            peer: Connection::active(&draw.peer()),
            numbering: Numbering::new(0),
            lines: String::new(),
            pushed: Vec::new(),
            read: 0,
            within_write: machine.within_write,
            late_until: Instant::ZERO,
            last_event: BEGIN,
        }
    }

    /// The exchange, or none if a kernel's clock would decide it.
    fn record(mut self, draw: &Draw, dice: &mut Dice) -> Option<String> {
        let established = self.handshake(draw);
        let mut path = Path::new(draw);
        for write in &draw.writes {
            path.schedule(
                established + write.at,
                Item::Write(write.segments * draw.payload()),
            );
        }
        loop {
            let next = path.next_time();
            let timer = self.stack.poll_timer().unwrap_or(Instant::NEVER);
            let of_peer = self.peer.poll_timer().unwrap_or(Instant::NEVER);
            let now = next.min(timer).min(of_peer);
            if now == Instant::NEVER || now > BEGIN + END {
                return Some(self.lines);
            }
            if next == now {
                match path.pop() {
                    Item::ToPeer(segment) => {
                        self.peer.on_segment(now, &segment, &mut ());
                        self.answers(now, &mut path, dice);
                    }
                    Item::ToStack(segment) => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.line(now, &format!("< {}", self.written(&segment)));
                        self.stack.on_segment(now, &segment, &mut ());
                        self.reads(now);
                        self.sends(now, Duration::ZERO, &mut path, dice);
                        self.state();
                    }
                    Item::Write(bytes) if self.side == Side::Receiver => {
                        self.peer.write(bytes);
                        self.answers(now, &mut path, dice);
                    }
                    Item::Write(bytes) => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.line(now, &format!("write(4, ..., {bytes}) = {bytes}"));
                        let end = self.pushed.last().map_or(1, |end| *end) + bytes as u32;
                        self.pushed.push(end);
                        self.stack.write(bytes);
                        self.sends(now, self.within_write, &mut path, dice);
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
                let acted =
                    self.sends(now, Duration::ZERO, &mut path, dice) || self.stack.info() != before;
                if acted {
                    let late = if waited > LONG { LATE_IF_LONG } else { LATE };
                    self.late_until = now + late;
                    self.last_event = now;
                    self.state();
                }
            }
        }
    }

    /// Whether the kernel may do what a timer has to do before or after this event, unlike the stack here.
    fn is_doubtful(&mut self, now: Instant, timer: Instant) -> bool {
        let early = if timer < self.last_event + PRECISE {
            PRECISE_EARLY
        } else {
            EARLY
        };
        self.last_event = now;
        now < self.late_until || timer < now + early
    }

    /// Nothing is lost here; the time at which the application has the connection.
    fn handshake(&mut self, draw: &Draw) -> Instant {
        let syn = self.peer.poll_transmit(BEGIN).expect("a SYN");
        self.line(BEGIN, &format!("< {}", self.written(&syn)));
        self.stack.on_segment(BEGIN, &syn, &mut ());
        let answer = self.stack.poll_transmit(BEGIN).expect("its answer");
        self.line(BEGIN, &format!("> {}", self.expected(&answer)));
        let now = BEGIN + draw.round_trip;
        self.peer.on_segment(now, &answer, &mut ());
        let ack = self.peer.poll_transmit(now).expect("an ACK");
        self.line(now, &format!("< {}", self.written(&ack)));
        self.stack.on_segment(now, &ack, &mut ());
        self.line(now, "accept(3, ..., ...) = 4");
        now + Duration::from_us(20_500)
    }

    /// The stack's application takes at once what has come in order.
    fn reads(&mut self, now: Instant) {
        let bytes = self.stack.delivered_bytes() - self.read;
        if bytes > 0 {
            self.line(now, &format!("read(4, ..., {bytes}) = {bytes}"));
            self.read += bytes;
        }
    }

    /// What the stack has to send goes onto the path and into the script, with a gap after each segment;
    /// whether there was any.
    fn sends(&mut self, mut now: Instant, gap: Duration, path: &mut Path, dice: &mut Dice) -> bool {
        let mut any = false;
        while let Some(segment) = self.stack.poll_transmit(now) {
            self.line(now, &format!("> {}", self.expected(&segment)));
            path.forward(now, segment, dice);
            now += gap;
            any = true;
        }
        any
    }

    fn answers(&mut self, now: Instant, path: &mut Path, dice: &mut Dice) {
        while let Some(segment) = self.peer.poll_transmit(now) {
            path.back(now, segment, dice);
        }
    }

    /// A segment of the peer's.
    fn written(&self, segment: &Segment) -> String {
        text::segment(&self.numbering.outbound(segment))
    }

    /// A segment of the stack's, without its window.
    fn expected(&self, segment: &Segment) -> String {
        let mut packet = self.numbering.outbound(segment);
        packet.window = None;
        let end = packet.seq.wrapping_add(packet.payload);
        if packet.payload > 0 && self.pushed.contains(&end) {
            packet.flags |= PSH;
        }
        text::segment(&packet)
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

    /// The sender's state, for those who look for the reason of a difference.
    fn state(&mut self) {
        if self.side == Side::Receiver {
            return;
        }
        let info = self.stack.info();
        let threshold = info
            .snd_ssthresh
            .map_or("none".to_owned(), |it| it.to_string());
        let _ = writeln!(
            self.lines,
            "// {:?}: cwnd {}, ssthresh {threshold}, unacked {}, sacked {}, lost {}, \
             retrans {}, reordering {}, min_rtt {} us",
            info.ca_state,
            info.snd_cwnd,
            info.unacked,
            info.sacked,
            info.lost,
            info.retrans,
            info.reordering,
            info.min_rtt.map_or(0, |it| it.as_ps() / 1_000_000),
        );
    }
}

/// The whole script. The device gets one segment at a time, as from a stack without offload.
fn script(seed: u64, attempt: u64, draw: &Draw, events: &str) -> String {
    let flag = u8::from;
    format!(
        "// Seed {seed}, draw {attempt}: {}.\n\
         --tolerance_usecs={}\n\
         `sysctl -q net.ipv4.tcp_sack={} net.ipv4.tcp_timestamps={}{} \
         net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_wmem=\"4096 8388608 8388608\" \
         net.ipv4.tcp_rmem=\"4096 {} 6291456\"\n\
         ip link set dev tun0 gso_max_segs 1`\n\n\
         0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         0.000000 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
         0.000000 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{}\", {}) = 0\n\
         0.000000 bind(3, ..., ...) = 0\n\
         0.000000 listen(3, 1) = 0\n\
         {events}",
        draw.about(),
        LATE_IF_LONG.as_ps() / 1_000_000,
        flag(draw.sack),
        flag(draw.timestamps),
        match draw.side {
            Side::Sender => String::new(),
            Side::Receiver => format!(" net.ipv4.tcp_comp_sack_nr={}", draw.sack_compression),
        },
        // a kernel counts what each segment takes in its memory, which is more than twice its data
        match draw.side {
            Side::Sender => 131_072,
            Side::Receiver => 6_291_456,
        },
        draw.congestion_control,
        draw.congestion_control.len(),
    )
}
