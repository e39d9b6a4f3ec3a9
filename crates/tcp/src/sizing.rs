//! Payload sizing: how long the next segment is, with any congestion control.
//!
//! Without it every segment is as long as the peer accepts. `TCPRand` (Lee et al., INFOCOM 2015; Computer Networks 129,
//! 2017) draws the payload of each new segment from U{rMin..MSS}. Flows that share a port then lose the rhythm in which
//! one of them always finds the buffer full. rMin is constant, or follows the congestion window ([`tcprand`]).
//!
//! Decisions that the paper leaves open: a segment that is sent again keeps its boundaries; a drawn payload counts as a
//! full segment, so Nagle's rule does not delay it.

mod tcprand;

use self::tcprand::Adaptive;
pub use self::tcprand::TcpRand;
use crate::random::Random;
use crate::settings::{PayloadSizing, SettingError, Settings};

/// Separates this random sequence from others with the same seed ([`Random::new`]).
const PURPOSE: u64 = 1;

#[derive(Debug)]
enum Minimum {
    Static(u16),
    Adaptive(Adaptive),
}

/// Draws the payload sizes of one sender.
#[derive(Debug)]
pub struct Sizing {
    minimum: Minimum,
    random: Random,
    /// the size drawn for the segment at `drawn_for`, which may have to wait
    drawn: u16,
    drawn_for: Option<u64>,
}

impl Sizing {
    /// Draws payloads of at least `least` bytes. With a `shape`, the minimum follows the window, but is never below
    /// `least`. Equal seeds give equal draws.
    #[must_use]
    pub fn from_parts(least: u16, shape: Option<TcpRand>, seed: u64) -> Self {
        let minimum = match shape {
            Some(shape) => Minimum::Adaptive(Adaptive::new(shape, least)),
            None => Minimum::Static(least),
        };
        Self {
            minimum,
            random: Random::new(seed, PURPOSE),
            drawn: 0,
            drawn_for: None,
        }
    }

    /// None if every segment is full.
    pub(crate) fn new(settings: &Settings, seed: u64) -> Option<Box<Self>> {
        // validation ensures that it is at most the MSS
        let least = settings.payload_min_bytes.min(u32::from(u16::MAX)) as u16;
        let shape = match settings.payload_sizing {
            PayloadSizing::Full => return None,
            PayloadSizing::Static => None,
            PayloadSizing::Adaptive => Some(settings.tcprand),
        };
        Some(Box::new(Self::from_parts(least, shape, seed)))
    }

    /// The payload of the new segment at `start`, at most `full` bytes. Repeated calls give the same size.
    #[inline(never)]
    pub fn payload(&mut self, start: u64, full: u16, cwnd: u64) -> u16 {
        if self.drawn_for != Some(start) {
            let minimum = match &self.minimum {
                Minimum::Static(bytes) => *bytes,
                Minimum::Adaptive(it) => it.minimum(full, cwnd),
            };
            let minimum = minimum.min(full);
            self.drawn = minimum + self.random.up_to(u64::from(full - minimum)) as u16;
            self.drawn_for = Some(start);
        }
        self.drawn.min(full)
    }

    /// The window falls from `before` to `after`, and an epoch begins.
    pub fn on_loss(&mut self, before: u64, after: u64) {
        if let Minimum::Adaptive(it) = &mut self.minimum {
            it.begin(before, after);
        }
    }

    /// The window falls again to `after`, in an epoch that began before.
    pub(crate) fn on_further_loss(&mut self, after: u64) {
        if let Minimum::Adaptive(it) = &mut self.minimum {
            it.fall(after);
        }
    }
}

/// Checks the settings of payload sizing.
pub(crate) fn validate(settings: &Settings) -> Result<(), SettingError> {
    if settings.payload_sizing == PayloadSizing::Full {
        return Ok(());
    }
    if !(1..=u32::from(settings.mss_bytes)).contains(&settings.payload_min_bytes) {
        return Err(SettingError::new(
            "payload_min_bytes",
            &settings.payload_min_bytes,
            &format!(
                "is not a possible minimum: payloads are drawn between it and the MSS of {} B",
                settings.mss_bytes
            ),
            format!(
                "use 1 to {} bytes; TCPRand's authors use 50 to 200",
                settings.mss_bytes
            ),
        ));
    }
    settings.tcprand.validate()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_uniform_from_the_minimum_to_the_full_segment() {
        let mut settings = Settings::preset("rfc").unwrap();
        settings.payload_sizing = PayloadSizing::Static;
        settings.payload_min_bytes = 200;
        let mut sizing = Sizing::new(&settings, 7).unwrap();
        let count = 100_000_u64;
        let drawn: Vec<u16> = (0..count).map(|at| sizing.payload(at, 1460, 10)).collect();
        assert_eq!(drawn.iter().min(), Some(&200));
        assert_eq!(drawn.iter().max(), Some(&1460));
        let mean = drawn.iter().map(|size| u64::from(*size)).sum::<u64>() / count;
        assert!((826..=834).contains(&mean), "{mean}");
    }

    /// A window that fell from 30 to 10 segments, and in the same episode to 2. x is 0.5 at 16 segments, as it was at
    /// 20 before; half a standard deviation below the mean the minimum is 0.69 of a segment.
    #[test]
    fn a_further_fall_of_an_episode_lowers_where_the_window_came_from() {
        let least = |further: Option<u64>, cwnd| {
            let mut sizing = Sizing::from_parts(1, Some(TcpRand::DEFAULT), 7);
            sizing.on_loss(30, 10);
            if let Some(after) = further {
                sizing.on_further_loss(after);
            }
            let drawn = (0..20_000).map(|at| sizing.payload(at, 1460, cwnd));
            drawn.min().unwrap()
        };
        assert_eq!((least(None, 20), least(Some(2), 16)), (1010, 1010));
        assert_eq!((least(None, 9), least(Some(2), 9)), (1460, 1129));
        // static payloads do not depend on the window
        let mut sizing = Sizing::from_parts(1400, None, 7);
        sizing.on_loss(30, 10);
        sizing.on_further_loss(2);
        assert!((0..100).all(|at| sizing.payload(at, 1460, 16) >= 1400));
    }

    #[test]
    fn a_segment_that_waits_keeps_its_size() {
        let mut settings = Settings::preset("rfc").unwrap();
        settings.payload_sizing = PayloadSizing::Static;
        let mut sizing = Sizing::new(&settings, 7).unwrap();
        let first = sizing.payload(1, 1460, 10);
        assert_eq!(sizing.payload(1, 1460, 11), first);
    }
}
