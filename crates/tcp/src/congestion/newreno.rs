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
