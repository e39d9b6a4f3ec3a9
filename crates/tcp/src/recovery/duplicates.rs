//! Duplicate ACKs, where losses are detected without SACK: which are counted, and when the count is forgotten.

use super::{AckFacts, Detection, Recovery, State};
use crate::scoreboard::Scoreboard;

/// The episode as an ACK found it.
#[derive(Clone, Copy)]
pub(super) struct Earlier {
    pub(super) state: State,
    /// the ACK covers everything that the episode covers
    pub(super) is_complete: bool,
    /// segments that arrived according to duplicate ACKs
    pub(super) counted: u64,
}

impl Recovery {
    /// Counts a duplicate ACK without SACK, or forgets those that were counted before. Returns how many segments it
    /// delivered, as far as duplicate ACKs are taken for that.
    pub(super) fn count_duplicates(
        &mut self,
        board: &mut Scoreboard,
        ack: &AckFacts,
        earlier: Earlier,
    ) -> u64 {
        let Earlier {
            state: before,
            is_complete,
            counted,
        } = earlier;
        let is_duplicate = ack.is_duplicate && !board.is_empty();
        match &mut self.detection {
            Detection::Emulated(it) => {
                let counts = match before {
                    State::Open => true,
                    State::Fast => !is_complete,
                    State::Loss => !is_complete && board.nxt() > self.point,
                };
                if is_duplicate && counts {
                    let counted = it.on_duplicate(board);
                    if let Some(late_by) = counted.late_by {
                        self.reordering.set_degree(late_by);
                    }
                    return counted.delivered;
                }
                let reopens = before == State::Loss && self.state == State::Open;
                if reopens && counted >= self.reordering.degree() {
                    // the kernel looks for losses before it forgets the count
                    board.mark_head_lost();
                }
                let forgets = match before {
                    State::Open => ack.advances,
                    State::Fast => is_complete,
                    // held: the kernel has not left the state (`tcp_process_loss`)
                    State::Loss => ack.advances && !(is_complete && self.state == State::Loss),
                };
                if forgets {
                    it.reset();
                }
            }
            Detection::DuplicateAcks(it) => {
                if ack.advances && self.state == State::Fast && board.una() < self.point {
                    it.on_partial(board, ack.acked);
                    self.retransmit_now = true;
                } else if ack.advances {
                    it.reset();
                } else if is_duplicate {
                    it.on_duplicate(self.state, board);
                }
            }
            Detection::Sack(_) | Detection::Rack(_) => {}
        }
        0
    }
}
