//! Any bytes as a capture file: nothing panics, reading ends, and no more is read than there is. What can be
//! decoded goes through the flow tracker.
//!
//! Run it with `-detect_leaks=0`: a thread that unpacks ends a moment after its reader, and what it holds until then
//! counts as leaked.

#![no_main]

use fairport_trace::flow::{Seen, Tracker};
use fairport_trace::{Capture, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut capture) = Capture::from_bytes("fuzz", data.to_vec()) else {
        return;
    };
    let is_packed = data.starts_with(&[0x1f, 0x8b]) || data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let mut tracker = Tracker::new(1_000_000, None);
    let mut bytes = 0;
    while let Some(record) = capture.next_record() {
        bytes += record.bytes.len();
        let (time_ns, link) = (record.time_ns, record.link_type);
        if let Ok(packet) = decode(record.bytes, record.length, link, time_ns, true) {
            let time_ns = time_ns % (1 << 50);
            tracker.observe(&Seen {
                direction: u32::from(packet.key.ports[0] & 7),
                packet: &packet,
                time_ns,
                left_ns: Some(time_ns),
            });
        }
    }
    let lost = capture.damage().bytes as usize;
    assert!(is_packed || bytes + lost <= data.len());
});
