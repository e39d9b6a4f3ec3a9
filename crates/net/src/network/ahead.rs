//! Forwarding ahead: a packet passes several ports at once, without an event at each.
//!
//! Where all packets of an output port come from one link, and the port at that link's near end knows
//! their departures when it accepts them, nothing can come between: the order in which they arrive is
//! the order in which they were accepted. So what happens at the second port is worked out at once, with
//! the time at which it will happen. On the way of ACKs from one receiver to many senders most ports are
//! like that.
//!
//! Nobody may look at such a port meanwhile, for it is ahead of the network's time. Ports that are
//! sampled or watched are therefore left out, and no packet is forwarded ahead beyond the end of the
//! run. All numbers are those of a run that goes from event to event.

use fairport_units::Instant;

use super::region::Lookahead;
use super::{Fabric, Region};
use crate::buffer::Buffer;
use crate::discipline::Admission;
use crate::observer::Observer;
use crate::pool::Handle;
use crate::port::Kind;
use crate::prefetch::prefetch;
use crate::routing::Path;
use crate::topology::PortId;

/// From where packets come to an output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// the link of this port alone
    Link(PortId),
    /// several links, or a host
    Several,
}

/// By port: from where packets come to it on any of a network's routes.
pub struct Feeders {
    of: Vec<Feeder>,
}

impl Feeders {
    /// Of a network of so many ports, without routes yet.
    pub fn new(ports: usize) -> Self {
        Self {
            of: vec![Feeder::Nobody; ports],
        }
    }

    /// Packets may go this way.
    pub fn add(&mut self, path: &Path) {
        let mut from = Feeder::Several; // the host
        for port in path {
            let feeder = &mut self.of[port.0 as usize];
            *feeder = match *feeder {
                Feeder::Nobody => from,
                known if known == from => known,
                _ => Feeder::Several,
            };
            from = Feeder::Link(*port);
        }
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Forwards ahead wherever it can from now on, where all packets go ways that the `feeders` know.
    /// Returns by port from where packets are forwarded ahead to it.
    pub(super) fn forward_ahead(
        &mut self,
        feeders: &Feeders,
        sampled: &[PortId],
        until: Instant,
    ) -> Vec<Option<PortId>> {
        self.ahead_until = until;
        let mut fed_ahead_by = vec![None; self.ports.len()];
        for (id, feeder) in (0..).map(PortId).zip(&feeders.of) {
            if let Feeder::Link(from) = *feeder
                && !sampled.contains(&id)
                && !self.observer.watches(id)
                && self.crossings.are_together([from, id])
                && [from, id]
                    .iter()
                    .all(|port| self.ports[port.0 as usize].can_be_ahead())
            {
                self.keep_buffer_apart(from);
                self.keep_buffer_apart(id);
                fed_ahead_by[id.0 as usize] = Some(from);
            }
        }
        fed_ahead_by
    }

    /// A port that can be ahead keeps its buffer apart from its link.
    fn keep_buffer_apart(&mut self, id: PortId) {
        let number = self.buffer_number(id).unwrap_or_else(|| {
            self.buffers.push(Buffer::new(self.ahead_until));
            self.buffers.len() as u32 - 1
        });
        let port = &mut self.ports[id.0 as usize];
        self.only_plain_ahead &= port.is_drop_tail();
        port.keep_buffer_apart(Kind::Ahead(number));
    }

    /// A packet arrives at a port that forwards ahead: it goes on from port to port until it is dropped,
    /// or comes to a node where the present is not known yet. Returns when its last bit leaves the first.
    ///
    /// It repeats the lines of `enqueue_fifo`: one function for both took 7 % more instructions per packet-hop. Where all
    /// such ports are `PLAIN`, disciplines cost nothing.
    #[inline(never)]
    pub(super) fn enqueue_ahead<const PLAIN: bool>(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
    ) -> Instant {
        let (mut now, mut id, mut ingress_number) = (now, id, ingress_number);
        let mut first_departure = Instant::NEVER;
        // the packet's own line of memory is written when it comes to rest
        let mut header = *self.packets.header(handle);
        let frame_bytes = fabric.framing.buffered_bytes(header.size_bytes);
        let wire_bytes = frame_bytes + fabric.framing.gap_bytes();
        loop {
            let hop = fabric.routes.hop(header.route);
            if hop.is_ahead() && self.lookahead > Lookahead::None {
                prefetch(&self.ports[hop.next.0 as usize]);
            }
            header.route += 1;
            header.output = hop.next;
            let port = &mut self.ports[id.0 as usize];
            let Kind::Ahead(number) = port.kind() else {
                unreachable!("only to such ports packets are forwarded ahead");
            };
            let buffer = &mut self.buffers[number as usize];
            self.passages.count(hop.counted_at());
            self.ingress_arrivals[port.ingress_slot(ingress_number)] += 1;
            let backlog = if PLAIN {
                port.backlog_apart(buffer, now, frame_bytes)
            } else {
                buffer.backlog(now)
            };
            let admission = port.admit::<PLAIN>(now, backlog, frame_bytes, ingress_number, &header);
            if !admission.is_accepted() {
                *self.packets.header_mut(handle) = header;
                let fate = (admission, Instant::NEVER);
                self.report_fifo(fabric, now, id, ingress_number, handle, fate);
                return first_departure;
            }
            let observed = &mut port.observed;
            self.observer
                .admission(id, observed, now, &header, admission);
            let (leaves, due) = port.transmit::<PLAIN>(now, frame_bytes, wire_bytes);
            // It may have left at once, unless others are to be counted before it. After the end of the run nothing
            // leaves: what is there at the end is still to be asked.
            if backlog.packets > 0 || leaves > now.min(self.ahead_until) {
                buffer.push(leaves, frame_bytes);
            } else {
                buffer.pass(leaves, frame_bytes);
            }
            port.count_accepted(frame_bytes, backlog.bytes + frame_bytes);
            let depart = port.free_at();
            first_departure = first_departure.min(depart);
            let goes_on = hop.is_ahead() && due <= self.ahead_until;
            let next_ingress_number = port.location.far_number;
            if !goes_on {
                *self.packets.header_mut(handle) = header;
                if self.crossings.buffer(id).is_some() {
                    self.put_on_cut_link(id, handle, due);
                } else {
                    if port.link.is_empty() {
                        self.events.insert(due, id.0, handle.index() as u32);
                    }
                    port.link.append(due, handle, &mut self.packets.transits);
                }
            }
            if !PLAIN && matches!(admission, Admission::Marked) || self.observer.watches(id) {
                *self.packets.header_mut(handle) = header;
                self.report_fifo(fabric, now, id, ingress_number, handle, (admission, depart));
                if !PLAIN {
                    header.ecn = self.packets.header(handle).ecn;
                }
            }
            if !goes_on {
                return first_departure;
            }
            self.packet_hops += 1;
            (now, id, ingress_number) = (due, hop.next, next_ingress_number);
        }
    }
}
