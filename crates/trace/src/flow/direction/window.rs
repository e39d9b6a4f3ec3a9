//! The window that the receiver offers.

use crate::flow::events::Ack;
use crate::flow::report::Counts;

/// The receiver's window, as its last ACK offered it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// none if its scale is not known
    bytes: Option<u32>,
    /// since when it is closed, if it is
    closed_since_ns: Option<u64>,
    /// when an ACK last showed that it was closed; 0 if none did
    closed_ns: u64,
}

impl Window {
    #[inline]
    pub(super) fn bytes(&self) -> Option<u32> {
        self.bytes
    }

    /// When an ACK last showed that it was closed; 0 if none did.
    #[inline]
    pub(super) fn closed_ns(&self) -> u64 {
        self.closed_ns
    }

    /// Notes what an ACK offers.
    #[inline]
    pub(super) fn note(&mut self, ack: &Ack, counts: &mut Counts) {
        let is_closed = ack.window == Some(0);
        if is_closed {
            self.closed_ns = ack.time_ns;
        }
        if is_closed && self.closed_since_ns.is_none() {
            self.closed_since_ns = Some(ack.time_ns);
            counts.zero_windows += 1;
        } else if !is_closed && let Some(since) = self.closed_since_ns.take() {
            counts.zero_window_ns += ack.time_ns.saturating_sub(since);
        }
        self.bytes = ack.window;
        counts.window_max_bytes = counts.window_max_bytes.max(ack.window);
    }
}
