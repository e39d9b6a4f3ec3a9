//! The fingerprint of a run: a hash of packet facts. A faster engine gives the same fingerprint, and probes do not
//! change it.

use fairport_net::Header;
use fairport_net::discipline::Admission;
use fairport_units::Instant;

use crate::content::Content;

/// The running hash of one port, over the packets that arrived there, in order: time, flow, size, admission. At the
/// port where a packet was first sent, the identity of its content is added; it does not change on the way, so it is
/// hashed only once. Neither engine events nor the order in which an engine visits ports affect the hash.
#[derive(Clone, Copy, Debug)]
pub struct PortFingerprint(u64);

impl Default for PortFingerprint {
    fn default() -> Self {
        Self(SEED)
    }
}

impl PortFingerprint {
    /// A host sends a packet with this content through this port, which is its NIC.
    #[inline]
    pub fn sent(&mut self, content: &impl Content) {
        self.0 = mix(self.0, content.identity());
    }

    /// A packet arrived, or the port dropped or marked a packet that it had accepted.
    #[inline]
    pub fn admission(&mut self, time: Instant, header: &Header, admission: Admission) {
        let admission = if matches!(admission, Admission::Accepted) {
            0
        } else {
            number(admission)
        };
        let facts = u64::from(header.flow) << 32 | u64::from(header.size_bytes) << 8 | admission;
        self.0 = mix(self.0 ^ time.as_ps(), facts);
    }
}

/// The hashes of a run.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// the hash of each port
    pub ports: Vec<u64>,
    /// the hash over all ports, in their order
    pub digest: u64,
}

impl Fingerprint {
    /// The hashes of a run from those of all ports, in their order.
    pub fn new<'a>(ports: impl Iterator<Item = &'a PortFingerprint>) -> Self {
        let ports: Vec<u64> = ports.map(|port| port.0).collect();
        let digest = ports.iter().fold(SEED, |all, port| mix(all, *port));
        Self { ports, digest }
    }
}

/// The number for an admission other than plain acceptance.
#[cold]
fn number(admission: Admission) -> u64 {
    match admission {
        Admission::Accepted => 0,
        Admission::Dropped(reason) => 1 + reason as u64,
        Admission::Marked => 0xff,
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds the 128-bit product, so that every bit of both numbers affects every bit of the result. Neither factor can be
/// zero, which would hide the other.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairport_net::discipline::Reason;

    fn header(flow: u32, size_bytes: u16) -> Header {
        Header {
            flow,
            size_bytes,
            ..Header::default()
        }
    }

    fn digest(time_us: u64, flow: u32, size_bytes: u16, admission: Admission) -> u64 {
        let mut ports = [PortFingerprint::default(); 2];
        let time = Instant::from_us(time_us);
        ports[1].admission(time, &header(flow, size_bytes), admission);
        Fingerprint::new(ports.iter()).digest
    }

    #[test]
    fn every_fact_of_a_packet_counts() {
        let one = digest(5, 3, 1500, Admission::Accepted);
        assert_eq!(one, digest(5, 3, 1500, Admission::Accepted));
        assert_ne!(one, digest(6, 3, 1500, Admission::Accepted));
        assert_ne!(one, digest(5, 4, 1500, Admission::Accepted));
        assert_ne!(one, digest(5, 3, 1499, Admission::Accepted));
        assert_ne!(one, digest(5, 3, 1500, Admission::Marked));
        assert_ne!(one, digest(5, 3, 1500, Admission::Dropped(Reason::Loss)));
    }

    #[test]
    fn the_order_in_which_ports_are_visited_does_not_count() {
        let visits = |order: [u32; 2]| {
            let mut ports = [PortFingerprint::default(); 2];
            for port in order {
                let time = Instant::from_us(u64::from(port));
                ports[port as usize].admission(time, &header(port, 40), Admission::Accepted);
            }
            Fingerprint::new(ports.iter()).digest
        };
        assert_eq!(visits([0, 1]), visits([1, 0]));
    }
}
