//! How packets enter the network: at a host's NIC, or at a port of a switch.

use fairport_units::Instant;

use super::{Ingress, Network};
use crate::discipline::Backlog;
use crate::observer::Observer;
use crate::packet::Packet;
use crate::routing::Routes;
use crate::topology::PortId;

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// A host sends a packet, which reaches its NIC at `at`: not before the present, and not
    /// before the packet that it sent last. Returns when its last bit leaves the NIC;
    /// [`Instant::NEVER`] if the NIC's queue was full.
    #[inline]
    pub fn inject(&mut self, at: Instant, mut packet: Packet<P>) -> Instant {
        let (route, port) = self.routes.enter(packet.header.route);
        packet.header.route = route;
        let nic = &mut self.ports[port.0 as usize];
        let number = nic.location.number;
        self.injected += 1;
        self.observer.sent(port, &mut nic.observed, &packet);
        let handle = self.packets.put(&packet);
        self.enqueue(at, port, Ingress { port, number }, handle)
    }

    /// What waits at `at` in the adapter by which packets with this route leave their host. `at` is not before
    /// the present, and no later than that of the next packet that the host injects.
    pub fn backlog_of_adapter(&mut self, route: u32, at: Instant) -> Backlog {
        self.backlog(self.routes.first_output(route), at)
    }

    /// A packet from outside enters the network at a switch: its last bit is in, and its processing
    /// done, at `at`, and it came in through the port `ingress` of the switch. Its route begins with
    /// an output port of this switch, or at a host: then it goes on behind the link that leads to
    /// `ingress`. Returns when its last bit leaves the output port; [`Instant::NEVER`] if it is
    /// dropped, or if that is not known yet.
    ///
    /// This is the entrance for a switch between real hosts, whose adapters are not simulated. The
    /// network must have advanced to `at`: no packet in it may arrive before. Packets that enter at
    /// the same instant go in the order of the calls, not of the arbitration rule. The observer sees
    /// an arrival, but nothing [`sent`](Observer::sent).
    ///
    /// # Panics
    /// If the network has not advanced to `at`, or is past it; if the route does not pass `ingress`
    /// or its switch, or ends there.
    pub fn arrive(&mut self, at: Instant, ingress: PortId, mut packet: Packet<P>) -> Instant {
        assert!(at >= self.now, "time went back");
        assert!(at <= self.events.next_time(), "a packet is due before");
        self.now = at;
        let (route, port) = self.routes.enter(packet.header.route);
        let (route, output) = self.first_output_behind(ingress, route, port);
        packet.header.route = route;
        self.injected += 1;
        let number = self.ports[ingress.0 as usize].location.number;
        let handle = self.packets.put(&packet);
        let ingress = Ingress {
            port: ingress,
            number,
        };
        self.enqueue(at, output, ingress, handle)
    }

    /// The hop at which a packet goes on that came in through `ingress`, and its output port. The
    /// route begins at the hop `route` with the output `port`.
    fn first_output_behind(&self, ingress: PortId, route: u32, port: PortId) -> (u32, PortId) {
        let location = |port: PortId| &self.ports[port.0 as usize].location;
        let node = |port: PortId| location(location(port).far_port).far_node;
        if node(port) == node(ingress) {
            return (route, port);
        }
        let (mut hop, mut output) = (route, port);
        while location(output).far_port != ingress {
            hop += 1;
            output = self.routes.output(hop);
            assert!(
                output != Routes::END,
                "the route does not pass the ingress port"
            );
        }
        let output = self.routes.output(hop + 1);
        assert!(output != Routes::END, "the route ends at the ingress port");
        (hop + 1, output)
    }
}
