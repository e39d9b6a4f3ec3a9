//! Random lossy exchanges, written as packetdrill scripts. A script holds what a Linux stack of `crates/tcp` sends to a
//! peer behind a path that loses, reorders and delays, so that a kernel can be compared with it. The stack is the
//! sender or the receiver.
//!
//! Some exchanges are useless for the comparison: a timer and a segment are so close together that the kernel's clock
//! decides which comes first. They are drawn again; [`exchange`] returns how often.

mod draw;
mod path;

use std::fmt::Write as _;

use fairport_tcp::{Connection, Ecn, Segment};
use fairport_units::{Duration, Instant};

use self::draw::{Dice, Draw};
pub use self::draw::{Side, Theme};
use self::path::{Item, Path};
use crate::runner::wire::{Numbering, written_codepoint};
use crate::text;

/// The time of the peer's SYN. It leaves time for the calls before it, which wait for the commands.
const BEGIN: Instant = Instant::from_ps(300_000_000_000);
/// The longest time that an exchange is recorded, from the peer's SYN.
const END: Duration = Duration::from_secs(5);
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
const TOO_LONG: Duration = Duration::from_ms(1_900);
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
        let mut stack = Connection::passive(&draw.stack(machine.hz));
        stack.set_closes_with_peer(false);
        stack.set_nagle(draw.nagle);
        let mut peer = Connection::active(&draw.peer());
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
        let established = self.handshake(draw);
        let mut path = Path::new(draw, established);
        for write in &draw.writes {
            path.schedule(established + write.at, Item::Write(write.bytes));
        }
        if let Some(at) = draw.closes_at {
            path.schedule(established + at, Item::Close);
        }
        for window in &draw.windows {
            path.schedule(established + window.at, Item::Window(window.bytes));
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
                    Item::Close if self.side == Side::Receiver => {
                        self.peer.close();
                        self.answers(now, &mut path, dice);
                    }
                    Item::Close => {
                        if self.is_doubtful(now, timer) {
                            return None;
                        }
                        self.line(now, "shutdown(4, SHUT_WR) = 0");
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
                        self.line(now, &format!("write(4, ..., {bytes}) = {bytes}"));
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

    /// Runs the handshake, in which nothing is lost. Returns the time from which the application can write.
    fn handshake(&mut self, draw: &Draw) -> Instant {
        let syn = self.peer.poll_transmit(BEGIN).expect("a SYN");
        self.line(BEGIN, &format!("< {}", self.written(&syn, Ecn::NotEct)));
        self.stack.on_segment(BEGIN, &syn, &mut ());
        let answer = self.stack.poll_transmit(BEGIN).expect("its answer");
        self.line(BEGIN, &format!("> {}", self.expected(&answer)));
        let now = BEGIN + draw.round_trip;
        self.peer.on_segment(now, &answer, &mut ());
        let ack = self.peer.poll_transmit(now).expect("an ACK");
        self.line(now, &format!("< {}", self.written(&ack, Ecn::NotEct)));
        self.stack.on_segment(now, &ack, &mut ());
        self.line(now, "accept(3, ..., ...) = 4");
        now + Duration::from_us(20_500)
    }

    /// The stack's application reads all data that has arrived in order, as soon as it arrives.
    fn reads(&mut self, now: Instant) {
        let bytes = self.stack.delivered_bytes() - self.read;
        if bytes > 0 {
            self.line(now, &format!("read(4, ..., {bytes}) = {bytes}"));
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

/// The whole script. It makes the device take one segment at a time, as from a stack without offload.
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
         {}\
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
        } + if draw.ecn { " net.ipv4.tcp_ecn=1" } else { "" },
        // the kernel counts the memory that segments take against its buffer, which is more than twice their data
        match draw.side {
            Side::Sender => 131_072,
            Side::Receiver => 6_291_456,
        },
        draw.congestion_control,
        draw.congestion_control.len(),
        if draw.nagle {
            ""
        } else {
            "0.000000 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n"
        },
    )
}
