//! Any packets at the ports of a switch, in any order, with repeats and gaps: the join does not panic, decides
//! about each packet once, and its counts agree with what it says of each.

#![no_main]

use arbitrary::Arbitrary;
use fairport_tcp::Flags;
use fairport_trace::join::{Completeness, Fate, Join, Side};
use fairport_trace::{Key, Packet};
use libfuzzer_sys::fuzz_target;

const TAPS: u32 = 3;
const OUTPUTS: u32 = 2;

#[derive(Arbitrary, Debug)]
struct Event {
    later_ns: u32,
    place: u8,
    direction: u8,
    seq: u8,
    ack: u8,
    payload: u8,
    identification: u8,
    ecn: u8,
    is_far: bool,
    has_ack: bool,
}

fuzz_target!(|case: (u32, Vec<Event>)| {
    let (window_ns, events) = case;
    let mut join = Join::new(u64::from(window_ns) + 1, TAPS, OUTPUTS);
    let (mut now, mut came_in, mut went_out, mut elsewhere) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut decided, mut dropped, mut left, mut open) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut take = |emitted: &fairport_trace::join::Emitted| {
        decided += 1;
        match emitted.joined {
            Some(joined) => {
                assert!(joined.ingress < TAPS && joined.egress < OUTPUTS);
                match joined.fate {
                    Fate::Forwarded { left_ns, .. } => {
                        assert!(left_ns >= emitted.time_ns);
                        left += 1;
                    }
                    Fate::Dropped(_) => dropped += 1,
                    Fate::Unseen => {}
                    Fate::Open => open += 1,
                }
            }
            None => assert!(!emitted.is_apart),
        }
    };
    for event in &events {
        now += u64::from(event.later_ns);
        let side = match event.place % 6 {
            3 => Side::Egress(0),
            4 => Side::Egress(1),
            5 => Side::Other(u32::from(event.place)),
            tap => Side::Ingress(u32::from(tap)),
        };
        match side {
            Side::Ingress(_) => came_in += 1,
            Side::Egress(_) => went_out += 1,
            Side::Other(_) => elsewhere += 1,
        }
        let direction = u32::from(event.direction % 6);
        let ends = u128::from(direction / 2);
        // numbers that wrap make the same sense
        let base = if event.is_far { u32::MAX - 1000 } else { 0 };
        let key = Key {
            source: 2 * ends + u128::from(direction % 2),
            destination: 2 * ends + u128::from(1 - direction % 2),
            ports: [3, 4],
            protocol: 6,
        };
        let packet = Packet {
            payload: u32::from(event.payload),
            seq: base.wrapping_add(u32::from(event.seq) * 8),
            ack: base.wrapping_add(u32::from(event.ack) * 8),
            window: 1000,
            identification: u16::from(event.identification % 4),
            ttl: 64,
            ecn: event.ecn & 3,
            flags: if event.has_ack { Flags::ACK } else { Flags::NONE },
            ..Packet::new(key, now, 66 + u32::from(event.payload))
        };
        join.add(&packet, direction, side, now, None, &mut take);
    }
    join.finish(&mut take);
    let of = |count: fn(&Completeness) -> u64| join.completeness().map(|one| count(&one)).sum::<u64>();
    let [arrived, joined] = [of(|one| one.arrived), of(|one| one.joined)];
    let missed = of(|one| one.missed_at_ingress);
    assert!(decided <= came_in + went_out + elsewhere);
    assert!(joined + missed + of(|one| one.without_ingress) <= went_out);
    assert!(arrived <= came_in);
    assert_eq!((left, open), (joined + missed, of(|one| one.open)));
    assert_eq!(dropped, arrived - joined - of(|one| one.missed_at_egress) - of(|one| one.open));
});
