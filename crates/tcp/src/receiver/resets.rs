//! Which RST ends the connection without a challenge.

use super::Receiver;
use crate::segment::Segment;
use crate::seq;

impl Receiver {
    /// Whether a RST is where an aborting peer may put it: at `RCV.NXT` (RFC 5961 3.2), at the end of the highest block
    /// if the connection uses SACK, and at the peer's FIN (`tcp_validate_incoming`, `tcp_reset_check`).
    pub(crate) fn is_reset_by(&self, rst: &Segment, sack: bool) -> bool {
        let at = seq::unwrap(self.nxt, rst.seq);
        at == self.nxt
            || (sack && self.report.highest() == Some(at))
            || (self.is_closed() && at + 1 == self.nxt)
    }
}
