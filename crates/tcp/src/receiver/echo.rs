//! What the receiver of ECN's marks echoes: when ACKs carry ECE (RFC 3168; RFC 8257 for DCTCP).

use crate::ecn::Ecn;

/// When ACKs carry ECE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// ECE in each ACK says whether the segments that it covers were marked (RFC 8257 3.2)
    exact: bool,
    /// ACKs carry ECE
    on: bool,
    /// an ECN-capable segment has arrived (`TCP_ECN_SEEN`)
    seen: bool,
}

/// What a segment's codepoint and CWR require of its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// ECE has changed, or the peer has reported a reduction. It must then get an ACK at once, because its window may
    /// be one segment (`tcp_ecn_accept_cwr`, `dctcp_ece_ack_update`).
    pub(crate) changes: bool,
    /// the segment brings the first mark since the peer last reported a reduction, or is not ECN-capable, which
    /// probably is a retransmission (`__tcp_ecn_check_ce`)
    pub(crate) is_urgent: bool,
}

impl Echo {
    pub(crate) fn new(exact: bool) -> Self {
        Self {
            exact,
            on: false,
            seen: false,
        }
    }

    /// Whether the next ACK carries ECE.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// Whether each ACK covers only marked segments or only unmarked ones.
    pub(crate) fn is_exact(self) -> bool {
        self.exact
    }

    /// Data arrived with a codepoint, and with or without CWR.
    pub(crate) fn on_data(&mut self, ecn: Ecn, cwr: bool) -> Answer {
        let marked = ecn == Ecn::Ce;
        let before = self.on;
        let is_late = ecn == Ecn::NotEct && self.seen;
        self.seen |= ecn != Ecn::NotEct;
        if self.exact {
            self.on = marked;
            return Answer {
                changes: self.on != before,
                is_urgent: is_late,
            };
        }
        // RFC 3168 6.1.3: ECE is set from the first mark until CWR
        self.on = marked || (before && !cwr);
        Answer {
            changes: self.on != before || cwr,
            is_urgent: is_late || (marked && (!before || cwr)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(echo: &mut Echo, ecn: Ecn, cwr: bool) -> bool {
        echo.on_data(ecn, cwr).changes
    }

    #[test]
    fn ece_stays_until_the_sender_says_that_it_has_reacted() {
        let mut echo = Echo::new(false);
        assert!(changes(&mut echo, Ecn::Ce, false));
        assert!(!changes(&mut echo, Ecn::Ect0, false));
        assert!(echo.is_on());
        assert!(changes(&mut echo, Ecn::Ect0, true));
        assert!(!echo.is_on());
        // a mark on the segment that carries CWR is a new one
        echo.on_data(Ecn::Ce, false);
        echo.on_data(Ecn::Ce, true);
        assert!(echo.is_on());
    }

    /// `__tcp_ecn_check_ce`
    #[test]
    fn a_first_mark_and_what_may_be_a_retransmission_are_urgent() {
        let mut echo = Echo::new(false);
        for (ecn, cwr, urgent) in [
            // no ECN-capable segment was seen before
            (Ecn::NotEct, false, false),
            (Ecn::Ect0, false, false),
            (Ecn::Ce, false, true),
            (Ecn::Ce, false, false),
            (Ecn::Ce, true, true),
            (Ecn::NotEct, false, true),
            (Ecn::Ect0, true, false),
            (Ecn::Ce, false, true),
        ] {
            assert_eq!(echo.on_data(ecn, cwr).is_urgent, urgent, "{ecn:?} {cwr}");
        }
        let mut exact = Echo::new(true);
        assert!(!exact.on_data(Ecn::Ce, false).is_urgent);
        assert!(exact.on_data(Ecn::NotEct, false).is_urgent);
    }

    /// RFC 3168 5.
    #[test]
    fn only_dctcp_wants_to_know_of_each_segment_whether_it_was_marked() {
        assert!(Echo::new(true).is_exact() && !Echo::new(false).is_exact());
    }

    #[test]
    fn for_dctcp_ece_follows_the_marks() {
        let mut echo = Echo::new(true);
        assert!(changes(&mut echo, Ecn::Ce, false));
        assert!(!changes(&mut echo, Ecn::Ce, false));
        assert!(changes(&mut echo, Ecn::Ect0, false));
        assert!(!echo.is_on());
    }
}
