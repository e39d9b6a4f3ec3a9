//! The sender's reaction to ECE: the window falls once per window of data, and CWR reports that (RFC 3168 6.1.2).
//!
//! As in Linux the episode ends when data above its initial `SND.NXT` is acknowledged, so that CWR has reached the
//! peer. Until then the window does not grow, and a loss does not lower it again. With PRR the window falls gradually
//! (`TCP_CA_CWR`, [`super::episode`]), without PRR at once.

use super::Sender;
use crate::congestion::EcnAck;
use crate::recovery::State;
use crate::segment::Flags;

/// The state of a sender that uses ECN, or whose window falls because its host's queue was full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reaction {
    /// both sides have agreed on ECN
    agreed: bool,
    /// the next new segment carries CWR
    cwr_due: bool,
    /// `SND.NXT` when the window last began to fall for ECE
    point: u64,
    /// the window is being reduced gradually
    reduces: bool,
    /// data delivered so far, in the window's unit, and the part of it that ACKs with ECE delivered
    delivered: u64,
    marked: u64,
    /// the present ACK carries ECE
    echoed: bool,
}

impl Sender {
    /// Both sides have agreed on ECN.
    pub(crate) fn use_ecn(&mut self) {
        self.ecn = Some(Reaction {
            agreed: true,
            ..Reaction::default()
        });
        self.congestion.use_ecn();
    }

    /// See [`crate::Controller::needs_ecn`].
    pub(crate) fn needs_ecn(&self) -> bool {
        self.congestion.needs_ecn()
    }

    /// An ACK up to `ack` has `delivered` data. Called before the window changes for it.
    #[inline(never)]
    pub(super) fn on_echo(&mut self, ack: u64, flags: Flags, delivered: u64) {
        let marked = flags.contains(Flags::ECE);
        self.count_delivered(delivered, marked);
        let Some(reaction) = &mut self.ecn else {
            return;
        };
        reaction.echoed = marked;
        let reaction = *reaction;
        self.congestion.on_ecn_ack(&EcnAck {
            una: ack,
            nxt: self.board.nxt(),
            delivered: reaction.delivered,
            marked: reaction.marked,
        });
        let later = self.recovery.reduces_gradually();
        if marked && !later && ack > reaction.point && self.recovery.state() == State::Open {
            let before = self.congestion.window().cwnd;
            self.congestion.on_mark();
            self.begin_epoch(before);
            self.ecn = Some(Reaction {
                cwr_due: true,
                point: self.board.nxt(),
                ..reaction
            });
        }
    }

    /// The part of `acked` that the receiver reported as CE-marked, in the same unit.
    #[inline]
    pub(super) fn marked_of(&self, acked: u64) -> u64 {
        if self.ecn.is_some_and(|reaction| reaction.echoed) {
            acked
        } else {
            0
        }
    }

    /// Whether the window has already fallen for ECE in the window of data that contains `una`.
    #[inline]
    pub(super) fn is_reduced(&self, una: u64) -> bool {
        self.ecn.is_some_and(|reaction| una <= reaction.point)
    }

    /// Starts a gradual reduction.
    pub(super) fn begin_cwr(&mut self) {
        self.ecn = Some(Reaction {
            cwr_due: true,
            point: self.board.nxt(),
            reduces: true,
            ..self.ecn.unwrap_or_default()
        });
    }

    /// Counts data `delivered` by an ACK, in the window's unit. `marked`: the ACK carries ECE.
    pub(super) fn count_delivered(&mut self, delivered: u64, marked: bool) {
        if let Some(reaction) = &mut self.ecn {
            reaction.delivered += delivered;
            reaction.marked += if marked { delivered } else { 0 };
        }
    }

    /// Segments that ACKs with ECE delivered.
    pub(super) fn delivered_ce(&self) -> u64 {
        self.ecn
            .map_or(0, |reaction| reaction.marked / self.board.unit())
    }

    /// Whether a gradual reduction for a mark is in progress.
    #[inline]
    pub(super) fn is_in_cwr(&self) -> bool {
        self.ecn.is_some_and(|reaction| reaction.reduces)
    }

    /// `SND.NXT` when the reduction began. It ends when more than this is acknowledged.
    pub(super) fn cwr_point(&self) -> u64 {
        self.ecn.map_or(0, |reaction| reaction.point)
    }

    /// Ends the gradual reduction once something beyond its point is acknowledged.
    #[inline]
    pub(super) fn leave_cwr(&mut self) {
        if self.is_in_cwr() && self.board.una() > self.cwr_point() {
            self.end_cwr();
            self.end_reduction();
        }
    }

    /// Loss recovery replaces a gradual reduction, if one is in progress. Returns where that would have ended.
    pub(super) fn end_cwr(&mut self) -> Option<u64> {
        let reaction = self.ecn.filter(|reaction| reaction.reduces)?;
        self.ecn = reaction.agreed.then_some(Reaction {
            reduces: false,
            point: 0,
            ..reaction
        });
        Some(reaction.point)
    }

    /// Makes the next new segment carry CWR, because the window fell for a loss or a timeout.
    pub(super) fn queue_cwr(&mut self) {
        if let Some(reaction) = &mut self.ecn {
            reaction.cwr_due = true;
        }
    }

    /// The reduction was needless, so nothing is reported (`tcp_ecn_withdraw_cwr`).
    pub(super) fn withdraw_cwr(&mut self) {
        if let Some(reaction) = &mut self.ecn {
            reaction.cwr_due = false;
        }
    }

    /// Whether the new segment that is sent now carries CWR.
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> bool {
        match &mut self.ecn {
            Some(reaction) => std::mem::take(&mut reaction.cwr_due),
            None => false,
        }
    }
}
