//! Shapers: they delay packets until there are tokens, before the line sends them.
//!
//! A FIFO port asks its shaper when each packet may go to the line, so it still knows every departure in advance. The
//! arithmetic is Linux's: tokens are measured as time, and a packet costs its length divided by the rate.

use fairport_units::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};

use crate::BuildError;
use crate::stream::Stream;

/// A shaper at every switch port, and optionally at every host's port, in the plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Config {
    /// a token bucket filter
    Tbf {
        /// the long-term rate
        rate_bps: Rate,
        /// size of the bucket
        burst_bytes: u32,
        /// a wait for tokens ends late by a time drawn uniformly up to this
        timer_lateness_ps: Duration,
        /// whether the hosts' own ports have one as well
        hosts: bool,
    },
    /// a class of a hierarchical token bucket
    Htb {
        /// the long-term rate
        rate_bps: Rate,
        /// size of the rate's bucket
        burst_bytes: u32,
        /// size of the ceiling's bucket
        cburst_bytes: u32,
        /// a wait for tokens ends late by a time drawn uniformly up to this
        timer_lateness_ps: Duration,
        /// whether the hosts' own ports have one as well
        hosts: bool,
    },
}

impl Config {
    /// Whether the hosts' own ports have one as well.
    pub fn is_at_hosts(&self) -> bool {
        let (Self::Tbf { hosts, .. } | Self::Htb { hosts, .. }) = self;
        *hosts
    }

    /// The long-term rate.
    pub fn rate(&self) -> Rate {
        let (Self::Tbf { rate_bps, .. } | Self::Htb { rate_bps, .. }) = self;
        *rate_bps
    }

    /// The shaper of one port, whose timer draws from `stream`. A packet of the MTU takes `full_frame_bytes`.
    ///
    /// # Errors
    /// If a packet of the MTU could never be sent.
    pub fn build(&self, full_frame_bytes: u32, stream: Stream) -> Result<Shaper, BuildError> {
        let room = |field, bytes| check_burst(field, bytes, full_frame_bytes);
        let (Self::Tbf {
            burst_bytes,
            timer_lateness_ps,
            ..
        }
        | Self::Htb {
            burst_bytes,
            timer_lateness_ps,
            ..
        }) = *self;
        let (rate, burst) = (check_rate(self.rate())?, room("burst", burst_bytes)?);
        let shaper = match *self {
            Self::Tbf { .. } => Shaper::token_bucket(rate, burst),
            Self::Htb { cburst_bytes, .. } => {
                Shaper::htb(rate, burst, room("cburst", cburst_bytes)?)
            }
        };
        Ok(shaper.with_late_timer(timer_lateness_ps, stream))
    }
}

fn check_rate(rate: Rate) -> Result<Rate, BuildError> {
    if rate.as_bps() > 0 {
        return Ok(rate);
    }
    let remedy = "give a rate above 0, such as \"100Mbps\"";
    let problem = "lets nothing through";
    Err(BuildError::new("shaper.rate", 0, problem, remedy))
}

fn check_burst(field: &str, bytes: u32, full_frame_bytes: u32) -> Result<u32, BuildError> {
    if bytes >= full_frame_bytes {
        return Ok(bytes);
    }
    Err(BuildError::new(
        format!("shaper.{field}"),
        format!("{bytes} B"),
        format!(
            "is smaller than one full frame of {full_frame_bytes} B, which could never be sent"
        ),
        "give at least that much, such as \"20KB\"",
    ))
}

/// The tokens that packets of one port wait for before they go to the line.
#[derive(Clone, Debug)]
pub struct Shaper {
    rate: Rate,
    buckets: Buckets,
    /// when the tokens were last updated
    counted: Instant,
    lateness: Option<(Duration, Stream)>,
}

/// The tokens of a shaper.
#[derive(Clone, Copy, Debug)]
enum Buckets {
    /// a packet goes when the bucket holds its whole cost
    Filter { burst: i64, tokens: i64 },
    /// a packet goes when neither bucket is in debt, and may put them into debt
    Class {
        burst: i64,
        tokens: i64,
        ceil_burst: i64,
        ceil_tokens: i64,
    },
}

impl Shaper {
    /// Linux's `sch_tbf` without a peak rate: a bucket of `burst_bytes`, at least the largest frame, that is full at
    /// the start and filled at `rate`. A packet goes when the bucket holds its whole cost.
    pub fn token_bucket(rate: Rate, burst_bytes: u32) -> Self {
        let burst = cost(rate, burst_bytes);
        let tokens = burst;
        Self::new(rate, Buckets::Filter { burst, tokens })
    }

    /// A class of Linux's `sch_htb` without other classes to borrow from, and with a ceiling equal to its rate.
    ///
    /// Unlike TBF it sends as long as it has any credit, and goes into debt for the rest of the packet. It has two
    /// buckets, and the smaller one limits how much is sent at once. The quantum does not matter, since no other class
    /// shares the rate.
    pub fn htb(rate: Rate, burst_bytes: u32, cburst_bytes: u32) -> Self {
        let [burst, ceil_burst] = [burst_bytes, cburst_bytes].map(|bytes| cost(rate, bytes));
        Self::new(
            rate,
            Buckets::Class {
                burst,
                tokens: burst,
                ceil_burst,
                ceil_tokens: ceil_burst,
            },
        )
    }

    fn new(rate: Rate, buckets: Buckets) -> Self {
        Self {
            rate,
            buckets,
            counted: Instant::ZERO,
            lateness: None,
        }
    }

    /// Makes the timer that ends a wait for tokens fire late, by a time drawn from `stream`, uniform up to `most`. The
    /// delay is made up for, because tokens accumulate meanwhile.
    #[must_use]
    fn with_late_timer(mut self, most: Duration, stream: Stream) -> Self {
        self.lateness = (most > Duration::ZERO).then_some((most, stream));
        self
    }

    /// When a packet of `frame_bytes`, which could go at `at`, may go. Calls are in order of time.
    pub(crate) fn release(&mut self, at: Instant, frame_bytes: u32) -> Instant {
        let cost = cost(self.rate, frame_bytes);
        let elapsed = signed(at - self.counted);
        let missing = match self.buckets {
            Buckets::Filter { burst, tokens } => cost - (tokens + elapsed).min(burst),
            Buckets::Class {
                tokens,
                ceil_tokens,
                ..
            } => -(tokens.min(ceil_tokens) + elapsed),
        };
        let mut wait = missing.max(0);
        if wait > 0
            && let Some((most, stream)) = &mut self.lateness
        {
            wait += signed(stream.span_up_to(*most));
        }
        self.buckets.pay(elapsed + wait, cost);
        self.counted = at + Duration::from_ps(wait as u64);
        self.counted
    }
}

impl Buckets {
    /// Adds the tokens of `elapsed` to the buckets, and takes `cost` out of them.
    fn pay(&mut self, elapsed: i64, cost: i64) {
        match self {
            Self::Filter { burst, tokens } => *tokens = (*tokens + elapsed).min(*burst) - cost,
            Self::Class {
                burst,
                tokens,
                ceil_burst,
                ceil_tokens,
            } => {
                *tokens = (*tokens + elapsed).min(*burst) - cost;
                *ceil_tokens = (*ceil_tokens + elapsed).min(*ceil_burst) - cost;
            }
        }
    }
}

/// Cost of `bytes` at `rate`, in ps.
fn cost(rate: Rate, bytes: u32) -> i64 {
    signed(rate.time_of(bytes.into()))
}

/// A span in signed picoseconds.
fn signed(span: Duration) -> i64 {
    i64::try_from(span.as_ps()).map_or(LONGEST, |ps| ps.min(LONGEST))
}

/// 26 days in ps: longer spans count as this one, so that sums of a few of them fit into 64 bits.
const LONGEST: i64 = i64::MAX / 4;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: Rate = Rate::from_bps(100_000_000);

    /// When packets of 1500 bytes go, all of which are ready at 0. A packet costs 120 us.
    fn releases(shaper: &mut Shaper, packets: usize) -> Vec<u64> {
        let mut at = Instant::ZERO;
        (0..packets)
            .map(|_| {
                at = shaper.release(at, 1500);
                at.as_ps() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn a_token_bucket_lets_its_burst_go_at_once_and_then_its_rate() {
        // a bucket of 4000 B: two packets go at once; the third waits for the missing 500 B
        let mut bucket = Shaper::token_bucket(RATE, 4000);
        assert_eq!(releases(&mut bucket, 5), [0, 0, 40, 160, 280]);
    }

    #[test]
    fn a_class_of_htb_runs_into_debt_for_a_packet_more() {
        // any credit is enough: with 4000 B three packets go at once, and leave a debt of 500 B
        let mut class = Shaper::htb(RATE, 4000, 4000);
        assert_eq!(releases(&mut class, 5), [0, 0, 0, 40, 160]);
    }

    #[test]
    fn a_configuration_says_its_rate_and_whether_hosts_have_it() {
        for hosts in [false, true] {
            let tbf = Config::Tbf {
                rate_bps: RATE,
                burst_bytes: 4000,
                timer_lateness_ps: Duration::ZERO,
                hosts,
            };
            let htb = Config::Htb {
                rate_bps: RATE,
                burst_bytes: 4000,
                cburst_bytes: 4000,
                timer_lateness_ps: Duration::ZERO,
                hosts,
            };
            for config in [tbf, htb] {
                assert_eq!((config.is_at_hosts(), config.rate()), (hosts, RATE));
            }
        }
    }

    #[test]
    fn the_smaller_bucket_of_htb_limits_the_burst() {
        // Mininet's 15 KiB and tc's default of 1600 B: two packets, then one every 120 us
        let mut class = Shaper::htb(RATE, 15_360, 1600);
        assert_eq!(releases(&mut class, 4), [0, 0, 112, 232]);
    }

    #[test]
    fn a_bucket_fills_while_nothing_is_sent_and_no_further() {
        let mut bucket = Shaper::token_bucket(RATE, 3000);
        releases(&mut bucket, 3);
        let late = Instant::from_secs(10);
        assert_eq!(bucket.release(late, 1500), late);
        assert_eq!(bucket.release(late, 1500), late);
        assert_eq!(bucket.release(late, 1500), late + Duration::from_us(120));
    }

    #[test]
    fn a_bucket_is_full_after_the_longest_pause() {
        // at 1 bit/s the bucket holds almost two days, and a scenario may last 106
        let mut bucket = Shaper::token_bucket(Rate::from_bps(1), 20_000);
        let late = Instant::from_ps(i64::MAX as u64);
        assert_eq!(bucket.release(late, 1500), late);
    }

    #[test]
    fn a_late_timer_moves_single_packets_and_not_the_rate() {
        let stream = Stream::new(1, "test", 0);
        let exact = Shaper::token_bucket(RATE, 6000);
        let mut late = exact.clone().with_late_timer(Duration::from_us(50), stream);
        let sent = releases(&mut late, 10_000);
        let on_time = releases(&mut exact.clone(), 10_000);
        let behind = sent.iter().zip(&on_time).map(|(late, exact)| late - exact);
        let behind: Vec<u64> = behind.collect();
        assert!(behind.iter().all(|us| *us <= 50), "{behind:?}");
        assert!(behind.iter().any(|us| *us > 40));
    }

    proptest! {
        /// The definition of a token bucket: no span carries more than the burst plus what the rate gives; HTB may
        /// carry one packet more, as a debt.
        #[test]
        fn no_span_carries_more_than_burst_and_rate(
            gaps_us in prop::collection::vec(0_u64..500, 2..60),
            is_htb: bool,
        ) {
            let (mut shaper, most) = if is_htb {
                (Shaper::htb(RATE, 9000, 6000), 6000 + 1500)
            } else {
                (Shaper::token_bucket(RATE, 6000), 6000)
            };
            let (mut arrival, mut free) = (Instant::ZERO, Instant::ZERO);
            let sent: Vec<Instant> = gaps_us
                .iter()
                .map(|gap| {
                    arrival += Duration::from_us(*gap);
                    free = shaper.release(arrival.max(free), 1500);
                    free
                })
                .collect();
            for (first, from) in sent.iter().enumerate() {
                for (last, to) in sent.iter().enumerate().skip(first) {
                    let bytes = 1500 * (last - first + 1) as u64;
                    let allowed = most + (*to - *from).as_ps() / 80_000;
                    prop_assert!(bytes <= allowed + 1, "{bytes} in {}", *to - *from);
                }
            }
        }
    }

    #[test]
    fn a_shaper_has_the_buckets_of_its_configuration_which_hold_a_full_frame() {
        let tbf = |burst_bytes| Config::Tbf {
            rate_bps: RATE,
            burst_bytes,
            timer_lateness_ps: Duration::ZERO,
            hosts: false,
        };
        let htb = |burst_bytes, cburst_bytes| Config::Htb {
            rate_bps: RATE,
            burst_bytes,
            cburst_bytes,
            timer_lateness_ps: Duration::ZERO,
            hosts: false,
        };
        let build = |config: Config| config.build(1518, Stream::new(1, "test", 0));
        let sent = |config| releases(&mut build(config).expect("a full frame fits"), 4);
        assert_eq!(sent(tbf(4000)), [0, 0, 40, 160]);
        assert_eq!(sent(htb(15_360, 1600)), [0, 0, 112, 232]);
        assert_eq!(sent(htb(1600, 15_360)), [0, 0, 112, 232]);
        assert_eq!(sent(tbf(1518)), [0, 118, 238, 358]);
        let refused = |config| build(config).map(|_| ()).expect_err("too small").field;
        assert_eq!(refused(tbf(1517)), "shaper.burst");
        assert_eq!(refused(htb(1517, 1518)), "shaper.burst");
        assert_eq!(refused(htb(1518, 1517)), "shaper.cburst");
        let none = Config::Tbf {
            rate_bps: Rate::from_bps(0),
            burst_bytes: 4000,
            timer_lateness_ps: Duration::ZERO,
            hosts: false,
        };
        assert_eq!(refused(none), "shaper.rate");
        assert_eq!(build(tbf(4000)).map(|shaper| shaper.rate).ok(), Some(RATE));
    }
}
