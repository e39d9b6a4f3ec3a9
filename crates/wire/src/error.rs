//! Errors: why bytes cannot be read as a header, and why a header cannot be written.

use std::fmt;

/// The header that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Ethernet II or IEEE 802.3, with its VLAN tags.
    Ethernet,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// An IPv6 extension header.
    Ipv6Extension,
    /// TCP.
    Tcp,
    /// The options of TCP.
    TcpOptions,
    /// UDP.
    Udp,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet header",
            Self::Ipv4 => "IPv4 header",
            Self::Ipv6 => "IPv6 header",
            Self::Ipv6Extension => "IPv6 extension header",
            Self::Tcp => "TCP header",
            Self::TcpOptions => "TCP options",
            Self::Udp => "UDP header",
        })
    }
}

/// How a header contradicts its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The layer below has fewer bytes than the header needs.
    TooShort,
    /// The version field names another version of the protocol.
    Version,
    /// The header's length field is less than the header's fixed part.
    HeaderLength,
    /// A length field is larger than the layer below allows, or does not cover the header.
    TotalLength,
    /// An option's length is below two, or reaches beyond the options.
    OptionLength,
    /// A length/type field between 1501 and 1535, which IEEE 802.3 leaves undefined.
    EtherType,
    /// More than two VLAN tags.
    VlanTags,
    /// More data than a segment can have (65,535 bytes).
    PayloadLength,
}

impl Fault {
    pub(crate) const fn at(self, layer: Layer) -> ParseError {
        ParseError::Malformed { layer, fault: self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the layer below has fewer bytes than it needs",
            Self::Version => "the version field is of another protocol",
            Self::HeaderLength => "its length field is less than its fixed part",
            Self::TotalLength => "a length field does not fit the layer below",
            Self::OptionLength => "an option's length does not fit",
            Self::EtherType => "the length/type field is undefined",
            Self::VlanTags => "more than two VLAN tags",
            Self::PayloadLength => "more data than a segment can have",
        })
    }
}

/// Why bytes cannot be read as a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The capture ends before the header does. The packet on the wire may have been valid.
    #[error("{layer}: {captured} of {needed} bytes were captured")]
    Truncated {
        /// The header that was cut off.
        layer: Layer,
        /// The length of the header, in bytes.
        needed: usize,
        /// The number of its bytes that were captured.
        captured: usize,
    },
    /// The bytes contradict the header's definition, and a longer capture would not change that.
    #[error("{layer}: {fault}")]
    Malformed {
        /// The header that is wrong.
        layer: Layer,
        /// How the header is wrong.
        fault: Fault,
    },
}

impl ParseError {
    /// Whether the capture was too short, so that a longer one might be readable.
    pub const fn is_truncated(&self) -> bool {
        matches!(self, Self::Truncated { .. })
    }
}

/// Why a header cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The buffer is shorter than the output.
    #[error("the buffer has {room} bytes, {needed} are needed")]
    Buffer {
        /// The length of the output, in bytes.
        needed: usize,
        /// The length of the buffer, in bytes.
        room: usize,
    },
    /// A value is too large for its field.
    #[error("`{field}` is {value}, but at most {max}")]
    Range {
        /// The name of the field.
        field: &'static str,
        /// The value.
        value: usize,
        /// The largest value that the field can hold.
        max: usize,
    },
}

/// Returns [`EmitError::Range`] if `value` is above `max`.
#[inline]
pub(crate) fn check_range(field: &'static str, value: usize, max: usize) -> Result<(), EmitError> {
    if value > max {
        return Err(EmitError::Range { field, value, max });
    }
    Ok(())
}

/// The first `needed` bytes of the buffer, or [`EmitError::Buffer`] if it is shorter.
#[inline]
pub(crate) fn room(out: &mut [u8], needed: usize) -> Result<&mut [u8], EmitError> {
    let room = out.len();
    out.get_mut(..needed)
        .ok_or(EmitError::Buffer { needed, room })
}
