//! Ethernet II frames, and up to two VLAN tags (IEEE 802.1Q, 802.1ad).

use std::fmt;

use crate::captured::Captured;
use crate::error::{EmitError, Fault, Layer, ParseError, room};

/// Length of the header without tags, in bytes.
pub const HEADER_BYTES: usize = 14;
/// Length of a VLAN tag, in bytes.
pub const TAG_BYTES: usize = 4;

/// The largest value of the length/type field that is a length (IEEE 802.3 3.2.6).
const LENGTH_MAX: u16 = 1500;
/// The smallest value of the length/type field that is a type.
const TYPE_MIN: u16 = 1536;

/// The address of a network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            let separator = if place > 0 { ":" } else { "" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

/// The length/type field. Values from 1536 say which protocol the payload is of; values up to 1500 are the length of
/// the payload in bytes. The numbers that begin a VLAN tag are not types here: they are read as [`VlanTag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// Address Resolution Protocol.
    pub const ARP: Self = Self(0x0806);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);

    /// The type of this number, or None if the number begins a VLAN tag or is undefined.
    pub const fn new(number: u16) -> Option<Self> {
        if TagKind::new(number).is_some() || (number > LENGTH_MAX && number < TYPE_MIN) {
            return None;
        }
        Some(Self(number))
    }

    /// The number in the field.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The length of the payload in bytes, or None if the field is a type. A frame with a length is an IEEE 802.3
    /// frame, whose payload begins with a logical link control header.
    pub const fn length(self) -> Option<u16> {
        if self.0 <= LENGTH_MAX {
            Some(self.0)
        } else {
            None
        }
    }
}

/// The kind of a VLAN tag, from its tag protocol identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// 0x8100: a customer's VLAN (IEEE 802.1Q).
    Customer,
    /// 0x88a8: a provider's VLAN (IEEE 802.1ad, "`QinQ`").
    Service,
    /// 0x9100: the outer tag of `QinQ` before IEEE 802.1ad.
    Legacy,
}

impl TagKind {
    /// The kind of the tag that a type of this number begins, or None if it begins none.
    pub const fn new(number: u16) -> Option<Self> {
        match number {
            0x8100 => Some(Self::Customer),
            0x88a8 => Some(Self::Service),
            0x9100 => Some(Self::Legacy),
            _ => None,
        }
    }

    const fn number(self) -> u16 {
        match self {
            Self::Customer => 0x8100,
            Self::Service => 0x88a8,
            Self::Legacy => 0x9100,
        }
    }
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// The kind of the tag.
    pub kind: TagKind,
    /// The tag control information: priority (3 bits), drop eligible (1 bit), VLAN identifier (12 bits).
    pub control: u16,
}

/// The tags of a frame, the outer one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VlanTags {
    /// An untagged frame.
    #[default]
    None,
    /// One tag.
    One(VlanTag),
    /// An outer and an inner tag.
    Two(VlanTag, VlanTag),
}

impl VlanTags {
    /// The tags, the outer one first.
    pub fn iter(self) -> impl Iterator<Item = VlanTag> {
        let (outer, inner) = match self {
            Self::None => (None, None),
            Self::One(tag) => (Some(tag), None),
            Self::Two(outer, inner) => (Some(outer), Some(inner)),
        };
        outer.into_iter().chain(inner)
    }

    /// The length of the tags, in bytes.
    const fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => TAG_BYTES,
            Self::Two(..) => 2 * TAG_BYTES,
        }
    }
}

/// A frame's bytes, read as Ethernet.
#[derive(Clone, Copy, Debug)]
pub struct EthernetFrame<'a> {
    addresses: &'a [u8; 12],
    tags: VlanTags,
    ether_type: EtherType,
    payload: Captured<'a>,
}

impl<'a> EthernetFrame<'a> {
    /// Reads the header and its VLAN tags.
    ///
    /// # Errors
    /// [`ParseError`] if the header was cut off, has more than two tags or an undefined type, or if its length field is
    /// longer than the payload.
    #[inline]
    pub fn parse(frame: Captured<'a>) -> Result<Self, ParseError> {
        let (header, mut payload) = frame.header::<HEADER_BYTES>(Layer::Ethernet)?;
        let [addresses @ .., high, low] = header;
        let mut number = u16::from_be_bytes([*high, *low]);
        let mut tags = VlanTags::None;
        while let Some(kind) = TagKind::new(number) {
            let (tag, rest) = payload.header::<TAG_BYTES>(Layer::Ethernet)?;
            let control = u16::from_be_bytes([tag[0], tag[1]]);
            let read = VlanTag { kind, control };
            tags = match tags {
                VlanTags::None => VlanTags::One(read),
                VlanTags::One(outer) => VlanTags::Two(outer, read),
                VlanTags::Two(..) => return Err(Fault::VlanTags.at(Layer::Ethernet)),
            };
            number = u16::from_be_bytes([tag[2], tag[3]]);
            payload = rest;
        }
        let ether_type = EtherType::new(number).ok_or(Fault::EtherType.at(Layer::Ethernet))?;
        if let Some(length) = ether_type.length() {
            let length = usize::from(length);
            if length > payload.length() {
                return Err(Fault::TotalLength.at(Layer::Ethernet));
            }
            payload = payload.limit(length);
        }
        Ok(Self {
            addresses,
            tags,
            ether_type,
            payload,
        })
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> MacAddress {
        self.address(0)
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> MacAddress {
        self.address(6)
    }

    #[inline]
    fn address(&self, at: usize) -> MacAddress {
        let mut bytes = [0; 6];
        bytes.copy_from_slice(&self.addresses[at..at + 6]);
        MacAddress(bytes)
    }

    /// The VLAN tags.
    #[inline]
    pub fn tags(&self) -> VlanTags {
        self.tags
    }

    /// The length/type field, which says what the payload is.
    #[inline]
    pub fn ether_type(&self) -> EtherType {
        self.ether_type
    }

    /// The payload: a packet, followed by padding if the packet is short.
    #[inline]
    pub fn payload(&self) -> Captured<'a> {
        self.payload
    }

    /// The length of the header with its tags, in bytes. The payload begins there.
    #[inline]
    pub fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.tags.bytes()
    }

    /// The header as a value.
    pub fn header(&self) -> EthernetHeader {
        EthernetHeader {
            destination: self.destination(),
            source: self.source(),
            tags: self.tags,
            ether_type: self.ether_type,
        }
    }
}

/// An Ethernet header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetHeader {
    /// The destination address.
    pub destination: MacAddress,
    /// The source address.
    pub source: MacAddress,
    /// The VLAN tags.
    pub tags: VlanTags,
    /// The length/type field, which says what the payload is.
    pub ether_type: EtherType,
}

impl EthernetHeader {
    /// The length of the header with its tags, in bytes.
    pub const fn bytes(&self) -> usize {
        HEADER_BYTES + self.tags.bytes()
    }

    /// Writes the header; returns its length in bytes.
    ///
    /// # Errors
    /// [`EmitError`] if the buffer is too short.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, EmitError> {
        let out = room(out, self.bytes())?;
        out[0..6].copy_from_slice(&self.destination.0);
        out[6..12].copy_from_slice(&self.source.0);
        let mut at = 12;
        for tag in self.tags.iter() {
            out[at..at + 2].copy_from_slice(&tag.kind.number().to_be_bytes());
            out[at + 2..at + 4].copy_from_slice(&tag.control.to_be_bytes());
            at += TAG_BYTES;
        }
        out[at..at + 2].copy_from_slice(&self.ether_type.0.to_be_bytes());
        Ok(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: [u8; 24] = [
        0x01, 0x00, 0x5e, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x07, // addresses
        0x88, 0xa8, 0x30, 0x64, // provider's VLAN 100, priority 1, drop eligible
        0x81, 0x00, 0xa0, 0x0a, // customer's VLAN 10, priority 5
        0x08, 0x00, 0x45, 0x00, // IPv4
    ];

    #[test]
    fn a_frame_with_two_tags_is_read_to_its_type() {
        let frame = EthernetFrame::parse(Captured::whole(&TAGGED)).expect("a frame");
        assert_eq!(frame.destination().to_string(), "01:00:5e:00:00:01");
        assert_eq!(frame.source(), MacAddress([2, 0, 0, 0, 0, 7]));
        let tags: Vec<_> = frame.tags().iter().collect();
        assert_eq!((tags[0].kind, tags[0].control), (TagKind::Service, 0x3064));
        assert_eq!((tags[1].kind, tags[1].control), (TagKind::Customer, 0xa00a));
        assert_eq!(frame.ether_type(), EtherType::IPV4);
        assert_eq!(frame.ether_type().number(), 0x0800);
        assert_eq!(frame.payload().bytes(), [0x45, 0x00]);
        assert_eq!(frame.header_bytes(), 22);
    }

    #[test]
    fn a_third_tag_is_refused() {
        let mut frame = TAGGED;
        frame[20..22].copy_from_slice(&[0x81, 0x00]);
        let error = EthernetFrame::parse(Captured::first_of(&frame, 60)).expect_err("three tags");
        assert!(error.is_truncated(), "the third tag was not captured");
        let whole = [&frame[..], &[0; 40]].concat();
        let error = EthernetFrame::parse(Captured::whole(&whole)).expect_err("three tags");
        assert_eq!(error, Fault::VlanTags.at(Layer::Ethernet));
    }

    #[test]
    fn the_length_of_an_802_3_frame_ends_its_payload() {
        let mut bytes = [0_u8; 60]; // the shortest frame, without its check sequence
        bytes[13] = 38; // a spanning tree's message: 38 bytes, then padding
        let frame = EthernetFrame::parse(Captured::whole(&bytes)).expect("a frame");
        assert_eq!(frame.payload().length(), 38);
        assert_eq!(frame.ether_type().length(), Some(38));
        // 46 bytes fill the frame, and 47 do not fit
        bytes[13] = 46;
        let frame = EthernetFrame::parse(Captured::whole(&bytes)).expect("a frame");
        assert_eq!(frame.payload().length(), 46);
        bytes[13] = 47;
        let error = EthernetFrame::parse(Captured::whole(&bytes)).expect_err("too long");
        assert_eq!(error, Fault::TotalLength.at(Layer::Ethernet));
    }
}
