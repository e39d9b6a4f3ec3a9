//! UDP (RFC 768).

use crate::captured::Captured;
use crate::checksum::PseudoHeader;
use crate::error::{EmitError, Fault, Layer, ParseError, check_range, room};
use crate::payload::Payload;

/// Length of the header, in bytes.
pub const HEADER_BYTES: usize = 8;
/// UDP's protocol number.
pub const PROTOCOL: u8 = 17;

/// A datagram's bytes, read as UDP.
#[derive(Clone, Copy, Debug)]
pub struct UdpDatagram<'a> {
    header: &'a [u8; HEADER_BYTES],
    datagram: Captured<'a>,
}

impl<'a> UdpDatagram<'a> {
    /// Reads the header of a whole datagram. Bytes beyond its length field are left out. A length of zero means all
    /// bytes (RFC 2675 4).
    ///
    /// # Errors
    /// [`ParseError`] if the header was cut off, or its length contradicts the layer below.
    #[inline]
    pub fn parse(payload: Captured<'a>) -> Result<Self, ParseError> {
        Self::read(payload, false)
    }

    /// Reads the header in the first fragment of a datagram. The fragment has fewer bytes than the length field says.
    ///
    /// # Errors
    /// [`ParseError`] if the header was cut off, or its length does not cover the header.
    pub fn parse_first_fragment(payload: Captured<'a>) -> Result<Self, ParseError> {
        Self::read(payload, true)
    }

    #[inline]
    fn read(payload: Captured<'a>, is_fragment: bool) -> Result<Self, ParseError> {
        let (header, _) = payload.header::<HEADER_BYTES>(Layer::Udp)?;
        let length = match u16::from_be_bytes([header[4], header[5]]) {
            0 => payload.length(),
            length => usize::from(length),
        };
        if length < HEADER_BYTES || (length > payload.length() && !is_fragment) {
            return Err(Fault::TotalLength.at(Layer::Udp));
        }
        Ok(Self {
            header,
            datagram: payload.limit(length),
        })
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }

    /// The sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        self.word(0)
    }

    /// The receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        self.word(2)
    }

    /// Whether the checksum is right or absent (zero, in IPv4 only), or None if the datagram was not captured whole.
    pub fn is_checksum_valid(&self, pseudo: &PseudoHeader) -> Option<bool> {
        let bytes = self.datagram.complete()?;
        let sum = pseudo.with_length(bytes.len()).bytes(bytes).finish();
        Some(self.word(6) == 0 || sum == 0)
    }

    /// The data, or the part of it that the first fragment carries.
    #[inline]
    pub fn payload(&self) -> Captured<'a> {
        let length = self.datagram.length() - HEADER_BYTES;
        Captured::first_of(&self.datagram.bytes()[HEADER_BYTES..], length)
    }

    /// The header as a value.
    pub fn header(&self) -> UdpHeader {
        UdpHeader {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
        }
    }
}

/// A UDP header as a value. `emit` computes the length and the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl UdpHeader {
    /// Writes the header of a datagram with this payload; returns the length of the header in bytes. The payload itself
    /// is not written.
    ///
    /// # Errors
    /// [`EmitError`] if the buffer is too short, or the payload is longer than a datagram can be.
    pub fn emit(
        &self,
        pseudo: &PseudoHeader,
        payload: Payload<'_>,
        out: &mut [u8],
    ) -> Result<usize, EmitError> {
        check_range("payload", payload.length(), 65_535 - HEADER_BYTES)?;
        let header = room(out, HEADER_BYTES)?;
        let length = HEADER_BYTES + payload.length();
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        header[6..8].fill(0);
        let sum = pseudo.with_length(length).bytes(header);
        // RFC 768: a checksum of zero is sent as all ones, since zero means none
        let sum = match payload.add_to(sum).finish() {
            0 => 0xffff,
            sum => sum,
        };
        header[6..8].copy_from_slice(&sum.to_be_bytes());
        Ok(HEADER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// 10.0.0.1:7 to 10.0.0.2:9 with "Hi!". The sum is 0a00+0001+0a00+0002+0011+000b + 0007+0009+000b + 4869+2100 =
    /// 7da3, and its complement 825c.
    const DATAGRAM: [u8; 11] = [0, 7, 0, 9, 0, 11, 0x82, 0x5c, b'H', b'i', b'!'];

    fn pseudo() -> PseudoHeader {
        PseudoHeader::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), PROTOCOL)
    }

    #[test]
    fn a_datagram_is_read_and_written_byte_for_byte() {
        let read = UdpDatagram::parse(Captured::whole(&DATAGRAM)).expect("a datagram");
        assert_eq!(read.payload().bytes(), b"Hi!");
        assert_eq!(read.is_checksum_valid(&pseudo()), Some(true));
        let mut written = [0; 8];
        read.header()
            .emit(&pseudo(), Payload::Bytes(b"Hi!"), &mut written)
            .expect("room");
        assert_eq!(written, DATAGRAM[..8]);
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_all_ones() {
        let header = UdpHeader {
            source_port: 0,
            destination_port: 0,
        };
        let pseudo = PseudoHeader::ipv4(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED, PROTOCOL);
        // 17 + 10 + 10 + ffda = ffff
        let data = 0xffda_u16.to_be_bytes();
        let mut written = [0; 8];
        header
            .emit(&pseudo, Payload::Bytes(&data), &mut written)
            .expect("room");
        assert_eq!(written[6..], [0xff, 0xff]);
        let bytes = [&written[..], &data].concat();
        let read = UdpDatagram::parse(Captured::whole(&bytes)).expect("a datagram");
        assert_eq!(read.is_checksum_valid(&pseudo), Some(true));
    }

    #[test]
    fn a_changed_byte_makes_the_checksum_wrong_and_a_checksum_of_zero_is_none() {
        let is_valid = |at: usize, value: [u8; 2]| {
            let mut bytes = DATAGRAM;
            bytes[at..at + 2].copy_from_slice(&value);
            let read = UdpDatagram::parse(Captured::whole(&bytes)).expect("a datagram");
            read.is_checksum_valid(&pseudo())
        };
        assert_eq!(is_valid(8, *b"Ho"), Some(false));
        assert_eq!(is_valid(6, [0, 0]), Some(true));
    }

    #[test]
    fn a_length_beyond_the_packet_is_malformed_but_in_a_fragment() {
        let mut bytes = DATAGRAM;
        bytes[5] = 12;
        let error = UdpDatagram::parse(Captured::whole(&bytes)).expect_err("too long");
        assert_eq!(error, Fault::TotalLength.at(Layer::Udp));
        let first = UdpDatagram::parse_first_fragment(Captured::whole(&bytes)).expect("a fragment");
        assert_eq!(first.payload().length(), 3);
    }
}
