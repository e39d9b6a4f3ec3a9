//! Any segments and ACKs of a few connections, forwarded or dropped, in any order: the flow tracker does not
//! panic, and its sums agree with each other.

#![no_main]

use arbitrary::Arbitrary;
use fairport_tcp::{Flags, SackBlock, Timestamps};
use fairport_trace::flow::{Seen, Tracker};
use fairport_trace::{Key, Packet};
use fairport_wire::SackList;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Event {
    direction: u8,
    later_ns: u32,
    seq: u32,
    ack: u32,
    payload: u16,
    flags: u8,
    window: u16,
    scale: Option<u8>,
    stamps: Option<(u32, u32)>,
    sacks: Vec<(u32, u32)>,
    is_dropped: bool,
    is_near: bool,
}

fuzz_target!(|events: Vec<Event>| {
    let mut tracker = Tracker::new(1_000_000, Some((0, 1_000_000_000)));
    let mut now = 0;
    for event in &events {
        now += u64::from(event.later_ns);
        let direction = u32::from(event.direction % 6);
        // numbers near each other make more sense
        let near = |number: u32| if event.is_near { number % 65_536 } else { number };
        let blocks: Vec<SackBlock> = event
            .sacks
            .iter()
            .take(4)
            .map(|(start, end)| SackBlock { start: near(*start), end: near(*end) })
            .collect();
        let key = Key { source: 1, destination: 2, ports: [3, 4], protocol: 6 };
        let packet = Packet {
            payload: u32::from(event.payload),
            seq: near(event.seq),
            ack: near(event.ack),
            window: event.window,
            ttl: 64,
            flags: Flags::from_bits(event.flags),
            window_scale: event.scale,
            timestamps: event.stamps.map(|(val, ecr)| Timestamps { val, ecr }),
            sacks: SackList::new(&blocks).unwrap_or_default(),
            ..Packet::new(key, now, 1514)
        };
        tracker.observe(&Seen {
            direction,
            packet: &packet,
            time_ns: now,
            left_ns: (!event.is_dropped).then_some(now + 1000),
        });
    }
    for connection in 0..tracker.connections() as u32 {
        let totals = tracker.totals(tracker.data_direction(connection));
        assert!(totals.counts.retransmits <= totals.counts.segments);
        // a packet that the captured host merged has several segments
        assert!(totals.counts.merged > 0 || totals.counts.segments <= totals.counts.packets);
        assert!(totals.first_ns <= totals.last_ns);
    }
    assert!(tracker.timeouts().len() <= events.len());
});
