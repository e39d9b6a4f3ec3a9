//! The run's fingerprint: a hash of packet facts, so that a faster engine keeps it and probes do
//! not change it.

use fairport_net::discipline::Verdict;
use fairport_net::{Header, PortId};
use fairport_tcp::Segment;
use fairport_units::Time;

/// One running hash a port, over what arrived there in the order in which it arrived: time, flow,
/// size, verdict; where it was sent, sequence and acknowledgement number besides. A packet's
/// content does not change on its way, so it is looked at once. Engine events do not enter, nor
/// does the order in which an engine visits different ports.
pub(crate) struct Fingerprint {
    ports: Vec<u64>,
}

impl Fingerprint {
    pub(crate) fn new(ports: usize) -> Self {
        Self {
            ports: vec![SEED; ports],
        }
    }

    /// A host sends a segment by the `port` of its NIC.
    #[inline]
    pub(crate) fn sent(&mut self, port: PortId, segment: &Segment) {
        let numbers = u64::from(segment.seq) << 32 | u64::from(segment.ack);
        let hash = &mut self.ports[port.0 as usize];
        *hash = mix(*hash, numbers);
    }

    /// A packet met a port.
    #[inline]
    pub(crate) fn met(&mut self, time: Time, port: PortId, header: &Header, verdict: Verdict) {
        let verdict = if matches!(verdict, Verdict::Accepted) {
            0
        } else {
            number(verdict)
        };
        let facts = u64::from(header.flow) << 32 | u64::from(header.size_bytes) << 8 | verdict;
        let hash = &mut self.ports[port.0 as usize];
        *hash = mix(*hash ^ time.as_ps(), facts);
    }

    /// The hash over all ports in their order.
    pub(crate) fn digest(&self) -> u64 {
        self.ports.iter().fold(SEED, |all, port| mix(all, *port))
    }
}

/// What stands for a verdict other than acceptance.
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
