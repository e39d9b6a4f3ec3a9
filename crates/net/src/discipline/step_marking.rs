//! Step marking: ECN with one threshold on the present queue, as DCTCP requires of its switches (Alizadeh et al.,
//! SIGCOMM 2010, 3.1; RFC 8257 3.1).

use serde::{Deserialize, Serialize};

use super::{Admission, DropTail, PacketView, QueueDiscipline, QueueView};
use crate::BuildError;
use crate::context::PortContext;
use crate::limit::Limit;

/// A step-marking queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// the threshold K
    pub mark_above: Limit,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<StepMarking, BuildError> {
        Ok(StepMarking::new(port.buffer(self.limit)?, self.mark_above))
    }
}

/// A drop-tail buffer that marks every packet which finds K or more waiting.
///
/// K is compared with the present queue, not with an average, because DCTCP's senders average. Packets that are not
/// ECN-capable are never marked, and never dropped before the buffer is full.
#[derive(Clone, Debug)]
pub struct StepMarking {
    buffer: DropTail,
    threshold: Limit,
}

impl StepMarking {
    /// A queue that marks a packet if at least K = `threshold` waits before it.
    pub fn new(buffer: DropTail, threshold: Limit) -> Self {
        Self { buffer, threshold }
    }
}

impl QueueDiscipline for StepMarking {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        let backlog = queue.backlog;
        match self.buffer.admission(backlog, packet.frame_bytes) {
            Admission::Accepted
                if packet.is_ecn_capable() && self.threshold.is_reached(backlog) =>
            {
                Admission::Marked
            }
            admission => admission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Reason;
    use crate::discipline::fixtures::{ECT0, frame, full_frames};

    fn view(ecn_capable: bool) -> PacketView {
        PacketView {
            ecn: if ecn_capable { ECT0 } else { 0 },
            ..frame(1518)
        }
    }

    #[test]
    fn with_k_20_the_21st_packet_is_the_first_to_be_marked() {
        for threshold in [Limit::Packets(20), Limit::Bytes(20 * 1518)] {
            let mut queue = StepMarking::new(DropTail::packets(100), threshold);
            let mut admission = |waiting| queue.admit(&full_frames(waiting), &view(true));
            assert_eq!(admission(19), Admission::Accepted);
            assert_eq!(admission(20), Admission::Marked);
            assert_eq!(admission(99), Admission::Marked);
            assert_eq!(admission(100), Admission::Dropped(Reason::Full));
        }
    }

    #[test]
    fn a_packet_that_cannot_be_marked_is_not_dropped_early_either() {
        let mut queue = StepMarking::new(DropTail::packets(100), Limit::Packets(20));
        let admission = queue.admit(&full_frames(50), &view(false));
        assert_eq!(admission, Admission::Accepted);
    }
}
