//! A port for the tests of schedulers, which gives packets their handles and counts what waits.

use fairport_units::Instant;

use super::waiting::{Waiting, WaitingPackets};
use super::{Addresses, Handle, Offer, PacketScheduler};
use crate::discipline::{Admission, Backlog, NOTHING, PacketView, Reason};
use crate::observer::Counts;

/// A packet of a flow, with the flow's number as its class.
pub(super) fn packet(flow: u32, frame_bytes: u32) -> PacketView {
    PacketView {
        frame_bytes,
        flow,
        class: flow as u8,
        ..PacketView::default()
    }
}

/// A port that sends only when the test asks it to.
pub(super) struct TestPort<S> {
    pub(super) scheduler: S,
    pub(super) backlog: Backlog,
    pub(super) now: Instant,
    packets: WaitingPackets,
    entered: usize,
}

impl<S: PacketScheduler> TestPort<S> {
    pub(super) fn new(scheduler: S) -> Self {
        Self {
            scheduler,
            backlog: NOTHING,
            now: Instant::ZERO,
            packets: WaitingPackets::default(),
            entered: 0,
        }
    }

    /// Offers a packet to the port. Its addresses are its flow's number and 99.
    pub(super) fn enter(&mut self, packet: PacketView) -> Admission {
        let handle = Handle::at(self.entered);
        self.entered += 1;
        let counts = Counts {
            port_arrival: self.entered as u64,
            ..Counts::default()
        };
        self.packets.enter(handle, self.now, packet, counts);
        let addresses = || Addresses {
            source: packet.flow,
            destination: 99,
        };
        let dropped = self.packets.dropped.len();
        let offer = Offer::new(handle, self.backlog, &addresses);
        let admission = self.scheduler.enqueue(&offer, &mut self.packets);
        if admission.is_accepted() {
            self.backlog.packets += 1;
            self.backlog.bytes += packet.frame_bytes;
        }
        self.forget_dropped(dropped);
        admission
    }

    /// Sends the next packet and returns it.
    pub(super) fn send(&mut self) -> Option<Waiting> {
        let dropped = self.packets.dropped.len();
        let sent = self.scheduler.dequeue(self.now, &mut self.packets);
        self.forget_dropped(dropped);
        let handle = sent?;
        self.forget(handle);
        Some(self.packets[handle])
    }

    /// Sends packets until none is left. Returns their flows.
    pub(super) fn flows_sent(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.send())
            .map(|waiting| waiting.packet.flow)
            .collect()
    }

    /// Flows and reasons of packets that were accepted and then dropped, since the last call.
    pub(super) fn dropped(&mut self) -> Vec<(u32, Reason)> {
        let packets = &mut self.packets;
        let dropped = std::mem::take(&mut packets.dropped);
        let flow = |(handle, reason)| (packets[handle].packet.flow, reason);
        dropped.into_iter().map(flow).collect()
    }

    /// Removes packets that were dropped, except for the first `before` in the list, from the counts of what waits.
    fn forget_dropped(&mut self, before: usize) {
        for index in before..self.packets.dropped.len() {
            let (handle, _) = self.packets.dropped[index];
            self.forget(handle);
        }
    }

    fn forget(&mut self, handle: Handle) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= self.packets[handle].packet.frame_bytes;
    }
}
