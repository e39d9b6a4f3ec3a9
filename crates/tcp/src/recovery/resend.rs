//! What is sent again, and when (`tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`).

use super::{Detection, Recovery, State};
use crate::scoreboard::Scoreboard;

impl Recovery {
    /// A segment was sent again when the timestamp clock showed `stamp`.
    pub(crate) fn on_retransmit(&mut self, stamp: u32) {
        self.undo.on_retransmit(stamp);
    }

    /// The peer's window refused a retransmission. Since Linux 3.16, it counts for an undo all the same
    /// (`tcp_retransmit_skb`).
    #[cold]
    pub(crate) fn on_refused(&mut self, stamp: u32) {
        if self.is_era_of_rack() {
            self.undo.on_retransmit(stamp);
        }
    }

    /// The lost segment to send again, if the window is open or need not be. The first segment of an episode does not
    /// wait for the window (RFC 6675 5 step 4.3), nor does one after a partial ACK (RFC 6582 3.2 step 3).
    #[inline]
    pub(crate) fn next_lost(&mut self, board: &mut Scoreboard, window_open: bool) -> Option<u64> {
        if self.state == State::Open || self.waits || !(window_open || self.retransmit_now) {
            return None;
        }
        // what an undo left in the network counts as one of the retransmissions (`tcp_xmit_retransmit_queue`), except
        // for a timeout, which always sends the first segment
        let timed_out = std::mem::take(&mut self.retransmit_now) && self.state == State::Loss;
        let waits = self.is_era_of_rack() && board.retransmitted() >= board.lost();
        if waits && !timed_out {
            return None;
        }
        board.next_lost()
    }

    /// A segment that is worth sending again when the window is open and there is no new data: a hole whose segment may
    /// still be in the network (RFC 6675 4, `NextSeg` rule 3). RACK does not do this, because resending segments that
    /// are not lost would distort its times.
    pub(crate) fn next_speculative(&self, board: &mut Scoreboard) -> Option<u64> {
        match &self.detection {
            Detection::Sack(_) if self.state == State::Fast => board.next_hole(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use fairport_units::{Duration, Instant};

    use super::*;
    use crate::scoreboard::Chunk;
    use crate::settings::Settings;

    /// `tcp_xmit_retransmit_queue` sends no more again than is lost, but `tcp_retransmit_timer` does not ask.
    #[test]
    fn a_timeout_sends_the_first_segment_whatever_an_undo_left_in_the_network() {
        let mut recovery = Recovery::new(&Settings::preset("linux-6").unwrap(), true, 0, None);
        let mut board = Scoreboard::new(0, 1);
        board.track_deliveries();
        for number in 0..2 {
            let chunk = Chunk {
                start: number * 100,
                payload: 100,
                fin: false,
            };
            board.push(Instant::ZERO, chunk);
        }
        let at = Instant::from_ms;
        if let Detection::Rack(rack) = &mut recovery.detection {
            rack.on_delivery(Duration::from_ms(50));
        }
        board.retransmit(at(280), 1);
        recovery.enter_loss(&mut board, at(300), None, false);
        assert_eq!((board.lost(), board.retransmitted()), (1, 1));
        assert_eq!(recovery.next_lost(&mut board, true), Some(0));
    }
}
