//! The fields of a segment can be read back, and its header has the size that RFC 9293, 7323 and 2018 give.

use proptest::prelude::*;

use super::*;

/// Every byte of flags, checked bit by bit.
#[test]
fn flags_are_sets_of_bits() {
    let bit = |byte: u8, number: u8| byte >> number & 1 == 1;
    for a in 0..=u8::MAX {
        for b in 0..=u8::MAX {
            let (one, two) = (Flags::from_bits(a), Flags::from_bits(b));
            let all = (0..8).all(|n| !bit(b, n) || bit(a, n));
            let any = (0..8).any(|n| bit(b, n) && bit(a, n));
            assert_eq!((one.contains(two), one.intersects(two)), (all, any));
            let mut union = one;
            union |= two;
            assert_eq!(union, one | two);
            assert!((0..8).all(|n| bit(union.bits(), n) == (bit(a, n) || bit(b, n))));
        }
    }
    let known = [
        Flags::FIN,
        Flags::SYN,
        Flags::RST,
        Flags::PSH,
        Flags::ACK,
        Flags::ECE,
        Flags::CWR,
    ];
    assert_eq!(known.map(Flags::bits), [1, 2, 4, 8, 16, 64, 128]);
}

/// Rounds bytes up to whole words, as on the wire.
fn words(bytes: u32) -> u32 {
    bytes.next_multiple_of(4)
}

fn any_syn() -> impl Strategy<Value = SynOptions> {
    (any::<u16>(), any::<Option<u8>>(), any::<bool>()).prop_map(
        |(mss, window_scale, sack_permitted)| SynOptions {
            mss,
            window_scale,
            sack_permitted,
        },
    )
}

proptest! {
    #[test]
    fn sack_blocks_and_timestamps_come_out_as_they_were_put_in(
        stamps in any::<Option<(u32, u32)>>(), edges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4)
    ) {
        let stamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        let mut options = Options::default();
        if let Some(stamps) = stamps {
            options.set_timestamps(stamps);
        }
        let room = if stamps.is_some() { 3 } else { 4 };
        prop_assert_eq!(options.sack_room(), room);
        let blocks: Vec<_> = edges.iter().take(room).map(|&(start, end)| SackBlock { start, end }).collect();
        for block in &blocks {
            options.push_sack(*block);
        }
        prop_assert_eq!(options.timestamps(), stamps);
        prop_assert_eq!(options.sacks().collect::<Vec<_>>(), blocks.clone());
        prop_assert_eq!(options.has_sacks(), !blocks.is_empty());
        prop_assert_eq!(options.syn(), None);
        // timestamps take 10 bytes, SACK takes 2 plus 8 per block
        let sacks = if blocks.is_empty() { 0 } else { words(2 + 8 * blocks.len() as u32) };
        let bytes = if stamps.is_some() { words(10) } else { 0 } + sacks;
        prop_assert_eq!(options.wire_bytes(), bytes);
        prop_assert!(bytes <= 40);
    }

    #[test]
    fn the_options_of_a_syn_come_out_as_they_were_put_in(syn in any_syn(), stamps in any::<Option<(u32, u32)>>()) {
        let stamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        let mut options = Options::default();
        options.set_syn(syn);
        if let Some(stamps) = stamps {
            options.set_timestamps(stamps);
        }
        prop_assert_eq!(options.syn(), Some(syn));
        prop_assert_eq!(options.timestamps(), stamps);
        prop_assert_eq!(options.sacks().len(), 0);
        prop_assert!(!options.has_sacks());
        // MSS takes 4 bytes, window scale 3, timestamps 10, SACK-permitted 2; the last two share their padding
        let scale = if syn.window_scale.is_some() { words(3) } else { 0 };
        let others = match (stamps.is_some(), syn.sack_permitted) {
            (true, permitted) => words(10 + 2 * u32::from(permitted)),
            (false, true) => words(2),
            (false, false) => 0,
        };
        prop_assert_eq!(options.wire_bytes(), 4 + scale + others);
    }

    #[test]
    fn a_segment_takes_up_its_data_and_one_number_each_for_syn_and_fin(payload in any::<u16>(), flags in any::<u8>()) {
        let segment = Segment { payload, flags: Flags::from_bits(flags), ..Segment::default() };
        let ends = u32::from(flags % 2) + u32::from(flags / 2 % 2);
        prop_assert_eq!(segment.sequence_length(), u32::from(payload) + ends);
        prop_assert_eq!((segment.header_bytes(), segment.wire_bytes()), (40, 40 + u32::from(payload)));
    }
}

/// No room is left for a fifth block, or for a fourth beside timestamps (RFC 2018 3).
#[test]
fn blocks_beyond_the_room_are_refused() {
    let block = SackBlock { start: 1, end: 2 };
    for stamps in [false, true] {
        let mut options = Options::default();
        if stamps {
            options.set_timestamps(Timestamps { val: 1, ecr: 2 });
        }
        for _ in 0..options.sack_room() {
            options.push_sack(block);
        }
        let more = std::panic::catch_unwind(move || options.push_sack(block));
        assert!(more.is_err());
        let stamped = std::panic::catch_unwind(move || {
            let mut options = options;
            options.set_timestamps(Timestamps { val: 3, ecr: 4 });
        });
        assert_eq!(stamped.is_err(), !stamps);
    }
    let mut syn = Options::default();
    syn.set_syn(SynOptions::default());
    assert!(std::panic::catch_unwind(move || syn.push_sack(block)).is_err());
    let mut sacks = Options::default();
    sacks.push_sack(block);
    let both = std::panic::catch_unwind(move || {
        let mut sacks = sacks;
        sacks.set_syn(SynOptions::default());
    });
    assert!(both.is_err());
}
