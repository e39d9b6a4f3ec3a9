//! `tcp_cubic.c`: `bictcp_update`, `bictcp_recalc_ssthresh`, `bictcp_acked`.

use super::*;

/// The fields are those of `struct bictcp`; times are in ps, and come in ticks of `tick`.
struct Bictcp {
    counts_acks: bool,
    shifts: bool,
    fast_convergence: bool,
    tick: u64,
    cnt: u64,
    last_max_cwnd: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    k: u64,
    delay_min: u64,
    epoch_start: Option<u64>,
    ack_cnt: u64,
    tcp_cwnd: u64,
    delayed_ack: u64,
}

impl Bictcp {
    fn new(settings: &Settings) -> Self {
        Self {
            counts_acks: !settings.abc,
            shifts: settings.cubic_idle_shift,
            fast_convergence: settings.fast_convergence,
            tick: settings.clock_tick_ps.as_ps().max(1),
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            delay_min: 0,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            delayed_ack: 2 << 4,
        }
    }

    /// C (t - K)^3 + origin, with C of 410/1024 and times in 1/1024 s.
    fn target(&self, now: u64, epoch_start: u64) -> u64 {
        let delay = self.delay_min.next_multiple_of(self.tick);
        let since = i128::from(now.saturating_sub(epoch_start) + delay) * 1024 / 1_000_000_000_000;
        let offset = since - i128::from(self.k);
        let delta = (410 * offset.abs().pow(3)) >> 40;
        let target = i128::from(self.origin) + if offset < 0 { -delta } else { delta };
        u64::try_from(target).unwrap_or(0)
    }

    /// `tcp_friendliness`: no slower than Reno with beta of 717/1024.
    fn befriend(&mut self, cwnd: u64) {
        let each = (cwnd * 15) / 8;
        while self.ack_cnt > each {
            self.ack_cnt -= each;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
        if self.counts_acks {
            self.cnt = self.cnt * 16 / self.delayed_ack;
        }
        self.cnt = self.cnt.max(2);
    }
}

impl Kernel for Bictcp {
    fn sees(&mut self, now: Instant, ack: &Ack) {
        if self.counts_acks && ack.state == State::Open && !ack.sacks {
            // the ratio has 16 units per segment and averages over 16 ACKs
            self.delayed_ack += u64::from(ack.segments);
            self.delayed_ack -= (self.delayed_ack - u64::from(ack.segments)) / 16;
        }
        let Some(rtt) = ack.rtt else { return };
        let second = Duration::from_secs(1).as_ps();
        let quiet = self
            .epoch_start
            .is_some_and(|start| now.as_ps() < start + second);
        if !quiet && (self.delay_min == 0 || self.delay_min > rtt.as_ps()) {
            self.delay_min = rtt.as_ps();
        }
    }

    fn count(&mut self, now: Instant, cwnd: u64, acked: u64) -> u64 {
        let now = now.as_ps() - now.as_ps() % self.tick;
        self.ack_cnt += if self.counts_acks { 1 } else { acked };
        let holds = Duration::from_us(31_250).as_ps();
        if self.last_cwnd == cwnd && now - self.last_time <= holds {
            return self.cnt;
        }
        if self.epoch_start.is_some() && now == self.last_time && !self.counts_acks {
            self.befriend(cwnd);
            return self.cnt;
        }
        (self.last_cwnd, self.last_time) = (cwnd, now);
        let epoch_start = self.epoch_start.unwrap_or_else(|| {
            self.ack_cnt = if self.counts_acks { 1 } else { acked };
            self.tcp_cwnd = cwnd;
            self.origin = cwnd.max(self.last_max_cwnd);
            let cube = u128::from(self.origin - cwnd) * ((1 << 40) / 410);
            self.k = (0..1 << 22)
                .find(|k| u128::from(*k + 1_u64).pow(3) > cube)
                .unwrap();
            now
        });
        self.epoch_start = Some(epoch_start);
        let target = self.target(now, epoch_start);
        self.cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(20);
        }
        self.befriend(cwnd);
        self.cnt
    }

    fn threshold(&mut self, cwnd: u64) -> u64 {
        self.epoch_start = None;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd && self.fast_convergence {
            cwnd * 1741 / 2048
        } else {
            cwnd
        };
        cwnd * 717 / 1024
    }

    fn reset(&mut self) {
        self.last_max_cwnd = 0;
        self.epoch_start = None;
        (self.last_cwnd, self.last_time, self.cnt) = (0, 0, 0);
        self.delay_min = 0;
        self.delayed_ack = 2 << 4;
    }

    fn paused(&mut self, now: Instant, pause: Duration) {
        if self.shifts {
            let sent = now.as_ps().saturating_sub(pause.as_ps());
            let delta = (now.as_ps() / self.tick - sent / self.tick) * self.tick;
            self.epoch_start = self.epoch_start.map(|start| now.as_ps().min(start + delta));
        }
    }
}

proptest! {
    #[test]
    fn cubic_grows_as_in_the_kernel(
        course in any_course(), tick_ms in 0_u64..5, counts_acks in any::<bool>(),
        in_bytes in any::<bool>(), shifts in any::<bool>(), converges in any::<bool>()
    ) {
        let mut settings = settings("cubic", counts_acks, if in_bytes { 1448 } else { 1 });
        settings.clock_tick_ps = Duration::from_ms(tick_ms);
        settings.cubic_idle_shift = shifts;
        settings.fast_convergence = converges;
        compare(&settings, &course, &mut Bictcp::new(&settings))?;
    }
}
