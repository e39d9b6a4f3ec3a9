//! How packets enter the network: at a host's NIC.

use fairport_units::Instant;

use super::{Fabric, Region};
use crate::discipline::Backlog;
use crate::observer::Observer;
use crate::packet::Packet;
use crate::topology::PortId;

/// What a host can reach of the network: its own NIC, and the time.
pub struct Access<'a, P: Copy, O: Observer<P>> {
    fabric: &'a Fabric,
    region: &'a mut Region<P, O>,
}

impl<'a, P: Copy, O: Observer<P>> Access<'a, P, O> {
    pub(super) fn new(fabric: &'a Fabric, region: &'a mut Region<P, O>) -> Self {
        Self { fabric, region }
    }

    /// The time of the last arrival.
    #[inline]
    pub fn now(&self) -> Instant {
        self.region.now
    }

    /// A host sends a packet, which reaches its NIC at `at`. This is not before the present, and not
    /// before the time at which the host's last packet reached it. Returns when the packet's last bit
    /// leaves the NIC; [`Instant::NEVER`] if the NIC dropped it.
    #[inline(always)] // a copy for each of two callers
    pub fn inject(&mut self, at: Instant, mut packet: Packet<P>) -> Instant {
        let Self { fabric, region } = self;
        let (route, port) = region.passages.enter(&fabric.routes, packet.header.route);
        packet.header.route = route;
        if at > region.end {
            region.keep_accounts(port);
        }
        let nic = &mut region.ports[port.0 as usize];
        let number = nic.location.number;
        region.balance.injected += 1;
        region.observer.sent(port, &mut nic.observed, &packet);
        let handle = region.packets.put(&packet);
        region.enqueue(fabric, at, port, number, handle)
    }

    /// The backlog at `at` of the adapter through which packets with this route leave their host. `at` is not
    /// before the present, and not after the host's next packet reaches its adapter.
    pub fn backlog_of_adapter(&mut self, route: u32, at: Instant) -> Backlog {
        self.backlog(self.fabric.routes.first_output(route), at)
    }

    /// The backlog at `at` of the adapter with this port. `at` must be as for [`Access::backlog_of_adapter`].
    pub fn backlog(&mut self, adapter: PortId, at: Instant) -> Backlog {
        self.region.backlog(self.fabric, adapter, at)
    }
}
