//! Port-fair: one first-in-first-out queue whose buffer the ingress ports share equally. When the buffer is full, the
//! ingress port that holds most of it loses its last packet to a port that holds less.
//!
//! A port blackout, which causes outcast, means that one ingress port takes every place that becomes free. This
//! discipline prevents that and nothing else. It knows no flows and has no queue per port, no random numbers and no
//! parameters. Packets leave in the order of their arrival.

use std::collections::VecDeque;

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::push_out::{Leaving, PushOut};
use super::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use crate::BuildError;
use crate::context::PortContext;
use crate::discipline::{Admission, DropTail, NOTHING, PacketView, Reason};
use crate::limit::Limit;

/// A port-fair queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the limit of the buffer that all ingress ports share
    pub limit: Limit,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<PortFair, BuildError> {
        Ok(PortFair::new(port.buffer(self.limit)?))
    }
}

/// A buffer that ingress ports share equally when it is full.
///
/// The rule: a packet that fits is accepted. A packet that does not fit is accepted if another ingress port holds more
/// of the buffer than the packet's own port would hold with it. The port that holds most then loses its last packet,
/// and this is repeated until the newcomer fits. Otherwise only the newcomer is dropped. So of a full buffer with L
/// places, each of n ports that send all the time holds L / n, and a port that needs less gets what it needs. The
/// buffer is counted in the unit of its limit.
#[derive(Clone, Debug)]
pub struct PortFair {
    buffer: DropTail,
    /// packets from each ingress port, by the port's number at its switch
    ingress: Vec<PacketFifo>,
    /// the ingress ports of accepted packets in the order of their arrival, with the numbers of these arrivals; those
    /// pushed out since are skipped
    order: VecDeque<(u64, u32)>,
    leaving: Leaving,
}

impl PortFair {
    /// An empty buffer.
    pub fn new(buffer: DropTail) -> Self {
        Self {
            buffer,
            ingress: Vec::new(),
            order: VecDeque::new(),
            leaving: Leaving::default(),
        }
    }

    /// What the buffer holds of these packets, in the unit of its limit.
    fn held(&self, fifo: &PacketFifo) -> u32 {
        if self.buffer.counts_packets() {
            fifo.packets()
        } else {
            fifo.bytes()
        }
    }

    /// Pushes out packets of ports that hold more than the newcomer's. Returns whether there is room now.
    fn make_room(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> bool {
        let newcomer = packets[offer.packet].packet;
        let size = if self.buffer.counts_packets() {
            1
        } else {
            newcomer.frame_bytes
        };
        let length = self.held(&self.ingress[newcomer.ingress_number as usize]) + size;
        let mut leaving = std::mem::take(&mut self.leaving);
        let loser = leaving.make_room(length, offer, self, packets);
        self.leaving = leaving;
        loser.is_some()
    }
}

impl PushOut for PortFair {
    fn buffer(&self) -> &DropTail {
        &self.buffer
    }

    /// In the unit of the limit.
    fn lengths(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(self.ingress.iter().map(|fifo| self.held(fifo)))
    }

    fn queue(&mut self, number: u32) -> &mut PacketFifo {
        &mut self.ingress[number as usize]
    }
}

impl PacketScheduler for PortFair {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let newcomer = packets[offer.packet].packet;
        let own = newcomer.ingress_number as usize;
        if self.ingress.len() <= own {
            self.ingress.resize_with(own + 1, PacketFifo::default);
        }
        if !self.buffer.fits(offer.backlog, newcomer.frame_bytes) && !self.make_room(offer, packets)
        {
            return Admission::Dropped(Reason::Share);
        }
        self.ingress[own].push(offer.packet, packets);
        let arrival = packets[offer.packet].counts.port_arrival;
        self.order.push_back((arrival, own as u32));
        Admission::Accepted
    }

    /// Nothing else waits, so the packet leaves at once and changes no state.
    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        let buffer = &self.buffer;
        Some(buffer.admission_or(Reason::Share, NOTHING, packet.frame_bytes))
    }

    /// Removes the packet that arrived first, from any ingress port.
    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        while let Some((arrival, ingress)) = self.order.pop_front() {
            let fifo = &mut self.ingress[ingress as usize];
            let first = fifo.first();
            if first.is_some_and(|first| packets[first].counts.port_arrival == arrival) {
                return fifo.pop(packets);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::stream::Stream;

    /// A packet of a flow that came through the ingress port with this number.
    fn through(ingress_number: u16, flow: u32, frame_bytes: u32) -> PacketView {
        PacketView {
            ingress_number,
            ..packet(flow, frame_bytes)
        }
    }

    fn of_packets(limit: u32) -> TestPort<PortFair> {
        TestPort::new(PortFair::new(DropTail::packets(limit)))
    }

    fn of_bytes(limit: u32) -> TestPort<PortFair> {
        TestPort::new(PortFair::new(DropTail::bytes(limit)))
    }

    const REFUSED: Admission = Admission::Dropped(Reason::Share);

    #[test]
    fn a_port_that_comes_to_a_full_buffer_gets_half_of_it_and_no_more() {
        let mut port = of_packets(10);
        for flow in 0..10 {
            assert_eq!(port.enter(through(0, flow, 1518)), Admission::Accepted);
        }
        assert_eq!(port.enter(through(0, 10, 1518)), REFUSED);
        // 10 and 0, 9 and 1, .. 6 and 4: with one more, the newcomer's port still holds no more than the other
        for flow in 100..105 {
            assert_eq!(port.enter(through(1, flow, 1518)), Admission::Accepted);
        }
        // at 5 and 5, neither takes a place from the other
        assert_eq!(port.enter(through(1, 105, 1518)), REFUSED);
        assert_eq!(port.enter(through(0, 11, 1518)), REFUSED);
        // port 0 lost its last packets, in reverse order
        let lost: Vec<u32> = port.dropped().into_iter().map(|(flow, _)| flow).collect();
        assert_eq!(lost, [9, 8, 7, 6, 5]);
    }

    #[test]
    fn of_two_ports_that_hold_alike_much_the_first_loses() {
        let mut port = of_packets(10);
        for flow in 0..10 {
            port.enter(through(1 + (flow % 2) as u16, flow, 1518));
        }
        assert_eq!(port.enter(through(0, 10, 1518)), Admission::Accepted);
        assert_eq!(port.dropped(), [(8, Reason::PushedOut)]); // it came from port 1
    }

    #[test]
    fn packets_leave_in_the_order_of_their_arrival() {
        let mut port = of_packets(6);
        // 0 1 0 0 0 0, and a packet from port 2 that pushes out the last one of port 0
        for (flow, ingress) in [0, 1, 0, 0, 0, 0, 2].into_iter().enumerate() {
            port.enter(through(ingress, flow as u32, 64));
        }
        assert_eq!(port.dropped(), [(5, Reason::PushedOut)]);
        assert_eq!(port.flows_sent(), [0, 1, 2, 3, 4, 6]);
    }

    #[test]
    fn a_port_alone_has_the_whole_buffer() {
        let mut port = of_bytes(16 * 1024);
        let admissions = (0..12).map(|flow| port.enter(through(3, flow, 1518)));
        let accepted = admissions
            .filter(|admission| admission.is_accepted())
            .count();
        assert_eq!(accepted, 10); // as drop-tail would
        assert_eq!(port.dropped(), []);
    }

    #[test]
    fn a_buffer_in_bytes_is_shared_by_bytes() {
        let mut port = of_bytes(6000);
        // 20 packets of 100 bytes and 4 of 1000 fill the buffer: 2000 bytes from port 0, 4000 from port 1
        for _ in 0..20 {
            port.enter(through(0, 0, 100));
        }
        for _ in 0..4 {
            port.enter(through(1, 1, 1000));
        }
        // 2000 + 1000 is less than 4000, so a packet of 1000 is pushed out; then 3000 + 100 is more than 3000
        assert_eq!(port.enter(through(0, 0, 1000)), Admission::Accepted);
        assert_eq!(port.dropped(), [(1, Reason::PushedOut)]);
        assert_eq!(port.enter(through(0, 0, 100)), REFUSED);
        assert_eq!(port.enter(through(1, 1, 100)), REFUSED);
    }

    #[test]
    fn nothing_is_pushed_out_for_a_newcomer_that_is_refused_after_all() {
        let mut port = of_bytes(1600);
        // port 1 holds 16 packets of 100 bytes; with a newcomer of 1518 bytes, port 0 would hold more after the first
        // of them is gone
        for flow in 0..16 {
            port.enter(through(1, flow, 100));
        }
        assert_eq!(port.enter(through(0, 99, 1518)), REFUSED);
        assert_eq!(port.dropped(), []);
        assert_eq!(port.flows_sent(), (0..16).collect::<Vec<u32>>());
    }

    #[test]
    fn ports_that_always_send_get_equal_admissions_however_many_they_send() {
        // Per packet sent, port 0 offers 12 packets, port 1 offers 2 and port 2 offers 1, in random order.
        let mut stream = Stream::new(7, "test", 0);
        let mut port = of_packets(12);
        let mut sent = [0; 3];
        for _ in 0..3000 {
            let mut offered = [[0; 12].as_slice(), &[1; 2], &[2]].concat();
            while !offered.is_empty() {
                let index = stream.up_to(offered.len() as u64 - 1) as usize;
                let ingress = offered.swap_remove(index);
                port.enter(through(ingress, u32::from(ingress), 1518));
            }
            let first = port.send().expect("the buffer is full");
            sent[usize::from(first.packet.ingress_number)] += 1;
        }
        for count in sent {
            assert!((950..=1050).contains(&count), "{sent:?}");
        }
    }
}
