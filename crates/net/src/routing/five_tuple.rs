//! The fields of a flow that a router's hash reads.

use std::net::Ipv4Addr;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A flow's transport protocol. The value is the number that IANA gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its name")]
pub enum Protocol {
    Tcp = 6,
    Udp = 17,
}

/// Addresses, protocol and ports of one direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiveTuple {
    /// the sender's address
    pub source: Ipv4Addr,
    /// the receiver's address
    pub destination: Ipv4Addr,
    /// what the IP packets carry
    pub protocol: Protocol,
    /// the sender's port
    pub source_port: u16,
    /// the receiver's port
    pub destination_port: u16,
}

impl FiveTuple {
    /// The port on which iperf listens.
    const SERVER_PORT: u16 = 5001;
    /// Linux's `ip_local_port_range`: the first port, and the number of ports.
    const CLIENT_PORTS: (u16, u32) = (32_768, 28_232);

    /// The 5-tuple of the data of a run's flow with this number: from one of Linux's client ports, in turn, to iperf's
    /// port.
    pub fn of_flow(
        number: u32,
        protocol: Protocol,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    ) -> Self {
        let (first, count) = Self::CLIENT_PORTS;
        Self {
            source,
            destination,
            protocol,
            source_port: first + (number % count) as u16,
            destination_port: Self::SERVER_PORT,
        }
    }

    #[cfg(test)]
    pub(super) fn of_tcp(number: u32, source: [u8; 4], destination: [u8; 4]) -> Self {
        Self::of_flow(number, Protocol::Tcp, source.into(), destination.into())
    }

    /// The 5-tuple of the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }

    /// Chooses one of `ways` by a hash over all fields and `salt`. The choice is uniform, and independent of the choice
    /// for another salt.
    pub(super) fn choose(&self, salt: u64, ways: usize) -> usize {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let ports = pair(self.source_port.into(), self.destination_port.into());
        let words = [
            pair(self.source.into(), self.destination.into()),
            ports << 8 | self.protocol as u64,
        ];
        let mix = |state: u64, word: &u64| SplitMix64::seed_from_u64(state ^ word).next_u64();
        let hash = words.iter().fold(mix(0, &salt), mix);
        ((u128::from(hash) * ways as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u32) -> FiveTuple {
        FiveTuple::of_tcp(number, [10, 0, 0, 1], [10, 0, 0, 2])
    }

    #[test]
    fn clients_take_the_ports_of_linux_in_turn() {
        let ports = [0, 1, 28_231, 28_232].map(|number| flow(number).source_port);
        assert_eq!(ports, [32_768, 32_769, 60_999, 32_768]);
        assert_eq!(flow(3).destination_port, 5001);
    }

    #[test]
    fn flows_spread_evenly_over_the_ways() {
        let mut taken = [0; 4];
        for number in 0..4000 {
            taken[flow(number).choose(7, 4)] += 1;
        }
        // 1000 expected, with a standard deviation of 27
        assert!(
            taken.iter().all(|count| (890..1110).contains(count)),
            "{taken:?}"
        );
    }

    #[test]
    fn acknowledgements_spread_evenly_over_the_ways() {
        let mut taken = [0; 4];
        for number in 0..4000 {
            taken[flow(number).reversed().choose(7, 4)] += 1;
        }
        assert!(
            taken.iter().all(|count| (890..1110).contains(count)),
            "{taken:?}"
        );
    }

    #[test]
    fn choices_with_different_salts_are_independent() {
        let alike = (0..4000).filter(|n| flow(*n).choose(1, 4) == flow(*n).choose(2, 4));
        assert!((890..1110).contains(&alike.count()));
    }

    #[test]
    fn the_protocol_is_part_of_the_choice() {
        let udp = |number| FiveTuple {
            protocol: Protocol::Udp,
            ..flow(number)
        };
        let alike = (0..4000).filter(|n| flow(*n).choose(1, 4) == udp(*n).choose(1, 4));
        assert!((890..1110).contains(&alike.count()));
    }

    #[test]
    fn twice_reversed_is_the_same() {
        assert_eq!(flow(3).reversed().reversed(), flow(3));
        assert_eq!(flow(3).reversed().source_port, 5001);
    }
}
