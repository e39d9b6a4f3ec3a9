//! Detection of losses: calls the rule of each algorithm. RACK's rule itself is [`super::rack::detect`].

use super::{Detected, Detection, Look, Recovery, State, rack};
use crate::decision::DecisionCause;
use crate::scoreboard::Scoreboard;

/// The largest flight, in segments, that cannot cause three duplicate ACKs.
const SMALL_FLIGHT: u64 = 3;

impl Recovery {
    /// Whether losses are found by the times at which segments were sent.
    #[inline]
    pub(crate) fn compares_times(&self) -> bool {
        matches!(self.detection, Detection::Rack(_))
    }

    /// Marks lost segments, and decides whether fast recovery starts.
    #[inline]
    pub(crate) fn detect(&mut self, board: &mut Scoreboard, look: Look) -> Detected {
        self.waits = false;
        let open = self.state == State::Open;
        let nothing = match &self.detection {
            Detection::DuplicateAcks(it) => !open || it.duplicates() == 0,
            Detection::Sack(_) if !self.tracks_deliveries && !self.early_retransmit => {
                // only a new SACK block can show a loss
                !(look.newly_sacked || (open && board.has_lost()))
            }
            // outside of an episode a segment is marked only by the ACK that ended one
            Detection::Emulated(it) if open => it.sacked() == 0 && !board.has_lost(),
            Detection::Emulated(_) => !look.advances,
            Detection::Sack(_) | Detection::Rack(_) => open && board.is_in_order(),
        };
        if nothing {
            return Detected::default();
        }
        let mut detected = self.look_for_losses(board, look);
        if detected.enters.is_none() && self.early_retransmit && look.idle {
            detected.enters = self.detect_early(board);
        }
        detected
    }

    fn look_for_losses(&mut self, board: &mut Scoreboard, look: Look) -> Detected {
        let (lost, retransmitted) = (board.lost(), board.retransmitted());
        let mut wait = None;
        let (newly_lost, cause) = match &mut self.detection {
            Detection::DuplicateAcks(it) => {
                let enters = it
                    .is_due(board, self.point)
                    .then_some(DecisionCause::DuplicateAcks);
                return Detected {
                    enters,
                    ..Detected::default()
                };
            }
            Detection::Emulated(it) => {
                let is_due = match self.state {
                    State::Open => it.sacked() >= self.reordering.degree(),
                    // a partial ACK
                    State::Fast => board.una() < self.point,
                    State::Loss => false,
                };
                if is_due {
                    board.mark_head_lost();
                }
                let newly_lost = board.lost().saturating_sub(lost);
                (newly_lost, DecisionCause::DuplicateAcks)
            }
            Detection::Sack(it) => {
                let again = it.mark_lost(board, self.state == State::Fast);
                (board.lost().saturating_sub(lost) + again, it.cause())
            }
            Detection::Rack(rack) if board.has_unexamined() => {
                let sacked = board.sacked() / board.unit();
                let recovering = self.state != State::Open;
                let window = rack.window(&self.reordering, recovering, sacked, look.srtt);
                let allowed = rack.rtt() + window;
                let (newly_lost, next) =
                    board.mark_overdue(|it, latest| rack::detect(it, latest, allowed, look.now));
                wait = next;
                (newly_lost, DecisionCause::Rack)
            }
            Detection::Rack(_) => (0, DecisionCause::Rack),
        };
        let enters = match self.state {
            State::Open => board.has_lost(),
            // a retransmission made after the timeout was lost as well
            State::Loss => board.retransmitted() < retransmitted,
            State::Fast => false,
        };
        Detected {
            lost: newly_lost,
            wait,
            enters: enters.then_some(cause),
        }
    }

    /// `segments` were joined to one that is sent again.
    pub(crate) fn on_joined(&mut self, segments: u64) {
        if let Detection::Emulated(it) = &mut self.detection {
            it.on_joined(segments);
        }
    }

    /// Early retransmit (RFC 5827 3.2): whether all segments of a small flight but the first were SACKed, or counted by
    /// duplicate ACKs. If so, the first is marked lost.
    fn detect_early(&self, board: &mut Scoreboard) -> Option<DecisionCause> {
        let segments = board.segments();
        if self.state != State::Open
            || self.tracks_deliveries
            || !(2..=SMALL_FLIGHT).contains(&segments)
        {
            return None;
        }
        let seen = match &self.detection {
            Detection::DuplicateAcks(it) if board.una() > self.point => it.duplicates(),
            Detection::DuplicateAcks(_) | Detection::Emulated(_) => 0,
            Detection::Sack(_) | Detection::Rack(_) => board.sacked_segments(),
        };
        (seen + 1 >= segments).then(|| {
            board.mark_head_lost();
            DecisionCause::EarlyRetransmit
        })
    }
}
