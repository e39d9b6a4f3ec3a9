//! Shapers: let no more through than tokens allow, before the line serialises.
//!
//! A FIFO port asks its shaper for the instant at which each packet goes to the line; so it still
//! knows every departure at once. The arithmetic is that of Linux: tokens are a time, and a packet
//! costs its length over the rate.

use fairport_units::{Rate, Time};

/// What a port's packets wait for before they go to the line.
#[derive(Clone, Debug)]
pub enum Shaper {
    /// Linux' `sch_tbf` without a peak rate
    TokenBucket(TokenBucket),
    /// one class of Linux' `sch_htb`
    Htb(Htb),
}

impl Shaper {
    /// What it lets through in the long run.
    pub fn rate(&self) -> Rate {
        match self {
            Self::TokenBucket(bucket) => bucket.rate,
            Self::Htb(class) => class.rate,
        }
    }

    /// When a packet of `frame_bytes`, which could go at `at`, may go. Calls come in order of time.
    pub(crate) fn release(&mut self, at: Time, frame_bytes: u32) -> Time {
        match self {
            Self::TokenBucket(bucket) => bucket.release(at, frame_bytes),
            Self::Htb(class) => class.release(at, frame_bytes),
        }
    }

    /// The time that `octets` take in the long run.
    pub(crate) fn time_of(&self, octets: u64) -> Time {
        cost(self.rate(), octets)
    }
}

/// What `octets` cost at `rate`.
fn cost(rate: Rate, octets: u64) -> Time {
    let ps = u128::from(octets) * 8 * 1_000_000_000_000 / u128::from(rate.as_bps());
    Time::from_ps(ps as u64)
}

/// A token bucket filter: a packet goes when the bucket holds all that it costs.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// what the bucket holds at most
    burst: Time,
    tokens: Time,
    /// when `tokens` was counted
    counted: Time,
}

impl TokenBucket {
    /// A full bucket of `burst_bytes`, no less than the largest frame, filled at `rate`.
    pub fn new(rate: Rate, burst_bytes: u32) -> Self {
        let burst = cost(rate, u64::from(burst_bytes));
        Self {
            rate,
            burst,
            tokens: burst,
            counted: Time::ZERO,
        }
    }

    fn release(&mut self, at: Time, frame_bytes: u32) -> Time {
        let cost = cost(self.rate, u64::from(frame_bytes));
        let tokens = (self.tokens + (at - self.counted)).min(self.burst);
        self.counted = at + cost.saturating_sub(tokens);
        self.tokens = tokens.saturating_sub(cost);
        self.counted
    }
}

/// A class of the hierarchical token bucket with nobody to borrow from, and a ceiling equal to its
/// rate.
///
/// Unlike TBF it sends as long as it has any credit at all, and runs into debt for the rest of the
/// packet; and it has two buckets. The smaller one (`cburst`) limits how much goes at once.
#[derive(Clone, Debug)]
pub struct Htb {
    rate: Rate,
    burst: i64,
    ceil_burst: i64,
    /// credit in both buckets, ps; debt below zero
    tokens: i64,
    ceil_tokens: i64,
    counted: Time,
}

impl Htb {
    /// A class of `rate` with full buckets of `burst_bytes` and `cburst_bytes`.
    pub fn new(rate: Rate, burst_bytes: u32, cburst_bytes: u32) -> Self {
        let [burst, ceil_burst] =
            [burst_bytes, cburst_bytes].map(|bytes| signed(cost(rate, u64::from(bytes))));
        Self {
            rate,
            burst,
            ceil_burst,
            tokens: burst,
            ceil_tokens: ceil_burst,
            counted: Time::ZERO,
        }
    }

    fn release(&mut self, at: Time, frame_bytes: u32) -> Time {
        let elapsed = signed(at - self.counted);
        let debt = -(self.tokens.min(self.ceil_tokens) + elapsed).min(0);
        let cost = signed(cost(self.rate, u64::from(frame_bytes)));
        self.tokens = (self.tokens + elapsed + debt).min(self.burst) - cost;
        self.ceil_tokens = (self.ceil_tokens + elapsed + debt).min(self.ceil_burst) - cost;
        self.counted = at + Time::from_ps(debt as u64);
        self.counted
    }
}

/// A span as a signed number of picoseconds: 106 days fit.
fn signed(span: Time) -> i64 {
    i64::try_from(span.as_ps()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: Rate = Rate::from_bps(100_000_000);

    /// When packets of 1500 octets go that are all there at 0; a packet costs 120 us.
    fn releases(shaper: &mut Shaper, packets: usize) -> Vec<u64> {
        let mut at = Time::ZERO;
        (0..packets)
            .map(|_| {
                at = shaper.release(at, 1500);
                at.as_ps() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn a_token_bucket_lets_its_burst_go_at_once_and_then_its_rate() {
        // a bucket of 4000 B: two packets at once; the third waits for the missing 500 B
        let mut bucket = Shaper::TokenBucket(TokenBucket::new(RATE, 4000));
        assert_eq!(releases(&mut bucket, 5), [0, 0, 40, 160, 280]);
    }

    #[test]
    fn a_class_of_htb_runs_into_debt_for_a_packet_more() {
        // any credit is enough: of 4000 B three packets go at once, and leave a debt of 500 B
        let mut class = Shaper::Htb(Htb::new(RATE, 4000, 4000));
        assert_eq!(releases(&mut class, 5), [0, 0, 0, 40, 160]);
    }

    #[test]
    fn the_smaller_bucket_of_htb_limits_the_burst() {
        // Mininet's 15 KiB and tc's own 1600 B: two packets, then one every 120 us
        let mut class = Shaper::Htb(Htb::new(RATE, 15_360, 1600));
        assert_eq!(releases(&mut class, 4), [0, 0, 112, 232]);
    }

    #[test]
    fn a_bucket_fills_while_nothing_is_sent_and_no_further() {
        let mut bucket = Shaper::TokenBucket(TokenBucket::new(RATE, 3000));
        releases(&mut bucket, 3);
        let late = Time::from_secs(10);
        assert_eq!(bucket.release(late, 1500), late);
        assert_eq!(bucket.release(late, 1500), late);
        assert_eq!(bucket.release(late, 1500), late + Time::from_us(120));
    }

    proptest! {
        /// The definition of a token bucket: over any span no more than the burst and what the
        /// rate gives; one packet more for HTB, which may owe it.
        #[test]
        fn no_span_carries_more_than_burst_and_rate(
            gaps_us in prop::collection::vec(0_u64..500, 2..60),
            is_htb: bool,
        ) {
            let (mut shaper, most) = if is_htb {
                (Shaper::Htb(Htb::new(RATE, 9000, 6000)), 6000 + 1500)
            } else {
                (Shaper::TokenBucket(TokenBucket::new(RATE, 6000)), 6000)
            };
            let (mut arrival, mut free) = (Time::ZERO, Time::ZERO);
            let sent: Vec<Time> = gaps_us
                .iter()
                .map(|gap| {
                    arrival += Time::from_us(*gap);
                    free = shaper.release(arrival.max(free), 1500);
                    free
                })
                .collect();
            for (first, from) in sent.iter().enumerate() {
                for (last, to) in sent.iter().enumerate().skip(first) {
                    let octets = 1500 * (last - first + 1) as u64;
                    let allowed = most + (*to - *from).as_ps() / 80_000;
                    prop_assert!(octets <= allowed + 1, "{octets} in {}", *to - *from);
                }
            }
        }
    }
}
