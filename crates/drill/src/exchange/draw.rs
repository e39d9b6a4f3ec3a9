//! What one random exchange is: its stack, what its application writes, and its path.

use fairport_tcp::{AckPolicy, Settings};
use fairport_units::Duration;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value, json};

/// Payload that the peer takes; timestamps take their 12 bytes out of it.
const MSS_BYTES: u16 = 1000;
const STAMPS_BYTES: u16 = 12;
/// `tcp_comp_sack_nr` of a kernel that nobody has changed.
const COMPRESSED: u8 = 44;

/// A source of the numbers that an exchange is drawn with.
pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The sequence of one attempt for one seed.
    pub(super) fn new(seed: u64, attempt: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ attempt.wrapping_mul(0xd1b5_4a33);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform over `from..=to`.
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + ((u128::from(self.0.next_u64()) * u128::from(to - from + 1)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 99) < percent
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }
}

/// Which end of the connection the stack under comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its application writes: its windows, timers and retransmissions.
    Sender,
    /// Its peer's application writes: its acknowledgements and their SACK blocks.
    Receiver,
}

/// One call of `write`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// After the handshake.
    pub(super) at: Duration,
    pub(super) segments: u64,
}

/// Everything about an exchange but which segments its path loses.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) side: Side,
    pub(super) congestion_control: &'static str,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) writes: Vec<Write>,
    pub(super) ack_policy: AckPolicy,
    pub(super) round_trip: Duration,
    /// The path lets one segment through per this time.
    pub(super) spacing: Duration,
    /// The path hands over to the stack at multiples of this time only.
    pub(super) clump: Duration,
    /// What it hands over at one of them comes so far apart: what the stack sends for one arrival is older than
    /// what it sends for the next, which loss detection by time (RACK) depends on.
    pub(super) apart: Duration,
    /// And is so much at most.
    pub(super) clump_most: u64,
    /// ACKs of data out of order that the stack may hold back (`tcp_comp_sack_nr`).
    pub(super) sack_compression: u8,
    pub(super) loss_percent: u64,
    /// After a loss, the next segment is lost as well.
    pub(super) burst_percent: u64,
    pub(super) reorder_percent: u64,
    pub(super) ack_loss_percent: u64,
}

impl Draw {
    pub(super) fn new(side: Side, dice: &mut Dice) -> Self {
        let ms = Duration::from_ms;
        let round_trip = ms(dice.one_of(&[40, 60, 100, 200]));
        let mut writes = vec![Write {
            at: Duration::ZERO,
            segments: dice.between(10, 100),
        }];
        while writes.len() < 3 && dice.chance(25) {
            let pause = ms(10 * dice.between(1, 80));
            writes.push(Write {
                at: writes[writes.len() - 1].at + pause,
                segments: dice.between(1, 30),
            });
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
            writes,
            ack_policy: dice.one_of(&policies),
            round_trip,
            spacing: ms(dice.one_of(&[0, 1, 2, 5])),
            clump: ms(dice.one_of(&[5, 10, 20])),
            apart: ms(1),
            clump_most: u64::MAX,
            sack_compression: COMPRESSED,
            loss_percent: dice.one_of(&[0, 2, 5, 10, 15]),
            burst_percent: dice.one_of(&[0, 30, 60]),
            reorder_percent: dice.one_of(&[0, 0, 3, 10]),
            ack_loss_percent: dice.one_of(&[0, 0, 5, 20, 40]),
        };
        if side == Side::Receiver {
            draw.receives(dice);
        }
        draw
    }

    /// What only a receiver's exchange has: SACK compression waits for about 1 ms. So arrivals are well within that
    /// time and long after it, or only long after it, or nothing is held back. Without timestamps a kernel does not
    /// wait at all as long as it has no estimate of the round trip of its own, which takes a window of data.
    fn receives(&mut self, dice: &mut Dice) {
        match dice.between(0, 2) {
            0 => self.sack_compression = 0,
            kind => {
                self.timestamps = true;
                self.clump = Duration::from_ms(dice.one_of(&[13, 16, 23]));
                self.apart = Duration::from_us(200);
                self.clump_most = if kind == 1 { 1 } else { 4 };
            }
        }
    }

    /// Payload of a full segment.
    pub(super) fn payload(&self) -> u64 {
        let options = if self.timestamps { STAMPS_BYTES } else { 0 };
        u64::from(MSS_BYTES - options)
    }

    /// The stack that is compared, on a kernel that ticks at `hz`.
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
        ])
    }

    /// The peer, which acknowledges what reaches it, or sends.
    pub(super) fn peer(&self) -> Settings {
        self.settings(&[
            ("mss_bytes", json!(MSS_BYTES)),
            ("ack_policy", json!(self.ack_policy)),
        ])
    }

    fn settings(&self, own: &[(&str, Value)]) -> Settings {
        let common = [
            ("sack", json!(self.sack)),
            ("timestamps", json!(self.timestamps)),
        ];
        let all: Map<String, Value> = own
            .iter()
            .chain(&common)
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let stack = Settings::preset("linux-6").expect("a preset");
        stack.with(&all).expect("every draw is valid")
    }

    /// The conditions, for a comment.
    pub(super) fn about(&self) -> String {
        let on = |it| if it { "on" } else { "off" };
        let (does, arrivals) = match self.side {
            Side::Sender => (self.congestion_control, "ACKs"),
            Side::Receiver => ("receiver", "arrivals"),
        };
        format!(
            "{}, SACK {}, timestamps {}; round trip {} ms, {} ms per segment, {} every {} ms; \
             losses {} % (runs {} %), reordering {} %, lost ACKs {} %",
            does,
            on(self.sack),
            on(self.timestamps),
            self.round_trip.as_ps() / 1_000_000_000,
            self.spacing.as_ps() / 1_000_000_000,
            arrivals,
            self.clump.as_ps() / 1_000_000_000,
            self.loss_percent,
            self.burst_percent,
            self.reorder_percent,
            self.ack_loss_percent,
        )
    }
}
