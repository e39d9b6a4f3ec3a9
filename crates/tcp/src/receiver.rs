//! The receiving half: it puts data in order and says what to acknowledge.
//!
//! The application reads at once, so the window is always the whole buffer from `RCV.NXT`; data held
//! out of order lies within it (Linux counts such data against the buffer, but never shrinks a window
//! that it has offered).

use fairport_units::{Duration, Instant};

use crate::ack_policy::AckSchedule;
use crate::ecn::Echo;
use crate::ranges::{Range, Ranges};
use crate::receive_offload::InOrder;
use crate::sack_report::SackReport;
use crate::segment::{Flags, Options, Segment};
use crate::seq;
use crate::settings::Settings;
use crate::timers::Timers;

/// `TCP_SACK_BLOCKS_EXPECTED`: so many blocks reach the peer even if ACKs are lost.
const BLOCKS_EXPECTED: usize = 2;

/// The receiving half of an endpoint.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// `RCV.NXT`
    nxt: u64,
    /// `RCV.NXT` in the last ACK that went out
    acknowledged: u64,
    /// the first byte of data
    start: u64,
    /// `RCV.WND`, always open
    window: u64,
    /// the peer's last timestamp that is to be echoed (RFC 7323 4.3, `TS.Recent`)
    ts_recent: u32,
    /// where the stream ends, once the peer's FIN says so
    fin: Option<u64>,
    /// data above a gap
    held: Ranges,
    /// and what the next ACK says of it
    report: SackReport,
    /// what it says instead, if the kernel sends it before it has put the latest data first
    report_before: Option<Box<SackReport>>,
    /// data that arrived twice is reported (RFC 2883)
    reports_duplicates: bool,
    pub(crate) acks: AckSchedule,
    /// where ECN is used
    echo: Option<Echo>,
    /// an ACK up to here goes out first, with ECE or without
    earlier: Option<(u64, bool)>,
}

/// This endpoint's own timeout and smoothed round-trip time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnRtt {
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
}

impl Receiver {
    /// Before the handshake: the peer's first number is not known yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        let scale = settings.window_scale;
        Self {
            nxt: 0,
            acknowledged: 0,
            start: 0,
            window: settings.receive_buffer_bytes >> scale << scale,
            ts_recent: 0,
            fin: None,
            held: Ranges::default(),
            report: SackReport::new(),
            report_before: None,
            reports_duplicates: settings.dsack,
            acks: AckSchedule::new(settings),
            echo: None,
            earlier: None,
        }
    }

    /// The peer's SYN came: data starts after it.
    pub(crate) fn synchronise(&mut self, peer_isn: u32) {
        self.nxt = seq::first(peer_isn) + 1;
        self.start = self.nxt;
        self.acknowledged = self.nxt;
    }

    /// `RCV.NXT`
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// The window on offer, in bytes.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// The timestamp to echo; 0: none yet.
    #[inline]
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Bytes of data that came in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt - self.start - u64::from(self.is_closed())
    }

    /// Bytes of data that came, each counted once: in order, or held above a gap.
    pub(crate) fn arrived(&self) -> u64 {
        // nothing is held above the end of the stream, so where its FIN came and a gap is left, it is held
        let holds_fin = self.fin.is_some() && self.has_gap();
        self.delivered() + self.held.len() - u64::from(holds_fin)
    }

    /// Whether the peer's FIN came, and everything before it.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Whether data is held above a gap.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether there are blocks to put into the next ACK.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        self.has_gap() || self.report.has_duplicate()
    }

    /// Bytes arrived a second time (RFC 2883 4; `tcp_dsack_set`).
    #[cold]
    fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.reports_duplicates && start < end {
            self.report.note_duplicate(Range { start, end });
        }
    }

    /// A segment is not accepted: it lies below what was acknowledged, or beyond the window, or its timestamp is
    /// old. Only data below `RCV.NXT` means that an ACK was lost (`tcp_send_dupack`).
    #[cold]
    pub(crate) fn on_unacceptable(&mut self, segment: &Segment) {
        let start = seq::unwrap(self.nxt, segment.seq);
        let length = u64::from(segment.sequence_length());
        if length == 0 || start >= self.nxt {
            self.acks.at_once();
            return;
        }
        let start = start.max(self.start);
        self.note_duplicate(start, (start + length).min(self.nxt));
        self.acks.on_out_of_place(self.window);
    }

    /// Whether any part of the segment lies in the window (RFC 9293 3.10.7.4). As in Linux, what the
    /// peer may have sent before our last ACK reached it is accepted too.
    #[inline]
    pub(crate) fn accepts(&self, segment: &Segment) -> bool {
        let start = seq::unwrap(self.nxt, segment.seq);
        let end = start + u64::from(segment.sequence_length());
        end >= self.acknowledged && start <= self.nxt + self.window
    }

    /// Whether the segment's timestamp is older than the one that is echoed.
    #[inline]
    pub(crate) fn is_stale(&self, segment: &Segment) -> bool {
        segment
            .options
            .timestamps()
            .is_some_and(|it| it.val.wrapping_sub(self.ts_recent).cast_signed() < 0)
    }

    /// Whether it is so by more than a tick (`TCP_PAWS_WINDOW`).
    #[cold]
    pub(crate) fn is_long_stale(&self, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps();
        stamps.is_some_and(|it| it.val.wrapping_sub(self.ts_recent).cast_signed() < -1)
    }

    /// Notes the timestamp of a segment that [`Self::accepts`] and that is not stale (RFC 7323 4.3
    /// rule 2).
    #[inline]
    pub(crate) fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(timestamps) = segment.options.timestamps()
            && seq::unwrap(self.nxt, segment.seq) <= self.acknowledged
        {
            self.ts_recent = timestamps.val;
        }
    }

    /// Takes in the data and FIN of a segment that [`Self::accepts`].
    #[expect(clippy::inline_always, reason = "the hot path of a receiver")]
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        own: OwnRtt,
    ) {
        self.acks.on_data();
        let start = seq::unwrap(self.nxt, segment.seq);
        let mut end = start + u64::from(segment.payload);
        if segment.flags.contains(Flags::FIN) && self.take_fin(end) {
            end += 1;
        }
        // nothing lies beyond the window or beyond the end of the stream
        end = end.min(self.nxt + self.window);
        if let Some(fin) = self.fin {
            end = end.min(fin + 1);
        }
        if end <= self.nxt.max(start) {
            self.note_duplicate(start.max(self.start), end.min(self.nxt));
            self.acks.on_out_of_place(self.window);
            return;
        }
        if start > self.nxt {
            self.on_out_of_order(timers, now, Range { start, end }, own.srtt);
            return;
        }
        if start < self.nxt {
            self.note_duplicate(start.max(self.start), self.nxt);
            self.acks.on_out_of_place(self.window);
        }
        let gap = self.has_gap();
        self.nxt = if gap { self.fill(end) } else { end };
        let data = InOrder {
            payload: segment.payload,
            unacknowledged: self.nxt - self.acknowledged,
            gap,
            window: self.window,
            rto: own.rto,
            srtt: own.srtt,
        };
        self.acks.on_in_order(timers, now, &data);
        if gap && self.has_gap() {
            self.acks.on_partly_filled(self.nxt, data.unacknowledged);
        }
        if self.fin.is_some() {
            self.acks.at_once();
        }
    }

    /// The peer says that its stream ends at `end`. An end that contradicts
    /// earlier data is ignored.
    #[cold]
    fn take_fin(&mut self, end: u64) -> bool {
        let beyond = self.held.end().max(self.nxt);
        if self.fin.is_none() && end >= beyond && end < self.nxt + self.window {
            self.fin = Some(end);
        }
        self.fin == Some(end)
    }

    #[cold]
    fn fill(&mut self, end: u64) -> u64 {
        let reached = self.held.advance(end);
        self.report.advance(reached);
        reached
    }

    /// Data came above a gap. If ACKs are held back, and the data extends no block among the first two, they go
    /// out as one before it is put first (`tcp_sack_compress_send_ack`). That one serves for it, too.
    fn on_out_of_order(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        range: Range,
        srtt: Option<Duration>,
    ) {
        self.hold(range);
        let place = self.report.extend(range);
        if place >= BLOCKS_EXPECTED && self.acks.holds_back() {
            self.report_before = Some(Box::new(self.report));
            self.acks.at_once();
        } else {
            self.acks
                .on_out_of_order(timers, now, self.nxt, self.window, srtt);
        }
        self.report.put_first(place, range);
    }

    /// Keeps what came above a gap.
    fn hold(&mut self, range: Range) {
        let mut at = range.start;
        let mut known = None;
        self.held.insert(range, |part, _| {
            if at < part.start {
                known.get_or_insert((at, part.start));
            }
            at = part.end;
        });
        if at < range.end {
            known.get_or_insert((at, range.end));
        }
        if let Some((start, end)) = known {
            self.note_duplicate(start, end);
        }
    }

    /// Puts SACK blocks into the options of an ACK.
    #[inline]
    pub(crate) fn report(&self, options: &mut Options) {
        let report = self.report_before.as_deref().unwrap_or(&self.report);
        report.write(options);
    }

    /// Both sides have agreed on ECN; `exact`: ECE follows the marks (DCTCP).
    pub(crate) fn use_ecn(&mut self, exact: bool) {
        self.echo = Some(Echo::new(exact));
    }

    /// Data came, marked or not, and with CWR or not; before [`Self::on_data`].
    #[inline(never)]
    pub(crate) fn note_mark(&mut self, marked: bool, cwr: bool) {
        let Some(echo) = &mut self.echo else { return };
        let before = echo.is_on();
        if echo.on_data(marked, cwr) {
            if echo.is_exact() && self.nxt > self.acknowledged {
                // RFC 8257 3.2: no ACK speaks for marked and unmarked segments
                self.earlier = Some((self.nxt, before));
            }
            self.acks.at_once();
        }
    }

    /// Whether ACKs carry ECE.
    #[inline]
    pub(crate) fn echoes(&self) -> bool {
        self.echo.is_some_and(Echo::is_on)
    }

    /// The ACK that goes out before all else, and whether it carries ECE.
    pub(crate) fn take_earlier(&mut self) -> Option<(u64, bool)> {
        self.earlier.take()
    }

    /// Nothing is to be acknowledged any more.
    pub(crate) fn abort(&mut self) {
        self.earlier = None;
        self.acks.abort();
    }

    /// A segment with the acknowledgement goes out.
    #[expect(clippy::inline_always, reason = "every segment that goes out")]
    #[inline(always)]
    pub(crate) fn on_acknowledged(&mut self, timers: &mut Timers, now: Instant, with_data: bool) {
        self.acknowledged = self.nxt;
        self.report.on_sent();
        self.report_before = None;
        self.acks.on_sent(timers, now, with_data);
    }
}

#[cfg(test)]
mod tests;
