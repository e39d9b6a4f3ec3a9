//! Any bytes as a frame, captured whole or cut off: nothing panics. What can be read as headers is written, and
//! read again the same. A mark keeps the checksum of IPv4 as right or as wrong as it was.

#![no_main]

use fairport_wire::{
    Captured, Frame, Headers, Network, ParseError, Payload, TcpHeader, Transport, TransportHeader, mark_ce,
};
use libfuzzer_sys::fuzz_target;

fn read(record: Captured<'_>) -> Result<Option<(Headers, Captured<'_>)>, ParseError> {
    Headers::read(&Frame::parse(record)?)
}

fn write(headers: &Headers, data: Captured<'_>) -> Option<Vec<u8>> {
    let payload = data.complete().map_or(Payload::Zeros(data.length()), Payload::Bytes);
    let mut bytes = vec![0; Headers::BYTES_MAX];
    // a host's capture may have more data than a packet can have
    let length = headers.emit(payload, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

fn written_and_read(record: Captured<'_>) {
    let Ok(Some((headers, data))) = read(record) else {
        return;
    };
    let Some(bytes) = write(&headers, data) else {
        assert!(data.length() > 65_535 - 60 - 40, "headers that were read can be written");
        return;
    };
    let headers_length = bytes.len();
    let frame = [&bytes[..], data.bytes()].concat();
    let again = Captured::first_of(&frame, headers_length + data.length());
    let (headers_again, data_again) = read(again).expect("what was written is legal").expect("IP");
    assert_eq!(headers_again, headers);
    assert_eq!(data_again, data);
    if let TransportHeader::Tcp(header) = headers.transport() {
        segment_and_back(again, header);
    }
}

/// A segment gives the header that it came from, but for what a segment does not have.
fn segment_and_back(record: Captured<'_>, header: &TcpHeader) {
    let frame = Frame::parse(record).expect("legal");
    let Ok(Some(Transport::Tcp(tcp))) = frame.network.transport() else {
        unreachable!("it is TCP");
    };
    let segment = tcp.to_segment().expect("options were read before");
    let back = TcpHeader::from_segment(&segment, header.source_port, header.destination_port);
    assert_eq!((back.seq, back.ack, back.flags), (header.seq, header.ack, header.flags));
    assert_eq!(back.options.timestamps, header.options.timestamps);
    assert!(back.bytes().is_ok());
}

/// Whether the checksum of IPv4 is right; None for other packets.
fn checksum(bytes: &[u8]) -> Option<bool> {
    match Frame::parse(Captured::whole(bytes)).ok()?.network {
        Network::Ipv4(packet) => Some(packet.is_checksum_valid()),
        _ => None,
    }
}

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let whole = Captured::whole(bytes);
    written_and_read(whole);
    let record = Captured::first_of(&bytes[..usize::from(cut).min(bytes.len())], bytes.len());
    written_and_read(record);
    match (Frame::parse(whole), Frame::parse(record)) {
        (Ok(whole), Ok(record)) => {
            assert_eq!(whole.network.total_length(), record.network.total_length());
            if let (Ok(key), Ok(cut)) = (whole.network.flow_key(), record.network.flow_key()) {
                assert_eq!(key, cut);
            }
        }
        (Ok(_), Err(error)) => assert!(error.is_truncated(), "{error}"),
        // a shorter capture never reads what a longer one cannot
        (Err(error), cut) => assert!(cut.is_err_and(|cut| cut.is_truncated() || cut == error)),
    }
    let mut marked = bytes.to_vec();
    if let Ok(frame) = Frame::parse(whole) {
        let _ = mark_ce(&mut marked[frame.network_offset()..]);
        assert_eq!(checksum(&marked), checksum(bytes));
    }
});
