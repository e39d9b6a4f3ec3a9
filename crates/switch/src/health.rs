//! How punctual the switch was. Without this, its results cannot be trusted.

use fairport_net::NodeId;
use fairport_units::{Duration, Instant};

use crate::lag::LagHistogram;

/// A period in which frames left too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the first of them was due.
    pub start: Instant,
    /// When the last of them left.
    pub end: Instant,
}

/// What the switch measured about itself.
#[derive(Clone, Debug)]
pub struct Health {
    /// Time from when each frame was due until it was sent. Frames that one interrupt brings to a host are due at once,
    /// and the host takes them one after another: each is due when the one before it has been sent.
    pub lag: LagHistogram,
    /// Frames that were read and belong to a flow.
    pub frames_in: u64,
    /// Frames that the kernel accepted.
    pub frames_out: u64,
    /// Frames that the kernel refused.
    pub send_errors: u64,
    /// Frames that the kernel lost because the ring was full.
    pub ring_losses: u64,
    /// Frames that are not IP traffic of a known host, such as ARP.
    pub ignored: u64,
    /// Packets at captured ports that are missing from the captures, because writing was too slow.
    pub capture_losses: u64,
    /// periods in which frames were later than `tolerated`, in order
    stalls: Vec<Stall>,
    tolerated: Duration,
    /// the last frame's host, when it was due, and when it was sent
    last: (NodeId, Instant, Instant),
}

impl Health {
    /// A record without measurements yet. A lag of more than `tolerated` is a stall.
    pub fn new(tolerated: Duration) -> Self {
        Self {
            lag: LagHistogram::default(),
            frames_in: 0,
            frames_out: 0,
            send_errors: 0,
            ring_losses: 0,
            ignored: 0,
            capture_losses: 0,
            stalls: Vec::new(),
            tolerated,
            last: (NodeId(u32::MAX), Instant::NEVER, Instant::NEVER),
        }
    }

    /// A lag of more than this is a stall.
    pub fn tolerated(&self) -> Duration {
        self.tolerated
    }

    /// Records that a frame that was due at `due` at this host is sent at `now`.
    #[inline]
    pub fn sent(&mut self, host: NodeId, due: Instant, now: Instant) {
        let (last_host, last_due, last_sent) = self.last;
        self.last = (host, due, now);
        let is_of_same_interrupt = (host, due) == (last_host, last_due);
        let due = if is_of_same_interrupt { last_sent } else { due };
        let lag = now.saturating_sub(due);
        self.lag.add(lag.as_ps() / 1000);
        if lag > self.tolerated {
            self.stalled(due, now);
        }
    }

    #[cold]
    fn stalled(&mut self, start: Instant, end: Instant) {
        match self.stalls.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => self.stalls.push(Stall { start, end }),
        }
    }

    /// Periods in which frames were later than tolerated, in order and without overlaps.
    pub fn stalls(&self) -> &[Stall] {
        &self.stalls
    }

    /// The total length of all stalls.
    pub fn stalled_for(&self) -> Duration {
        self.stalls
            .iter()
            .map(|stall| stall.end - stall.start)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_us(us)
    }

    #[test]
    fn stalls_that_overlap_are_one() {
        let mut health = Health::new(Duration::from_us(100));
        let host = NodeId(7);
        health.sent(host, us(10), us(20));
        health.sent(host, us(1000), us(1200));
        health.sent(host, us(1100), us(1201));
        health.sent(host, us(5000), us(5101));
        let expected = [(1000, 1201), (5000, 5101)];
        let expected = expected.map(|(start, end)| Stall {
            start: us(start),
            end: us(end),
        });
        assert_eq!(health.stalls(), expected);
        assert_eq!(health.stalled_for(), Duration::from_us(201 + 101));
        assert_eq!(health.lag.total(), 4);
    }

    #[test]
    fn a_host_takes_the_frames_of_one_interrupt_one_after_another() {
        let mut health = Health::new(Duration::from_us(100));
        let (host, other) = (NodeId(7), NodeId(8));
        // ten frames are due at once, and each takes 8 us
        for frame in 0..10 {
            health.sent(host, us(1000), us(1005 + 8 * frame));
        }
        assert_eq!(health.lag.largest(), std::time::Duration::from_micros(8));
        // one that is sent long after the one before it is late all the same, and so is another host's
        health.sent(host, us(1000), us(1100));
        assert_eq!(health.lag.largest(), std::time::Duration::from_micros(23));
        health.sent(other, us(1000), us(1120));
        let stall = Stall {
            start: us(1000),
            end: us(1120),
        };
        assert_eq!(health.stalls(), [stall]);
    }
}
