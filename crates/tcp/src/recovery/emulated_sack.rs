//! Recovery without SACK as in Linux: each duplicate ACK is taken for a SACKed segment, and recovery proceeds as with
//! SACK (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
//!
//! It differs from RFC 6582 in what a partial ACK does: the next segment is marked lost, but is sent again only as far
//! as the reduced window allows, and segments that duplicate ACKs counted stay counted. More duplicate ACKs than there
//! are segments above the hole show that a segment arrived late.

use crate::scoreboard::Scoreboard;

#[derive(Debug, Default)]
pub(super) struct EmulatedSack {
    /// segments above the hole that arrived, according to duplicate ACKs
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

    /// Counts a duplicate ACK.
    pub(super) fn on_duplicate(&mut self, board: &Scoreboard) -> Counted {
        let before = self.sacked;
        self.sacked += 1;
        let late_by = self.limit(board).then(|| board.segments());
        Counted {
            delivered: self.sacked.saturating_sub(before),
            late_by,
        }
    }

    /// `segments` were joined to another one; Linux takes as many from the count (`tcp_adjust_pcount`).
    pub(super) fn on_joined(&mut self, segments: u64) {
        self.sacked = self.sacked.saturating_sub(segments);
    }

    /// `segments` were acknowledged. The first filled the hole. The others were already counted by duplicate ACKs, as
    /// far as these suffice.
    pub(super) fn on_acknowledged(&mut self, board: &Scoreboard, segments: u64) -> Counted {
        let delivered = segments.saturating_sub(self.sacked).max(1);
        self.sacked = self.sacked.saturating_sub(segments.saturating_sub(1));
        let late_by = self.limit(board).then(|| board.segments() + segments);
        Counted { delivered, late_by }
    }

    /// Limits the count to the outstanding segments that are not lost. Returns whether more were counted
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

/// What one ACK showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// segments newly delivered
    pub(super) delivered: u64,
    /// a segment arrived late, by this many segments
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
        // acknowledges the hole and two of the four
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

    /// `tcp_limit_reno_sacked`: lost and counted segments together are at most the outstanding ones.
    #[test]
    fn no_more_is_counted_than_is_outstanding_besides_what_is_lost() {
        let mut board = outstanding(5);
        for _ in 0..2 {
            board.mark_head_lost();
            board.ack(board.una() + 1000);
        }
        board.mark_all_lost();
        // three segments are lost, so no other can have arrived
        let mut it = EmulatedSack::default();
        let counted = it.on_duplicate(&board);
        assert_eq!(
            (counted.delivered, counted.late_by, it.sacked()),
            (0, Some(3), 0)
        );

        // there is a hole even if no segment is marked lost
        let board = outstanding(4);
        let mut it = EmulatedSack::default();
        let late: Vec<bool> = (0..4)
            .map(|_| it.on_duplicate(&board).late_by.is_some())
            .collect();
        assert_eq!((late, it.sacked()), (vec![false, false, false, true], 3));
        it.reset();
        assert_eq!((it.sacked(), it.pipe(&board)), (0, 4));
    }

    /// `tcp_remove_reno_sacks`: one segment fills the hole; the others had been counted.
    #[test]
    fn an_ack_takes_one_segment_less_from_what_was_counted_than_it_acknowledges() {
        let after = |duplicates: u64, acked: u64| {
            let mut board = outstanding(20);
            let mut it = EmulatedSack::default();
            for _ in 0..duplicates {
                it.on_duplicate(&board);
            }
            board.ack(acked * 1000);
            let counted = it.on_acknowledged(&board, acked);
            (counted.delivered, counted.late_by, it.sacked())
        };
        assert_eq!(after(0, 1), (1, None, 0));
        assert_eq!(after(0, 3), (3, None, 0));
        assert_eq!(after(5, 1), (1, None, 5));
        assert_eq!(after(5, 4), (1, None, 2));
        assert_eq!(after(2, 6), (4, None, 0));
        // 19 arrived above the first; of the 18 outstanding now the first is lost again, so 17 count
        assert_eq!(after(19, 2), (1, Some(20), 17));
        assert_eq!(after(19, 1), (1, Some(20), 18));
    }

    #[test]
    fn windows_in_bytes_count_a_duplicate_as_a_full_segment() {
        let mut board = Scoreboard::new(0, 1000);
        for start in (0..5000).step_by(1000) {
            let chunk = Chunk {
                start,
                payload: 1000,
                fin: false,
            };
            board.push(Instant::ZERO, chunk);
        }
        board.mark_head_lost();
        let mut it = EmulatedSack::default();
        for _ in 0..5 {
            it.on_duplicate(&board);
        }
        assert_eq!((it.sacked(), it.pipe(&board)), (4, 0));
    }
}
