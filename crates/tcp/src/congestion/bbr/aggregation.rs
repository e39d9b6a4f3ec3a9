//! Aggregation of ACKs: how much more they acknowledge than the bandwidth times the elapsed time. That much more may be
//! in flight, so that the path does not idle during the silence before a batch of ACKs.

use fairport_units::{Duration, Instant};

use super::bandwidth::Bandwidth;

/// Rounds covered by each of the two maxima; together they cover the last 5 to 10 rounds.
const ROUNDS: u32 = 5;
/// Longest silence for which extra data may be in flight.
const SILENCE_MAX: Duration = Duration::from_ms(100);
/// Segments after which a new epoch begins.
const EPOCH_MAX: u64 = 1 << 20;

/// The estimator of the excess. Amounts are in the window's unit.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    epoch_from: Instant,
    acked: u64,
    extra: [u64; 2],
    present: usize,
    rounds: u32,
}

impl Aggregation {
    /// Sending starts, or starts again: a new epoch begins.
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_from = now;
        self.acked = 0;
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.present ^= 1;
            self.extra[self.present] = 0;
        }
    }

    /// An ACK delivered `newly`. `cwnd` is the window, and `unit` is one segment in the window's unit.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        newly: u64,
        bandwidth: Bandwidth,
        cwnd: u64,
        unit: u64,
    ) {
        let mut expected = bandwidth.amount(now.saturating_sub(self.epoch_from));
        if self.acked <= expected || self.acked + newly >= EPOCH_MAX * unit {
            self.restart(now);
            expected = 0;
        }
        self.acked += newly;
        let extra = (self.acked - expected).min(cwnd);
        let largest = &mut self.extra[self.present];
        *largest = extra.max(*largest);
    }

    /// How much more than the window's product may be in flight.
    pub(super) fn allowance(&self, bandwidth: Bandwidth) -> u64 {
        let extra = self.extra[0].max(self.extra[1]);
        extra.min(bandwidth.amount(SILENCE_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 segments per second, and one more, because the kernel's unit rounds down.
    fn bandwidth() -> Bandwidth {
        Bandwidth::of(1001, Duration::from_secs(1))
    }

    #[test]
    fn bunches_of_ten_allow_ten_on_top_and_single_acks_two() {
        for (bunch, expected) in [(10, 10), (1, 1)] {
            let mut aggregation = Aggregation::default();
            for number in 1..=100 {
                let now = Instant::from_ms(number * bunch);
                aggregation.on_ack(now, bunch, bandwidth(), 1000, 1);
            }
            assert_eq!(aggregation.allowance(bandwidth()), expected);
        }
    }

    #[test]
    fn what_the_bandwidth_would_have_brought_since_does_not_count_as_extra() {
        let mut aggregation = Aggregation::default();
        // 10 more than nothing; two milliseconds later 20, where 2 were expected
        aggregation.on_ack(Instant::from_ms(1), 10, bandwidth(), 1000, 1);
        assert_eq!(aggregation.allowance(bandwidth()), 10);
        aggregation.on_ack(Instant::from_ms(3), 10, bandwidth(), 1000, 1);
        assert_eq!(aggregation.allowance(bandwidth()), 18);
    }

    /// `bbr_ack_epoch_acked_reset_thresh` = 2^20
    #[test]
    fn an_epoch_ends_with_a_million_segments() {
        for unit in [1, 1448] {
            for (newly, begins) in [(9, false), (10, true)] {
                let mut it = Aggregation {
                    acked: ((1 << 20) - 10) * unit,
                    ..Aggregation::default()
                };
                let now = Instant::from_ms(1);
                it.on_ack(now, newly * unit, bandwidth(), 1000 * unit, unit);
                assert_eq!(it.epoch_from == now, begins);
                assert_eq!(it.acked == newly * unit, begins);
            }
        }
    }

    #[test]
    fn a_bunch_is_forgotten_after_ten_rounds_and_never_counts_beyond_the_window_or_100_ms() {
        let mut aggregation = Aggregation::default();
        aggregation.on_ack(Instant::from_secs(1), 500, bandwidth(), 60, 1);
        assert_eq!(aggregation.allowance(bandwidth()), 60);
        let slow = Bandwidth::of(101, Duration::from_secs(1));
        assert_eq!(aggregation.allowance(slow), 10);
        for round in 1..=10 {
            let known = aggregation.allowance(bandwidth());
            assert_eq!(known, 60, "before round {round}");
            aggregation.on_round();
        }
        assert_eq!(aggregation.allowance(bandwidth()), 0);
    }
}
