//! When the receiver acknowledges: every segment, delayed (RFC 5681 4.2), or as Linux does.
//!
//! Data out of order, data that fills a gap and duplicates are acknowledged at once under every policy (RFC 5681 4.2),
//! unless SACK compression holds the ACK back.
//!
//! Linux's quick-ACK mode (`tcp_input.c`, `tcp_output.c`, `tcp_timer.c` of 3.0): up to 16 ACKs are not
//! delayed at the start of a connection, after data out of order or a duplicate, and after a gap
//! longer than the timeout. Otherwise an ACK waits for a second full segment or for `ato`, a
//! running estimate of the gap between segments, within limits. A short segment ends a write of the
//! peer, and is acknowledged when the application has read it. A FIN is acknowledged by the other
//! FIN, unless that one is late.

mod full_segment;
mod gap_estimate;

use fairport_units::{Duration, Instant};

use self::full_segment::FullSegment;
use super::offload::{InOrder, Merge};
use super::sack_compression::SackCompression;
use crate::settings::{AckPolicy, Settings};
use crate::timers::{Timer, Timers};

/// `TCP_MAX_QUICKACKS`
const QUICK_MAX: u64 = 16;
/// Quick ACKs from a segment on that the peer must hear of soon because of its ECN codepoint
const QUICK_FOR_ECN: u64 = 2;

// More than 15 fields: what decides between an ACK now and later, and the settings that change it.
/// Whether an ACK is due, and when.
#[derive(Debug)]
pub(crate) struct AckSchedule {
    policy: AckPolicy,
    /// an ACK goes out with the next poll
    now: bool,
    full: FullSegment,
    /// when data last arrived
    last_data: Instant,
    /// Linux: the estimated gap between segments; zero before the first
    ato: Duration,
    /// Linux: ACKs still to be sent without delay
    quick: u8,
    /// Linux's `pingpong`: data goes both ways, so an ACK can ride on it
    interactive: bool,
    delay_min: Duration,
    /// half of `delay_min`, in whole ticks
    half_min: Duration,
    delay_max: Duration,
    /// upper limit of any delay: just below the minimum RTO (`tcp_delack_max`), or none
    delay_cap: Duration,
    /// merges segments that are acknowledged as one; none: each segment is acknowledged by itself
    merge: Option<Box<Merge>>,
    quick_rules: QuickRules,
    /// data has arrived since the last ACK was sent (`ICSK_ACK_SCHED`)
    scheduled: bool,
    /// Linux: a short segment has arrived since the last ACK was sent (`ICSK_ACK_PUSHED`)
    short: bool,
    /// the codepoint of the present segment starts quick ACKs
    quick_for_ecn: bool,
    compression: SackCompression,
}

/// How kernels differ in their rules for quick ACKs.
#[derive(Clone, Copy, Debug)]
struct QuickRules {
    /// up to 4.17: data out of order starts quick ACKs
    after_gap: bool,
    /// a gap longer than the timeout starts quick ACKs, even if it is shorter than `ato`
    within_ato: bool,
    /// since 6.6: only an ACK for new data uses up one quick ACK
    for_data_only: bool,
}

impl AckSchedule {
    pub(crate) fn new(settings: &Settings) -> Self {
        // the tick of the kernel's timers (1/HZ); the granularity of the timestamp clock where the timers are exact
        let tick = match settings.clock_tick_ps {
            Duration::ZERO => settings.clock_granularity_ps,
            tick => tick,
        };
        let rto_min = settings.rto_min_ps.max(tick * 2);
        Self {
            policy: settings.ack_policy,
            now: false,
            full: FullSegment::new(settings.mss_bytes, 0),
            last_data: Instant::ZERO,
            ato: Duration::ZERO,
            quick: 0,
            interactive: false,
            delay_min: settings.delayed_ack_min_ps,
            half_min: Timers::new(settings.clock_tick_ps)
                .whole_ticks(settings.delayed_ack_min_ps / 2),
            delay_max: settings.delayed_ack_max_ps,
            delay_cap: if settings.delayed_ack_below_rto_min {
                rto_min - tick
            } else {
                Duration::NEVER
            },
            merge: Merge::new(settings.receive_offload_ps),
            quick_rules: QuickRules {
                after_gap: settings.quick_acks_after_gap,
                within_ato: settings.quick_acks_within_estimate,
                for_data_only: settings.quick_acks_for_data_only,
            },
            scheduled: false,
            short: false,
            quick_for_ecn: false,
            compression: SackCompression::new(settings.sack_compression),
        }
    }

    /// The connection is established, and the first gap between segments begins (`lrcvtime`). The segments that this
    /// host sends have `payload` bytes and `options` bytes of options.
    pub(crate) fn begin(&mut self, now: Instant, payload: u16, options: u16) {
        self.last_data = now;
        self.full = FullSegment::new(payload, options);
    }

    /// Whether an ACK is sent at the next poll.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.now
    }

    /// Makes the next poll send an ACK.
    #[inline]
    pub(crate) fn at_once(&mut self) {
        self.now = true;
    }

    /// Notes that data arrived within the window, in order or not.
    #[inline]
    pub(crate) fn on_data(&mut self) {
        self.scheduled = true;
    }

    /// Schedules the ACK of data that arrived in order.
    #[expect(clippy::inline_always, reason = "the hot path of a receiver")]
    #[inline(always)]
    pub(crate) fn on_in_order(&mut self, timers: &mut Timers, now: Instant, data: &InOrder) {
        let full = self.full.takes(data.payload);
        if !full {
            self.on_short(data.payload);
        }
        if let Some(merge) = &mut self.merge
            && merge.takes(timers, now, data, full)
        {
            return;
        }
        self.schedule(timers, now, data);
    }

    /// Acknowledges data that arrived in order, merged or not, now or later.
    #[expect(clippy::inline_always, reason = "the hot path of a receiver")]
    #[inline(always)]
    fn schedule(&mut self, timers: &mut Timers, now: Instant, data: &InOrder) {
        if self.policy == AckPolicy::QuickAck {
            self.estimate_gap(timers, now, data);
        }
        self.last_data = now;
        self.decide(timers, now, data);
    }

    /// `__tcp_ack_snd_check`
    #[expect(clippy::inline_always, reason = "the hot path of a receiver")]
    #[inline(always)]
    fn decide(&mut self, timers: &mut Timers, now: Instant, data: &InOrder) {
        let quick = self.policy == AckPolicy::EverySegment || self.is_quick();
        if quick || data.gap || data.unacknowledged > self.full.bytes() {
            self.now = true;
        } else {
            self.delay(timers, now, data.own.srtt);
        }
    }

    /// A segment shorter than a full one arrived in order. The application reads it at once, and then Linux acknowledges
    /// it (`tcp_cleanup_rbuf`). While data flows both ways, it does so only for the second short segment.
    #[cold]
    fn on_short(&mut self, payload: u16) {
        if self.policy == AckPolicy::QuickAck && !self.full.is_full_after_all(payload) {
            self.now |= self.short || !self.interactive;
            self.short = true;
        }
    }

    /// The FIN arrived in order, with the last data or alone. The application may close soon, so Linux waits for the
    /// other FIN (`tcp_fin`).
    #[cold]
    pub(crate) fn on_fin(&mut self, timers: &mut Timers, now: Instant, data: &InOrder) {
        self.now |= self.policy != AckPolicy::QuickAck;
        self.interactive = true;
        let merged = self
            .merge
            .as_mut()
            .is_some_and(|it| it.stop(timers).is_some());
        if data.payload > 0 && !self.full.takes(data.payload) {
            self.on_short(data.payload);
        }
        if data.payload > 0 || merged {
            self.schedule(timers, now, data);
        } else {
            self.decide(timers, now, data);
        }
    }

    /// Data arrived behind a gap that begins at `gap`.
    #[cold]
    pub(crate) fn on_out_of_order(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        gap: u64,
        window: u64,
        srtt: Option<Duration>,
    ) {
        self.answer_ecn(window);
        if self.quick_rules.after_gap {
            self.on_out_of_place(window);
        } else {
            // compression does not count an ACK that is due anyway
            self.now =
                self.now || self.is_quick() || !self.compression.holds_back(timers, now, gap, srtt);
        }
    }

    /// Whether ACKs of data out of order are held back.
    pub(crate) fn holds_back(&self) -> bool {
        self.compression.holds()
    }

    /// Data filled the beginning of a gap. The rest of the gap begins at `gap`.
    #[cold]
    pub(crate) fn on_partly_filled(&mut self, gap: u64, unacknowledged: u64) {
        let quick = self.is_quick() || self.quick_for_ecn;
        if !quick && unacknowledged <= self.full.bytes() {
            self.compression.starts_anew(gap);
        }
    }

    /// Data arrived that does not continue the stream: a second time (its ACK was lost, or the peer's timeout was
    /// early), or above a gap. It says nothing about the time between segments.
    pub(crate) fn on_out_of_place(&mut self, window: u64) {
        self.now = true;
        if self.policy == AckPolicy::QuickAck {
            self.enter_quick_mode(window, QUICK_MAX);
        }
    }

    /// The peer of a receiver whose echo is exact has reduced its window, which may be very small now. ECE does not
    /// depend on that, but Linux has acknowledged at once since 4.19 (`tcp_ecn_accept_cwr`).
    #[cold]
    pub(crate) fn on_cwr(&mut self) {
        self.now |= self.policy == AckPolicy::QuickAck && !self.quick_rules.after_gap;
    }

    /// The present segment brings a mark that the peer does not know of, or is probably a retransmission. The peer's
    /// window may be very small then, so the ACK of this segment and the next one are not delayed
    /// (`__tcp_ecn_check_ce`, since 4.18).
    #[cold]
    pub(crate) fn quick_for_ecn(&mut self) {
        self.quick_for_ecn = self.policy == AckPolicy::QuickAck && !self.quick_rules.after_gap;
    }

    /// Starts the quick ACKs that the segment's codepoint calls for, once its data was taken in.
    #[inline]
    pub(crate) fn answer_ecn(&mut self, window: u64) {
        if std::mem::take(&mut self.quick_for_ecn) {
            self.now = true;
            self.enter_quick_mode(window, QUICK_FOR_ECN);
        }
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quick_mode(&mut self, window: u64, most: u64) {
        self.raise_quick(window, most);
        self.interactive = false;
        self.ato = self.delay_min;
    }

    #[inline]
    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// `tcp_incr_quickack`: allows quick ACKs for half a window of full segments, and up to `most`.
    fn raise_quick(&mut self, window: u64, most: u64) {
        let acks = match window / (2 * self.full.bytes()) {
            0 => 2,
            acks => acks.min(most),
        };
        self.quick = self.quick.max(acks as u8);
    }

    /// Starts the delayed-ACK timer: `tcp_send_delayed_ack`, or RFC 5681's plain delay.
    fn delay(&mut self, timers: &mut Timers, now: Instant, srtt: Option<Duration>) {
        if self.policy == AckPolicy::Delayed {
            timers.advance(Timer::DelayedAck, now, self.delay_max);
            return;
        }
        let mut ato = self.ato;
        if ato > self.delay_min {
            let longest = srtt.map_or(self.delay_max, |srtt| srtt.max(self.delay_min));
            ato = ato.min(longest).min(self.delay_max);
        }
        ato = ato.min(self.delay_cap);
        let soon = || timers.tick_of(now) + timers.whole_ticks(ato / 4) + timers.tick();
        let deadline = timers.deadline(Timer::DelayedAck);
        if deadline != Instant::NEVER && deadline <= soon() {
            self.now = true;
        } else {
            timers.advance(Timer::DelayedAck, now, ato);
        }
    }

    /// The delayed ACK is due (`tcp_delack_timer`): the estimate was too short.
    pub(crate) fn on_timer(&mut self, timers: &mut Timers, now: Instant, rto: Duration) {
        if let Some(merge) = &mut self.merge
            && timers.deadline(Timer::ReceiveOffload) <= now
            && let Some(data) = merge.stop(timers)
        {
            self.schedule(timers, now, &data);
        }
        if now < timers.deadline(Timer::DelayedAck) {
            return;
        }
        timers.stop(Timer::DelayedAck);
        self.now = true;
        if self.compression.holds() {
            return;
        }
        if self.interactive {
            self.interactive = false;
            self.ato = self.delay_min;
        } else {
            self.ato = (self.ato * 2).min(rto);
        }
    }

    /// The peer does not use SACK, so ACKs are not held back.
    pub(crate) fn without_sack(&mut self) {
        self.compression.turn_off();
    }

    /// The connection is closed: no more ACKs are sent.
    pub(crate) fn abort(&mut self) {
        self.now = false;
        self.merge = None;
    }

    /// A segment with the acknowledgement was sent. If it carried data, data flows both ways.
    #[inline]
    pub(crate) fn on_sent(&mut self, timers: &mut Timers, now: Instant, with_data: bool) {
        self.now = false;
        // data segments carry no SACK blocks here, so held-back blocks still wait for an ACK of their own
        if !(with_data && self.compression.holds()) {
            timers.stop(Timer::DelayedAck);
            self.compression.on_sent();
        }
        if let Some(merge) = &mut self.merge {
            merge.stop(timers);
        }
        if self.quick > 0 && (self.scheduled || !self.quick_rules.for_data_only) {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delay_min;
            }
        }
        self.scheduled = false;
        self.short = false;
        if with_data && self.ato > Duration::ZERO && self.gap(timers, now) < self.ato {
            self.interactive = true;
        }
    }
}

#[cfg(test)]
mod tests;
