//! The totals of a region's ports, the packets in flight, and the check that no packet was lost.

use std::collections::btree_map::Entry;
use std::ops::Add;

use fairport_units::{Duration, Instant};

use super::{Fabric, Network, Region};
use crate::buffer::{Buffer, Place};
use crate::discipline::Backlog;
use crate::observer::Observer;
use crate::packet::Header;
use crate::port::{Kind, PortTotals};
use crate::topology::PortId;

/// A port's accounts before the first packet that arrives there after the end of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtEnd {
    totals: PortTotals,
    backlog_integral: u128,
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// Lets the run end at `end`. A host that is late with sending may decide before it about packets that its NIC will
    /// see after it. They do not count in the port's totals. This comes before the first packet.
    pub fn end_at(&mut self, end: Instant) {
        self.region.end = end;
    }

    /// Brings every port up to date at `now`. Call this before totals or packets in flight are read.
    pub fn settle(&mut self, now: Instant) {
        for id in 0..self.region.ports.len() as u32 {
            self.region.catch_up(&self.fabric, PortId(id), now);
        }
    }

    /// The totals of a port, as of the last [`Network::settle`].
    pub fn totals(&self, port: PortId) -> &PortTotals {
        let at_end = self.region.at_end.get(&port);
        at_end.map_or(&self.region.ports[port.0 as usize].totals, |it| &it.totals)
    }

    /// Packets that a port dropped on arrival or later, as of the last [`Network::settle`].
    pub fn drops(&self, port: PortId) -> u64 {
        let totals = self.totals(port);
        let kind = self.region.ports[port.0 as usize].kind;
        let revoked = self.region.scheduled.revoked(kind).packets;
        totals.arrivals - totals.accepted + revoked
    }

    /// How long a port was busy until `now`, as of the last [`Network::settle`]: how long it sent, gaps included, or a
    /// packet waited for its shaper's tokens. `now` is not before the network's own time.
    pub fn busy(&self, id: PortId, now: Instant) -> Duration {
        let region = &self.region;
        let port = &region.ports[id.0 as usize];
        let revoked = region.scheduled.revoked(port.kind);
        let waiting = region.scheduled.backlog(port.kind);
        let totals = self.totals(id);
        let packets = totals.accepted - revoked.packets - u64::from(waiting.packets);
        let bytes = totals.accepted_bytes - revoked.bytes - u64::from(waiting.bytes);
        let gap_bytes = self.fabric.framing.gap_bytes();
        port.busy(now, [packets, bytes], gap_bytes, region.on_the_way(id))
    }

    /// The backlog of a port, integrated over time until `now`, in bytes · ps, as of the last [`Network::settle`].
    /// `now` is not before the network's own time.
    pub fn backlog_integral(&self, id: PortId, now: Instant) -> u128 {
        let region = &self.region;
        let port = &region.ports[id.0 as usize];
        match port.kind {
            Kind::Plain | Kind::Ahead(_) | Kind::Cut(_) | Kind::Fifo => {
                let at_end = region.at_end.get(&id);
                let integral = at_end.map_or(port.backlog_integral, |it| it.backlog_integral);
                integral_until(now, integral, region.on_the_way(id))
            }
            kind @ Kind::Scheduled(_) => {
                port.backlog_integral + region.scheduled.backlog_integral_since(kind, now)
            }
        }
    }

    /// The backlog of a port at `now`, which is not before the network's own time.
    pub fn backlog(&mut self, port: PortId, now: Instant) -> Backlog {
        self.region.backlog(&self.fabric, port, now)
    }

    /// The headers of the packets that are in a buffer or on a link.
    pub fn in_flight(&self) -> impl Iterator<Item = &Header> {
        let Region {
            ports,
            packets,
            scheduled,
            ..
        } = &self.region;
        let on_links = ports
            .iter()
            .flat_map(|port| port.link.iter(&packets.transits));
        let handles = on_links.chain(scheduled.waiting());
        handles.map(|handle| packets.header(handle))
    }

    /// The packet counts of this region. The sum over all regions must be
    /// [conserved](Balance::assert_conservation).
    pub fn balance(&self) -> Balance {
        let region = &self.region;
        let mut balance = region.balance;
        for port in &region.ports {
            let waiting = region.scheduled.backlog(port.kind).packets;
            let revoked = region.scheduled.revoked(port.kind).packets;
            balance.accepted += port.totals.accepted - revoked;
            balance.in_flight += u64::from(port.link.len() + waiting);
        }
        balance
    }

    /// Asserts that every packet is accounted for, both those injected and those that ports accepted. The network must
    /// not be confined to a region.
    ///
    /// # Panics
    /// If a packet was lost without being dropped or appeared from nowhere.
    pub fn assert_conservation(&self) {
        self.balance().assert_conservation();
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Keeps the accounts of a NIC as they are, if it has not kept them yet.
    #[cold]
    pub(super) fn keep_accounts(&mut self, nic: PortId) {
        if let Entry::Vacant(place) = self.at_end.entry(nic) {
            let port = &self.ports[nic.0 as usize];
            place.insert(AtEnd {
                totals: port.totals,
                backlog_integral: port.backlog_integral,
            });
        }
    }

    /// See [`Network::backlog`].
    pub(super) fn backlog(&mut self, fabric: &Fabric, id: PortId, now: Instant) -> Backlog {
        self.catch_up(fabric, id, now);
        if let kind @ Kind::Scheduled(_) = self.ports[id.0 as usize].kind {
            return self.scheduled.backlog(kind);
        }
        match self.buffer_number(id) {
            Some(number) => self.buffers[number as usize].backlog(now),
            None => self.ports[id.0 as usize].backlog(now, &self.packets.transits),
        }
    }

    /// The number of a port's buffer, if it is kept apart from its link.
    pub(super) fn buffer_number(&self, port: PortId) -> Option<u32> {
        match self.ports[port.0 as usize].kind {
            Kind::Ahead(number) | Kind::Cut(number) => Some(number),
            _ => self.crossings.buffer(port),
        }
    }

    /// The packets that a port has accepted and may not have sent yet, without those that arrive after the end.
    fn on_the_way(&self, id: PortId) -> impl Iterator<Item = Place> {
        let transits = &self.packets.transits[..];
        let buffer = self
            .buffer_number(id)
            .map(|number| &self.buffers[number as usize]);
        let port = &self.ports[id.0 as usize];
        let on_link = buffer.is_none().then(|| port.link.places(transits));
        let in_buffer = buffer.map(Buffer::places);
        let places = on_link
            .into_iter()
            .flatten()
            .chain(in_buffer.into_iter().flatten());
        let in_time = self.at_end.get(&id).map(|at_end| {
            // those that arrive after the end were accepted last
            let late = port.totals.accepted - at_end.totals.accepted;
            let all = buffer.map_or(port.link.len() as usize, |it| it.places().count());
            all - late as usize
        });
        places.take(in_time.unwrap_or(usize::MAX))
    }
}

/// A backlog's integral until `now`, for a port that serves first in, first out: what was added when packets were
/// accepted, minus the part that comes after `now`. Those `on_the_way` may not have left the buffer yet.
fn integral_until(now: Instant, integral: u128, on_the_way: impl Iterator<Item = Place>) -> u128 {
    let ahead = on_the_way.map(|packet| {
        let span = packet.leaves.saturating_sub(now).as_ps();
        u128::from(span) * u128::from(packet.frame_bytes)
    });
    integral.saturating_sub(ahead.sum())
}

/// The packet counts of one region, or their sum over several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    pub(super) injected: u64,
    pub(super) delivered: u64,
    pub(super) dropped: u64,
    /// packets that arrived at a next node: packet-hops
    pub(super) arrived: u64,
    /// packets that ports accepted and did not drop afterwards
    accepted: u64,
    /// packets in a buffer or on a link
    in_flight: u64,
    /// packets that left for other regions, minus those that came from them; summed over all regions, those
    /// that have left one and not reached the other yet
    pub(super) crossing: i64,
}

impl Add for Balance {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            injected: self.injected + other.injected,
            delivered: self.delivered + other.delivered,
            dropped: self.dropped + other.dropped,
            arrived: self.arrived + other.arrived,
            accepted: self.accepted + other.accepted,
            in_flight: self.in_flight + other.in_flight,
            crossing: self.crossing + other.crossing,
        }
    }
}

impl Balance {
    /// Asserts that every packet is accounted for, both those injected and those that ports accepted.
    ///
    /// # Panics
    /// If a packet was lost without being dropped or appeared from nowhere.
    pub fn assert_conservation(&self) {
        let crossing = u64::try_from(self.crossing);
        let crossing = crossing.expect("conservation: what comes from a region has left another");
        let under_way = self.in_flight + crossing;
        assert_eq!(
            self.accepted,
            self.arrived + under_way,
            "conservation: accepted at the ports = arrived + in flight"
        );
        assert_eq!(
            self.injected,
            self.delivered + self.dropped + under_way,
            "conservation: injected = delivered + dropped + in flight"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_region_lacks_another_has() {
        let one = Balance {
            injected: 10,
            delivered: 3,
            dropped: 1,
            arrived: 7,
            accepted: 9,
            in_flight: 1,
            crossing: 4,
        };
        // three of the packets that the first region has sent have reached the second
        let other = Balance {
            injected: 5,
            delivered: 4,
            dropped: 3,
            arrived: 5,
            accepted: 7,
            in_flight: 2,
            crossing: -3,
        };
        (one + other).assert_conservation();
    }
}
