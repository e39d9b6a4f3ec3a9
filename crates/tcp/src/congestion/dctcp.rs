//! DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010) with the integer arithmetic of Linux
//! (`tcp_dctcp.c`): alpha is the smoothed share of marked data (g = 1/16) and starts at 1.
//!
//! For a mark, the window falls by alpha/2 of itself, once per window of data. It grows as NewReno's does. Linux before
//! 5.1 did the same for a loss that fast retransmit repairs; later kernels, and RFC 8257 3.5, halve the window. Without
//! ECN it is NewReno.

use super::{Controller, EcnAck, Setup, Window};

/// alpha is in 1024ths
const ALPHA_MAX: u64 = 1 << ALPHA_SHIFT;
const ALPHA_SHIFT: u32 = 10;
/// g = 1/16
const G_SHIFT: u32 = 4;

#[derive(Debug)]
pub(super) struct Dctcp {
    halves_on_loss: bool,
    /// both sides use ECN
    uses_ecn: bool,
    alpha: u64,
    /// data delivered before the present round trip, in the window's unit, and the part of it that was reported as
    /// marked
    delivered: u64,
    marked: u64,
    /// the round trip ends when this position is acknowledged
    round_end: u64,
}

impl Dctcp {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self {
            halves_on_loss: setup.settings.dctcp_halves_on_loss,
            uses_ecn: false,
            alpha: ALPHA_MAX,
            delivered: 0,
            marked: 0,
            round_end: 0,
        }
    }

    /// alpha = (1 - g) alpha + g F (RFC 8257 3.3 step 5). An alpha below g falls to 0 before g F is added.
    fn end_round(&mut self, delivered: u64, marked: u64) {
        let decay = match self.alpha >> G_SHIFT {
            0 => self.alpha,
            decay => decay,
        };
        let gain = (marked << (ALPHA_SHIFT - G_SHIFT)) / delivered.max(1);
        self.alpha = (self.alpha - decay + gain).min(ALPHA_MAX);
    }
}

impl Controller for Dctcp {
    /// Halves the threshold, or lowers it as for a mark if the stack says so.
    fn on_loss(&mut self, window: &mut Window) {
        if self.halves_on_loss {
            window.lower_threshold(window.cwnd / 2);
        } else {
            self.on_mark(window);
        }
    }

    /// Lowers the threshold by alpha/2 of the window (RFC 8257 3.3 step 9). Without ECN, where only a full queue of the
    /// host calls for this, halves it.
    fn on_mark(&mut self, window: &mut Window) {
        if !self.uses_ecn {
            window.lower_threshold(window.cwnd / 2);
            return;
        }
        let cut = (u128::from(window.cwnd) * u128::from(self.alpha)) >> (ALPHA_SHIFT + 1);
        window.lower_threshold(window.cwnd - cut as u64);
    }

    fn use_ecn(&mut self) {
        self.uses_ecn = true;
    }

    /// As in the kernel, alpha is updated before the window falls for a mark in this ACK. What the ACK delivers counts in
    /// the round trip that it ends (since 6.15).
    fn on_ecn_ack(&mut self, ack: &EcnAck) {
        if ack.una >= self.round_end {
            self.end_round(ack.delivered - self.delivered, ack.marked - self.marked);
            (self.delivered, self.marked) = (ack.delivered, ack.marked);
            self.round_end = ack.nxt;
        }
    }

    fn reduces_after_mark(&self) -> bool {
        self.uses_ecn && self.halves_on_loss
    }

    fn needs_ecn(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn dctcp(halves_on_loss: bool) -> (Dctcp, Window) {
        let mut settings = Settings::preset("linux-2.6").unwrap();
        settings.dctcp_halves_on_loss = halves_on_loss;
        let mut dctcp = Dctcp::new(&Setup {
            settings: &settings,
            segment_bytes: 1448,
            unit: 1,
        });
        dctcp.use_ecn();
        let mut window = Window::new(&settings, 1448);
        window.cwnd = 100;
        (dctcp, window)
    }

    /// A round trip of ten segments, `marked` of which are marked. The last ACK ends it.
    fn round(dctcp: &mut Dctcp, marked: u64) {
        let (before, end) = ((dctcp.delivered, dctcp.marked), dctcp.round_end);
        for number in 1..=10 {
            dctcp.on_ecn_ack(&EcnAck {
                una: end - 10 + number,
                nxt: end + 10_000,
                delivered: before.0 + number,
                marked: before.1 + number.min(marked),
            });
        }
    }

    #[test]
    fn alpha_starts_at_one_and_the_first_mark_halves() {
        let (mut dctcp, mut window) = dctcp(true);
        dctcp.on_mark(&mut window);
        assert_eq!(window.ssthresh, 50);
    }

    #[test]
    fn alpha_forgets_a_sixteenth_per_round_trip() {
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
        // 0.3; integer arithmetic gives slightly more
        assert!((307..=323).contains(&dctcp.alpha), "{}", dctcp.alpha);
        dctcp.on_mark(&mut window);
        assert!((84..=85).contains(&window.ssthresh), "{}", window.ssthresh);
    }

    /// A loss after a mark in the same window of data halves the window again, since Linux 5.1 and if ECN is in use.
    #[test]
    fn a_loss_after_a_mark_counts_where_it_halves() {
        for (uses_ecn, halves, reduces) in [
            (true, true, true),
            (true, false, false),
            (false, true, false),
            (false, false, false),
        ] {
            let (mut dctcp, _) = dctcp(halves);
            dctcp.uses_ecn = uses_ecn;
            assert_eq!(dctcp.reduces_after_mark(), reduces);
        }
    }

    /// RFC 8257 3.3 in floating point: at the end of each round alpha <- (1 - g) alpha + g F, and a mark lowers the
    /// window by alpha / 2.
    #[test]
    fn alpha_is_a_moving_average_of_the_share_of_marks() {
        let (mut dctcp, mut window) = dctcp(true);
        let mut alpha = 1.0;
        let (mut una, mut total) = (0, (0, 0));
        for round in 1..=100_u64 {
            let acked = 10 + round % 7 * 40;
            let marked = acked * (round * 37 % 100) / 100;
            total.0 += acked;
            total.1 += marked;
            dctcp.on_ecn_ack(&EcnAck {
                una,
                nxt: una + 1000,
                delivered: total.0,
                marked: total.1,
            });
            una += 1000;
            alpha += (marked as f64 / acked as f64 - alpha) / 16.0;
            // in 1024ths; each division rounds down, which adds up to 16 in the average
            assert!((dctcp.alpha as f64 - 1024.0 * alpha).abs() <= 16.0);
            window.cwnd = 1000;
            dctcp.on_mark(&mut window);
            let cut = 1000 - window.ssthresh;
            assert_eq!(cut, 1000 * dctcp.alpha / 2048);
        }
    }

    /// `dctcp_update_alpha`: an alpha below 1/64 falls to 0 in a round without marks.
    #[test]
    fn the_last_sixteenth_is_forgotten_at_once() {
        for (alpha, then) in [(17, 16), (16, 15), (15, 0), (1, 0)] {
            let (mut dctcp, _) = dctcp(true);
            dctcp.alpha = alpha;
            dctcp.end_round(1, 0);
            assert_eq!(dctcp.alpha, then);
        }
    }

    /// `dctcp_reno`: what the kernel runs if the peer does not use ECN.
    #[test]
    fn without_ecn_it_halves_the_window_whatever_alpha_is() {
        for halves_on_loss in [true, false] {
            let (mut it, mut window) = dctcp(halves_on_loss);
            (it.uses_ecn, it.alpha) = (false, 0);
            it.on_loss(&mut window);
            assert_eq!(window.ssthresh, 50);
            window.cwnd = 61;
            it.on_mark(&mut window);
            assert_eq!(window.ssthresh, 30);
        }
    }

    #[test]
    fn a_loss_halves_the_window_since_linux_5_1_and_did_not_before() {
        let (mut now, mut window) = dctcp(true);
        now.alpha = 0;
        now.on_loss(&mut window);
        assert_eq!(window.ssthresh, 50);
        let (mut then, mut window) = dctcp(false);
        then.alpha = 0;
        then.on_loss(&mut window);
        assert_eq!(window.ssthresh, 100);
    }
}
