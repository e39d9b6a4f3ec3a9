//! `tcp_bic.c`: `bictcp_update`, `bictcp_recalc_ssthresh`, `bictcp_acked`; and Reno's half.

use super::*;

/// The fields are those of `struct bictcp`; times are in ps.
struct Bictcp {
    counts_acks: bool,
    fast_convergence: bool,
    cnt: u64,
    last_max_cwnd: u64,
    loss_cwnd: u64,
    last_cwnd: u64,
    last_time: u64,
    delayed_ack: u64,
}

impl Bictcp {
    fn new(settings: &Settings) -> Self {
        Self {
            counts_acks: !settings.abc,
            fast_convergence: settings.fast_convergence,
            cnt: 0,
            last_max_cwnd: 0,
            loss_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            delayed_ack: 2 << 4,
        }
    }

    /// Segments to be acknowledged for one segment of growth, above a window of 14.
    fn search(&self, cwnd: u64) -> u64 {
        let (smooth, fast) = (cwnd * 20 / 4, cwnd / 16);
        let cnt = if cwnd < self.last_max_cwnd {
            let distance = (self.last_max_cwnd - cwnd) / 4;
            if distance > 16 {
                fast
            } else if distance <= 1 {
                smooth
            } else {
                cwnd / distance
            }
        } else {
            let beyond = cwnd - self.last_max_cwnd;
            if beyond < 4 {
                smooth
            } else if beyond < 48 {
                cwnd * 3 / beyond
            } else {
                fast
            }
        };
        if self.loss_cwnd == 0 {
            cnt.min(20)
        } else {
            cnt
        }
    }
}

impl Kernel for Bictcp {
    fn sees(&mut self, _now: Instant, ack: &Ack) {
        if self.counts_acks && ack.state == State::Open && !ack.sacks {
            self.delayed_ack += u64::from(ack.segments);
            self.delayed_ack -= (self.delayed_ack - u64::from(ack.segments)) / 16;
        }
    }

    fn count(&mut self, now: Instant, cwnd: u64, _acked: u64) -> u64 {
        let now = now.as_ps();
        let holds = Duration::from_us(31_250).as_ps();
        if self.last_cwnd == cwnd && now - self.last_time <= holds {
            return self.cnt;
        }
        (self.last_cwnd, self.last_time) = (cwnd, now);
        self.cnt = if cwnd <= 14 {
            cwnd
        } else {
            let cnt = self.search(cwnd);
            let per_ack = if self.counts_acks {
                cnt * 16 / self.delayed_ack
            } else {
                cnt
            };
            per_ack.max(1)
        };
        self.cnt
    }

    fn threshold(&mut self, cwnd: u64) -> u64 {
        self.last_max_cwnd = if cwnd < self.last_max_cwnd && self.fast_convergence {
            cwnd * 1843 / 2048
        } else {
            cwnd
        };
        self.loss_cwnd = cwnd;
        self.last_cwnd = 0;
        if cwnd <= 14 {
            cwnd / 2
        } else {
            cwnd * 819 / 1024
        }
    }

    fn reset(&mut self) {
        self.last_max_cwnd = 0;
        self.loss_cwnd = 0;
        self.last_cwnd = 0;
        self.delayed_ack = 2 << 4;
    }
}

/// Reno: grows by one segment per window, and falls to half of the window.
struct Reno;

impl Kernel for Reno {
    fn sees(&mut self, _now: Instant, _ack: &Ack) {}

    fn count(&mut self, _now: Instant, cwnd: u64, _acked: u64) -> u64 {
        cwnd
    }

    fn threshold(&mut self, cwnd: u64) -> u64 {
        cwnd / 2
    }

    fn reset(&mut self) {}
}

proptest! {
    #[test]
    fn bic_grows_as_in_the_kernel(
        course in any_course(), counts_acks in any::<bool>(), in_bytes in any::<bool>(), converges in any::<bool>()
    ) {
        let mut settings = settings("bic", counts_acks, if in_bytes { 1448 } else { 1 });
        settings.fast_convergence = converges;
        compare(&settings, &course, &mut Bictcp::new(&settings))?;
    }

    #[test]
    fn newreno_grows_as_in_the_kernel(course in any_course(), counts_acks in any::<bool>()) {
        compare(&settings("newreno", counts_acks, 1), &course, &mut Reno)?;
    }
}
