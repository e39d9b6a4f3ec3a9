//! Ports that serve first in, first out: the short path, on which a packet's departure is known when
//! it is accepted.

use fairport_units::Instant;

use super::{Fabric, Region};
use crate::discipline::Admission;
use crate::observer::{Arrival, Counts, Observer};
use crate::packet::CE;
use crate::pool::Handle;
use crate::port::Kind;
use crate::topology::PortId;

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// A packet arrives at the output port of its next hop. Returns when its last bit leaves;
    /// [`Instant::NEVER`] if it is dropped, or if that is not known yet.
    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        output: PortId,
        ingress_number: u16,
        handle: Handle,
    ) -> Instant {
        if self.ports[output.0 as usize].kind == Kind::Plain {
            // the hot path: within the loop of packets it takes 1 to 3 % less time than as a call
            self.enqueue_fifo::<true>(fabric, now, output, ingress_number, handle, None)
        } else {
            self.enqueue_other(fabric, now, output, ingress_number, handle)
        }
    }

    /// A packet arrives at a port that is not plain.
    #[inline(never)] // so that the path of plain ports begins with one comparison, without a jump table
    fn enqueue_other(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        output: PortId,
        ingress_number: u16,
        handle: Handle,
    ) -> Instant {
        match self.ports[output.0 as usize].kind {
            Kind::Plain => unreachable!("see `enqueue`"),
            Kind::Ahead(_) if self.only_plain_ahead => {
                self.enqueue_ahead::<true>(fabric, now, output, ingress_number, handle)
            }
            Kind::Ahead(_) => {
                self.enqueue_ahead::<false>(fabric, now, output, ingress_number, handle)
            }
            Kind::Cut(_) => {
                self.enqueue_called::<true>(fabric, now, output, ingress_number, handle)
            }
            Kind::Fifo => self.enqueue_called::<false>(fabric, now, output, ingress_number, handle),
            Kind::Scheduled(number) => {
                self.enqueue_scheduled(fabric, now, output, ingress_number, handle, number)
            }
        }
    }

    /// [`Self::enqueue_fifo`] as a call, so that other paths do not share its registers.
    #[inline(never)]
    fn enqueue_called<const PLAIN: bool>(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
    ) -> Instant {
        let buffer = self.buffer_number(id);
        self.enqueue_fifo::<PLAIN>(fabric, now, id, ingress_number, handle, buffer)
    }

    /// A packet arrives at a port that serves first in, first out: it is put on the link or dropped. `buffer` is the
    /// number of the port's buffer, if that is kept apart from the link.
    #[inline(always)] // each caller is this function, specialized for one kind of port
    fn enqueue_fifo<const PLAIN: bool>(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
        buffer: Option<u32>,
    ) -> Instant {
        let port = &mut self.ports[id.0 as usize];
        let transits = &mut self.packets.transits[..];
        let header = &mut transits[handle.index()].header;
        let hop = fabric.routes.hop(header.route);
        self.passages.count(hop.counted_at());
        header.route += 1;
        header.output = hop.next;
        let header = *header;
        let frame_bytes = fabric.framing.buffered_bytes(header.size_bytes);
        if !PLAIN {
            port.forget_busy(self.now);
        }
        self.ingress_arrivals[port.ingress_slot(ingress_number)] += 1;
        let (backlog, admission) = if let Some(number) = buffer
            && PLAIN
        {
            port.admit_apart(&mut self.buffers[number as usize], now, frame_bytes)
        } else {
            let backlog = match buffer {
                None => port.backlog(now, transits),
                Some(number) => self.buffers[number as usize].backlog(now),
            };
            let admission = port.admit::<PLAIN>(now, backlog, frame_bytes, ingress_number, &header);
            (backlog, admission)
        };
        if !admission.is_accepted() {
            let fate = (admission, Instant::NEVER);
            self.report_fifo(fabric, now, id, ingress_number, handle, fate);
            return Instant::NEVER;
        }
        // what the compiler does not know: a plain port marks no packet
        let admission = if PLAIN {
            Admission::Accepted
        } else {
            admission
        };
        let observed = &mut port.observed;
        self.observer
            .admission(id, observed, now, &header, admission);
        let wire_bytes = frame_bytes + fabric.framing.gap_bytes();
        let depart = if let Some(number) = buffer {
            let (leaves, due) = port.transmit::<PLAIN>(now, frame_bytes, wire_bytes);
            port.count_accepted(frame_bytes, backlog.bytes + frame_bytes);
            let depart = port.free_at();
            self.buffers[number as usize].push(leaves, frame_bytes);
            self.put_on_cut_link(id, handle, due);
            depart
        } else {
            let (depart, due) =
                port.accept::<PLAIN>(now, frame_bytes, wire_bytes, handle, transits);
            if let Some(due) = due {
                self.events.insert(due, id.0, handle.index() as u32);
            }
            depart
        };
        if matches!(admission, Admission::Marked) || self.observer.watches(id) {
            self.report_fifo(fabric, now, id, ingress_number, handle, (admission, depart));
        }
        depart
    }

    /// Reports a packet that was dropped or marked, or that arrived at a watched port. This is a function of
    /// its own and reads the port's state again, so that the path of all other packets keeps its values
    /// in registers.
    #[inline(never)]
    pub(super) fn report_fifo(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
        (admission, depart): (Admission, Instant),
    ) {
        let port = &mut self.ports[id.0 as usize];
        let header = self.packets.header(handle);
        if !admission.is_accepted() {
            let observed = &mut port.observed;
            self.observer
                .admission(id, observed, now, header, admission);
        }
        let frame_bytes = fabric.framing.buffered_bytes(header.size_bytes);
        let totals = port.totals;
        let ingress_slot = port.ingress_slot(ingress_number);
        let link = port.link.backlog();
        let buffer = self.buffer_number(id);
        let mut backlog = buffer.map_or(link, |it| self.buffers[it as usize].backlog(now));
        // the packet itself does not count in `backlog` and `port_accepted`
        if admission.is_accepted() {
            // the packet may have left the buffer at once
            backlog.packets = backlog.packets.saturating_sub(1);
            backlog.bytes = backlog.bytes.saturating_sub(frame_bytes);
        }
        let counts = || Counts {
            port_arrival: totals.arrivals,
            ingress_arrival: if fabric.is_fed_ahead(id) {
                totals.arrivals // all packets come from one port, and are not counted by ingress port
            } else {
                self.ingress_arrivals[ingress_slot]
            },
            flow_arrival: self
                .passages
                .arrivals(fabric.routes.hop(header.route - 1).counted_at()),
            port_accepted: totals.accepted - u64::from(admission.is_accepted()),
        };
        self.observer.detail(&Arrival {
            time: now,
            port: id,
            ingress: fabric.ingress(id, ingress_number),
            header,
            content: self.packets.content(handle),
            addresses: &|| fabric.addresses(header.route - 1),
            frame_bytes,
            backlog,
            admission,
            depart,
            port_arrival: totals.arrivals,
            counts: &counts,
        });
        if !admission.is_accepted() {
            self.balance.dropped += 1;
            self.packets.release(handle);
        } else if matches!(admission, Admission::Marked) {
            self.packets.header_mut(handle).ecn |= CE;
            self.ports[id.0 as usize].totals.marked += 1;
        }
    }
}
