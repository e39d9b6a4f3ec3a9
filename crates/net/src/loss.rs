//! Losses that no queue decides: at random, as on a bad link, or in runs of a given length.
//!
//! A packet is lost in front of the port's queue, whatever that is, and takes no time on the
//! link.

use fairport_units::Time;

use crate::stream::Stream;

/// A place in front of a port's queue where packets are lost.
#[derive(Clone, Debug)]
pub enum Loss {
    /// each packet with a probability of its own
    Random {
        /// parts of 10^9
        probability_ppb: u64,
        /// what decides
        stream: Stream,
    },
    /// exactly so many in a row, then none for a while: the ON/OFF model of Prakash et al. 2012
    OnOff(Runs),
}

/// Runs of losses.
#[derive(Clone, Debug)]
pub struct Runs {
    drops: u32,
    off: Time,
    /// of a run, packets still to be lost
    left: u32,
    /// until when nothing is lost
    off_until: Time,
}

impl Runs {
    /// Runs of `drops` packets, at least one; `off` is the time from a run's last loss until the
    /// next run may begin, and before the first run.
    pub fn new(drops: u32, off: Time) -> Self {
        assert!(drops > 0, "a run has a packet");
        Self {
            drops,
            off,
            left: drops,
            off_until: off,
        }
    }

    fn takes(&mut self, now: Time) -> bool {
        if now < self.off_until {
            return false;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.drops;
            self.off_until = now + self.off;
        }
        true
    }
}

impl Loss {
    /// Whether the packet that comes at `now` is lost.
    pub(crate) fn takes(&mut self, now: Time) -> bool {
        match self {
            Self::Random {
                probability_ppb,
                stream,
            } => stream.up_to(999_999_999) < *probability_ppb,
            Self::OnOff(runs) => runs.takes(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `packets`, one every microsecond, are lost.
    fn lost(mut loss: Loss, packets: u64) -> Vec<bool> {
        (0..packets)
            .map(|us| loss.takes(Time::from_us(us)))
            .collect()
    }

    #[test]
    fn a_run_is_exactly_as_long_as_asked_for_and_the_next_comes_after_the_pause() {
        let loss = Loss::OnOff(Runs::new(3, Time::from_us(5)));
        let (o, x) = (false, true);
        assert_eq!(
            lost(loss, 20),
            [o, o, o, o, o, x, x, x, o, o, o, o, x, x, x, o, o, o, o, x]
        );
    }

    #[test]
    fn random_losses_have_their_probability_and_no_memory() {
        let loss = Loss::Random {
            probability_ppb: 100_000_000,
            stream: Stream::new(1, "loss", 0),
        };
        let fates = lost(loss, 100_000);
        let share = fates.iter().filter(|fate| **fate).count() as f64 / 1e5;
        // 4 standard deviations
        assert!(
            (share - 0.1).abs() < 4.0 * (0.09_f64 / 1e5).sqrt(),
            "{share}"
        );
        let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!((pairs as f64 / 1e5 - 0.01).abs() < 0.0015);
    }
}
