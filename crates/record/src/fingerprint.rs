//! The run's fingerprint: a hash of packet facts, so that a faster engine keeps it and probes do
//! not change it.

use fairport_net::discipline::Verdict;
use fairport_net::{Header, PortId};
use fairport_units::Instant;

use crate::content::Content;

/// One running hash per port, over what arrived there in the order in which it arrived: time, flow,
/// size, verdict; where it was sent, the identity of its content besides. A packet's content does not
/// change on its way, so it is hashed once. Engine events do not enter, nor does the order in which
/// an engine visits different ports.
pub struct Fingerprint {
    ports: Vec<u64>,
}

impl Fingerprint {
    /// Of a network with so many ports, before any packet.
    pub fn new(ports: usize) -> Self {
        Self {
            ports: vec![SEED; ports],
        }
    }

    /// A host sends a packet with this content by the `port` of its NIC.
    #[inline]
    pub fn sent(&mut self, port: PortId, content: &impl Content) {
        let hash = &mut self.ports[port.0 as usize];
        *hash = mix(*hash, content.identity());
    }

    /// A packet arrived at a port, or a port dropped or marked one that it had accepted.
    #[inline]
    pub fn verdict(&mut self, time: Instant, port: PortId, header: &Header, verdict: Verdict) {
        let verdict = if matches!(verdict, Verdict::Accepted) {
            0
        } else {
            number(verdict)
        };
        let facts = u64::from(header.flow) << 32 | u64::from(header.size_bytes) << 8 | verdict;
        let hash = &mut self.ports[port.0 as usize];
        *hash = mix(*hash ^ time.as_ps(), facts);
    }

    /// The hash of what happened at each port.
    pub fn ports(&self) -> &[u64] {
        &self.ports
    }

    /// The hash over all ports in their order.
    pub fn digest(&self) -> u64 {
        self.ports.iter().fold(SEED, |all, port| mix(all, *port))
    }
}

/// The number of a verdict other than acceptance.
#[cold]
fn number(verdict: Verdict) -> u64 {
    match verdict {
        Verdict::Accepted => 0,
        Verdict::Dropped(reason) => 1 + reason as u64,
        Verdict::Marked => 0xff,
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds the 128-bit product: every bit of both numbers reaches every bit of the result. Each
/// number is first moved off zero, which would swallow the other.
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
            route: 0,
            output: PortId(0),
            size_bytes,
            ecn: 0,
            class: 0,
        }
    }

    fn digest(time_us: u64, flow: u32, size_bytes: u16, verdict: Verdict) -> u64 {
        let mut fingerprint = Fingerprint::new(2);
        let time = Instant::from_us(time_us);
        fingerprint.verdict(time, PortId(1), &header(flow, size_bytes), verdict);
        fingerprint.digest()
    }

    #[test]
    fn every_fact_of_a_packet_counts() {
        let one = digest(5, 3, 1500, Verdict::Accepted);
        assert_eq!(one, digest(5, 3, 1500, Verdict::Accepted));
        assert_ne!(one, digest(6, 3, 1500, Verdict::Accepted));
        assert_ne!(one, digest(5, 4, 1500, Verdict::Accepted));
        assert_ne!(one, digest(5, 3, 1499, Verdict::Accepted));
        assert_ne!(one, digest(5, 3, 1500, Verdict::Marked));
        assert_ne!(one, digest(5, 3, 1500, Verdict::Dropped(Reason::Loss)));
    }

    #[test]
    fn the_order_in_which_ports_are_visited_does_not_count() {
        let visits = |order: [u32; 2]| {
            let mut fingerprint = Fingerprint::new(2);
            for port in order {
                let time = Instant::from_us(u64::from(port));
                fingerprint.verdict(time, PortId(port), &header(port, 40), Verdict::Accepted);
            }
            fingerprint.digest()
        };
        assert_eq!(visits([0, 1]), visits([1, 0]));
    }
}
