//! Gradual reduction of the window to the threshold, in fast recovery and after a mark. One file per algorithm.

use super::prr::Prr;
use super::rate_halving::RateHalving;
use crate::settings::WindowReduction;

/// What an ACK says during a reduction. All amounts are in the window's unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReductionSample {
    /// data newly acknowledged or `SACKed`
    pub(crate) delivered: u64,
    /// `SND.UNA` moved, and no loss was found
    pub(crate) clean: bool,
    pub(crate) in_flight: u64,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// smallest window of rate halving
    pub(crate) least: u64,
    /// one full segment
    pub(crate) unit: u64,
}

/// The algorithms, dispatched statically.
#[derive(Debug)]
pub(crate) enum Reduction {
    RateHalving(RateHalving),
    Prr(Prr),
}

impl Reduction {
    /// None if the window falls at once.
    pub(crate) fn new(setting: WindowReduction) -> Option<Self> {
        match setting {
            WindowReduction::AtOnce => None,
            WindowReduction::RateHalving => Some(Self::RateHalving(RateHalving::default())),
            WindowReduction::Prr => Some(Self::Prr(Prr::default())),
        }
    }

    /// A reduction begins with a window of `cwnd`.
    pub(crate) fn begin(&mut self, cwnd: u64) {
        match self {
            Self::RateHalving(it) => *it = RateHalving::default(),
            Self::Prr(it) => it.begin(cwnd),
        }
    }

    /// Counts data that was sent, for the first time or again.
    #[inline]
    pub(crate) fn on_sent(&mut self, amount: u64) {
        if let Self::Prr(it) = self {
            it.on_sent(amount);
        }
    }

    /// The window after an ACK; none if it does not change.
    pub(crate) fn window(&mut self, sample: &ReductionSample) -> Option<u64> {
        if sample.delivered == 0 {
            return None;
        }
        Some(match self {
            Self::RateHalving(it) => it.window(sample),
            Self::Prr(it) => it.window(sample),
        })
    }

    /// The window at the end of a reduction to `ssthresh` (`tcp_complete_cwr`, `tcp_end_cwnd_reduction`).
    pub(crate) fn end(&self, cwnd: u64, ssthresh: u64) -> u64 {
        match self {
            Self::RateHalving(_) => cwnd.min(ssthresh),
            Self::Prr(_) => ssthresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_that_delivers_nothing_leaves_the_window() {
        let nothing = ReductionSample {
            delivered: 0,
            clean: false,
            in_flight: 10,
            cwnd: 20,
            ssthresh: 10,
            least: 10,
            unit: 1,
        };
        for setting in [WindowReduction::RateHalving, WindowReduction::Prr] {
            let mut reduction = Reduction::new(setting).unwrap();
            reduction.begin(20);
            assert_eq!(reduction.window(&nothing), None);
        }
        assert!(Reduction::new(WindowReduction::AtOnce).is_none());
    }

    #[test]
    fn after_prr_the_window_is_the_threshold_and_after_rate_halving_at_most_that() {
        let end = |setting, cwnd| Reduction::new(setting).unwrap().end(cwnd, 10);
        assert_eq!(
            [7, 12].map(|cwnd| end(WindowReduction::Prr, cwnd)),
            [10, 10]
        );
        assert_eq!(
            [7, 12].map(|cwnd| end(WindowReduction::RateHalving, cwnd)),
            [7, 10]
        );
    }

    #[test]
    fn each_reduction_begins_anew() {
        let sample = ReductionSample {
            delivered: 1,
            clean: false,
            in_flight: 30,
            cwnd: 20,
            ssthresh: 10,
            least: 10,
            unit: 1,
        };
        let mut prr = Reduction::new(WindowReduction::Prr).unwrap();
        prr.begin(20);
        prr.on_sent(5);
        prr.begin(10);
        // allows the fast retransmit of the second
        assert_eq!(prr.window(&sample), Some(31));
        // after that, one segment per segment delivered: 10 of a window of 10
        prr.on_sent(1);
        assert_eq!(prr.window(&sample), Some(31));
        prr.on_sent(5);
        assert_eq!(prr.window(&sample), Some(30));
        let mut halving = Reduction::new(WindowReduction::RateHalving).unwrap();
        halving.begin(20);
        assert_eq!(halving.window(&sample), Some(20));
        halving.begin(20);
        assert_eq!(halving.window(&sample), Some(20));
        assert_eq!(halving.window(&sample), Some(19));
    }
}
