//! A source of UDP datagrams: constant bit rate, Poisson, on-off.

use fairport_net::stream::Stream;
use fairport_units::Time;

use crate::job::{UdpJob, UdpPatternJob};
use crate::sampling::exponential;

/// IPv4 and UDP headers (RFC 791, RFC 768).
pub(crate) const HEADER_BYTES: u32 = 28;

/// How a source sends. Rates are of the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Udp {
    pub(crate) payload_bytes: u16,
    /// between two datagrams; while on, where it is on and off
    pub(crate) gap: Time,
    pub(crate) pattern: Pattern,
}

impl Udp {
    pub(crate) fn new(job: &UdpJob) -> Self {
        let payload_bits = u128::from(job.payload_bytes) * 8;
        let gap_ps = payload_bits * 1_000_000_000_000 / u128::from(job.rate_bps.as_bps());
        Self {
            payload_bytes: job.payload_bytes,
            gap: Time::from_ps(gap_ps as u64),
            pattern: match job.pattern {
                UdpPatternJob::Constant => Pattern::Constant,
                UdpPatternJob::Poisson => Pattern::Poisson,
                UdpPatternJob::OnOff {
                    on_mean_ps,
                    off_mean_ps,
                } => Pattern::OnOff {
                    on_mean: on_mean_ps,
                    off_mean: off_mean_ps,
                },
            },
        }
    }
}

/// When the next datagram comes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    /// a gap after the last one
    Constant,
    /// an exponentially distributed time after the last one, of that mean
    Poisson,
    /// a gap after the last one, in bursts; bursts and silences have exponential lengths
    OnOff { on_mean: Time, off_mean: Time },
}

/// A source and its sink, while it runs.
pub(crate) struct UdpFlow {
    pub(crate) source: Udp,
    stream: Stream,
    pub(crate) host: u32,
    pub(crate) route: u32,
    /// octets sent
    pub(crate) offset: u64,
    /// octets of payload in all; `u64::MAX`: without end
    pub(crate) size_bytes: u64,
    /// octets that it still has to send
    left: u64,
    /// the end of the burst that is under way
    burst_ends: Time,
    /// of the next datagram
    pub(crate) next_at: Time,
    /// datagrams
    pub(crate) sent: u64,
    /// datagrams
    pub(crate) received: u64,
    /// octets of payload
    pub(crate) delivered: u64,
}

impl UdpFlow {
    /// A source that begins at `now`: a constant one with a datagram, one that is on and off with
    /// a burst, a Poisson one with a gap.
    pub(crate) fn new(
        source: Udp,
        stream: Stream,
        [host, route]: [u32; 2],
        size_bytes: Option<u64>,
        now: Time,
    ) -> Self {
        let size_bytes = size_bytes.unwrap_or(u64::MAX);
        let mut flow = Self {
            source,
            stream,
            host,
            route,
            offset: 0,
            size_bytes,
            left: size_bytes,
            burst_ends: Time::NEVER,
            next_at: now,
            sent: 0,
            received: 0,
            delivered: 0,
        };
        match source.pattern {
            Pattern::Constant => {}
            Pattern::Poisson => flow.next_at = now + exponential(&mut flow.stream, source.gap),
            Pattern::OnOff { on_mean, .. } => {
                flow.burst_ends = now + exponential(&mut flow.stream, on_mean);
            }
        }
        flow
    }

    /// The payload of the datagram that is due, if one is left; then the next one is planned.
    pub(crate) fn send(&mut self) -> Option<u16> {
        let payload = self.left.min(u64::from(self.source.payload_bytes)) as u16;
        if payload == 0 {
            self.next_at = Time::NEVER;
            return None;
        }
        self.left -= u64::from(payload);
        self.offset += u64::from(payload);
        self.sent += 1;
        self.next_at += match self.source.pattern {
            Pattern::Poisson => exponential(&mut self.stream, self.source.gap),
            _ => self.source.gap,
        };
        if let Pattern::OnOff { on_mean, off_mean } = self.source.pattern {
            while self.next_at >= self.burst_ends {
                // what is left of the gap is sent after the silence
                let silence = exponential(&mut self.stream, off_mean);
                self.next_at += silence;
                self.burst_ends += silence + exponential(&mut self.stream, on_mean);
            }
        }
        if self.left == 0 {
            self.next_at = Time::NEVER;
        }
        Some(payload)
    }

    /// Sends nothing more.
    pub(crate) fn stop(&mut self) {
        self.left = 0;
        self.next_at = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagrams(pattern: Pattern, seconds: u64) -> f64 {
        let source = Udp {
            payload_bytes: 1000,
            gap: Time::from_us(100),
            pattern,
        };
        let mut flow = UdpFlow::new(source, Stream::new(1, "udp", 0), [0, 0], None, Time::ZERO);
        while flow.next_at < Time::from_secs(seconds) {
            flow.send();
        }
        flow.sent as f64
    }

    #[test]
    fn a_constant_source_sends_one_datagram_a_gap() {
        assert!((datagrams(Pattern::Constant, 1) - 10_000.0).abs() < 1.0);
    }

    #[test]
    fn a_poisson_source_has_the_same_mean_rate() {
        // 4 standard deviations of a Poisson number of mean 100 000
        assert!((datagrams(Pattern::Poisson, 10) - 100_000.0).abs() < 4.0 * 316.0);
    }

    #[test]
    fn a_source_that_is_on_a_third_of_the_time_sends_a_third() {
        let pattern = Pattern::OnOff {
            on_mean: Time::from_ms(1),
            off_mean: Time::from_ms(2),
        };
        // 33 333 bursts of 10 datagrams; within 2 %, four standard deviations and more
        let share = datagrams(pattern, 100) / 1_000_000.0;
        assert!((share * 3.0 - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_source_of_a_size_sends_its_size() {
        let source = Udp {
            payload_bytes: 1000,
            gap: Time::from_us(100),
            pattern: Pattern::Constant,
        };
        let stream = Stream::new(1, "udp", 0);
        let mut flow = UdpFlow::new(source, stream, [0, 0], Some(2_500), Time::ZERO);
        let sent: Vec<u16> = std::iter::from_fn(|| flow.send()).collect();
        assert_eq!(sent, [1000, 1000, 500]);
        assert_eq!(flow.next_at, Time::NEVER);
    }
}
