//! Equal-cost multi-path as the controller of the Mininet reproductions (RipL-POX) chooses it.
//!
//! The shortest paths are numbered in order; the index is the CRC-32 of the 5-tuple modulo their number. The controller
//! packs the 5-tuple like C structures on a 64-bit machine, lowest byte first: addresses take 8 bytes, protocol and
//! ports 2. It sorts paths by the switches' names as text, which is the order of their numbers here up to k = 8.

use super::expected_load::{Demand, add_evenly};
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy.
pub struct RiplHash {
    shortest: ShortestPaths,
}

impl RiplHash {
    /// The policy for this topology.
    pub fn new(topology: &Topology) -> Self {
        let shortest = ShortestPaths::new(topology);
        Self { shortest }
    }
}

impl Routing for RiplHash {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path> {
        let ways = self.shortest.towards_host(topology, destination);
        let hash = u64::from(crc32(&packed(flow)));
        let path = ways.choose(topology.hosts()[source], |count| hash % count);
        path.into_iter().collect()
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        add_evenly(topology, demand, load);
    }
}

/// `struct.pack("LLHHH", ..)` of Python on a 64-bit machine.
fn packed(flow: &FiveTuple) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(22);
    for address in [flow.source, flow.destination] {
        bytes.extend(u64::from(u32::from(address)).to_le_bytes());
    }
    for field in [
        flow.protocol as u16,
        flow.source_port,
        flow.destination_port,
    ] {
        bytes.extend(field.to_le_bytes());
    }
    bytes
}

/// CRC-32 of IEEE 802.3, as zlib computes it.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ (POLYNOMIAL * (crc & 1))
        })
    };
    !bytes.iter().fold(!0, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_of_the_digits_is_the_standards_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_flow_hashes_as_python_says() {
        // zlib.crc32(struct.pack("LLHHH", 0x0a010002, 0x0a000002, 6, 32768, 5001))
        let flow = FiveTuple::of_tcp(0, [10, 1, 0, 2], [10, 0, 0, 2]);
        assert_eq!(packed(&flow).len(), 22);
        assert_eq!(crc32(&packed(&flow)), 0xc459_5e3a);
    }
}
