//! The random properties of an exchange: its stack, what its application writes, and its path.

use fairport_tcp::{AckPolicy, Settings};
use fairport_units::Duration;
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::kernel_clock::LATE_IF_LONG;
use super::path::PathProperties;

/// The MSS that the peer announces, unless the theme draws one. Timestamps take their 12 bytes out of it.
pub(super) const MSS_BYTES: u16 = 1000;
const STAMPS_BYTES: u16 = 12;
/// The shortest time from the last write to the FIN. The segments of a write are not all sent at once.
const AFTER_WRITE: Duration = Duration::from_ms(10);
/// Linux's default of `tcp_comp_sack_nr`.
const COMPRESSED: u8 = 44;

/// The side of the connection that the stack under comparison takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The stack's application writes. This compares its windows, timers and retransmissions.
    Sender,
    /// The peer's application writes. This compares the stack's acknowledgements and their SACK blocks.
    Receiver,
}

/// What an exchange is about, besides losses and reordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Much data in full segments.
    Bulk,
    /// The same, and both ends use ECN; the path marks segments.
    Ecn,
    /// Little data in odd sizes with pauses between, segments of any size, and a FIN.
    Pauses,
    /// The peer's window is small, closes, and shrinks.
    Windows,
    /// The path is down for a while, so that the timeout doubles.
    Outages,
    /// The handshake is lossy, from either end, and both ends close.
    Handshakes,
    /// The path holds everything back for a while, and delivers some segments twice.
    Stalls,
    /// All of the above at once, but closed windows and lossy handshakes.
    Mixed,
    /// The sender paces: with BBR until it has drained its first queue, or with another algorithm.
    Paced,
    /// BBR, until it takes a random phase of its cycle for the second time. The first is the stack's.
    Cycles,
    /// BBR, whose application writes little for more than ten seconds.
    Rests,
}

/// One call of `write`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// Time after the handshake.
    pub(super) at: Duration,
    pub(super) bytes: u64,
}

/// From `at` on after the handshake, the peer announces this window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub(super) at: Duration,
    pub(super) bytes: u64,
}

/// All properties of an exchange except which segments its path loses.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) side: Side,
    pub(super) congestion_control: &'static str,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) writes: Vec<Write>,
    pub(super) ack_policy: AckPolicy,
    pub(super) path: PathProperties,
    /// The number of ACKs of out-of-order data that the stack may hold back (`tcp_comp_sack_nr`).
    pub(super) sack_compression: u8,
    /// Both ends use ECN.
    pub(super) ecn: bool,
    pub(super) theme: Theme,
    /// The MSS that the peer announces.
    pub(super) mss_bytes: u16,
    /// A short segment waits while data is unacknowledged.
    pub(super) nagle: bool,
    /// When the writing application closes, after the handshake.
    pub(super) closes_at: Option<Duration>,
    /// When the other one closes. None: the peer closes when the stack has closed, and the stack never does.
    pub(super) reader_closes_at: Option<Duration>,
    /// The stack opens the connection.
    pub(super) active: bool,
    /// The peer's timeout for its SYN or SYN-ACK. It is not the stack's, whose timer would fire at the same time.
    pub(super) peer_rto: Duration,
    /// The peer's windows; without any it announces its whole buffer.
    pub(super) windows: Vec<Announced>,
    /// The sender spaces its segments.
    pub(super) paced: bool,
    /// The tolerance of times; for what follows a timer that runs on ticks, it is always larger.
    pub(super) tolerance: Duration,
    /// The longest time that the exchange is recorded.
    pub(super) lasts: Duration,
}

impl Draw {
    pub(super) fn new(side: Side, theme: Theme, dice: &mut Dice) -> Self {
        let ms = Duration::from_ms;
        let round_trip = ms(dice.one_of(&[40, 60, 100, 200]));
        let mut writes = vec![(Duration::ZERO, dice.between(10, 100))];
        while writes.len() < 3 && dice.chance(25) {
            let pause = ms(10 * dice.between(1, 80));
            writes.push((writes[writes.len() - 1].0 + pause, dice.between(1, 30)));
        }
        let policies = [
            AckPolicy::QuickAck,
            AckPolicy::Delayed,
            AckPolicy::EverySegment,
        ];
        let mut draw = Self {
            side,
            congestion_control: dice.one_of(&["reno", "cubic"]),
            sack: dice.chance(60),
            timestamps: dice.chance(50),
            writes: Vec::new(),
            ack_policy: dice.one_of(&policies),
            path: PathProperties {
                round_trip,
                spacing: ms(dice.one_of(&[0, 1, 2, 5])),
                clump: ms(dice.one_of(&[5, 10, 20])),
                apart: ms(1),
                clump_most: u64::MAX,
                loss_percent: dice.one_of(&[0, 2, 5, 10, 15]),
                burst_percent: dice.one_of(&[0, 30, 60]),
                reorder_percent: dice.one_of(&[0, 0, 3, 10]),
                ack_loss_percent: dice.one_of(&[0, 0, 5, 20, 40]),
                mark_percent: 0,
                opening_loss_percent: 0,
                outages: Vec::new(),
                stalls: Vec::new(),
                copy_percent: 0,
                detour: None,
                policer: None,
            },
            sack_compression: COMPRESSED,
            ecn: theme == Theme::Ecn,
            theme,
            mss_bytes: MSS_BYTES,
            nagle: true,
            closes_at: None,
            reader_closes_at: None,
            active: false,
            peer_rto: Duration::from_secs(1),
            windows: Vec::new(),
            paced: false,
            tolerance: LATE_IF_LONG,
            lasts: Duration::from_secs(5),
        };
        if draw.ecn {
            draw.path.mark_percent = dice.one_of(&[2, 5, 20, 50]);
            draw.path.loss_percent = dice.one_of(&[0, 0, 2, 5]);
        }
        if side == Side::Receiver {
            draw.receives(dice);
        }
        let payload = draw.payload();
        let bytes = |(at, segments)| Write {
            at,
            bytes: segments * payload,
        };
        draw.writes = writes.into_iter().map(bytes).collect();
        match theme {
            Theme::Bulk | Theme::Ecn => {}
            Theme::Pauses => draw.pauses(dice),
            Theme::Windows => draw.announces(dice),
            Theme::Outages => draw.breaks(dice),
            Theme::Handshakes => draw.opens_and_closes(dice),
            Theme::Stalls => draw.stalls(dice),
            Theme::Mixed => draw.mixes(dice),
            Theme::Paced | Theme::Cycles | Theme::Rests => draw.paces(dice),
        }
        draw
    }

    /// Draws odd writes with pauses, and when the application closes.
    pub(super) fn pauses(&mut self, dice: &mut Dice) {
        // a kernel's receive window grows with 1460 B, and each time it does one more ACK is quick (`tcp_grow_window`)
        let largest = match self.side {
            Side::Sender => 1460,
            Side::Receiver => 1000,
        };
        self.mss_bytes = dice.one_of(&[216, 500, 536, 1000, largest]);
        self.nagle = dice.chance(50);
        let payload = self.payload();
        let mut at = Duration::ZERO;
        self.writes.clear();
        for _ in 0..dice.between(2, 10) {
            let most = payload * dice.one_of(&[1, 3, 12, 30]);
            self.writes.push(Write {
                at,
                bytes: dice.between(1, most),
            });
            let longest = dice.one_of(&[2, 8, 30, 120]);
            at += Duration::from_ms(10 * dice.between(1, longest));
        }
        let last = self.writes[self.writes.len() - 1].at;
        if dice.chance(75) {
            self.closes_at = Some(if dice.chance(50) {
                last + AFTER_WRITE
            } else {
                at
            });
        }
    }

    /// Draws the windows that the peer announces. They are multiples of 128 bytes, which its window scale can express.
    fn announces(&mut self, dice: &mut Dice) {
        let mut at = Duration::ZERO;
        while at < Duration::from_secs(3) {
            let bytes = match dice.between(0, 3) {
                0 => 0,
                1 => 128 * dice.between(1, 16),
                _ => 128 * dice.between(16, 200),
            };
            // the first window lets something through
            let bytes = if at == Duration::ZERO {
                bytes.max(1280)
            } else {
                bytes
            };
            self.windows.push(Announced { at, bytes });
            at += Duration::from_ms(10 * dice.between(1, 80));
        }
        self.windows.push(Announced { at, bytes: 64_000 });
        self.path.loss_percent = dice.one_of(&[0, 0, 2, 5]);
    }

    /// Draws when the path is down, and when the application closes.
    pub(super) fn breaks(&mut self, dice: &mut Dice) {
        let mut at = Duration::ZERO;
        for _ in 0..dice.between(1, 3) {
            at += Duration::from_ms(10 * dice.between(1, 60));
            let end = at + Duration::from_ms(10 * dice.between(5, 150));
            self.path.outages.push((at, end));
            at = end;
        }
        if dice.chance(50) {
            self.closes_at = Some(self.writes[self.writes.len() - 1].at + AFTER_WRITE);
        }
        self.path.loss_percent = dice.one_of(&[0, 0, 2, 5]);
    }

    /// Draws what only a receiver's exchange has. SACK compression waits for about 1 ms. So the arrivals either come
    /// well within that time and long after it, or only long after it, or nothing is held back. Where ACKs may be held
    /// back, timestamps are on: without them a kernel does not wait until it has its own estimate of the round-trip
    /// time, which takes a window of data.
    fn receives(&mut self, dice: &mut Dice) {
        match dice.between(0, 2) {
            0 => self.sack_compression = 0,
            kind => {
                self.timestamps = true;
                self.path.clump = Duration::from_ms(dice.one_of(&[13, 16, 23]));
                self.path.apart = Duration::from_us(200);
                self.path.clump_most = if kind == 1 { 1 } else { 4 };
            }
        }
    }

    /// The payload of a full segment, in bytes.
    pub(super) fn payload(&self) -> u64 {
        let options = if self.timestamps { STAMPS_BYTES } else { 0 };
        u64::from(self.mss_bytes - options)
    }

    /// The settings of the stack under comparison, on a kernel with `hz` ticks per second.
    pub(super) fn stack(&self, hz: u32) -> Settings {
        let algorithm = match self.congestion_control {
            "reno" => "newreno",
            other => other,
        };
        let tick = Duration::from_secs(1) / u64::from(hz);
        self.settings(&[
            ("congestion_control", json!(algorithm)),
            ("clock_tick_ps", json!(tick.as_ps())),
            ("sack_compression", json!(self.sack_compression)),
            ("pacing", json!(if self.paced { "linux" } else { "off" })),
        ])
    }

    /// The settings of the peer.
    pub(super) fn peer(&self) -> Settings {
        self.settings(&[
            ("mss_bytes", json!(self.mss_bytes)),
            ("ack_policy", json!(self.ack_policy)),
            ("rto_initial_ps", json!(self.peer_rto.as_ps())),
        ])
    }

    fn settings(&self, own: &[(&str, Value)]) -> Settings {
        let common = [
            ("sack", json!(self.sack)),
            ("timestamps", json!(self.timestamps)),
            ("ecn", json!(self.ecn)),
        ];
        let all: Map<String, Value> = own
            .iter()
            .chain(&common)
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let stack = Settings::preset("linux-6").expect("a preset");
        stack.with(&all).expect("every draw is valid")
    }

    /// The drawn conditions, for a comment in the script.
    pub(super) fn about(&self) -> String {
        let on = |it| if it { "on" } else { "off" };
        let (does, arrivals) = match self.side {
            Side::Sender => (self.congestion_control, "ACKs"),
            Side::Receiver => ("receiver", "arrivals"),
        };
        format!(
            "{}, SACK {}, timestamps {}; round trip {} ms, {} ms per segment, {} every {} ms; \
             losses {} % (runs {} %), reordering {} %, lost ACKs {} %{}",
            does,
            on(self.sack),
            on(self.timestamps),
            self.path.round_trip.as_ps() / 1_000_000_000,
            self.path.spacing.as_ps() / 1_000_000_000,
            arrivals,
            self.path.clump.as_ps() / 1_000_000_000,
            self.path.loss_percent,
            self.path.burst_percent,
            self.path.reorder_percent,
            self.path.ack_loss_percent,
            self.theme_text(),
        )
    }

    fn theme_text(&self) -> String {
        let mut text = String::new();
        if self.ecn {
            text = format!(", marks {} %", self.path.mark_percent);
        }
        match self.theme {
            Theme::Bulk | Theme::Ecn => {}
            Theme::Pauses => text.extend([", pauses, MSS ", &self.mss_bytes.to_string(), " B"]),
            Theme::Windows => text += ", windows",
            Theme::Outages => text += ", outages",
            Theme::Handshakes => text += ", handshakes",
            Theme::Stalls => text += ", stalls",
            Theme::Mixed => text.extend([", mixed, MSS ", &self.mss_bytes.to_string(), " B"]),
            Theme::Paced => text += ", paced",
            Theme::Cycles => text += ", cycles",
            Theme::Rests => text += ", rests",
        }
        if self.path.policer.is_some() {
            text += ", policed";
        }
        if self.closes_at.is_some() {
            text += ", FIN";
        }
        text
    }
}
