//! The average queue that RED and RIO decide by.
//!
//! Floyd & Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.

use fairport_units::Time;

/// An exponentially weighted moving average of a queue, in whatever unit its samples have.
#[derive(Clone, Debug)]
pub(super) struct Average {
    value: f64,
    weight: f64,
    /// time that a packet of typical size takes on the link
    packet_time: Time,
    /// what is left after 2^i packets that found an empty queue
    decay: [f64; LONGEST_LOG],
}

/// An average that so many packets (2^32) found an empty queue after is zero, for any weight.
const LONGEST_LOG: usize = 32;

/// An average of this many packets or octets is taken for none.
const NOTHING: f64 = 1e-9;

impl Average {
    /// The average of an empty queue; a new sample counts with `weight`.
    pub(super) fn new(weight: f64, packet_time: Time) -> Self {
        let mut decay = [1.0 - weight; LONGEST_LOG];
        for i in 1..LONGEST_LOG {
            decay[i] = decay[i - 1] * decay[i - 1];
        }
        Self {
            value: 0.0,
            weight,
            packet_time,
            decay,
        }
    }

    /// Takes the queue that an arriving packet finds, after the link stood idle for `idle`: as if
    /// so many packets of typical size had met an empty queue meanwhile.
    #[inline]
    pub(super) fn update(&mut self, queue: f64, idle: Time) -> f64 {
        if idle >= self.packet_time && self.value > 0.0 {
            self.decay(idle.as_ps() / self.packet_time.as_ps());
        }
        self.value += self.weight * (queue - self.value);
        self.value
    }

    /// The power by squaring: products of a few doubles, the same on every machine.
    #[inline]
    fn decay(&mut self, mut missed: u64) {
        if missed >> LONGEST_LOG > 0 {
            self.value = 0.0;
        }
        let mut i = 0;
        while missed > 0 && i < LONGEST_LOG {
            if missed & 1 > 0 {
                self.value *= self.decay[i];
            }
            missed >>= 1;
            i += 1;
        }
        // what is left of a queue long gone would cost its powers at every packet for ever
        if self.value < NOTHING {
            self.value = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_counts_with_the_weight() {
        let mut average = Average::new(0.25, Time::from_us(12));
        assert!((average.update(8.0, Time::ZERO) - 2.0).abs() < 1e-12);
        assert!((average.update(8.0, Time::ZERO) - 3.5).abs() < 1e-12);
        assert!((average.update(0.0, Time::ZERO) - 2.625).abs() < 1e-12);
    }

    #[test]
    fn an_idle_link_counts_as_packets_that_found_an_empty_queue() {
        let [mut idle, mut busy] = [0, 1].map(|_| Average::new(0.25, Time::from_us(12)));
        idle.update(8.0, Time::ZERO);
        busy.update(8.0, Time::ZERO);
        for _ in 0..3 {
            busy.update(0.0, Time::ZERO);
        }
        // 47 us are three packets of 12 us and a rest, and then comes the packet itself
        let after = idle.update(0.0, Time::from_us(47));
        assert!((after - busy.update(0.0, Time::ZERO)).abs() < 1e-12);
    }

    #[test]
    fn a_step_is_followed_to_63_percent_in_one_over_w_packets() {
        // F&J 1993 5.1: a queue that jumps from 0 to 1 and stays there
        let mut average = Average::new(0.002, Time::from_us(12));
        let after = (0..500).map(|_| average.update(1.0, Time::ZERO)).last();
        assert!((after.expect("500 samples") - (1.0 - 0.998_f64.powi(500))).abs() < 1e-9);
    }
}
