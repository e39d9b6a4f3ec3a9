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
}

impl Average {
    /// The average of an empty queue; a new sample counts with `weight`.
    pub(super) fn new(weight: f64, packet_time: Time) -> Self {
        Self {
            value: 0.0,
            weight,
            packet_time,
        }
    }

    /// Takes the queue that an arriving packet finds, after the link stood idle for `idle`: as if
    /// so many packets of typical size had met an empty queue meanwhile.
    #[inline]
    pub(super) fn update(&mut self, queue: f64, idle: Time) -> f64 {
        if idle > Time::ZERO {
            let missed = idle.as_ps() / self.packet_time.as_ps();
            // libm's power: the platform's own may differ in the last bit
            self.value *= libm::pow(1.0 - self.weight, missed as f64);
        }
        self.value += self.weight * (queue - self.value);
        self.value
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
