//! Losses that no queue decides: at random, as on a bad link, or in runs of a given length.
//!
//! A packet is lost before it meets the port's own discipline, and takes no time on the link.

use fairport_units::Time;

use super::{Candidate, Discipline, Queue, Reason, Verdict};
use crate::stream::Stream;

/// Which packets are lost.
#[derive(Clone, Debug)]
pub enum Loss {
    /// each with a probability of its own
    Random {
        /// parts of 10^9
        probability_ppb: u64,
        /// what decides
        stream: Stream,
    },
    /// exactly so many in a row, then none for a while: the ON/OFF model of Prakash et al. 2012
    OnOff {
        /// packets of a run
        drops: u32,
        /// from a run's last loss until the next run may begin; also before the first run
        off: Time,
    },
}

/// Another discipline behind a place where packets are lost.
#[derive(Clone, Debug)]
pub struct Lossy {
    loss: Loss,
    /// of a run, packets still to be lost
    left: u32,
    /// until when nothing is lost
    off_until: Time,
    behind: Discipline,
}

impl Lossy {
    /// Loses packets before `behind` sees them.
    pub fn new(loss: Loss, behind: Discipline) -> Self {
        let (left, off_until) = match loss {
            Loss::Random { .. } => (0, Time::ZERO),
            Loss::OnOff { drops, off } => (drops, off),
        };
        Self {
            loss,
            left,
            off_until,
            behind,
        }
    }

    pub(super) fn judge(&mut self, queue: &Queue, packet: &Candidate) -> Verdict {
        if self.loses(queue.now) {
            return Verdict::Dropped(Reason::Loss);
        }
        self.behind.judge(queue, packet)
    }

    pub(super) fn joined(&mut self, leaves: Time) {
        self.behind.joined(leaves);
    }

    fn loses(&mut self, now: Time) -> bool {
        match &mut self.loss {
            Loss::Random {
                probability_ppb,
                stream,
            } => stream.up_to(999_999_999) < *probability_ppb,
            Loss::OnOff { drops, off } => {
                if now < self.off_until {
                    return false;
                }
                self.left -= 1;
                if self.left == 0 {
                    self.left = *drops;
                    self.off_until = now + *off;
                }
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::{Backlog, DropTail};

    /// Which of `packets`, one every microsecond, are lost.
    fn lost(loss: Loss, packets: u64) -> Vec<bool> {
        let mut lossy = Lossy::new(loss, Discipline::DropTail(DropTail::packets(10)));
        let judge = |us| {
            let queue = Queue {
                now: Time::from_us(us),
                backlog: Backlog {
                    bytes: 0,
                    packets: 0,
                },
                idle_at: Time::ZERO,
            };
            let packet = Candidate {
                frame_bytes: 1518,
                flow: 0,
                class: 0,
                ecn: 0,
            };
            lossy.judge(&queue, &packet) == Verdict::Dropped(Reason::Loss)
        };
        (0..packets).map(judge).collect()
    }

    #[test]
    fn a_run_is_exactly_as_long_as_asked_for_and_the_next_comes_after_the_pause() {
        let loss = Loss::OnOff {
            drops: 3,
            off: Time::from_us(5),
        };
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
