//! NewReno's window (RFC 5681): half of it after a loss, one segment more per round trip. It is what
//! [`Controller`] does by default.

use super::{Controller, Setup, Window};

#[derive(Debug)]
pub(super) struct NewReno;

impl NewReno {
    pub(super) fn new(_setup: &Setup<'_>) -> Self {
        Self
    }
}

impl Controller for NewReno {
    /// `tcp_reno_min_cwnd` of Linux before 3.2.
    fn least_window(&self, window: &Window) -> u64 {
        window.ssthresh / 2
    }
}

#[cfg(test)]
mod tests {
    use super::super::cubic::Cubic;
    use super::*;
    use crate::settings::Settings;

    /// Linux 2.6: Reno has `tcp_reno_min_cwnd`, half of the threshold; the other algorithms give none of
    /// their own, and `tcp_cwnd_min` is the threshold then.
    #[test]
    fn rate_halving_may_take_renos_window_to_half_of_the_threshold() {
        let settings = Settings::preset("linux-2.6").unwrap();
        let setup = Setup {
            settings: &settings,
            segment_bytes: 1448,
            unit: 1,
        };
        let mut window = Window::new(&settings, 1448);
        window.ssthresh = 20;
        assert_eq!(NewReno::new(&setup).least_window(&window), 10);
        assert_eq!(Cubic::new(&setup).least_window(&window), 20);
    }
}
