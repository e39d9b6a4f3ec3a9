//! Fast recovery without SACK: RFC 6582 (NewReno), with RFC 3042's limited transmit before it.
//!
//! The RFC inflates the congestion window for every duplicate ACK. Here the window keeps the value that congestion
//! control sets, and the inflation is subtracted from the data in the network, which gives the same result.
//! Differences:
//! - the retransmission timer restarts on every partial ACK ("slow but steady", RFC 6582 4),
//!   not only on the first;
//! - after recovery the window is ssthresh (RFC 6582 3.2 step 3, option 2), without a limit on bursts;
//! - deflation stops at zero: if a partial ACK acknowledges more than duplicate ACKs have counted, all outstanding data
//!   counts as in the network, and not more.

use super::State;
use crate::scoreboard::Scoreboard;

/// Duplicate ACKs that start fast retransmit (RFC 5681 3.2).
const DUP_THRESH: u32 = 3;

#[derive(Debug)]
pub(super) struct NewReno {
    duplicates: u32,
    /// data that has left the network according to duplicate ACKs, in the window's unit
    inflation: u64,
}

impl NewReno {
    pub(super) fn new() -> Self {
        Self {
            duplicates: 0,
            inflation: 0,
        }
    }

    #[inline]
    pub(super) fn reset(&mut self) {
        self.duplicates = 0;
        self.inflation = 0;
    }

    /// Data in the network. In state Open two duplicate ACKs count, which is limited transmit (RFC 3042 2).
    #[inline]
    pub(super) fn pipe(&self, board: &Scoreboard) -> u64 {
        board.pipe().saturating_sub(self.inflation)
    }

    /// A duplicate ACK came (RFC 5681 2).
    pub(super) fn on_duplicate(&mut self, state: State, board: &Scoreboard) {
        self.duplicates = self.duplicates.saturating_add(1);
        let counts = match state {
            State::Open => self.duplicates < DUP_THRESH,
            State::Fast => true,
            State::Loss => false,
        };
        if counts {
            self.inflation += board.unit();
        }
    }

    #[inline]
    pub(super) fn duplicates(&self) -> u64 {
        u64::from(self.duplicates)
    }

    /// Whether fast retransmit is due. Only data sent after the last episode counts (RFC 6582 3.2 step 1), because
    /// duplicate ACKs may answer needless retransmissions of that episode.
    #[inline]
    pub(super) fn is_due(&self, board: &Scoreboard, point: u64) -> bool {
        self.duplicates >= DUP_THRESH && board.una() > point
    }

    /// Fast recovery starts: the first segment is lost.
    pub(super) fn enter(&mut self, board: &mut Scoreboard) {
        board.mark_head_lost();
        self.inflation = u64::from(self.duplicates.min(DUP_THRESH)) * board.unit();
    }

    /// A partial ACK: the next segment was lost too. Deflates by the data acknowledged and adds one segment back (RFC
    /// 6582 3.2 step 3).
    pub(super) fn on_partial(&mut self, board: &mut Scoreboard, acked: u64) {
        board.mark_head_lost();
        self.inflation = self.inflation.saturating_sub(acked);
        if acked >= board.unit() {
            self.inflation += board.unit();
        }
        self.duplicates = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Chunk;
    use fairport_units::Instant;

    /// Five segments of 1000 bytes, counted in units of `unit`.
    fn five_segments(unit: u64) -> Scoreboard {
        let mut board = Scoreboard::new(1, unit);
        for start in (1..5001).step_by(1000) {
            let chunk = Chunk {
                start,
                payload: 1000,
                fin: false,
            };
            board.push(Instant::ZERO, chunk);
        }
        board
    }

    /// RFC 6582 3.2 step 3: "deflate the congestion window by the amount of new data acknowledged"; "if
    /// the partial ACK acknowledges at least one SMSS of new data, then add back SMSS bytes".
    #[test]
    fn a_partial_ack_deflates_by_what_it_acknowledges_and_adds_a_full_segment_back() {
        let inflation = |acked| {
            let mut board = five_segments(1000);
            let mut newreno = NewReno::new();
            for _ in 0..3 {
                newreno.on_duplicate(State::Open, &board);
            }
            newreno.enter(&mut board);
            newreno.on_duplicate(State::Fast, &board);
            assert_eq!(newreno.inflation, 4000);
            newreno.on_partial(&mut board, acked);
            newreno.inflation
        };
        assert_eq!(inflation(2000), 4000 - 2000 + 1000);
        assert_eq!(inflation(1000), 4000 - 1000 + 1000);
        assert_eq!(inflation(999), 4000 - 999);
        assert_eq!(inflation(5000), 1000);
    }

    #[test]
    fn the_third_duplicate_ack_starts_recovery() {
        // RFC 5681 3.2
        let board = five_segments(1);
        let mut newreno = NewReno::new();
        for due in [false, false, true] {
            newreno.on_duplicate(State::Open, &board);
            assert_eq!(newreno.is_due(&board, 0), due);
        }
        // data sent before the last episode does not count (RFC 6582 3.2 step 1)
        assert!(!newreno.is_due(&board, 1));
    }

    /// RFC 6582 3.2: each duplicate ACK releases a segment. Before recovery only the first two do (RFC 3042), and after
    /// a timeout none.
    #[test]
    fn duplicates_let_segments_out_in_recovery_and_two_before_it() {
        let mut board = five_segments(1000);
        let mut newreno = NewReno::new();
        assert_eq!(newreno.pipe(&board), 5000);
        let mut pipes = Vec::new();
        for _ in 0..4 {
            newreno.on_duplicate(State::Open, &board);
            pipes.push(newreno.pipe(&board));
        }
        assert_eq!(pipes, [4000, 3000, 3000, 3000]);
        assert_eq!(newreno.duplicates(), 4);
        newreno.enter(&mut board);
        // one is lost, and three left the network
        assert_eq!(newreno.pipe(&board), 1000);
        newreno.on_duplicate(State::Fast, &board);
        assert_eq!(newreno.pipe(&board), 0);
        newreno.on_partial(&mut board, 2000);
        assert_eq!((newreno.duplicates(), newreno.inflation), (0, 3000));
        newreno.reset();
        newreno.on_duplicate(State::Loss, &board);
        assert_eq!((newreno.duplicates(), newreno.pipe(&board)), (1, 4000));
        newreno.reset();
        assert_eq!(newreno.duplicates(), 0);
    }

    #[test]
    fn early_retransmit_enters_with_as_many_duplicates_as_there_were() {
        let mut board = five_segments(1);
        let mut newreno = NewReno::new();
        newreno.on_duplicate(State::Open, &board);
        newreno.enter(&mut board);
        // of five, one is lost and one has arrived
        assert_eq!(newreno.pipe(&board), 3);
    }

    #[test]
    fn a_partial_ack_says_that_the_next_segment_is_lost_too() {
        let mut board = five_segments(1);
        let mut newreno = NewReno::new();
        newreno.enter(&mut board);
        board.ack(1001);
        assert_eq!(board.lost(), 0);
        newreno.on_partial(&mut board, 1);
        assert_eq!(board.lost(), 1);
    }
}
