//! Captures in which hosts merged segments: the analysis is that of the segments.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fairport_tcp::Flags;
use fairport_trace::{Options, Outcome, Role, Source, analyse};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::join::Draw;

const START_NS: u64 = 1_700_000_000_000_000_000;
const US: u64 = 1000;
const RECEIVER: u8 = 100;
const TAPS: u8 = 2;
const FLOWS: u8 = 5;
/// Bytes of the headers of Ethernet, IPv4 and TCP.
const HEADERS: u16 = 54;
const STAMP_BYTES: u16 = 12;

/// A captured TCP packet over IPv4 with timestamps.
#[derive(Clone, Debug)]
struct Frame {
    time_ns: u64,
    from: u8,
    to: u8,
    seq: u32,
    ack: u32,
    identification: u16,
    flags: u8,
    payload: u16,
    /// on a SYN
    mss: Option<u16>,
}

impl Frame {
    /// What tcpdump would write, with a snapshot length of all headers.
    fn record(&self) -> Vec<u8> {
        let options = STAMP_BYTES + self.mss.map_or(0, |_| 4);
        let length = HEADERS + options + self.payload;
        let tick = ((self.time_ns - START_NS) / 1_000_000) as u32 + 1;
        let mut bytes = vec![0; 12];
        bytes.extend([0x08, 0x00, 0x45, 0x00]);
        bytes.extend((length - 14).to_be_bytes());
        bytes.extend(self.identification.to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, self.from, 10, 0, 0, self.to]);
        bytes.extend([0x13, 0x89, 0x13, 0x89]);
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([(((20 + options) / 4) << 4) as u8, self.flags]);
        bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
        if let Some(mss) = self.mss {
            bytes.extend([2, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        bytes.extend([1, 1, 8, 10]);
        bytes.extend(tick.to_be_bytes());
        bytes.extend(tick.saturating_sub(1).to_be_bytes());
        let mut record = Vec::new();
        for word in [
            self.time_ns / 1_000_000_000,
            self.time_ns % 1_000_000_000,
            bytes.len() as u64,
            length.into(),
        ] {
            record.extend((word as u32).to_le_bytes());
        }
        record.extend(bytes);
        record
    }
}

/// The frames at two ingress taps and at the output, in order of time.
#[derive(Clone, Debug, Default)]
struct Frames {
    ingress: [Vec<Frame>; TAPS as usize],
    egress: Vec<Frame>,
}

/// A sender, and what the receiver has of it.
#[derive(Clone, Debug)]
struct Flow {
    next: u32,
    identification: u16,
    /// how far the identification counts up with each packet: by 0 or 1 (RFC 6864 4.1)
    step: u16,
    /// segments that were dropped: when, and which
    lost: Vec<(u64, u32, u16)>,
}

impl Flow {
    fn new(draw: &mut Draw) -> Self {
        // some counters wrap
        let (identification, step) = [(0, 0), (65_500, 1), (1, 1)][draw.below(3) as usize];
        Self {
            next: draw.below(1 << 32) as u32,
            identification,
            step,
            lost: Vec::new(),
        }
    }
}

/// Bursts of senders to one receiver. The segments of a burst pass together, at one time. Some are dropped, also in a
/// row, and are sent again.
fn traffic(draw: &mut Draw, mss: u16, has_handshake: bool) -> Frames {
    let full = mss - STAMP_BYTES;
    let mut frames = Frames::default();
    let mut flows: Vec<Flow> = (0..FLOWS).map(|_| Flow::new(draw)).collect();
    let mut now = START_NS;
    let packet = |from: u8, time_ns, seq, identification, flags| Frame {
        time_ns,
        from,
        to: RECEIVER,
        seq,
        ack: 1,
        identification,
        flags,
        payload: 0,
        mss: None,
    };
    for (from, flow) in (0..).zip(&flows) {
        now += 50 * US;
        if has_handshake {
            // the sender may accept larger segments than it can send
            let offer = Some(mss + 1000 * draw.below(2) as u16);
            let syn = Frame {
                mss: offer,
                ack: 0,
                ..packet(from, now, flow.next.wrapping_sub(1), 0, Flags::SYN.bits())
            };
            let answer = Frame {
                from: RECEIVER,
                to: from,
                seq: 0,
                ack: flow.next,
                flags: (Flags::SYN | Flags::ACK).bits(),
                mss: Some(mss),
                ..packet(from, now + 20 * US, 0, 0, 0)
            };
            frames.ingress[usize::from(from % TAPS)].push(syn.clone());
            frames.egress.push(Frame {
                time_ns: now + 10 * US,
                ..syn
            });
            frames.egress.push(answer);
        }
    }
    let mut is_dropping = false;
    for _ in 0..80 {
        now += 30 * US + draw.below(400 * US);
        let from = draw.below(FLOWS.into()) as u8;
        let flow = &mut flows[usize::from(from)];
        let mut burst = Vec::new();
        let is_due = |(lost_ns, ..): &(u64, u32, u16)| lost_ns + 1000 * US < now;
        if flow.lost.first().is_some_and(is_due) {
            burst.extend(flow.lost.drain(..).map(|(_, seq, length)| (seq, length)));
        } else {
            let count = 1 + draw.below(14);
            for place in 1..=count {
                let is_short = place == count && draw.below(3) == 0;
                let length = if is_short {
                    1 + draw.below(u64::from(full) - 1) as u16
                } else {
                    full
                };
                burst.push((flow.next, length));
                flow.next = flow.next.wrapping_add(length.into());
            }
        }
        for (seq, length) in burst {
            let flags = Flags::ACK.bits() | if length < full { Flags::PSH.bits() } else { 0 };
            let frame = Frame {
                payload: length,
                ..packet(from, now, seq, flow.identification, flags)
            };
            flow.identification = flow.identification.wrapping_add(flow.step);
            frames.ingress[usize::from(from % TAPS)].push(frame.clone());
            is_dropping = draw.below(100) < if is_dropping { 60 } else { 6 };
            if is_dropping {
                flow.lost.push((now, seq, length));
            } else {
                frames.egress.push(Frame {
                    time_ns: now + 10 * US,
                    ..frame
                });
            }
        }
        let first_lost = flow
            .lost
            .iter()
            .map(|(_, seq, _)| *seq)
            .max_by_key(|seq| flow.next.wrapping_sub(*seq));
        frames.egress.push(Frame {
            from: RECEIVER,
            to: from,
            seq: 1,
            ack: first_lost.unwrap_or(flow.next),
            ..packet(from, now + 25 * US, 0, 0, Flags::ACK.bits())
        });
    }
    frames
}

/// The frames as an offload merges them, broken off at random.
fn merged(frames: &[Frame], draw: &mut Draw) -> Vec<Frame> {
    let mut done: Vec<Frame> = Vec::new();
    let mut segment = 0;
    for frame in frames {
        let before = done.last_mut().filter(|before| {
            let count = before.payload.checked_div(segment).unwrap_or(0);
            let is_next = before.seq.wrapping_add(before.payload.into()) == frame.seq;
            is_next
                && (before.time_ns, before.from, before.flags)
                    == (frame.time_ns, frame.from, frame.flags & !Flags::PSH.bits())
                && 0 < frame.payload
                && frame.payload <= segment
                && before.payload.is_multiple_of(segment)
                && [0, count].contains(&frame.identification.wrapping_sub(before.identification))
                && u32::from(before.payload) + u32::from(frame.payload) < 65_400
                && draw.below(10) > 0
        });
        if let Some(before) = before {
            before.payload += frame.payload;
            before.flags |= frame.flags;
        } else {
            segment = frame.payload;
            done.push(frame.clone());
        }
    }
    done
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("fairport-offloads-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn write(folder: &Path, name: &str, frames: &[Frame]) -> String {
    let path = folder.join(name);
    let mut content = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0];
    content.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    content.extend(frames.iter().flat_map(Frame::record));
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn analysed(folder: &Path, frames: &Frames) -> Outcome {
    let mut sources: Vec<Source> = Vec::new();
    for (number, frames) in frames.ingress.iter().enumerate() {
        sources.push(Source {
            file: write(folder, &format!("in{number}.pcap"), frames),
            role: Role::Ingress,
            ..Source::default()
        });
    }
    sources.push(Source {
        file: write(folder, "out.pcap", &frames.egress),
        role: Role::Egress,
        ..Source::default()
    });
    let options = Options {
        logs_packets: true,
        ..Options::default()
    };
    analyse(&sources, &options, |_| true).unwrap()
}

/// All tables but for the number of merged packets, as text: some numbers are none.
fn facts(outcome: &Outcome) -> String {
    let mut facts = format!("{} {:?}\n", outcome.packets, outcome.outputs);
    for table in &outcome.tables {
        let columns = table
            .columns
            .iter()
            .filter(|(name, _)| *name != "merged_segments");
        for (name, column) in columns {
            writeln!(facts, "{} {name} {column:?}", table.name).unwrap();
        }
    }
    facts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    /// The segments of a burst have one time in both, so that everything must be equal.
    #[test]
    fn merged_segments_are_analysed_as_if_they_were_not(
        seed in any::<u64>(),
        (mss, has_handshake) in prop::sample::select(vec![
            (1460, true), (536, true), (1398, true), (8960, true), (1460, false), (8960, false),
        ]),
        sides in 1_u8..8,
    ) {
        let mut draw = Draw(seed);
        let plain = traffic(&mut draw, mss, has_handshake);
        let mut long = plain.clone();
        for (number, frames) in long.ingress.iter_mut().chain([&mut long.egress]).enumerate() {
            if sides >> number & 1 == 1 {
                *frames = merged(frames, &mut draw);
            }
        }
        let folder = Folder::new(&seed.to_string());
        let [expected, found] = [&plain, &long].map(|frames| analysed(&folder.0, frames));
        let count = |frames: &Frames| frames.ingress.iter().map(Vec::len).sum::<usize>() + frames.egress.len();
        let merged: u64 = found.files.iter().map(|file| file.merged).sum();
        prop_assert!(merged > 10 && count(&long) < count(&plain));
        prop_assert_eq!(facts(&found), facts(&expected));
    }
}
