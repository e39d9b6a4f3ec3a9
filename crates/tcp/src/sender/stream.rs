//! The stream: what the application wrote, where it ends, and how it is cut into segments.

use crate::settings::Settings;

/// Where the stream of an application that never stops ends: farther than any connection comes.
pub(super) const ENDLESS: u64 = u64::MAX / 2;

/// The stream of one sender. Positions count from the SYN's number, without wrapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// the first byte of data
    pub(super) start: u64,
    /// where the data that the application wrote ends
    pub(super) write_end: u64,
    /// the application is done writing
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    /// largest payload of a data segment
    pub(super) payload: u16,
    pub(super) nagle: bool,
    minshall: bool,
    /// where the last short segment ended (Linux's `snd_sml`)
    pub(super) short_end: u64,
}

impl Stream {
    /// Nothing written yet.
    pub(super) fn new(settings: &Settings, start: u64) -> Self {
        Self {
            start,
            write_end: start,
            closing: false,
            fin_sent: false,
            payload: settings.mss_bytes,
            nagle: settings.nagle,
            minshall: settings.minshall,
            short_end: 0,
        }
    }

    /// The application hands over `bytes` more.
    pub(super) fn write(&mut self, bytes: u64) {
        self.write_end = self.write_end.saturating_add(bytes).min(ENDLESS);
    }

    /// The application takes back what lies beyond `nxt`, and is done.
    pub(super) fn stop(&mut self, nxt: u64) {
        if !self.fin_sent {
            self.write_end = nxt;
        }
        self.closing = true;
    }

    /// Whether there is more to send than what lies before `nxt`.
    #[inline]
    pub(super) fn has_unsent(&self, nxt: u64) -> bool {
        nxt < self.write_end || (self.closing && !self.fin_sent)
    }

    /// Bytes from `nxt` to the end of what was written.
    #[inline]
    pub(super) fn unsent(&self, nxt: u64) -> u64 {
        self.write_end - nxt.min(self.write_end)
    }

    /// Whether the application neither wrote nor closed.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        !self.closing && self.write_end == self.start
    }

    /// Whether Nagle's rule holds a short segment (RFC 896; RFC 9293 3.7.4): while anything is
    /// outstanding from `una` on, or under Minshall's variant a short segment is.
    pub(super) fn holds_short(&self, una: u64, nothing_outstanding: bool) -> bool {
        self.nagle
            && if self.minshall {
                self.short_end > una
            } else {
                !nothing_outstanding
            }
    }
}
