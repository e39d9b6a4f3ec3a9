//! DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010) with the integer arithmetic of Linux
//! (`tcp_dctcp.c`): alpha is the smoothed share of what was marked, g = 1/16, and starts at 1.
//!
//! On a mark the window falls by alpha/2 of itself, once a window of data; it grows as
//! NewReno's. Linux before 5.1 did the same on a loss that fast retransmit repairs; since, and by
//! RFC 8257 3.5, the window is halved. Without ECN it is NewReno.

use super::{AckSample, Window, newreno};
use crate::settings::Settings;

/// alpha of 1024
const ALPHA_MAX: u64 = 1 << ALPHA_SHIFT;
const ALPHA_SHIFT: u32 = 10;
/// g = 1/16
const G_SHIFT: u32 = 4;

#[derive(Debug)]
pub(super) struct Dctcp {
    halves_on_loss: bool,
    /// both sides use ECN
    marks: bool,
    alpha: u64,
    /// in the present round trip, which ends when `round_end` is acknowledged, in the window's unit
    acked: u64,
    marked: u64,
    round_end: u64,
}

impl Dctcp {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            halves_on_loss: settings.dctcp_halves_on_loss,
            marks: false,
            alpha: ALPHA_MAX,
            acked: 0,
            marked: 0,
            round_end: 0,
        }
    }

    pub(super) fn use_ecn(&mut self) {
        self.marks = true;
    }

    /// Whether a loss lowers the window even where a mark has done so in the same round trip.
    pub(super) fn halves_on_loss(&self) -> bool {
        self.marks && self.halves_on_loss
    }

    /// An ACK up to `una` came. As in the kernel alpha follows before a mark of it is heeded, and what it
    /// acknowledges counts in the next round trip.
    pub(super) fn on_echo(&mut self, una: u64, nxt: u64) {
        if una >= self.round_end {
            self.end_round();
            self.round_end = nxt;
        }
    }

    #[inline]
    pub(super) fn on_acked(&mut self, sample: &AckSample) {
        self.acked += sample.acked;
        self.marked += sample.marked;
    }

    /// alpha = (1 - g) alpha + g F (RFC 8257 3.3 step 5); what is left below g is dropped.
    fn end_round(&mut self) {
        let decay = match self.alpha >> G_SHIFT {
            0 => self.alpha,
            decay => decay,
        };
        let gain = (self.marked << (ALPHA_SHIFT - G_SHIFT)) / self.acked.max(1);
        self.alpha = (self.alpha - decay + gain).min(ALPHA_MAX);
        self.acked = 0;
        self.marked = 0;
    }

    #[inline]
    pub(super) fn avoid(window: &mut Window, sample: &AckSample) {
        newreno::avoid(window, sample);
    }

    /// A mark: by alpha/2 (RFC 8257 3.3 step 9).
    pub(super) fn reduce_by_alpha(&self, window: &mut Window) {
        let cut = (u128::from(window.cwnd) * u128::from(self.alpha)) >> (ALPHA_SHIFT + 1);
        window.ssthresh = (window.cwnd - cut as u64).max(2 * window.unit());
        window.count = 0;
    }

    /// A loss.
    pub(super) fn reduce(&self, window: &mut Window) {
        if self.marks && !self.halves_on_loss {
            self.reduce_by_alpha(window);
        } else {
            newreno::reduce(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairport_units::Time;

    use super::*;
    use crate::recovery::State;

    fn dctcp(halves_on_loss: bool) -> (Dctcp, Window) {
        let mut settings = Settings::preset("linux-2.6").unwrap();
        settings.dctcp_halves_on_loss = halves_on_loss;
        let mut dctcp = Dctcp::new(&settings);
        dctcp.use_ecn();
        let mut window = Window::new(&settings, 1448);
        window.cwnd = 100;
        (dctcp, window)
    }

    /// A round trip of ten segments of which `marked` are, and the ACK that begins the next one.
    fn round(dctcp: &mut Dctcp, marked: u64) {
        for number in 1..=10 {
            dctcp.on_acked(&AckSample {
                now: Time::ZERO,
                acked: 1,
                segments: 1,
                marked: u64::from(number <= marked),
                rtt: None,
                srtt: None,
                una: number,
                nxt: 20,
                state: State::Open,
                limited: true,
                rate: None,
            });
        }
        let una = dctcp.round_end;
        dctcp.on_echo(una - 1, una + 20_000);
        dctcp.on_echo(una, una + 10_000);
    }

    #[test]
    fn alpha_starts_at_one_and_the_first_mark_halves() {
        let (dctcp, mut window) = dctcp(true);
        dctcp.reduce_by_alpha(&mut window);
        assert_eq!(window.ssthresh, 50);
    }

    #[test]
    fn alpha_forgets_a_sixteenth_a_round_trip() {
        let (mut dctcp, _) = dctcp(true);
        dctcp.round_end = 10_000;
        let mut expected = 1024.0;
        for _ in 0..20 {
            round(&mut dctcp, 0);
            expected *= 15.0 / 16.0;
            assert!((dctcp.alpha as f64 - expected).abs() < 16.0);
        }
        for _ in 0..200 {
            round(&mut dctcp, 0);
        }
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn alpha_settles_at_the_share_of_marks_and_the_window_falls_by_half_of_it() {
        let (mut dctcp, mut window) = dctcp(true);
        dctcp.round_end = 10_000;
        for _ in 0..200 {
            round(&mut dctcp, 3);
        }
        // 0.3; integer arithmetic leaves it a little above
        assert!((307..=323).contains(&dctcp.alpha), "{}", dctcp.alpha);
        dctcp.reduce_by_alpha(&mut window);
        assert!((84..=85).contains(&window.ssthresh), "{}", window.ssthresh);
    }

    #[test]
    fn a_loss_halves_the_window_since_linux_5_1_and_did_not_before() {
        let (mut now, mut window) = dctcp(true);
        now.alpha = 0;
        now.reduce(&mut window);
        assert_eq!(window.ssthresh, 50);
        let (mut then, mut window) = dctcp(false);
        then.alpha = 0;
        then.reduce(&mut window);
        assert_eq!(window.ssthresh, 100);
    }
}
