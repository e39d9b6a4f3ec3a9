//! The average queue length on which RED and RIO decide.
//!
//! Floyd & Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.

use fairport_units::Duration;

/// An exponentially weighted moving average of a queue, in the unit of its samples.
///
/// Most packets find an empty queue, and while the average is short they are accepted without its exact value. So
/// samples of an empty queue are only counted. They are applied together when a packet finds others waiting, or when
/// the value is read.
#[derive(Clone, Debug)]
#[repr(C)] // what every packet needs comes first
pub(super) struct Average {
    /// the average without the samples in `missed`
    value: f64,
    /// samples of an empty queue that are not applied yet
    missed: u64,
    packet_time: PacketTime,
    weight: f64,
    /// the factor by which 2^i samples of an empty queue reduce the average
    decay: Box<[f64; LONGEST_LOG]>,
}

/// After 2^32 samples of an empty queue the average is zero, with any weight.
const LONGEST_LOG: usize = 32;

/// An average of at most this many packets or bytes counts as zero.
const NOTHING: f64 = 1e-9;

impl Average {
    /// The average of an empty queue. Each new sample counts with `weight`. A packet of typical size takes
    /// `packet_time` on the link, which is not zero.
    pub(super) fn new(weight: f64, packet_time: Duration) -> Self {
        let mut decay = Box::new([1.0 - weight; LONGEST_LOG]);
        for i in 1..LONGEST_LOG {
            decay[i] = decay[i - 1] * decay[i - 1];
        }
        Self {
            value: 0.0,
            missed: 0,
            packet_time: PacketTime::new(packet_time),
            weight,
            decay,
        }
    }

    /// Adds the queue that an arriving packet finds as a sample. If it is empty, the link has been idle for `idle`,
    /// which [`Average::rest`] adds. Returns an upper limit of [`Average::value`].
    #[inline]
    pub(super) fn update(&mut self, queue: f64, idle: Duration) -> f64 {
        if queue > 0.0 {
            self.value += self.weight * (queue - self.value());
        } else {
            self.missed += 1;
            self.rest(idle);
        }
        self.value
    }

    /// Adds the samples of an empty queue for which an idle time counts: one per packet of typical size.
    #[inline]
    pub(super) fn rest(&mut self, idle: Duration) {
        self.missed += self.packet_time.packets_in(idle);
    }

    /// The average over all samples.
    #[inline]
    pub(super) fn value(&mut self) -> f64 {
        if self.missed > 0 {
            self.take_missed();
        }
        self.value
    }

    /// Applies the counted samples. The power is computed by squaring, which gives the same result on every machine.
    #[inline(never)] // rarely called while the queue holds packets
    fn take_missed(&mut self) {
        let mut missed = std::mem::take(&mut self.missed);
        if missed >> LONGEST_LOG > 0 {
            self.value = 0.0;
            return;
        }
        while missed > 0 {
            self.value *= self.decay[missed.trailing_zeros() as usize];
            missed &= missed - 1;
        }
        // otherwise the rest of an old queue would cost these products again and again
        if self.value <= NOTHING {
            self.value = 0.0;
        }
    }
}

/// The time that a packet takes on a link, as a divisor. Every packet divides by it, so the division is a
/// multiplication by the reciprocal.
#[derive(Clone, Copy, Debug)]
struct PacketTime {
    ps: u64,
    /// 2^64 / `ps`, rounded down
    reciprocal: u64,
}

impl PacketTime {
    fn new(time: Duration) -> Self {
        Self {
            ps: time.as_ps(),
            reciprocal: u64::MAX / time.as_ps(),
        }
    }

    /// The number of whole packets that fit into `span`.
    #[inline]
    fn packets_in(self, span: Duration) -> u64 {
        // The reciprocal is too small by at most 1, so the quotient is exact or one too small.
        let product = u128::from(span.as_ps()) * u128::from(self.reciprocal);
        let packets = (product >> 64) as u64;
        packets + u64::from(span.as_ps() - packets * self.ps >= self.ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_counts_with_the_weight() {
        let mut average = Average::new(0.25, Duration::from_us(12));
        assert!((average.update(8.0, Duration::ZERO) - 2.0).abs() < 1e-12);
        assert!((average.update(8.0, Duration::ZERO) - 3.5).abs() < 1e-12);
        average.update(0.0, Duration::ZERO);
        assert!((average.value() - 2.625).abs() < 1e-12);
    }

    #[test]
    fn an_idle_link_counts_as_packets_that_found_an_empty_queue() {
        let [mut idle, mut busy] = [0, 1].map(|_| Average::new(0.25, Duration::from_us(12)));
        idle.update(8.0, Duration::ZERO);
        busy.update(8.0, Duration::ZERO);
        for _ in 0..3 {
            busy.update(0.0, Duration::ZERO);
        }
        // 47 us are three packets of 12 us and a rest; the packet itself is one more sample
        idle.update(0.0, Duration::from_us(47));
        busy.update(0.0, Duration::ZERO);
        assert!((idle.value() - busy.value()).abs() < 1e-12);
    }

    #[test]
    fn an_empty_queue_that_nobody_asks_about_counts_when_others_wait_again() {
        let [mut asked, mut silent] = [0, 1].map(|_| Average::new(0.25, Duration::from_us(12)));
        for (queue, idle_us) in [
            (8.0, 0),
            (0.0, 30),
            (0.0, 0),
            (0.0, 7),
            (0.0, 480),
            (3.0, 0),
        ] {
            asked.update(queue, Duration::from_us(idle_us));
            let bound = silent.update(queue, Duration::from_us(idle_us));
            assert!(bound >= asked.value());
        }
        assert!((asked.value() - silent.value()).abs() < 1e-12);
    }

    #[test]
    fn of_a_queue_that_was_empty_for_five_billion_packets_nothing_is_left() {
        let mut average = Average::new(1e-12, Duration::from_ns(1));
        average.update(1e12, Duration::ZERO);
        // one part in 10^12 per packet: 5 billion packets take 0.5 %, but so long an idle time clears the average
        average.update(0.0, Duration::from_secs(5));
        assert_eq!(average.value().to_bits(), 0);
    }

    #[test]
    fn an_average_of_a_billionth_is_taken_for_none() {
        let after_one_empty = |queue| {
            let mut average = Average::new(0.5, Duration::from_us(12));
            average.update(queue, Duration::ZERO);
            average.update(0.0, Duration::ZERO);
            average.value()
        };
        assert_eq!(after_one_empty(4e-9).to_bits(), 0);
        assert!(after_one_empty(5e-9) > 1e-9);
    }

    #[test]
    fn the_reciprocal_divides_exactly() {
        for packet_ps in [1, 2, 3, 7, 672_000, 4_000_000, 12_144_000, (1 << 62) + 1] {
            let packet_time = PacketTime::new(Duration::from_ps(packet_ps));
            let powers = (0..64).map(|log| u64::MAX >> log);
            let multiples = (1..40).map(|n: u64| n.wrapping_mul(packet_ps));
            for ps in powers.chain(multiples).flat_map(|ps| [ps - 1, ps]) {
                let packets = packet_time.packets_in(Duration::from_ps(ps));
                assert_eq!(packets, ps / packet_ps, "{ps} / {packet_ps}");
            }
        }
    }

    #[test]
    fn a_step_is_followed_to_63_percent_in_one_over_w_packets() {
        // F&J 1993 5.1: a queue that jumps from 0 to 1 and stays there
        let mut average = Average::new(0.002, Duration::from_us(12));
        let after = (0..500).map(|_| average.update(1.0, Duration::ZERO)).last();
        assert!((after.expect("500 samples") - (1.0 - 0.998_f64.powi(500))).abs() < 1e-9);
    }
}
