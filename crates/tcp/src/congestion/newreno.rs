//! NewReno's window (RFC 5681): it halves after a loss and grows by one segment per round trip. It is the default
//! behaviour of [`Controller`].

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

    /// Linux 2.6: only Reno has a minimum of its own, half of the threshold (`tcp_reno_min_cwnd`). For the other
    /// algorithms `tcp_cwnd_min` is the threshold.
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
