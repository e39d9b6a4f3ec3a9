//! Ports that keep their buffer apart from their link.

use fairport_units::Instant;

use super::{Kind, OutputPort};
use crate::buffer::Buffer;
use crate::discipline::{Admission, Backlog, NOTHING};
use crate::queue::{BufferRelease, Discipline};

impl<S: Default> OutputPort<S> {
    /// Whether it can be ahead of the network's time: its decisions depend only on its own packets and on the order in
    /// which they arrive. A custom discipline cannot, because it may depend on several ports.
    pub(crate) fn can_be_ahead(&self) -> bool {
        match self.kind {
            Kind::Plain | Kind::Ahead(_) | Kind::Cut(_) => true,
            Kind::Fifo => {
                let is_custom = matches!(self.discipline, Discipline::Custom(_));
                self.extras.is_none() && !self.arrivals_first && !is_custom
            }
            Kind::Scheduled(_) => false,
        }
    }

    /// Whether its discipline is drop-tail.
    pub(crate) fn is_drop_tail(&self) -> bool {
        matches!(self.discipline, Discipline::DropTail(_))
    }

    /// Makes it a port of the kind `Ahead` or `Cut`. No packet has arrived yet.
    pub(crate) fn keep_buffer_apart(&mut self, kind: Kind) {
        assert!(self.can_be_ahead() && self.totals.arrivals == 0);
        self.kind = kind;
    }

    /// Sends a packet of `frame_bytes` that arrives at `now` at a plain port, if it finds the line free and leaves the
    /// buffer at once. All others have left the buffer then. Returns when the next node decides about the packet.
    #[inline(always)]
    pub(crate) fn pass_at_once(
        &mut self,
        now: Instant,
        frame_bytes: u32,
        wire_bytes: u32,
    ) -> Option<Instant> {
        let passes = self.free_at <= now
            && self.release == BufferRelease::StartOfService
            && self.has_room(NOTHING, frame_bytes);
        if !passes {
            return None;
        }
        self.count_arrival(now);
        self.count_accepted(frame_bytes, frame_bytes);
        let (_, due) = self.serialize::<true>(now, frame_bytes, wire_bytes);
        Some(due)
    }

    /// Decides about a packet of `frame_bytes` that arrives at `now` at a plain port with this `buffer`. Also returns
    /// the backlog, or an upper bound. The bound is enough if even so the packet fits and the backlog reaches no new
    /// maximum. Packets that have left are then removed from the count many at a time, not at every arrival.
    #[inline(always)]
    pub(crate) fn admit_apart(
        &mut self,
        buffer: &mut Buffer,
        now: Instant,
        frame_bytes: u32,
    ) -> (Backlog, Admission) {
        self.count_arrival(now);
        let most = buffer.most();
        let is_no_record = most.bytes + frame_bytes <= self.totals.backlog_max_bytes;
        if is_no_record && self.has_room(most, frame_bytes) {
            return (most, Admission::Accepted);
        }
        let backlog = buffer.backlog(now);
        (backlog, self.plain_admission(backlog, frame_bytes))
    }
}
