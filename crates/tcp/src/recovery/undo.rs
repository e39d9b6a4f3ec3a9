//! Undo: takes back a reduction of the window that was needless, as Linux does (`tcp_try_undo_*`).
//!
//! Two signs show that it was needless. Duplicate SACKs reported every retransmission of the episode (RFC 3708), or an
//! ACK echoes a timestamp from before the first retransmission, so that the original segment caused it (Eifel, RFC
//! 3522; the response is RFC 4015). Without SACK only the second sign is available. F-RTO is a third sign
//! ([`super::frto`]) and restores from the same record.

use crate::decision::DecisionCause;

/// One episode of recovery: what it changed, and what may show that it was needless.
#[derive(Debug)]
pub(crate) struct Undo {
    /// the two signs are evaluated; otherwise only F-RTO uses the record
    reads_acks: bool,
    /// `SND.UNA` when the episode began; none: there is nothing to undo
    marker: Option<u64>,
    /// retransmissions that no duplicate SACK has reported; none: nothing was sent again yet
    unreported: Option<u32>,
    /// timestamp of the first retransmission
    stamp: Option<u32>,
    window: Before,
    /// a mark required the reduction, so it is kept even if nothing was lost
    proven: bool,
}

/// The window before the episode, in the window's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
}

impl Undo {
    pub(crate) fn new(reads_acks: bool) -> Self {
        Self {
            reads_acks,
            marker: None,
            unreported: None,
            stamp: None,
            window: Before::default(),
            proven: false,
        }
    }

    /// An episode begins at `una`, with `out` retransmissions in the network (`tcp_init_undo`).
    pub(crate) fn begin(&mut self, una: u64, out: u32, window: Before) {
        self.marker = Some(una);
        self.proven = false;
        self.unreported = (out > 0).then_some(out);
        // a threshold without limit stays so; otherwise it is at least three quarters of the window
        let about = window.cwnd / 2 + window.cwnd / 4;
        self.window = Before {
            ssthresh: window.ssthresh.max(about),
            ..window
        };
    }

    /// Nothing that was sent again is in the network, so the next retransmission is the first.
    pub(crate) fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// A segment was sent again when the timestamp clock showed `stamp`.
    pub(crate) fn on_retransmit(&mut self, stamp: u32) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
        self.stamp.get_or_insert(stamp);
    }

    /// A duplicate SACK reported `segments` up to `end`.
    pub(crate) fn on_duplicate(&mut self, end: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(unreported) = &mut self.unreported
        {
            *unreported = unreported.saturating_sub(segments);
        }
    }

    /// Whether duplicate SACKs have reported every retransmission.
    #[inline]
    pub(crate) fn all_duplicates(&self) -> bool {
        self.reads_acks && self.marker.is_some() && self.unreported == Some(0)
    }

    /// Whether the ACK answers an original segment: the echoed timestamp is older than the first retransmission, or
    /// there was no retransmission yet (`tcp_packet_delayed`).
    #[inline]
    pub(crate) fn is_original(&self, echoed: Option<u32>) -> bool {
        self.is_evaluated()
            && self.stamp.is_none_or(|stamp| {
                echoed.is_some_and(|echoed| {
                    echoed != 0 && echoed.wrapping_sub(stamp).cast_signed() < 0
                })
            })
    }

    /// Whether nothing was sent again in the present episode.
    pub(crate) fn is_untouched(&self) -> bool {
        self.is_evaluated() && self.stamp.is_none()
    }

    #[inline]
    fn is_evaluated(&self) -> bool {
        self.reads_acks && self.marker.is_some()
    }

    /// The sign that the reduction was needless, if there is one (`tcp_may_undo`).
    #[inline]
    pub(crate) fn sign(&self, echoed: Option<u32>) -> Option<DecisionCause> {
        if self.all_duplicates() {
            Some(DecisionCause::Dsack)
        } else {
            self.is_original(echoed)
                .then_some(DecisionCause::Timestamps)
        }
    }

    /// A mark arrived, so the reduction is kept (`prior_ssthresh = 0`).
    pub(crate) fn prove(&mut self) {
        self.proven = true;
    }

    /// Whether there is something to undo.
    pub(crate) fn is_recorded(&self) -> bool {
        self.marker.is_some()
    }

    /// Discards the record, so that there is nothing to undo.
    pub(crate) fn forget(&mut self) {
        self.marker = None;
    }

    /// Ends the episode. Returns the window before it, unless the reduction was undone before or a mark required it.
    pub(crate) fn take_back(&mut self) -> Option<Before> {
        self.unreported = None;
        self.marker
            .take()
            .and_then(|_| (!self.proven).then_some(self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Before = Before {
        cwnd: 20,
        ssthresh: 10,
    };

    fn episode() -> Undo {
        let mut undo = Undo::new(true);
        undo.begin(1000, 0, WINDOW);
        undo
    }

    #[test]
    fn an_episode_is_needless_once_each_retransmission_was_a_duplicate() {
        let mut undo = episode();
        assert!(!undo.all_duplicates());
        undo.on_retransmit(50);
        undo.on_retransmit(51);
        undo.on_duplicate(2000, 1);
        assert!(!undo.all_duplicates());
        // a duplicate SACK from before the episode does not count
        undo.on_duplicate(900, 1);
        assert!(!undo.all_duplicates());
        undo.on_duplicate(3000, 1);
        assert!(undo.all_duplicates());
        assert_eq!(
            undo.take_back(),
            Some(Before {
                cwnd: 20,
                ssthresh: 15
            })
        );
        assert_eq!(undo.take_back(), None);
        assert!(!undo.all_duplicates());
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_is_of_the_original() {
        let mut undo = episode();
        // before it, whatever arrives is an original segment
        assert!(undo.is_untouched() && undo.is_original(Some(60)) && undo.is_original(None));
        undo.on_retransmit(50);
        assert!(!undo.is_untouched());
        assert!(undo.is_original(Some(49)));
        assert!(!undo.is_original(Some(50)));
        assert!(!undo.is_original(Some(0)) && !undo.is_original(None));
    }

    /// `tcp_init_undo`: retransmissions that are in the network when the episode begins count as well.
    #[test]
    fn retransmissions_from_before_the_episode_are_to_be_reported_too() {
        let mut undo = Undo::new(true);
        undo.on_retransmit(40);
        undo.begin(1000, 2, WINDOW);
        undo.on_retransmit(50);
        undo.on_duplicate(1001, 1);
        undo.on_duplicate(1001, 1);
        assert!(!undo.all_duplicates());
        // the stamp is that of the first retransmission
        assert!(!undo.is_original(Some(40)) && undo.is_original(Some(39)));
        undo.on_duplicate(1000, 1);
        assert!(
            !undo.all_duplicates(),
            "a block that ends where the episode begins is ignored"
        );
        undo.on_duplicate(1001, 1);
        assert_eq!(undo.sign(None), Some(DecisionCause::Dsack));
        assert_eq!(undo.sign(Some(39)), Some(DecisionCause::Dsack));
    }

    #[test]
    fn an_episode_with_nothing_in_the_network_forgets_the_stamp_of_the_last() {
        let mut undo = episode();
        undo.on_retransmit(50);
        undo.forget_stamp();
        undo.begin(2000, 0, WINDOW);
        assert!(undo.is_untouched());
        undo.on_retransmit(60);
        assert_eq!(undo.sign(Some(59)), Some(DecisionCause::Timestamps));
        assert_eq!(undo.sign(Some(60)), None);
    }

    /// The first retransmission may still be in the network, so its stamp holds for the next episode
    /// (`tcp_try_undo_recovery`).
    #[test]
    fn what_is_taken_back_keeps_the_stamp() {
        let mut undo = episode();
        undo.on_retransmit(50);
        assert!(undo.take_back().is_some());
        undo.begin(2000, 1, WINDOW);
        assert!(!undo.is_original(Some(50)) && undo.is_original(Some(49)));
    }

    #[test]
    fn stamps_compare_across_their_wrap() {
        let mut undo = episode();
        undo.on_retransmit(5);
        assert!(undo.is_original(Some(u32::MAX)) && !undo.is_original(Some(6)));
    }

    #[test]
    fn one_duplicate_sack_may_report_more_segments_than_were_sent_again() {
        let mut undo = episode();
        undo.on_duplicate(2000, 1);
        assert!(!undo.all_duplicates(), "nothing was sent again");
        undo.on_retransmit(50);
        undo.on_retransmit(50);
        undo.on_duplicate(2000, 5);
        assert!(undo.all_duplicates());
    }

    #[test]
    fn what_a_mark_called_for_is_not_taken_back() {
        let mut undo = episode();
        undo.prove();
        assert!(undo.is_recorded());
        assert_eq!(undo.take_back(), None);
        assert!(!undo.is_recorded());
        // nothing counts until the next episode
        undo.begin(2000, 0, WINDOW);
        assert!(undo.take_back().is_some());
    }

    #[test]
    fn what_was_forgotten_shows_nothing() {
        let mut undo = episode();
        undo.on_retransmit(50);
        undo.on_duplicate(2000, 1);
        undo.forget();
        assert!(!undo.all_duplicates() && !undo.is_original(Some(1)) && !undo.is_recorded());
        assert_eq!(undo.take_back(), None);
    }

    #[test]
    fn without_the_signs_the_record_serves_f_rto_alone() {
        let mut undo = Undo::new(false);
        undo.begin(1000, 0, WINDOW);
        undo.on_retransmit(50);
        undo.on_duplicate(2000, 1);
        assert_eq!(undo.sign(Some(1)), None);
        assert!(!undo.all_duplicates() && !undo.is_original(Some(1)));
        assert!(undo.take_back().is_some());
    }

    /// `tcp_current_ssthresh`: the restored threshold is at least three quarters of the window before the episode.
    #[test]
    fn the_threshold_comes_back_as_what_it_was_or_three_quarters_of_the_window() {
        let after = |cwnd, ssthresh| {
            let mut undo = Undo::new(true);
            undo.begin(1000, 0, Before { cwnd, ssthresh });
            undo.take_back().unwrap()
        };
        assert_eq!(
            after(20, 14),
            Before {
                cwnd: 20,
                ssthresh: 15
            }
        );
        assert_eq!(
            after(20, 16),
            Before {
                cwnd: 20,
                ssthresh: 16
            }
        );
        assert_eq!(
            after(20, u64::MAX),
            Before {
                cwnd: 20,
                ssthresh: u64::MAX
            }
        );
        assert_eq!(
            after(7, 2),
            Before {
                cwnd: 7,
                ssthresh: 4
            }
        );
    }
}
