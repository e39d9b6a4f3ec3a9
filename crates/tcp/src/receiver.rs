//! The receiving half: it puts data in order and says what to acknowledge.
//!
//! The application reads at once, so the window is always the whole buffer, starting at `RCV.NXT`. Data held out of
//! order lies within it. (Linux counts such data against the buffer, but never shrinks a window that it has offered.)

mod ack_policy;
mod echo;
mod offload;
mod resets;
mod sack_compression;
mod sack_report;
#[cfg(test)]
mod tests;

use fairport_units::{Duration, Instant};

use self::ack_policy::AckSchedule;
use self::echo::Echo;
use self::offload::InOrder;
pub(crate) use self::offload::OwnRtt;
use self::sack_report::SackReport;
use crate::ecn::Ecn;
use crate::ranges::{Range, Ranges};
use crate::segment::{Flags, Options, Segment};
use crate::seq;
use crate::settings::Settings;
use crate::timers::Timers;

/// `TCP_SACK_BLOCKS_EXPECTED`: blocks that reach the peer even if some ACKs are lost.
const BLOCKS_EXPECTED: usize = 2;

/// The receiving half of an endpoint.
#[derive(Debug)]
#[repr(C)] // what every segment reads comes first
pub(crate) struct Receiver {
    /// `RCV.NXT`
    nxt: u64,
    /// `RCV.NXT` in the last ACK sent
    acknowledged: u64,
    /// `RCV.WND` in bytes, which never changes
    window: u64,
    /// the peer's timestamp that is echoed next (RFC 7323 4.3, `TS.Recent`)
    ts_recent: u32,
    /// none if the connection does not use ECN
    echo: Option<Echo>,
    /// data that arrived twice is reported (RFC 2883)
    reports_duplicates: bool,
    /// position of the first byte of data
    start: u64,
    /// where the stream ends; known once the peer's FIN arrives
    fin: Option<u64>,
    pub(crate) acks: AckSchedule,
    /// data above a gap
    held: Ranges,
    /// replaces `report` in an ACK that the kernel sends before it puts the latest block first, or before it removes
    /// the blocks below the peer's FIN (`tcp_fin`)
    report_before: Option<Box<SackReport>>,
    /// the SACK blocks of the next ACK
    report: SackReport,
    /// an ACK up to here is sent first, with ECE if the flag is set
    earlier: Option<(u64, bool)>,
}

impl Receiver {
    /// A receiver before the handshake: the peer's initial sequence number is not known yet.
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

    /// The peer's SYN arrived: data starts after it.
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

    /// The timestamp to echo; 0 if there is none yet.
    #[inline]
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Bytes of data that were delivered to the application in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt - self.start - u64::from(self.is_closed())
    }

    /// Bytes of data that arrived, each counted once: delivered in order, or held above a gap.
    pub(crate) fn arrived(&self) -> u64 {
        // data ends at the FIN, so if a FIN arrived and a gap is left, the FIN's position is held
        let holds_fin = self.fin.is_some() && self.has_gap();
        self.delivered() + self.held.len() - u64::from(holds_fin)
    }

    /// Whether the peer's FIN and everything before it have arrived.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Whether data is held above a gap.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether the next ACK has SACK blocks.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        self.has_gap() || self.report.has_duplicate()
    }

    /// Whether the peer's FIN and everything before it have arrived, and no ACK says so yet.
    pub(crate) fn owes_ack_of_fin(&self) -> bool {
        self.is_closed() && self.acknowledged < self.nxt
    }

    /// Notes that bytes arrived a second time (RFC 2883 4; `tcp_dsack_set`).
    #[cold]
    fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.reports_duplicates && start < end {
            self.report.note_duplicate(Range { start, end });
        }
    }

    /// Handles a segment that is not acceptable: below what was acknowledged, beyond the window, or with an old
    /// timestamp. Only data below `RCV.NXT` shows that an ACK was lost (`tcp_send_dupack`).
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

    /// Whether any part of the segment lies in the window (RFC 9293 3.10.7.4). As in Linux, data that the peer may have
    /// sent before our last ACK reached it is accepted too.
    #[inline]
    pub(crate) fn accepts(&self, segment: &Segment) -> bool {
        let start = seq::unwrap(self.nxt, segment.seq);
        let end = start + u64::from(segment.sequence_length());
        end >= self.acknowledged && start <= self.nxt + self.window
    }

    /// Whether the segment's timestamp is older than the one to be echoed.
    #[inline]
    pub(crate) fn is_stale(&self, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps();
        stamps.is_some_and(|it| it.val.wrapping_sub(self.ts_recent).cast_signed() < 0)
    }

    /// Whether the segment's timestamp is older by more than a tick (`TCP_PAWS_WINDOW`).
    #[cold]
    pub(crate) fn is_long_stale(&self, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps();
        stamps.is_some_and(|it| it.val.wrapping_sub(self.ts_recent).cast_signed() < -1)
    }

    /// Whether the segment was sent before the last data that arrived in order, and is [long stale](Self::is_long_stale).
    pub(crate) fn is_overtaken(&self, segment: &Segment) -> bool {
        self.is_long_stale(segment) && seq::unwrap(self.nxt, segment.seq) < self.nxt
    }

    /// Notes the timestamp of a segment that [`Self::accepts`] and that is not stale (RFC 7323 4.3 rule 2).
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
        // an ACK that was held back reports only what the last segment repeated (`tcp_data_queue`)
        self.report.forget_duplicate();
        let start = seq::unwrap(self.nxt, segment.seq);
        let mut end = start + u64::from(segment.payload);
        if segment.flags.contains(Flags::FIN) && self.take_fin(end) {
            end += 1;
        }
        // data beyond the window or beyond the end of the stream is cut off
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
            own,
        };
        if self.is_closed() {
            self.report.forget_duplicate();
            self.acks.on_fin(timers, now, &data);
        } else {
            self.acks.on_in_order(timers, now, &data);
        }
        if gap && self.has_gap() {
            self.acks.on_partly_filled(self.nxt, data.unacknowledged);
        }
    }

    /// Whether the segment is only the FIN that comes next. Its codepoint says nothing (`tcp_data_queue`).
    pub(crate) fn is_bare_fin(&self, segment: &Segment) -> bool {
        segment.payload == 0 && segment.seq == seq::wire(self.nxt)
    }

    /// Takes in the peer's FIN, which ends the stream at `end`. An end that contradicts earlier data is ignored.
    #[cold]
    fn take_fin(&mut self, end: u64) -> bool {
        let beyond = self.held.end().max(self.nxt);
        if self.fin.is_none() && end >= beyond && end < self.nxt + self.window {
            self.fin = Some(end);
        }
        self.fin == Some(end)
    }

    /// Data in order that ends at `end` fills a gap. If it repeats data above the gap, that is reported
    /// (`tcp_ofo_queue`). Returns the end of all data in order.
    #[cold]
    fn fill(&mut self, end: u64) -> u64 {
        if let Some(first) = self.held.first()
            && !self.report.has_duplicate()
        {
            self.note_duplicate(first.start, first.end.min(end));
        }
        let reached = self.held.advance(end);
        if self.fin.is_some_and(|fin| reached > fin) {
            self.report_before = Some(Box::new(self.report));
        }
        self.report.advance(reached);
        reached
    }

    /// The ACK of the peer's FIN is not sent before the blocks below it are removed.
    pub(crate) fn forget_report_before(&mut self) {
        self.report_before = None;
    }

    /// Data arrived above a gap. If ACKs are held back and the data does not extend one of the first two blocks, the
    /// held ACKs are sent as one before the new block is put first (`tcp_sack_compress_send_ack`). That ACK also serves
    /// for this data.
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

    /// Keeps data that arrived above a gap.
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

    /// Both sides have agreed on ECN. `exact`: ECE in each ACK follows the marks (DCTCP).
    pub(crate) fn use_ecn(&mut self, exact: bool) {
        self.echo = Some(Echo::new(exact));
    }

    /// Data arrived, with a codepoint and with or without CWR. Call it before [`Self::on_data`], and
    /// [`AckSchedule::answer_ecn`] after that.
    #[inline(never)]
    pub(crate) fn note_codepoint(&mut self, ecn: Ecn, cwr: bool) {
        let Some(echo) = &mut self.echo else { return };
        let before = echo.is_on();
        if cwr && echo.is_exact() {
            self.acks.on_cwr();
        }
        let answer = echo.on_data(ecn, cwr);
        if answer.changes {
            if echo.is_exact() && self.nxt > self.acknowledged {
                // RFC 8257 3.2: no ACK covers both marked and unmarked segments
                self.earlier = Some((self.nxt, before));
            }
            self.acks.at_once();
        }
        if answer.is_urgent {
            self.acks.quick_for_ecn();
        }
    }

    /// Whether ACKs carry ECE.
    #[inline]
    pub(crate) fn echoes(&self) -> bool {
        self.echo.is_some_and(Echo::is_on)
    }

    /// The ACK number that is sent before everything else, and whether it carries ECE.
    pub(crate) fn take_earlier(&mut self) -> Option<(u64, bool)> {
        self.earlier.take()
    }

    /// The connection is closed: nothing is acknowledged any more.
    pub(crate) fn abort(&mut self) {
        self.earlier = None;
        self.acks.abort();
    }

    /// A segment with the acknowledgement is sent.
    #[expect(clippy::inline_always, reason = "every segment that goes out")]
    #[inline(always)]
    pub(crate) fn on_acknowledged(&mut self, timers: &mut Timers, now: Instant, with_data: bool) {
        self.acknowledged = self.nxt;
        self.report.forget_duplicate();
        self.report_before = None;
        self.acks.on_sent(timers, now, with_data);
    }
}
