//! A port's stand-in for the tests of schedulers: gives packets their places and counts what waits.

use fairport_units::Time;

use super::waiting::{Waiting, WaitingPackets};
use super::{Addresses, Scheduler};
use crate::discipline::{Backlog, NOTHING, PacketView, Reason, Verdict};
use crate::observer::Counts;
use crate::packet::NOT_ECT;
use crate::pool::Handle;

/// A packet of a flow, whose class is the flow's number.
pub(super) fn packet(flow: u32, frame_bytes: u32) -> PacketView {
    PacketView {
        frame_bytes,
        flow,
        class: flow as u8,
        ecn: NOT_ECT,
    }
}

/// A port that sends when the test asks it to.
pub(super) struct TestPort {
    pub(super) scheduler: Scheduler,
    pub(super) backlog: Backlog,
    pub(super) now: Time,
    room: WaitingPackets,
    entered: usize,
}

impl TestPort {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            backlog: NOTHING,
            now: Time::ZERO,
            room: WaitingPackets::default(),
            entered: 0,
        }
    }

    /// A packet comes; its addresses are its flow's number and 99.
    pub(super) fn enter(&mut self, packet: PacketView) -> Verdict {
        let handle = Handle::at(self.entered);
        self.entered += 1;
        let counts = Counts {
            port_arrival: self.entered as u64,
            ingress_arrival: 0,
            flow_arrival: 0,
            port_accepted: 0,
        };
        self.room.enter(handle, self.now, packet, 0, counts);
        let addresses = || Addresses {
            source: packet.flow,
            destination: 99,
        };
        let lost = self.room.lost.len();
        let verdict = self
            .scheduler
            .enqueue(self.backlog, addresses, handle, &mut self.room);
        if verdict.is_accepted() {
            self.backlog.packets += 1;
            self.backlog.bytes += packet.frame_bytes;
        }
        self.forget_lost(lost);
        verdict
    }

    /// The packet that is sent now.
    pub(super) fn send(&mut self) -> Option<Waiting> {
        let lost = self.room.lost.len();
        let sent = self.scheduler.dequeue(self.now, &mut self.room);
        self.forget_lost(lost);
        let handle = sent?;
        self.forget(handle);
        Some(self.room[handle])
    }

    /// The flows of the packets that are sent until none is left.
    pub(super) fn flows_sent(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.send())
            .map(|waiting| waiting.packet.flow)
            .collect()
    }

    /// What was dropped after it had been let in, since this was last asked: flows and reasons.
    pub(super) fn lost(&mut self) -> Vec<(u32, Reason)> {
        let room = &mut self.room;
        let lost = std::mem::take(&mut room.lost);
        let flow = |(handle, reason)| (room[handle].packet.flow, reason);
        lost.into_iter().map(flow).collect()
    }

    /// What has been lost besides the first `before` waits no longer.
    fn forget_lost(&mut self, before: usize) {
        for place in before..self.room.lost.len() {
            let (handle, _) = self.room.lost[place];
            self.forget(handle);
        }
    }

    fn forget(&mut self, handle: Handle) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= self.room[handle].packet.frame_bytes;
    }
}
