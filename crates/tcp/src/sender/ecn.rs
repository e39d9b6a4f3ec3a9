//! What the sender does about ECE: the window falls once a window of data, and CWR says so
//! (RFC 3168 6.1.2).
//!
//! As in Linux the episode ends when something above `SND.NXT` of its beginning is acknowledged, so
//! that CWR has reached the peer; until then the window does not grow, and a loss does not
//! lower it again.

use super::Sender;
use crate::recovery::State;
use crate::segment::Flags;

/// The state of an ECN-capable sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reaction {
    /// the next new segment carries CWR
    cwr_due: bool,
    /// `SND.NXT` when the window last fell for ECE
    point: u64,
}

impl Sender {
    /// Both sides have agreed on ECN.
    pub(crate) fn use_ecn(&mut self) {
        self.ecn = Some(Reaction::default());
        self.congestion.use_ecn();
    }

    /// An ACK up to `ack` came, before anything else is made of it.
    #[inline(never)]
    pub(super) fn on_echo(&mut self, ack: u64, flags: Flags) {
        let Some(reaction) = self.ecn else { return };
        let marked = flags.contains(Flags::ECE);
        let acked = ack - self.board.una();
        self.congestion
            .on_echo(acked, marked, ack, self.board.nxt());
        if marked && ack > reaction.point && self.recovery.state() == State::Open {
            let before = self.congestion.window().cwnd;
            self.congestion.on_mark();
            self.begin_epoch(before);
            self.ecn = Some(Reaction {
                cwr_due: true,
                point: self.board.nxt(),
            });
        }
    }

    /// Whether the window has fallen for ECE in the window of data that `una` lies in.
    pub(super) fn is_reduced(&self, una: u64) -> bool {
        self.ecn.is_some_and(|reaction| una <= reaction.point)
    }

    /// The window fell for a loss or a timeout, which CWR tells as well.
    pub(super) fn queue_cwr(&mut self) {
        if let Some(reaction) = &mut self.ecn {
            reaction.cwr_due = true;
        }
    }

    /// Whether the segment with new data that goes out carries CWR.
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> bool {
        match &mut self.ecn {
            Some(reaction) => std::mem::take(&mut reaction.cwr_due),
            None => false,
        }
    }
}
