//! Proportional rate reduction (RFC 6937): how much fast recovery sends for each ACK,
//! with the slow-start reduction bound, as Linux has it (`tcp_cwnd_reduction`).
//!
//! While more than the new threshold is in the network, ssthresh / cwnd segments are sent for each one delivered. The
//! flight then falls evenly to the threshold by the end of the recovery, without a silence of half a round trip. With
//! less than the threshold in the network, the flight may grow by the amount delivered, and by one segment more if the
//! ACK advanced and showed no further loss.

use super::reduction::ReductionSample;

/// State of one recovery. All amounts are in the window's unit.
#[derive(Debug, Default)]
pub(crate) struct Prr {
    /// the window when the recovery began (`RecoverFS`)
    before: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// A recovery begins with a window of `cwnd`.
    pub(crate) fn begin(&mut self, cwnd: u64) {
        *self = Self {
            before: cwnd.max(1),
            delivered: 0,
            out: 0,
        };
    }

    /// Counts data that was sent, for the first time or again.
    #[inline]
    pub(crate) fn on_sent(&mut self, amount: u64) {
        self.out += amount;
    }

    /// The window after an ACK that delivered something: the data in the network plus what may be sent now.
    pub(super) fn window(&mut self, sample: &ReductionSample) -> u64 {
        self.delivered += sample.delivered;
        let mut count = if sample.in_flight > sample.ssthresh {
            let share = u128::from(sample.ssthresh) * u128::from(self.delivered);
            let share = share.div_ceil(u128::from(self.before)) as u64;
            share.saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out);
            let grown =
                conserved.max(sample.delivered) + if sample.clean { sample.unit } else { 0 };
            grown.min(sample.ssthresh - sample.in_flight)
        };
        if self.out == 0 {
            // the fast retransmit itself is always allowed
            count = count.max(sample.unit);
        }
        sample.in_flight + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(in_flight: u64, clean: bool) -> ReductionSample {
        ReductionSample {
            delivered: 1,
            clean,
            in_flight,
            cwnd: 20,
            ssthresh: 10,
            least: 10,
            unit: 1,
        }
    }

    #[test]
    fn a_lone_loss_of_twenty_sends_a_segment_for_every_second_ack_down_to_the_threshold() {
        // 20 segments, the first lost; limited transmit sent two more. The third SACK starts recovery with 18 segments
        // in the network, and one ACK arrives for each of them
        let mut prr = Prr::default();
        prr.begin(20);
        let mut flight = 18;
        let mut sent = Vec::new();
        for _ in 0..18 {
            let out = prr.window(&sample(flight, false)) - flight;
            prr.on_sent(out);
            sent.push(out);
            flight = flight + out - 1;
        }
        assert_eq!(sent[..16], [1, 0].repeat(8));
        // the threshold is reached, and then held
        assert_eq!(sent[16..], [0, 1]);
        assert_eq!(flight + 1, 10);
    }

    #[test]
    fn after_heavy_loss_the_flight_is_kept_or_doubled_but_never_pushed_beyond_the_threshold() {
        let mut prr = Prr::default();
        prr.begin(20);
        prr.on_sent(1);
        // 15 of 20 segments were lost: what is delivered may be sent, and one more if the ACK is clean
        assert_eq!(prr.window(&sample(2, false)), 3);
        prr.on_sent(1);
        assert_eq!(prr.window(&sample(2, true)), 4);
        assert_eq!(prr.window(&sample(9, true)), 10);
    }

    /// An ACK during recovery: data delivered, data in flight, whether it is clean, and what is sent then.
    type Ack = (u64, u64, bool, u64);

    proptest! {
        /// The formulas of RFC 6937 3.1 with the slow-start reduction bound. As in the kernel, the bound allows one
        /// segment more only if the ACK advanced and showed no further loss, and the fast retransmit is always allowed.
        #[test]
        fn what_goes_out_is_what_the_rfc_computes(
            unit in prop::sample::select(&[1_u64, 1000][..]),
            before in 1_u64..60,
            ssthresh in 1_u64..40,
            acks in prop::collection::vec((1_u64..4, 0_u64..60, any::<bool>(), 0_u64..4), 1..40),
        ) {
            let (before, ssthresh) = (before * unit, ssthresh * unit + unit / 3);
            let mut prr = Prr::default();
            // a used account starts again from zero
            prr.on_sent(7);
            prr.begin(before);
            let (mut prr_delivered, mut prr_out) = (0_i128, 0_i128);
            for (delivered, pipe, clean, sent) in acks as Vec<Ack> {
                let (delivered, pipe, sent) = (delivered * unit, pipe * unit, sent * unit);
                prr_delivered += i128::from(delivered);
                let [threshold, flight, recover_fs, mss] =
                    [ssthresh, pipe, before, unit].map(i128::from);
                let mut sndcnt = if flight > threshold {
                    let share = prr_delivered * threshold;
                    share / recover_fs + i128::from(share % recover_fs > 0) - prr_out
                } else {
                    let limit = (prr_delivered - prr_out).max(i128::from(delivered));
                    (threshold - flight).min(limit + if clean { mss } else { 0 })
                };
                if prr_out == 0 {
                    sndcnt = sndcnt.max(mss);
                }
                let window = prr.window(&ReductionSample {
                    delivered, clean, in_flight: pipe, cwnd: 99, ssthresh, least: 98, unit,
                });
                prop_assert_eq!(i128::from(window), flight + sndcnt.max(0));
                prr.on_sent(sent);
                prr_out += i128::from(sent);
            }
        }
    }

    #[test]
    fn a_recovery_that_begins_with_no_window_counts_as_one_of_one() {
        let mut prr = Prr::default();
        prr.begin(0);
        prr.on_sent(1);
        assert_eq!(prr.window(&sample(11, false)), 11 + 10 - 1);
    }
}
