//! Forwarding ahead: a packet passes several ports in one step, without an event at each.
//!
//! Suppose that all packets of an output port come from one link, and that the port at that link's near end
//! knows a packet's departure when it accepts the packet. Then no other packet can come between them: they
//! arrive in the order in which they were accepted. So the arrival at the second port is computed right
//! away, with the time at which it will happen. Most ports on the path of ACKs from one receiver to many
//! senders are like that.
//!
//! Such a port is ahead of the network's time, so its state must not be read meanwhile. Ports that are
//! sampled or watched are therefore left out, and no packet is forwarded ahead beyond the end of the
//! run. The results are those of a run with an event at every port.

use fairport_units::Instant;

use super::region::PrefetchDepth;
use super::{Fabric, Network, Region};
use crate::buffer::Buffer;
use crate::discipline::Admission;
use crate::observer::Observer;
use crate::pool::Handle;
use crate::port::Kind;
use crate::prefetch::prefetch;
use crate::routing::Path;
use crate::topology::PortId;

/// Where the packets of an output port come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// only the link of this port
    Link(PortId),
    /// several links, or a host
    Several,
}

/// For each port, where its packets come from on all routes of a network.
pub struct Feeders {
    of: Vec<Feeder>,
}

impl Feeders {
    /// The feeders of a network with this number of ports and without routes yet.
    pub fn new(ports: usize) -> Self {
        Self {
            of: vec![Feeder::Nobody; ports],
        }
    }

    /// Adds a path that packets may take.
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

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// From now on, forwards packets ahead where no other packet can come between them: they pass several ports without
    /// an event at each. This does not change the results. The caller guarantees that `feeders` knows every route that
    /// will be added, that the backlog is read at `sampled` ports only, and that no port's totals are read before the
    /// run ends (see [`Network::end_at`]).
    ///
    /// # Panics
    /// If a packet has arrived.
    pub fn forward_ahead(&mut self, feeders: &Feeders, sampled: &[PortId]) {
        let region = &mut self.region;
        let mut fed_ahead_by = vec![None; region.ports.len()];
        for (id, feeder) in (0..).map(PortId).zip(&feeders.of) {
            if let Feeder::Link(from) = *feeder
                && !sampled.contains(&id)
                && !region.observer.watches(id)
                && region.crossings.are_together([from, id])
                && [from, id]
                    .iter()
                    .all(|port| region.ports[port.0 as usize].can_be_ahead())
            {
                region.keep_buffer_apart(from);
                region.keep_buffer_apart(id);
                fed_ahead_by[id.0 as usize] = Some(from);
            }
        }
        self.fabric.fed_ahead_by = fed_ahead_by;
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Makes a port that can be ahead keep its buffer apart from its link.
    fn keep_buffer_apart(&mut self, id: PortId) {
        let number = self.buffer_number(id).unwrap_or_else(|| {
            self.buffers.push(Buffer::new(self.end));
            self.buffers.len() as u32 - 1
        });
        let port = &mut self.ports[id.0 as usize];
        self.only_plain_ahead &= port.is_drop_tail();
        port.keep_buffer_apart(Kind::Ahead(number));
    }

    /// A packet arrives at a port that forwards ahead. It passes from port to port until it is dropped, or until its
    /// next arrival needs an event. Returns when its last bit leaves the first port.
    ///
    /// The code repeats that of `enqueue_fifo`, because one function for both took 7 % more instructions per
    /// packet-hop. If all such ports are drop-tail (`PLAIN`), the calls of disciplines are compiled out.
    #[inline(never)]
    pub(super) fn enqueue_ahead<const PLAIN: bool>(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
    ) -> Instant {
        let slot = self.ports[id.0 as usize].ingress_slot(ingress_number);
        self.ingress_arrivals[slot] += 1;
        let first = id;
        let (mut now, mut id, mut ingress_number) = (now, id, ingress_number);
        // the packet's own cache line is written when it stops
        let mut header = *self.packets.header(handle);
        let frame_bytes = fabric.framing.buffered_bytes(header.size_bytes);
        let wire_bytes = frame_bytes + fabric.framing.gap_bytes();
        loop {
            let hop = fabric.routes.hop(header.route);
            if hop.is_ahead() && self.prefetch_depth > PrefetchDepth::None {
                prefetch(&self.ports[hop.next.0 as usize]);
            }
            header.route += 1;
            header.output = hop.next;
            let port = &mut self.ports[id.0 as usize];
            let Kind::Ahead(number) = port.kind else {
                unreachable!("packets are forwarded ahead only to ports of this kind");
            };
            let buffer = &mut self.buffers[number as usize];
            self.passages.count(hop.counted_at());
            // No packet leaves a buffer after the end of the run, because the backlog at the end is still read.
            let (admission, due) =
                if PLAIN && let Some(due) = port.pass_at_once(now, frame_bytes, wire_bytes) {
                    // most packets on the way of ACKs
                    if due > self.end {
                        buffer.push(now, frame_bytes);
                    } else {
                        buffer.pass(now, frame_bytes);
                    }
                    (Admission::Accepted, due)
                } else {
                    let (backlog, admission) = if PLAIN {
                        port.admit_apart(buffer, now, frame_bytes)
                    } else {
                        let backlog = buffer.backlog(now);
                        let admission =
                            port.admit::<PLAIN>(now, backlog, frame_bytes, ingress_number, &header);
                        (backlog, admission)
                    };
                    if !admission.is_accepted() {
                        *self.packets.header_mut(handle) = header;
                        let fate = (admission, Instant::NEVER);
                        self.report_fifo(fabric, now, id, ingress_number, handle, fate);
                        if id == first {
                            return Instant::NEVER;
                        }
                        return self.ports[first.0 as usize].free_at();
                    }
                    let (leaves, due) = port.transmit::<PLAIN>(now, frame_bytes, wire_bytes);
                    if backlog.packets > 0 || leaves > now || due > self.end {
                        buffer.push(leaves, frame_bytes);
                    } else {
                        buffer.pass(leaves, frame_bytes);
                    }
                    port.count_accepted(frame_bytes, backlog.bytes + frame_bytes);
                    (admission, due)
                };
            let observed = &mut port.observed;
            self.observer
                .admission(id, observed, now, &header, admission);
            let next_ingress_number = port.location.far_number;
            if !PLAIN && matches!(admission, Admission::Marked) || self.observer.watches(id) {
                let fate = (admission, port.free_at());
                *self.packets.header_mut(handle) = header;
                self.report_fifo(fabric, now, id, ingress_number, handle, fate);
                if !PLAIN {
                    header.ecn = self.packets.header(handle).ecn;
                }
            }
            if !hop.is_ahead() || due > self.end {
                *self.packets.header_mut(handle) = header;
                if self.crossings.buffer(id).is_some() {
                    self.put_on_cut_link(id, handle, due);
                } else {
                    self.put_on_link(id, handle, due);
                }
                return self.ports[first.0 as usize].free_at();
            }
            self.balance.arrived += 1;
            (now, id, ingress_number) = (due, hop.next, next_ingress_number);
        }
    }
}
