//! A UDP flow while it runs: its source of datagrams and its sink.

use fairport_net::stream::Stream;
use fairport_plan::udp::{DatagramSource, Udp};
use fairport_tcp::{Segment, Timestamps};
use fairport_units::Instant;

pub(crate) use fairport_plan::udp::HEADER_BYTES;

const PS_PER_NS: u64 = 1000;

/// Writes the time of sending into a datagram, in nanoseconds. A datagram has no TCP options, so their
/// space is free; it does not count towards the datagram's size.
pub(crate) fn stamp(datagram: &mut Segment, now: Instant) {
    let ns = now.as_ps() / PS_PER_NS;
    datagram.options.set_timestamps(Timestamps {
        val: ns as u32,
        ecr: (ns >> 32) as u32,
    });
}

/// When a datagram was sent.
pub(crate) fn stamped(datagram: &Segment) -> Instant {
    let ns = datagram
        .options
        .timestamps()
        .map_or(0, |sent| u64::from(sent.val) | u64::from(sent.ecr) << 32);
    Instant::from_ps(ns * PS_PER_NS)
}

/// A source and its sink.
pub(crate) struct UdpFlow {
    source: DatagramSource,
    pub(crate) host: u32,
    pub(crate) route: u32,
    /// total payload, bytes; `u64::MAX`: without end
    pub(crate) size_bytes: u64,
    /// payload sent, bytes
    pub(crate) offset: u64,
    /// datagrams
    pub(crate) sent: u64,
    /// datagrams
    pub(crate) received: u64,
    /// payload received, bytes
    pub(crate) delivered: u64,
}

impl UdpFlow {
    /// A flow whose source begins at `now`.
    pub(crate) fn new(
        udp: Udp,
        stream: Stream,
        [host, route]: [u32; 2],
        size_bytes: Option<u64>,
        now: Instant,
    ) -> Self {
        let size_bytes = size_bytes.unwrap_or(u64::MAX);
        Self {
            source: DatagramSource::new(udp, stream, size_bytes, now),
            host,
            route,
            size_bytes,
            offset: 0,
            sent: 0,
            received: 0,
            delivered: 0,
        }
    }

    /// When the next datagram is due.
    pub(crate) fn next_at(&self) -> Instant {
        self.source.next_at()
    }

    /// The payload of the datagram that is due, if one is left.
    pub(crate) fn send(&mut self) -> Option<u16> {
        let payload = self.source.send()?;
        self.offset += u64::from(payload);
        self.sent += 1;
        Some(payload)
    }

    /// Sends nothing more.
    pub(crate) fn stop(&mut self) {
        self.source.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_carries_when_it_was_sent_to_the_nanosecond() {
        for ps in [0, 999, 1_000, 5_000_000_000_001, 90_000_000_000_000_123] {
            let sent = Instant::from_ps(ps);
            let mut datagram = Segment::default();
            stamp(&mut datagram, sent);
            assert_eq!((sent - stamped(&datagram)).as_ps(), ps % 1000);
        }
    }
}
