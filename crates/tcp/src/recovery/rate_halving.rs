//! Rate halving (Mathis, Semke, Mahdavi and Lahey 1999), as in Linux before PRR (`tcp_cwnd_down`, up to 3.1). The
//! window falls by one segment on every second ACK until it reaches the threshold, so one segment is sent for every two
//! delivered.
//!
//! The window never exceeds the data in the network by more than a segment. After heavy losses, or when the application
//! has nothing to send, recovery therefore ends with a window below the threshold, and slow start follows.

use super::reduction::ReductionSample;

/// State of one recovery.
#[derive(Debug, Default)]
pub(crate) struct RateHalving {
    /// the next ACK is the second of a pair
    second: bool,
}

impl RateHalving {
    /// The window after an ACK that delivered something.
    pub(super) fn window(&mut self, sample: &ReductionSample) -> u64 {
        let falls = self.second && sample.cwnd > sample.least;
        self.second = !self.second;
        let cwnd = sample.cwnd - if falls { sample.unit } else { 0 };
        cwnd.min(sample.in_flight + sample.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The final window and the data sent after each of `acks` ACKs. `flight` is the data in the network before.
    fn recover(mut cwnd: u64, mut flight: u64, least: u64, acks: u64) -> (u64, Vec<u64>) {
        let mut halving = RateHalving::default();
        let sent = (0..acks).map(|_| {
            flight -= 1;
            cwnd = halving.window(&ReductionSample {
                delivered: 1,
                clean: false,
                in_flight: flight,
                cwnd,
                ssthresh: 10,
                least,
                unit: 1,
            });
            let out = cwnd.saturating_sub(flight);
            flight += out;
            out
        });
        let sent = sent.collect();
        (cwnd, sent)
    }

    #[test]
    fn a_segment_goes_out_for_two_acks_down_to_the_threshold() {
        let (cwnd, sent) = recover(20, 20, 10, 20);
        assert_eq!(cwnd, 10);
        assert_eq!(sent, [1, 0].repeat(10));
        // and then one segment per ACK
        let (cwnd, sent) = recover(20, 20, 10, 24);
        assert_eq!((cwnd, &sent[20..]), (10, &[1; 4][..]));
    }

    #[test]
    fn after_heavy_losses_the_window_ends_below_the_threshold() {
        // 15 of 20 segments are lost, so 5 are in the network
        let (cwnd, sent) = recover(20, 5, 10, 8);
        assert_eq!(cwnd, 5);
        assert!(sent.iter().all(|out| *out == 1));
    }

    #[test]
    fn the_window_falls_by_a_full_segment_at_a_time_and_not_below_the_least() {
        let mut halving = RateHalving::default();
        let mut window = |cwnd, in_flight| {
            halving.window(&ReductionSample {
                delivered: 1000,
                clean: true,
                in_flight,
                cwnd,
                ssthresh: 4000,
                least: 5000,
                unit: 1000,
            })
        };
        assert_eq!(window(7000, 9000), 7000);
        assert_eq!(window(7000, 9000), 6000);
        assert_eq!(window(6000, 9000), 6000);
        assert_eq!(window(6000, 9000), 5000);
        assert_eq!((window(5000, 9000), window(5000, 9000)), (5000, 5000));
        // at most one segment above the data in the network
        assert_eq!((window(7000, 3500), window(7000, 4700)), (4500, 5700));
    }
}
