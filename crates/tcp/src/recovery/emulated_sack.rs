//! Recovery without SACK as Linux has it: each duplicate ACK is taken for a SACKed segment, and recovery goes
//! on as if SACK had said so (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
//!
//! So it differs from RFC 6582 in what a partial ACK does: the next segment is lost, but it is sent again
//! only as far as the reduced window allows, and segments that duplicate ACKs counted stay counted.
//! More duplicate ACKs than there are segments above the hole mean that something came late.

use crate::scoreboard::Scoreboard;

#[derive(Debug, Default)]
pub(super) struct EmulatedSack {
    /// segments above the hole that arrived, as duplicate ACKs say
    sacked: u64,
}

impl EmulatedSack {
    #[inline]
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    #[inline]
    pub(super) fn reset(&mut self) {
        self.sacked = 0;
    }

    #[inline]
    pub(super) fn pipe(&self, board: &Scoreboard) -> u64 {
        board.pipe().saturating_sub(self.sacked * board.unit())
    }

    /// A duplicate ACK came; whether it said anything that was not known.
    pub(super) fn on_duplicate(&mut self, board: &Scoreboard) -> Counted {
        let before = self.sacked;
        self.sacked += 1;
        let late_by = self.limit(board).then(|| board.segments());
        Counted {
            delivered: self.sacked.saturating_sub(before),
            late_by,
        }
    }

    /// `segments` were acknowledged. The first filled the hole; the others were counted by duplicate ACKs, as
    /// far as those go.
    pub(super) fn on_acknowledged(&mut self, board: &Scoreboard, segments: u64) -> Counted {
        let delivered = segments.saturating_sub(self.sacked).max(1);
        self.sacked = self.sacked.saturating_sub(segments.saturating_sub(1));
        let late_by = self.limit(board).then(|| board.segments() + segments);
        Counted { delivered, late_by }
    }

    /// No more can have arrived than there is besides what is lost; whether more was counted
    /// (`tcp_limit_reno_sacked`).
    fn limit(&mut self, board: &Scoreboard) -> bool {
        let out = board.segments();
        let holes = (board.lost() / board.unit()).max(1).min(out);
        let limited = self.sacked + holes > out;
        if limited {
            self.sacked = out - holes;
        }
        limited
    }
}

/// What an ACK was counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// segments newly delivered
    pub(super) delivered: u64,
    /// something came so many segments late
    pub(super) late_by: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Chunk;
    use fairport_units::Instant;

    fn outstanding(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(0, 1);
        for i in 0..segments {
            board.push(
                Instant::ZERO,
                Chunk {
                    start: i * 1000,
                    payload: 1000,
                    fin: false,
                },
            );
        }
        board
    }

    #[test]
    fn what_duplicates_counted_is_not_delivered_again() {
        let mut board = outstanding(10);
        let mut it = EmulatedSack::default();
        for _ in 0..4 {
            assert_eq!(it.on_duplicate(&board).delivered, 1);
        }
        assert_eq!(it.pipe(&board), 6);
        // the hole and two of the four
        board.ack(3000);
        let counted = it.on_acknowledged(&board, 3);
        assert_eq!((counted.delivered, counted.late_by), (1, None));
        assert_eq!((it.sacked(), it.pipe(&board)), (2, 5));
    }

    #[test]
    fn more_duplicates_than_segments_above_the_hole_are_reordering() {
        let board = outstanding(3);
        let mut it = EmulatedSack::default();
        assert_eq!(it.on_duplicate(&board).late_by, None);
        assert_eq!(it.on_duplicate(&board).late_by, None);
        let third = it.on_duplicate(&board);
        assert_eq!((third.delivered, third.late_by), (0, Some(3)));
        assert_eq!(it.sacked(), 2);
    }
}
