//! Capture files in every form that is read, and damaged ones.

use std::io::Write;

use fairport_trace::write::pcapng;
use fairport_trace::{Capture, Direction, Error};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Packets of different lengths: stamps in ns, and bytes.
fn packets() -> Vec<(u64, Vec<u8>)> {
    let packet = |n: u64| {
        let bytes = (0..20 + n % 50).map(|byte| (byte * 7 + n) as u8);
        (1_700_000_000_000_000_000 + n * 1_001_000, bytes.collect())
    };
    (0..40).map(packet).collect()
}

/// A classic capture of these packets.
fn classic(packets: &[(u64, Vec<u8>)], big_endian: bool, unit_ns: u64) -> Vec<u8> {
    let word = |number: u32| {
        if big_endian {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let magic = if unit_ns == 1 {
        0xa1b2_3c4d
    } else {
        0xa1b2_c3d4
    };
    let mut file = Vec::new();
    for number in [
        magic,
        if big_endian { 0x0002_0004 } else { 0x0004_0002 },
        0,
        0,
        65_535,
        1,
    ] {
        file.extend(word(number));
    }
    for (time_ns, bytes) in packets {
        let fraction = (time_ns % 1_000_000_000 / unit_ns) as u32;
        for number in [
            (time_ns / 1_000_000_000) as u32,
            fraction,
            bytes.len() as u32,
            1500,
        ] {
            file.extend(word(number));
        }
        file.extend(bytes);
    }
    file
}

/// A pcapng section of these packets, with stamps in units of 10^-power s.
fn blocks(packets: &[(u64, Vec<u8>)], big_endian: bool, power: u8) -> Vec<u8> {
    let word = |number: u32| {
        if big_endian {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let half = |number: u16| {
        if big_endian {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let block = |kind: u32, body: &[u8]| {
        let length = word(12 + body.len() as u32);
        [&word(kind)[..], &length, body, &length].concat()
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let resolution = [&half(9)[..], &half(1), &[power, 0, 0, 0], &[0; 4]].concat();
    let name = [&half(2)[..], &half(4), b"eth7"].concat();
    let interface = [&half(1)[..], &half(0), &word(0), &name, &resolution].concat();
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for (time_ns, bytes) in packets {
        let units = time_ns / 10_u64.pow(9 - u32::from(power));
        let mut body = [word(0), word((units >> 32) as u32), word(units as u32)].concat();
        body.extend([word(bytes.len() as u32), word(1500)].concat());
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    file
}

/// What is read of a file: stamps in units, and bytes.
fn read(file: Vec<u8>) -> (Capture, Vec<(u64, Vec<u8>)>) {
    let mut capture = Capture::from_bytes("test", file).unwrap();
    let mut found = Vec::new();
    while let Some(record) = capture.next_record() {
        assert_eq!(
            (record.length, record.interface, record.link_type),
            (1500, 0, 1)
        );
        found.push((record.time_ns, record.bytes.to_vec()));
    }
    (capture, found)
}

#[test]
fn all_forms_of_a_capture_hold_the_same_packets() {
    let packets = packets();
    for big_endian in [false, true] {
        for unit_ns in [1, 1000] {
            let (capture, found) = read(classic(&packets, big_endian, unit_ns));
            assert_eq!(found, packets);
            assert!(capture.damage().is_none());
        }
        for power in 6..=9 {
            let (capture, found) = read(blocks(&packets, big_endian, power));
            assert_eq!(found, packets);
            assert!(capture.damage().is_none());
            assert_eq!(capture.interfaces()[0].name, "eth7");
        }
    }
}

#[test]
fn packed_captures_are_unpacked() {
    let plain = classic(&packets(), false, 1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    assert_eq!(read(gzip.finish().unwrap()).1, packets());
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    assert_eq!(read(zstd).1, packets());
}

#[test]
fn a_packed_capture_that_breaks_off_is_read_so_far() {
    let many: Vec<_> = packets().into_iter().cycle().take(20_000).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&classic(&many, false, 1)).unwrap();
    let mut packed = gzip.finish().unwrap();
    packed.truncate(packed.len() / 2);
    let (capture, found) = read(packed);
    assert!(found.len() > 1000 && found.len() < many.len());
    assert_eq!(found[..], many[..found.len()]);
    assert!(capture.damage().problem.contains("cannot be read further"));
    // one damage, however often the end is read
    let mut capture = capture;
    let damage = capture.damage().clone();
    assert!(capture.next_record().is_none() && damage.packets <= 1);
    assert_eq!(*capture.damage(), damage);
}

#[test]
fn what_this_crate_writes_is_read_with_directions_and_comments() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "test");
    let interface = pcapng::Interface {
        name: "s0:1".to_owned(),
        description: "from h1".to_owned(),
        speed_bps: 1_000_000_000,
    };
    pcapng::interface(&mut file, &interface, 128);
    for (direction, comment) in [
        (Direction::In, Some("dropped: full")),
        (Direction::Out, None),
    ] {
        let packet = pcapng::PacketBlock {
            interface: 0,
            time_ns: 123_456_789,
            bytes: &[1, 2, 3, 4, 5],
            wire_bytes: 1500,
            direction,
            comment,
        };
        pcapng::packet(&mut file, &packet);
    }
    let mut capture = Capture::from_bytes("test", file).unwrap();
    let first = capture.next_record().unwrap();
    assert_eq!(
        (first.time_ns, first.direction),
        (123_456_789, Direction::In)
    );
    assert_eq!(
        (first.bytes, first.comment),
        (&[1, 2, 3, 4, 5][..], &b"dropped: full"[..])
    );
    let second = capture.next_record().unwrap();
    assert_eq!(
        (second.direction, second.comment),
        (Direction::Out, &b""[..])
    );
    assert!(capture.next_record().is_none());
}

#[test]
fn the_capturing_hosts_own_count_of_lost_packets_is_read() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "test");
    let interface = pcapng::Interface {
        name: "eth0".to_owned(),
        description: String::new(),
        speed_bps: 0,
    };
    pcapng::interface(&mut file, &interface, 128);
    // statistics of interface 0 so far: received, dropped by the interface, dropped by the system
    for lost in [5_u64, 7] {
        let mut body = [&[0; 12][..], &[4, 0, 8, 0], &900_u64.to_le_bytes()].concat();
        body.extend([&[5, 0, 8, 0][..], &lost.to_le_bytes()].concat());
        body.extend([&[7, 0, 8, 0][..], &3_u64.to_le_bytes(), &[0; 4]].concat());
        let length = (12 + body.len() as u32).to_le_bytes();
        file.extend([&5_u32.to_le_bytes()[..], &length, &body, &length].concat());
    }
    let mut capture = Capture::from_bytes("test", file).unwrap();
    assert!(capture.next_record().is_none());
    assert_eq!(capture.interfaces()[0].lost, 10);
}

#[test]
fn a_packet_without_a_stamp_has_that_of_the_one_before() {
    for big_endian in [false, true] {
        let words = |numbers: &[u32]| -> Vec<u8> {
            let bytes = |number: &u32| {
                if big_endian {
                    number.to_be_bytes()
                } else {
                    number.to_le_bytes()
                }
            };
            numbers.iter().flat_map(bytes).collect()
        };
        // simple packet blocks: all of 5 bytes, with padding, and the first 8 bytes of 1500
        let all = [
            &words(&[3, 24, 5])[..],
            &[1, 2, 3, 4, 5, 0, 0, 0],
            &words(&[24]),
        ]
        .concat();
        let first = [&words(&[3, 24, 1500])[..], &[9; 8], &words(&[24])].concat();
        let mut file = blocks(&packets()[..3], big_endian, 9);
        file.extend([&all[..], &first].concat());
        let mut capture = Capture::from_bytes("test", file).unwrap();
        for _ in 0..3 {
            capture.next_record().unwrap();
        }
        for (length, bytes) in [(5, &[1, 2, 3, 4, 5][..]), (1500, &[9; 8])] {
            let record = capture.next_record().unwrap();
            assert_eq!((record.time_ns, record.length), (packets()[2].0, length));
            assert_eq!((record.interface, record.bytes), (0, bytes));
        }
        assert!(capture.next_record().is_none() && capture.damage().is_none());
        // a section without an interface has no packets
        let section = blocks(&[], big_endian, 9)[..28].to_vec();
        let mut capture = Capture::from_bytes("test", [section, all].concat()).unwrap();
        assert!(capture.next_record().is_none());
    }
}

/// pcap-file 2.0 takes every stamp of pcapng for nanoseconds, so it is a second opinion on files that have
/// those, and on classic ones.
#[test]
fn an_independent_reader_finds_the_same() {
    let packets = packets();
    let file = classic(&packets, true, 1000);
    let mut theirs = pcap_file::pcap::PcapReader::new(&file[..]).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = theirs.next_packet() {
        let packet = packet.unwrap();
        found.push((packet.timestamp.as_nanos() as u64, packet.data.to_vec()));
    }
    assert_eq!(found, read(file).1);
}

#[test]
fn a_file_cut_short_loses_its_last_packet() {
    for file in [classic(&packets(), false, 1), blocks(&packets(), false, 9)] {
        let whole = file.len();
        let (capture, found) = read(file[..whole - 3].to_vec());
        assert_eq!(found[..], packets()[..39]);
        assert_eq!(capture.damage().packets, 1);
        assert_eq!(capture.damage().problem, "the file ends within a packet");
    }
}

#[test]
fn reading_goes_on_behind_a_damaged_place() {
    for file in [
        classic(&packets(), false, 1000),
        blocks(&packets(), true, 6),
    ] {
        let mut damaged = file.clone();
        // the 20th packet and some of the 21st become rubbish
        let at = file.len() / 2;
        damaged[at..at + 90].fill(0xee);
        let (capture, found) = read(damaged);
        assert!((35..40).contains(&found.len()), "{} packets", found.len());
        let last = packets().pop().unwrap();
        assert_eq!(found.last(), Some(&last));
        let damage = capture.damage();
        assert!(damage.bytes >= 40 && damage.bytes < 400, "{damage:?}");
        assert!(damage.packets >= 1);
    }
}

#[test]
fn a_damaged_stamp_does_not_make_all_others_unlikely() {
    let mut damaged = classic(&packets(), false, 1);
    // the header of the fourth record: its stamp is zero, and its length wrong
    let fourth = 24 + 3 * 16 + 20 + 21 + 22;
    damaged[fourth..fourth + 9].fill(0);
    let (capture, found) = read(damaged);
    assert!(found.len() >= 38, "{} packets", found.len());
    assert!(capture.damage().bytes < 100);
}

#[test]
fn a_record_that_claims_more_than_it_has_hides_none_behind_it() {
    let (mut packets, mut damaged) = (packets(), classic(&packets(), false, 1));
    let lengths = packets[..19].iter().map(|(_, bytes)| 16 + bytes.len());
    let captured = 24 + lengths.sum::<usize>() + 8;
    let bytes = packets.remove(19).1.len();
    damaged[captured..captured + 4].copy_from_slice(&(bytes as u32 + 200).to_le_bytes());
    let (capture, found) = read(damaged);
    assert_eq!(found, packets);
    let damage = capture.damage();
    assert_eq!((damage.packets, damage.bytes), (1, 16 + bytes as u64));
}

#[test]
fn a_length_that_no_packet_has_is_damage() {
    let length = 1500_u32.to_le_bytes();
    for file in [classic(&packets(), false, 1), blocks(&packets(), false, 9)] {
        let mut damaged = file;
        let of_last = damaged.windows(4).rposition(|word| word == length).unwrap();
        damaged[of_last..of_last + 4].fill(0xff);
        let (capture, found) = read(damaged);
        assert_eq!(found[..], packets()[..39]);
        assert_eq!(capture.damage().packets, 1);
    }
}

#[test]
fn what_is_no_capture_is_refused_with_a_remedy() {
    for (bytes, expected) in [
        (&b""[..], "is empty"),
        (
            b"hello, this is a text file and no capture",
            "is not a packet capture",
        ),
        (
            &[0x1f, 0x8b, 8, 0, 9, 9, 9, 9, 9, 9, 0, 1, 2],
            "cannot be unpacked",
        ),
        (b"\xfd7zXZ\0\0\x04", "is packed with xz"),
    ] {
        let Err(Error::Capture {
            problem, remedy, ..
        }) = Capture::from_bytes("test", bytes.to_vec())
        else {
            panic!("{expected}");
        };
        assert!(
            problem.contains(expected) && !remedy.is_empty(),
            "{problem}"
        );
    }
}

proptest! {
    // of 100,000 cases one makes a length that fits what is there by chance, and loses more
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn damage_anywhere_loses_little_and_no_packet_is_made_up(
        at in 0.05_f64..0.95, width in 1_usize..60, filling: u8, is_classic: bool,
    ) {
        let file = if is_classic { classic(&packets(), false, 1) } else { blocks(&packets(), false, 9) };
        let from = 200 + ((file.len() - 300) as f64 * at) as usize;
        let mut damaged = file;
        damaged[from..from + width].fill(filling);
        let mut capture = Capture::from_bytes("test", damaged).unwrap();
        let mut found = 0;
        while let Some(record) = capture.next_record() {
            found += 1;
            prop_assert!(record.bytes.len() <= 1 << 20);
        }
        prop_assert!(found >= 34, "{} of 40 packets", found);
        prop_assert!(found <= 41);
    }
}
