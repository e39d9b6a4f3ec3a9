//! The run's fingerprint: a hash of packet facts, so that a faster engine keeps it and probes do
//! not change it (DESIGN 4.6).

use fairport_net::discipline::Verdict;
use fairport_net::{Packet, PortId};
use fairport_tcp::Segment;
use fairport_units::Time;

/// One running hash a port, over what arrived there in the order in which it arrived: time, flow,
/// sequence and acknowledgement number, size, verdict. Engine events do not enter, nor does the
/// order in which an engine visits different ports.
pub(crate) struct Fingerprint {
    ports: Vec<u64>,
}

impl Fingerprint {
    pub(crate) fn new(ports: usize) -> Self {
        Self {
            ports: vec![SEED; ports],
        }
    }

    #[inline]
    pub(crate) fn note(
        &mut self,
        time: Time,
        port: PortId,
        packet: &Packet<Segment>,
        verdict: Verdict,
    ) {
        let verdict = if matches!(verdict, Verdict::Accepted) {
            0
        } else {
            number(verdict)
        };
        let numbers = u64::from(packet.content.seq) << 32 | u64::from(packet.content.ack);
        let rest = u64::from(packet.flow) << 32 | u64::from(packet.size_bytes) << 8 | verdict;
        let hash = &mut self.ports[port.0 as usize];
        *hash = mix(*hash ^ time.as_ps(), numbers ^ rest.rotate_left(17));
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
