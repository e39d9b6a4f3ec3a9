//! Why a frame was not read as TCP or UDP.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use fairport_wire::ParseError;

pub(super) const GRE: u8 = 47;
pub(super) const IPV4_IN_IP: u8 = 4;
pub(super) const IPV6_IN_IP: u8 = 41;
/// The largest number in Ethernet's field of the type that is a length (IEEE 802.3 3.2.6).
const LENGTH_MAX: u16 = 1500;

/// What a frame holds instead of TCP or UDP, or why this is unknown. Displayed, it follows a number of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unread {
    /// the capture ends before the headers do
    CutOff,
    /// the headers contradict their definition
    Malformed,
    /// a link of this type
    Link(u16),
    /// a packet of this type of Ethernet
    EtherType(u16),
    /// IP with this protocol
    Protocol(u8),
    /// a fragment without the transport's header
    LaterFragment,
}

impl Unread {
    /// Whether another packet may be inside, which was not looked for.
    pub fn is_tunnel(self) -> bool {
        matches!(self, Self::Protocol(GRE | IPV4_IN_IP | IPV6_IN_IP))
    }
}

impl From<ParseError> for Unread {
    fn from(error: ParseError) -> Self {
        if error.is_truncated() {
            Self::CutOff
        } else {
            Self::Malformed
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CutOff => "whose headers were cut off",
            Self::Malformed => "with malformed headers",
            Self::Link(number) => return write!(f, "of link type {number}"),
            Self::EtherType(0x0806) => "ARP",
            Self::EtherType(0x8808) => "Ethernet flow control",
            Self::EtherType(0x8809) => "LACP",
            Self::EtherType(0x8847 | 0x8848) => "MPLS without IP",
            Self::EtherType(0x8863 | 0x8864) => "PPPoE",
            Self::EtherType(0x88cc) => "LLDP",
            Self::EtherType(0x88f7) => "PTP",
            Self::EtherType(0x8915) => "RoCE",
            Self::EtherType(..=LENGTH_MAX) => "IEEE 802.3",
            Self::EtherType(number) => return write!(f, "of Ethernet type {number:#06x}"),
            Self::Protocol(1) => "ICMP",
            Self::Protocol(2) => "IGMP",
            Self::Protocol(IPV4_IN_IP | IPV6_IN_IP) => "IP in IP",
            Self::Protocol(GRE) => "GRE",
            Self::Protocol(50) => "ESP",
            Self::Protocol(58) => "ICMPv6",
            Self::Protocol(89) => "OSPF",
            Self::Protocol(103) => "PIM",
            Self::Protocol(112) => "VRRP",
            Self::Protocol(132) => "SCTP",
            Self::Protocol(number) => return write!(f, "of IP protocol {number}"),
            Self::LaterFragment => "later fragments",
        })
    }
}

/// The numbers of a capture's frames that were not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadCounts(BTreeMap<Unread, u64>);

impl UnreadCounts {
    #[cold]
    pub(crate) fn add(&mut self, unread: Unread) {
        // each length would be a kind of its own
        let unread = match unread {
            Unread::EtherType(..=LENGTH_MAX) => Unread::EtherType(LENGTH_MAX),
            other => other,
        };
        *self.0.entry(unread).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (unread, count) in &other.0 {
            *self.0.entry(*unread).or_default() += count;
        }
    }

    /// What the frames hold, and how many frames; the most frequent first.
    pub fn ranked(&self) -> Vec<(Unread, u64)> {
        let mut ranked: Vec<_> = self
            .0
            .iter()
            .map(|(unread, count)| (*unread, *count))
            .collect();
        ranked.sort_by_key(|(_, count)| Reverse(*count));
        ranked
    }

    /// The number of frames.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The most frequent ones in brackets, after a space.
    pub(crate) fn in_brackets(&self) -> String {
        let ranked = self.ranked();
        let parts: Vec<_> = ranked
            .iter()
            .take(3)
            .map(|(unread, count)| format!("{count} {unread}"))
            .collect();
        if parts.is_empty() {
            return String::new();
        }
        format!(" ({})", parts.join(", "))
    }

    /// What is wrong if nothing else was captured.
    pub(crate) fn problem(&self) -> String {
        let packets = match self.total() {
            0 => return "holds no packet".to_owned(),
            1 => "1 packet".to_owned(),
            many => format!("{many} packets"),
        };
        format!("holds no TCP or UDP in its {packets}{}", self.in_brackets())
    }

    /// What to do then.
    pub(crate) fn remedy(&self) -> &'static str {
        let most = self.ranked().first().map(|(unread, _)| *unread);
        match most {
            None => "capture again while the flows run: tcpdump -i PORT -s 128 -w FILE",
            Some(one) if one.is_tunnel() => {
                "--tunnels decodes what is in GRE, VXLAN, Geneve and IP in IP"
            }
            Some(Unread::CutOff) => {
                "capture at least 128 bytes of each packet, and 200 with tunnels: tcpdump -i PORT -s 200 -w FILE"
            }
            Some(_) => "capture at a port that the flows pass: tcpdump -i PORT -s 128 -w FILE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_with_a_length_are_one_kind() {
        let mut counts = UnreadCounts::default();
        for number in [60, 1500, 0x0806, 60] {
            counts.add(Unread::EtherType(number));
        }
        assert_eq!(counts.in_brackets(), " (3 IEEE 802.3, 1 ARP)");
    }
}
