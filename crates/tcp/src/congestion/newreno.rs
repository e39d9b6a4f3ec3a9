//! NewReno's window: RFC 5681.

use super::{AckSample, Window};

/// A segment a window of acknowledged data (RFC 5681 3.1, equation 3 and the text on it).
#[inline]
pub(super) fn avoid(window: &mut Window, sample: &AckSample) {
    window.grow_one_per(window.cwnd, sample);
}

/// Half of the window, at least two segments (RFC 5681 equation 4).
pub(super) fn reduce(window: &mut Window) {
    let half = window.cwnd / 2;
    window.ssthresh = half.max(2 * window.unit());
    window.count = 0;
}
