//! The stream: what the application wrote, where it ends, and the rules for cutting it into segments.

use crate::settings::{PayloadSizing, Settings};

/// Where an endless stream ends: farther than any connection gets.
pub(super) const ENDLESS: u64 = u64::MAX / 2;

/// The stream of one sender. Positions count from the SYN's number, without wrapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// the first byte of data
    pub(super) start: u64,
    /// where the data that the application wrote ends
    pub(super) write_end: u64,
    /// the application has closed
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    /// largest payload of a data segment
    pub(super) payload: u16,
    pub(super) nagle: bool,
    minshall: bool,
    /// short segments are joined when they are sent again
    pub(super) joins: bool,
    /// where the last short segment ends (Linux's `snd_sml`)
    pub(super) short_end: u64,
}

impl Stream {
    /// An empty stream that begins at `start`.
    pub(super) fn new(settings: &Settings, start: u64) -> Self {
        Self {
            start,
            write_end: start,
            closing: false,
            fin_sent: false,
            payload: settings.mss_bytes,
            nagle: settings.nagle,
            minshall: settings.minshall,
            joins: settings.joins_retransmissions && settings.payload_sizing == PayloadSizing::Full,
            short_end: 0,
        }
    }

    /// The application writes `bytes` more.
    pub(super) fn write(&mut self, bytes: u64) {
        self.write_end = self.write_end.saturating_add(bytes).min(ENDLESS);
    }

    /// Bytes that the application has written; none if it writes without end.
    pub(super) fn size(&self) -> Option<u64> {
        (self.write_end < ENDLESS).then(|| self.write_end - self.start)
    }

    /// The application discards what lies beyond `nxt`, and closes.
    pub(super) fn stop(&mut self, nxt: u64) {
        if !self.fin_sent {
            self.write_end = nxt;
        }
        self.closing = true;
    }

    /// Whether data or a FIN is left to send at `nxt`.
    #[inline]
    pub(super) fn has_unsent(&self, nxt: u64) -> bool {
        nxt < self.write_end || (self.closing && !self.fin_sent)
    }

    /// Bytes of written data from `nxt` on.
    #[inline]
    pub(super) fn unsent(&self, nxt: u64) -> u64 {
        self.write_end - nxt.min(self.write_end)
    }

    /// Whether the application has neither written nor closed.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        !self.closing && self.write_end == self.start
    }

    /// Whether Nagle's rule delays a short segment (RFC 896; RFC 9293 3.7.4): it does while data is outstanding, or
    /// under Minshall's variant while a short segment from `una` on is.
    pub(super) fn holds_short(&self, una: u64, nothing_outstanding: bool) -> bool {
        self.nagle
            && if self.minshall {
                self.short_end > una
            } else {
                !nothing_outstanding
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 100;

    fn stream(nagle: bool, minshall: bool) -> Stream {
        let mut settings = Settings::preset("rfc").unwrap();
        settings.nagle = nagle;
        settings.minshall = minshall;
        Stream::new(&settings, START)
    }

    #[test]
    fn what_is_unsent_is_what_was_written_and_not_sent_and_then_the_end() {
        let mut it = stream(true, false);
        assert!(it.is_unused() && !it.has_unsent(START));
        assert_eq!(it.unsent(START), 0);
        it.write(10);
        it.write(5);
        assert!(!it.is_unused());
        assert_eq!((it.unsent(START), it.unsent(START + 14)), (15, 1));
        assert!(it.has_unsent(START + 14) && !it.has_unsent(START + 15));
        // a FIN takes one number, so the next position lies beyond the end
        assert_eq!((it.unsent(START + 15), it.unsent(START + 16)), (0, 0));
        it.closing = true;
        assert!(it.has_unsent(START + 15));
        it.fin_sent = true;
        assert!(!it.has_unsent(START + 16));
    }

    #[test]
    fn a_stream_that_is_closed_at_once_is_used() {
        let mut it = stream(true, false);
        it.closing = true;
        assert!(!it.is_unused());
    }

    #[test]
    fn who_stops_takes_back_what_was_not_sent() {
        let mut it = stream(true, false);
        it.write(1000);
        it.stop(START + 300);
        assert!(it.closing && it.has_unsent(START + 300));
        assert_eq!(it.unsent(START + 300), 0);
        // once the FIN was sent, nothing can be discarded
        it.fin_sent = true;
        it.stop(START + 301);
        assert_eq!(it.write_end, START + 300);
    }

    #[test]
    fn a_stream_without_end_stays_so_whatever_is_written() {
        let mut it = stream(true, false);
        it.write(ENDLESS);
        it.write(u64::MAX);
        assert_eq!(it.write_end, ENDLESS);
    }

    /// RFC 896: it waits while data is outstanding. Minshall: only while a short segment is.
    #[test]
    fn a_short_segment_waits_for_what_the_rule_says() {
        let (rfc, minshall, off) = (stream(true, false), stream(true, true), stream(false, true));
        assert!(rfc.holds_short(START, false) && !rfc.holds_short(START, true));
        assert!(!off.holds_short(START, false));
        assert!(!minshall.holds_short(START, false));
        let after_short = Stream {
            short_end: START + 10,
            ..minshall
        };
        assert!(after_short.holds_short(START + 9, false));
        assert!(!after_short.holds_short(START + 10, false));
    }
}
