//! Lost retransmissions found by forward acknowledgement: segments that were sent later overtook them.

use super::Scoreboard;

impl Scoreboard {
    /// Marks retransmissions as lost that were overtaken: a segment is SACKed that begins above `SND.NXT` at the time
    /// of the retransmission (Linux's `tcp_mark_lost_retrans` up to 4.14, part of forward acknowledgement). Returns how
    /// much, in the window's unit.
    pub(crate) fn mark_overtaken(&mut self) -> u64 {
        let highest = self.highest_sacked[0];
        if self.retransmitted == 0 || highest <= self.head {
            return 0;
        }
        let Some(mut deliveries) = self.deliveries.take() else {
            return 0;
        };
        let upto = self.record(highest - 1).start;
        let mut again = 0;
        while let Some(resent) = deliveries.resent.front().copied()
            && resent.nxt < upto
        {
            deliveries.resent.pop_front();
            if self.is_under_way(&resent) {
                again += self.lose_again(resent.ordinal);
                deliveries.note_lost_again(resent.ordinal);
            }
        }
        self.deliveries = Some(deliveries);
        again
    }
}
