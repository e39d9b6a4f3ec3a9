//! HyStart (Ha and Rhee 2011) as Linux has it: slow start ends when the round-trip time grows, or
//! when the train of ACKs of one round is longer than half of the smallest round-trip time.

use fairport_units::Time;

use super::AckSample;

/// Segments below which it does not look.
const LOW_WINDOW: u64 = 16;
/// Samples at the beginning of a round whose minimum is compared.
const MIN_SAMPLES: u32 = 8;
/// How much the delay must grow: an eighth of the smallest, within these limits.
const DELAY_MIN: Time = Time::from_ms(4);
const DELAY_MAX: Time = Time::from_ms(16);
/// ACKs closer than this belong to one train.
const TRAIN_GAP: Time = Time::from_ms(2);

#[derive(Debug)]
pub(super) struct HyStart {
    found: bool,
    /// the round ends when this is acknowledged
    round_end: u64,
    round_start: Time,
    last_ack: Time,
    /// smallest of the round's first samples, and how many there were
    rtt: Time,
    samples: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            found: false,
            round_end: 0,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            rtt: Time::NEVER,
            samples: 0,
        }
    }

    /// Whether slow start is to end with this ACK; said once.
    pub(super) fn ends_slow_start(
        &mut self,
        cwnd_segments: u64,
        rtt: Time,
        delay_min: Time,
        sample: &AckSample,
    ) -> bool {
        if self.found {
            return false;
        }
        if sample.una > self.round_end {
            self.round_end = sample.nxt;
            self.round_start = sample.now;
            self.last_ack = sample.now;
            self.rtt = Time::NEVER;
            self.samples = 0;
        }
        if cwnd_segments < LOW_WINDOW {
            return false;
        }
        // the two sides are asked both: either updates what it knows
        let train = self.train_is_long(delay_min, sample.now);
        let delay = self.delay_grew(rtt, delay_min);
        self.found = train || delay;
        self.found
    }

    fn train_is_long(&mut self, delay_min: Time, now: Time) -> bool {
        if now.saturating_sub(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.saturating_sub(self.round_start) > delay_min / 2
    }

    fn delay_grew(&mut self, rtt: Time, delay_min: Time) -> bool {
        self.rtt = self.rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let growth = (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.rtt > delay_min + growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::State;

    fn ack(now: Time, una: u64, nxt: u64) -> AckSample {
        AckSample {
            now,
            acked: 1,
            segments: 1,
            rtt: None,
            una,
            nxt,
            state: State::Open,
            limited: true,
        }
    }

    #[test]
    fn eight_samples_of_a_round_that_are_an_eighth_longer_end_slow_start() {
        let mut hystart = HyStart::new();
        let base = Time::from_ms(80);
        let slow = Time::from_ms(91);
        let mut now = Time::from_secs(1);
        for i in 0..8 {
            assert!(!hystart.ends_slow_start(20, slow, base, &ack(now, 1 + i, 100)));
            // gaps of 3 ms: no train
            now += Time::from_ms(3);
        }
        assert!(hystart.ends_slow_start(20, slow, base, &ack(now, 9, 100)));
    }

    #[test]
    fn an_ack_train_of_half_the_delay_ends_slow_start() {
        let mut hystart = HyStart::new();
        let base = Time::from_ms(10);
        let mut now = Time::from_secs(1);
        let mut acks = 0;
        while !hystart.ends_slow_start(20, base, base, &ack(now, 1 + acks, 1000)) {
            now += Time::from_ms(1);
            acks += 1;
        }
        assert_eq!(acks, 6);
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = HyStart::new();
        let base = Time::from_us(10);
        for i in 0..100 {
            let now = Time::from_us(100 * i);
            assert!(!hystart.ends_slow_start(15, base * 2, base, &ack(now, 1 + i, 1000)));
        }
    }
}
