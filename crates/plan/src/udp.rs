//! A source of UDP datagrams: constant bit rate, Poisson, or on-off.

use fairport_net::framing::Framing;
use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};

/// Bytes of the IPv4 and UDP headers (RFC 791, RFC 768).
pub const HEADER_BYTES: u32 = 28;

/// How a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// payload of a datagram, in bytes
    pub payload_bytes: u16,
    /// payload rate; for an on-off source, the rate during a burst
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// when datagrams are sent
    pub pattern: Pattern,
}

impl Udp {
    /// Time between two datagrams; for an on-off source, during a burst.
    pub fn gap(&self) -> Duration {
        self.rate.time_of(self.payload_bytes.into())
    }

    /// Rate on a link with this framing, with all headers, in bit/s; for an on-off source, during a burst.
    pub(crate) fn link_bps(&self, framing: Framing) -> f64 {
        let packet = (u32::from(self.payload_bytes) + HEADER_BYTES) as u16;
        8.0 * f64::from(framing.wire_bytes(packet)) / self.gap().as_secs_f64()
    }

    /// The share of the time in which it sends.
    pub(crate) fn on_share(&self) -> f64 {
        match self.pattern {
            Pattern::Constant | Pattern::Poisson => 1.0,
            Pattern::OnOff { on_mean, off_mean } => {
                let [on, off] = [on_mean, off_mean].map(|mean| mean.as_ps() as f64);
                on / (on + off).max(1.0)
            }
        }
    }
}

/// When a source sends its datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// at a constant rate
    Constant,
    /// as a Poisson process
    Poisson,
    /// at a constant rate during bursts; the lengths of bursts and silences are exponentially distributed
    OnOff {
        /// mean length of a burst
        #[serde(rename = "on_mean_ps")]
        on_mean: Duration,
        /// mean length of a silence
        #[serde(rename = "off_mean_ps")]
        off_mean: Duration,
    },
}

/// A sequence of datagrams with the times at which they are sent. It does not depend on a network or a clock.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    udp: Udp,
    gap: Duration,
    stream: Stream,
    /// bytes of payload left to send
    left_bytes: u64,
    /// the end of the current burst
    burst_ends: Instant,
    next_at: Instant,
}

impl DatagramSource {
    /// A source that begins at `now`. A constant source begins with a datagram, an on-off source with a burst, and a
    /// Poisson source with a gap. It sends `size_bytes` of payload; `u64::MAX` means without end.
    pub fn new(udp: Udp, stream: Stream, size_bytes: u64, now: Instant) -> Self {
        let mut source = Self {
            udp,
            gap: udp.gap(),
            stream,
            left_bytes: size_bytes,
            burst_ends: Instant::NEVER,
            next_at: now,
        };
        match udp.pattern {
            Pattern::Constant => {}
            Pattern::Poisson => source.next_at = now + source.stream.exponential(source.gap),
            Pattern::OnOff { on_mean, .. } => {
                source.burst_ends = now + source.stream.exponential(on_mean);
            }
        }
        source
    }

    /// When the next datagram is due; [`Instant::NEVER`] after the last one.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Sends the datagram that is due and plans the next one. Returns its payload in bytes; none
    /// if nothing is left.
    pub fn send(&mut self) -> Option<u16> {
        let payload = self.left_bytes.min(u64::from(self.udp.payload_bytes)) as u16;
        if payload == 0 {
            self.next_at = Instant::NEVER;
            return None;
        }
        self.left_bytes -= u64::from(payload);
        self.next_at += match self.udp.pattern {
            Pattern::Poisson => self.stream.exponential(self.gap),
            _ => self.gap,
        };
        if let Pattern::OnOff { on_mean, off_mean } = self.udp.pattern {
            // both are never if a silence lasts beyond all time
            while self.next_at >= self.burst_ends && self.next_at < Instant::NEVER {
                // the rest of the gap passes after the silence
                let silence = self.stream.exponential(off_mean);
                self.next_at += silence;
                self.burst_ends += silence + self.stream.exponential(on_mean);
            }
        }
        if self.left_bytes == 0 {
            self.next_at = Instant::NEVER;
        }
        Some(payload)
    }

    /// Stops the source: nothing more is sent.
    pub fn stop(&mut self) {
        self.left_bytes = 0;
        self.next_at = Instant::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pattern: Pattern, size_bytes: u64) -> DatagramSource {
        let udp = Udp {
            payload_bytes: 1000,
            rate: Rate::from_bps(80_000_000),
            pattern,
        };
        DatagramSource::new(udp, Stream::new(1, "udp", 0), size_bytes, Instant::ZERO)
    }

    fn datagrams(pattern: Pattern, seconds: u64) -> f64 {
        let mut source = source(pattern, u64::MAX);
        let mut sent = 0;
        while source.next_at() < Instant::from_secs(seconds) {
            source.send();
            sent += 1;
        }
        f64::from(sent)
    }

    #[test]
    fn a_constant_source_sends_one_datagram_per_gap() {
        assert!((datagrams(Pattern::Constant, 1) - 10_000.0).abs() < 1.0);
    }

    #[test]
    fn a_poisson_source_has_the_same_mean_rate() {
        // four standard deviations of a Poisson number with mean 100 000
        assert!((datagrams(Pattern::Poisson, 10) - 100_000.0).abs() < 4.0 * 316.0);
    }

    #[test]
    fn a_source_that_is_on_a_third_of_the_time_sends_a_third() {
        let pattern = Pattern::OnOff {
            on_mean: Duration::from_ms(1),
            off_mean: Duration::from_ms(2),
        };
        // 33 333 bursts of 10 datagrams; 2 % are more than four standard deviations
        let share = datagrams(pattern, 100) / 1_000_000.0;
        assert!((share * 3.0 - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_silence_that_never_ends_is_the_end() {
        let mut source = source(
            Pattern::OnOff {
                on_mean: Duration::from_us(1),
                off_mean: Duration::NEVER,
            },
            u64::MAX,
        );
        // on average, each silence is as long as all of time
        for _ in 0..20 {
            source.send();
        }
        assert_eq!(source.next_at(), Instant::NEVER);
    }

    #[test]
    fn a_source_of_a_size_sends_its_size() {
        let mut source = source(Pattern::Constant, 2_500);
        let sent: Vec<u16> = std::iter::from_fn(|| source.send()).collect();
        assert_eq!(sent, [1000, 1000, 500]);
        assert_eq!(source.next_at(), Instant::NEVER);
    }
}
