//! TCP (RFC 9293).

use fairport_tcp::Flags;

use crate::captured::Captured;
use crate::checksum::PseudoHeader;
use crate::error::{EmitError, Fault, Layer, ParseError, check_range, room};
use crate::payload::Payload;
use crate::tcp_options::{OptionSet, TcpOptions};

/// Length of the header without options, in bytes.
pub const HEADER_BYTES: usize = 20;
/// Length of the longest header, with 40 bytes of options.
pub const HEADER_BYTES_MAX: usize = 60;
/// TCP's protocol number.
pub const PROTOCOL: u8 = 6;

/// A segment's bytes, read as TCP.
#[derive(Clone, Copy, Debug)]
pub struct TcpPacket<'a> {
    header: &'a [u8; HEADER_BYTES],
    segment: Captured<'a>,
    header_bytes: usize,
}

impl<'a> TcpPacket<'a> {
    /// Reads the fixed header. If the options were cut off, [`Self::options`] reports it when it reaches the cut. The
    /// checksum is not verified ([`Self::is_checksum_valid`]).
    ///
    /// # Errors
    /// [`ParseError`] if the fixed header was cut off, or the data offset does not fit the packet.
    #[inline]
    pub fn parse(payload: Captured<'a>) -> Result<Self, ParseError> {
        let (header, _) = payload.header::<HEADER_BYTES>(Layer::Tcp)?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(Fault::HeaderLength.at(Layer::Tcp));
        }
        if header_bytes > payload.length() {
            return Err(Fault::TotalLength.at(Layer::Tcp));
        }
        Ok(Self {
            header,
            segment: payload,
            header_bytes,
        })
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }

    #[inline]
    fn double_word(&self, at: usize) -> u32 {
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
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

    /// The sequence number of the first byte of data, or of the SYN if it is set.
    #[inline]
    pub fn seq(&self) -> u32 {
        self.double_word(4)
    }

    /// The acknowledgement number: the next byte that the sender of this segment expects. Valid if [`Flags::ACK`] is
    /// set.
    #[inline]
    pub fn ack(&self) -> u32 {
        self.double_word(8)
    }

    /// The control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags::from_bits(self.header[13])
    }

    /// The AE bit, which accurate ECN uses (RFC 9768 3.1).
    #[inline]
    pub fn accurate_ecn(&self) -> bool {
        self.header[12] & 1 != 0
    }

    /// The window field. The receive window in bytes is this value shifted left by the window scale (RFC 7323 2.2).
    #[inline]
    pub fn window(&self) -> u16 {
        self.word(14)
    }

    /// The urgent pointer.
    #[inline]
    pub fn urgent_pointer(&self) -> u16 {
        self.word(18)
    }

    /// Whether the checksum is right, or None if the segment was not captured whole. Captures on the sending host may
    /// hold segments whose checksums the network adapter has not filled in yet.
    pub fn is_checksum_valid(&self, pseudo: &PseudoHeader) -> Option<bool> {
        let bytes = self.segment.complete()?;
        Some(pseudo.with_length(bytes.len()).bytes(bytes).finish() == 0)
    }

    /// The length of the header with its options, in bytes.
    #[inline]
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// An iterator over the options.
    #[inline]
    pub fn options(&self) -> TcpOptions<'a> {
        let options = self.header_bytes - HEADER_BYTES;
        TcpOptions::new(Captured::first_of(
            &self.segment.bytes()[HEADER_BYTES..],
            options,
        ))
    }

    /// The length of the data in bytes, captured or not.
    #[inline]
    pub fn payload_length(&self) -> usize {
        self.segment.length() - self.header_bytes
    }

    /// The data.
    #[inline]
    pub fn payload(&self) -> Captured<'a> {
        let bytes = self.segment.bytes().get(self.header_bytes..);
        Captured::first_of(bytes.unwrap_or(&[]), self.payload_length())
    }

    /// The header as a value. Unknown options are left out.
    ///
    /// # Errors
    /// [`ParseError`] if the options were cut off, or an option's length is not valid.
    #[inline]
    pub fn header(&self) -> Result<TcpHeader, ParseError> {
        Ok(TcpHeader {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            seq: self.seq(),
            ack: self.ack(),
            flags: self.flags(),
            accurate_ecn: self.accurate_ecn(),
            window: self.window(),
            urgent_pointer: self.urgent_pointer(),
            options: OptionSet::read(self.options())?,
        })
    }
}

/// A TCP header as a value. `emit` computes the data offset and the checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The sequence number of the first byte of data, or of the SYN if it is set.
    pub seq: u32,
    /// The acknowledgement number: the next byte that the sender of this segment expects.
    pub ack: u32,
    /// The control bits.
    pub flags: Flags,
    /// The AE bit of accurate ECN.
    pub accurate_ecn: bool,
    /// The window field: the receive window in bytes, shifted right by the window scale.
    pub window: u16,
    /// The urgent pointer.
    pub urgent_pointer: u16,
    /// The options.
    pub options: OptionSet,
}

impl TcpHeader {
    /// The length of the header with its options, in bytes.
    ///
    /// # Errors
    /// [`EmitError`] if the options take more than the 40 bytes that a header has room for.
    pub fn bytes(&self) -> Result<usize, EmitError> {
        Ok(HEADER_BYTES + self.options.bytes()?)
    }

    /// Writes the header of a segment with this payload; returns the length of the header in bytes. The payload itself
    /// is not written.
    ///
    /// # Errors
    /// [`EmitError`] if the buffer is too short, or the options or the payload are longer than a segment allows.
    pub fn emit(
        &self,
        pseudo: &PseudoHeader,
        payload: Payload<'_>,
        out: &mut [u8],
    ) -> Result<usize, EmitError> {
        let options = self.options.written()?;
        let header_bytes = HEADER_BYTES + options.bytes().len();
        check_range("payload", payload.length(), 65_535 - header_bytes)?;
        let header = room(out, header_bytes)?;
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.seq.to_be_bytes());
        header[8..12].copy_from_slice(&self.ack.to_be_bytes());
        header[12] = (header_bytes / 4) as u8 * 16 + u8::from(self.accurate_ecn);
        header[13] = self.flags.bits();
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..18].fill(0);
        header[18..20].copy_from_slice(&self.urgent_pointer.to_be_bytes());
        header[HEADER_BYTES..].copy_from_slice(options.bytes());
        let sum = pseudo
            .with_length(header_bytes + payload.length())
            .bytes(header);
        let sum = payload.add_to(sum).finish();
        header[16..18].copy_from_slice(&sum.to_be_bytes());
        Ok(header_bytes)
    }
}
