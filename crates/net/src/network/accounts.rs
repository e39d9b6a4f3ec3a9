//! What has happened at a region's ports, what is under way, and the check that nothing was lost.

use fairport_units::{Duration, Instant};

use super::{Fabric, Region};
use crate::buffer::{Buffer, Place};
use crate::discipline::Backlog;
use crate::observer::Observer;
use crate::packet::Header;
use crate::port::{Kind, OutputPort, PortTotals};
use crate::topology::PortId;

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Has every port sent what it has begun to send by `now`, before totals and packets under way
    /// are looked at.
    pub(super) fn settle(&mut self, fabric: &Fabric, now: Instant) {
        for id in 0..self.ports.len() as u32 {
            self.catch_up(fabric, PortId(id), now);
        }
    }

    /// What has happened at a port, as of the last [`Region::settle`].
    pub(super) fn totals(&self, port: PortId) -> &PortTotals {
        &self.ports[port.0 as usize].totals
    }

    /// Packets that a port dropped on arrival or later, as of the last
    /// [`Region::settle`].
    pub(super) fn drops(&self, port: PortId) -> u64 {
        let port = &self.ports[port.0 as usize];
        let revoked = self.scheduled.revoked(port.kind()).packets;
        port.totals.arrivals - port.totals.accepted + revoked
    }

    /// How long a port was busy until `now`, as of the last [`Region::settle`]: how long it sent,
    /// gaps included, or a packet waited for its shaper's tokens. `now` is not before the network's
    /// own time.
    pub(super) fn busy(&self, fabric: &Fabric, port: PortId, now: Instant) -> Duration {
        let port = &self.ports[port.0 as usize];
        let revoked = self.scheduled.revoked(port.kind());
        let waiting = self.scheduled.backlog(port.kind());
        let packets = port.totals.accepted - revoked.packets - u64::from(waiting.packets);
        let bytes = port.totals.accepted_bytes - revoked.bytes - u64::from(waiting.bytes);
        let gap_bytes = fabric.framing.gap_bytes();
        port.busy(now, [packets, bytes], gap_bytes, self.on_the_way(port))
    }

    /// The backlog of a port, integrated over time until `now`, in bytes · ps, as of the last
    /// [`Region::settle`]. `now` is not before the network's own time.
    pub(super) fn backlog_integral(&self, port: PortId, now: Instant) -> u128 {
        let port = &self.ports[port.0 as usize];
        match port.kind() {
            Kind::Plain | Kind::Ahead(_) | Kind::Fifo => {
                port.backlog_integral_until(now, self.on_the_way(port))
            }
            kind @ Kind::Scheduled(_) => {
                port.backlog_integral + self.scheduled.backlog_integral_since(kind, now)
            }
        }
    }

    /// What waits in a port's buffer at `now`, which is not before the network's own time.
    pub(super) fn backlog(&mut self, fabric: &Fabric, port: PortId, now: Instant) -> Backlog {
        self.catch_up(fabric, port, now);
        let port = &mut self.ports[port.0 as usize];
        match port.kind() {
            Kind::Plain | Kind::Fifo => port.backlog(now, &self.packets.transits),
            Kind::Ahead(number) => self.buffers[number as usize].backlog(now),
            kind @ Kind::Scheduled(_) => self.scheduled.backlog(kind),
        }
    }

    /// The packets that a port has accepted and may not have sent yet.
    fn on_the_way(&self, port: &OutputPort<O::PortState>) -> impl Iterator<Item = Place> {
        let transits = &self.packets.transits[..];
        let buffer = match port.kind() {
            Kind::Ahead(number) => Some(&self.buffers[number as usize]),
            _ => None,
        };
        let on_link = buffer.is_none().then(|| port.link.places(transits));
        let in_buffer = buffer.map(Buffer::places);
        on_link
            .into_iter()
            .flatten()
            .chain(in_buffer.into_iter().flatten())
    }

    /// The headers of the packets that are in a buffer or on a link.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Header> {
        let on_links = self
            .ports
            .iter()
            .flat_map(|port| port.link.iter(&self.packets.transits));
        let handles = on_links.chain(self.scheduled.waiting());
        handles.map(|handle| self.packets.header(handle))
    }

    /// Asserts that every packet is accounted for: what was injected, and what ports accepted.
    ///
    /// # Panics
    /// If a packet was lost without being dropped or appeared from nowhere.
    pub(super) fn assert_conservation(&self) {
        let mut in_flight = 0;
        let mut gone = 0;
        for port in &self.ports {
            let waiting = self.scheduled.backlog(port.kind()).packets;
            let here = u64::from(port.link.len() + waiting);
            let revoked = self.scheduled.revoked(port.kind()).packets;
            gone += port.totals.accepted - revoked - here;
            in_flight += here;
        }
        assert_eq!(gone, self.packet_hops, "conservation at the ports");
        assert_eq!(
            self.injected,
            self.delivered + self.dropped + in_flight,
            "conservation"
        );
    }
}
