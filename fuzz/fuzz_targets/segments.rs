//! Two endpoints with any settings, and a network that does to their segments what it likes: loses,
//! holds back, repeats and marks them, and, if it forges, makes up some of its own.
//!
//! Whatever happens nothing panics, sending ends, and no byte goes outside of the peer's window. Where
//! nothing is forged, every byte that was written is delivered once and in order, and a connection
//! that both sides close ends.

#![no_main]

mod any_settings;

use std::collections::VecDeque;

use any_settings::any_settings;
use arbitrary::{Arbitrary, Unstructured};
use fairport_tcp::{
    Connection, Ecn, Flags, Options, SackBlock, Segment, Settings, SynOptions, Timestamps,
};
use fairport_units::{Duration, Instant};
use libfuzzer_sys::fuzz_target;

/// Segments that an endpoint sends back to back at most: its window is bounded by what was written.
const BURST_MAX: usize = 10_000;
/// Things that happen until two endpoints that nothing hinders any more are done.
const ENDING_MAX: usize = 200_000;
/// Most bytes that each side writes.
const WRITTEN_MAX: u64 = 30_000;

#[derive(Arbitrary, Debug)]
enum Step {
    Write { end: bool, bytes: u16 },
    Close { end: bool },
    Wait { ns: u32 },
    Fire,
    Arrive { from: bool, ce: bool },
    Lose { from: bool },
    HoldBack { from: bool },
    Repeat { from: bool },
    Forge { to: bool, segment: Forged, ecn: u8 },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Forged {
    /// added to what is in use
    seq: i16,
    ack: i16,
    far: Option<u32>,
    payload: u16,
    window: u16,
    flags: Option<u8>,
    timestamps: Option<(u32, u32)>,
    blocks: [(i16, u16); Options::MAX_SACKS],
    count: u8,
    syn: (u16, Option<u8>, bool),
}

impl Forged {
    /// The segment, near the numbers of the last one on its way.
    fn segment(&self, near: &Segment) -> Segment {
        let flags = self.flags.map_or(Flags::ACK, Flags::from_bits);
        let at = |base: u32, off: i16| base.wrapping_add_signed(i32::from(off));
        let mut segment = Segment {
            seq: self.far.unwrap_or(at(near.seq, self.seq)),
            ack: at(near.ack, self.ack),
            payload: self.payload,
            window: self.window,
            flags,
            ..Segment::default()
        };
        if let Some((val, ecr)) = self.timestamps {
            segment.options.set_timestamps(Timestamps { val, ecr });
        }
        if flags.contains(Flags::SYN) {
            let (mss, window_scale, sack_permitted) = self.syn;
            segment.options.set_syn(SynOptions { mss, window_scale, sack_permitted });
        } else {
            for (start, length) in self.blocks.iter().take(usize::from(self.count) % (segment.options.sack_room() + 1)) {
                let start = at(near.ack, *start);
                let end = start.wrapping_add(u32::from(*length));
                segment.options.push_sack(SackBlock { start, end });
            }
        }
        segment
    }
}

/// An endpoint, and what it has received and sent.
struct End {
    connection: Connection,
    written: u64,
    delivered: u64,
    closed: bool,
    /// the shift of the windows that its peer announces
    scale: u8,
    /// the highest byte that the peer's window ever reached, by the loosest reading
    limit: u64,
    out: VecDeque<(Segment, Ecn)>,
    last: Segment,
}

impl End {
    fn new(connection: Connection, scale: u8) -> Self {
        Self {
            connection,
            written: 0,
            delivered: 0,
            closed: false,
            scale,
            limit: 1,
            out: VecDeque::new(),
            last: Segment::default(),
        }
    }

    fn transmit(&mut self, now: Instant) {
        for _ in 0..BURST_MAX {
            let Some(segment) = self.connection.poll_transmit(now) else {
                return;
            };
            if segment.payload > 0 {
                let end = u64::from(segment.seq) + u64::from(segment.payload);
                assert!(end <= self.limit, "{segment:?} lies beyond {}", self.limit);
            }
            let wait_us = 12 * (1 + self.out.len() as u64);
            self.connection.queued_until(now + Duration::from_us(wait_us), &segment);
            self.last = segment;
            self.out.push_back((segment, self.connection.codepoint()));
        }
        panic!("it never stops sending");
    }

    fn receive(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let scale = if segment.flags.contains(Flags::SYN) { 0 } else { self.scale };
        let limit = u64::from(segment.ack) + (u64::from(segment.window) << scale);
        self.limit = self.limit.max(limit);
        self.connection.on_packet(now, segment, ecn, &mut ());
        let delivered = self.connection.delivered_bytes();
        assert!(delivered >= self.delivered, "what was delivered is taken back");
        self.delivered = delivered;
        self.transmit(now);
    }

    fn write(&mut self, now: Instant, bytes: u16) {
        let bytes = u64::from(bytes).min(WRITTEN_MAX - self.written);
        if !self.closed {
            self.connection.write(bytes);
            self.written += bytes;
            self.transmit(now);
        }
    }

    fn close(&mut self, now: Instant) {
        self.closed = true;
        self.connection.close();
        self.transmit(now);
    }
}

struct Exchange {
    ends: [End; 2],
    now: Instant,
    forged: bool,
}

impl Exchange {
    fn new(settings: [Settings; 2]) -> Self {
        let [client, server] = settings;
        let scales = [server.window_scale, client.window_scale];
        let mut client = Connection::active(&client);
        let mut server = Connection::passive(&server);
        // the application closes when the steps say so
        client.set_closes_with_peer(false);
        server.set_closes_with_peer(false);
        let mut client = End::new(client, scales[0]);
        client.transmit(Instant::ZERO);
        Self {
            ends: [client, End::new(server, scales[1])],
            now: Instant::ZERO,
            forged: false,
        }
    }

    fn step(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Write { end, bytes } => self.ends[usize::from(end)].write(now, bytes),
            Step::Close { end } => self.ends[usize::from(end)].close(now),
            Step::Wait { ns } => self.wait(now + Duration::from_ns(u64::from(ns))),
            Step::Fire => self.fire(),
            Step::Arrive { from, ce } => {
                if let Some((segment, ecn)) = self.ends[usize::from(from)].out.pop_front() {
                    let ecn = if ce && ecn != Ecn::NotEct { Ecn::Ce } else { ecn };
                    self.ends[usize::from(!from)].receive(now, &segment, ecn);
                }
            }
            Step::Lose { from } => drop(self.ends[usize::from(from)].out.pop_front()),
            Step::HoldBack { from } => {
                let out = &mut self.ends[usize::from(from)].out;
                if let Some(first) = out.pop_front() {
                    out.push_back(first);
                }
            }
            Step::Repeat { from } => {
                let out = &mut self.ends[usize::from(from)].out;
                out.extend(out.front().copied());
            }
            Step::Forge { to, segment, ecn } => {
                let segment = segment.segment(&self.ends[usize::from(!to)].last);
                let end = &mut self.ends[usize::from(to)];
                self.forged = true;
                // a forged SYN may have announced any
                end.scale = 14;
                end.receive(now, &segment, Ecn::from_bits(ecn));
            }
        }
    }

    /// Time passes, and what is due happens.
    fn wait(&mut self, until: Instant) {
        for _ in 0..BURST_MAX {
            match self.next_timer() {
                Some(at) if at <= until => self.fire(),
                _ => break,
            }
        }
        self.now = until;
    }

    fn next_timer(&self) -> Option<Instant> {
        self.ends.iter().filter_map(|end| end.connection.poll_timer()).min()
    }

    fn fire(&mut self) {
        let Some(at) = self.next_timer() else {
            return;
        };
        self.now = self.now.max(at);
        for end in &mut self.ends {
            end.connection.on_timer(self.now, &mut ());
            end.transmit(self.now);
        }
    }

    /// Nothing hinders them any more.
    fn end(&mut self) {
        for end in &mut self.ends {
            end.close(self.now);
        }
        for _ in 0..ENDING_MAX {
            let from = usize::from(self.ends[0].out.is_empty());
            if let Some((segment, ecn)) = self.ends[from].out.pop_front() {
                self.now += Duration::from_us(10);
                self.ends[1 - from].receive(self.now, &segment, ecn);
            } else if self.next_timer().is_some() {
                self.fire();
            } else {
                break;
            }
        }
        for (end, peer) in [(0, 1), (1, 0)] {
            let (end, peer) = (&self.ends[end], &self.ends[peer]);
            assert_eq!(end.delivered, peer.written, "delivered of what was written");
            assert!(end.connection.is_finished(), "it never ends");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut given = Unstructured::new(data);
    let Ok(settings) = (|| Ok::<_, arbitrary::Error>([any_settings(&mut given)?, any_settings(&mut given)?]))()
    else {
        return;
    };
    let [Some(client), Some(server)] = settings else {
        return;
    };
    let mut exchange = Exchange::new([client, server]);
    while !given.is_empty() {
        let Ok(step) = Step::arbitrary(&mut given) else {
            break;
        };
        exchange.step(&step);
    }
    if !exchange.forged {
        exchange.end();
    }
});
