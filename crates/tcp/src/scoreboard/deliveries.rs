//! What was delivered, by time of sending: for loss detection by time (RFC 8985; Linux's
//! `tcp_recovery.c`).
//!
//! RACK looks at segments in the order of their last transmission. What was sent once is in that
//! order on the ring already, so that a mark which only goes forward finds what is lost among it;
//! retransmissions stand in a queue of their own. Each transmission is looked at until it is
//! delivered or lost, and then never again.

use std::collections::VecDeque;

use fairport_units::Time;

use crate::delivery_rate::{AckFacts, DeliveryRate, RateSample};

use super::{Chunk, LOST, RESENT, RETRANSMITTED, Record, SACKED, Scoreboard};

/// A transmission in the order that RACK looks at: by time, and within one instant by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Transmission {
    sent: Time,
    end: u64,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) ordinal: u64,
    pub(super) sent: Time,
    /// `SND.NXT` when it was sent
    pub(super) nxt: u64,
}

impl Record {
    #[inline]
    fn transmission(&self) -> Transmission {
        Transmission {
            sent: self.sent,
            end: self.end(),
        }
    }
}

/// What the ACK at hand delivered, and the latest transmission that any ACK did.
#[derive(Debug)]
pub(super) struct Deliveries {
    /// the latest transmission that is known to have arrived (`RACK.segment`)
    latest: Transmission,
    /// something arrived since losses were last looked for
    pub(super) news: bool,
    /// a segment sent again after this may have been delivered by its first transmission
    trusted: Time,
    /// of this ACK: the transmission that the kernel looks at last, and by what it stands last:
    /// acknowledged goes after SACKed, and the higher after the lower
    sent: Option<Time>,
    sent_rank: u64,
    /// of this ACK: the latest of what was sent once
    sent_once: Option<Time>,
    /// of this ACK: the first segment that was sent once, and where it ends
    first_once: u64,
    first_once_end: u64,
    /// retransmissions by time of sending; those delivered meanwhile are skipped
    pub(super) resent: VecDeque<Resent>,
    /// lost once more; those sent meanwhile are skipped
    pub(super) again: VecDeque<u64>,
    /// for a congestion control that asks
    rate: Option<Box<DeliveryRate>>,
}

impl Deliveries {
    fn new() -> Self {
        Self {
            latest: Transmission::default(),
            news: false,
            trusted: Time::ZERO,
            sent: None,
            sent_rank: 0,
            sent_once: None,
            first_once: u64::MAX,
            first_once_end: u64::MAX,
            resent: VecDeque::new(),
            again: VecDeque::new(),
            rate: None,
        }
    }

    /// The segment was delivered, `acked` or SACKed; it had not been SACKed before.
    #[inline]
    pub(super) fn note(&mut self, ordinal: u64, record: &Record, acked: bool) {
        if let Some(rate) = &mut self.rate {
            rate.on_delivered(ordinal, record.sent, !record.is(RESENT));
        }
        if !record.is(RESENT) {
            self.sent_once = self.sent_once.max(Some(record.sent));
            if ordinal < self.first_once {
                self.first_once = ordinal;
                self.first_once_end = record.end();
            }
        } else if record.sent > self.trusted {
            return;
        }
        self.news = true;
        let rank = if acked { u64::MAX } else { ordinal };
        if rank >= self.sent_rank {
            self.sent_rank = rank;
            self.sent = Some(record.sent);
        }
        self.latest = self.latest.max(record.transmission());
    }

    /// A segment is sent again; those below `head` are of no interest any more.
    #[inline]
    pub(super) fn note_resent(&mut self, head: u64, resent: Resent) {
        while self.resent.front().is_some_and(|it| it.ordinal < head) {
            self.resent.pop_front();
        }
        self.resent.push_back(resent);
    }
}

/// What an ACK delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// when the transmission was sent that is looked at last, where it is known which that was. (RFC
    /// 8985 6.2 takes the one that was sent last, as does the kernel for the order of
    /// transmissions, but not for the round trip: `tcp_rack_advance`.)
    pub(crate) sent: Option<Time>,
    /// when the latest of what was sent only once was sent
    pub(crate) sent_once: Option<Time>,
    /// the end of the first segment that was sent only once; `u64::MAX`: none
    pub(crate) first_once_end: u64,
    /// segments by which that one came late: from it to the highest that was SACKed before, both
    /// included
    pub(crate) late_by: u64,
}

impl Scoreboard {
    /// From now on deliveries are tracked by time.
    pub(crate) fn track_deliveries(&mut self) {
        self.deliveries = Some(Box::new(Deliveries::new()));
    }

    /// From now on each ACK can tell how fast the network delivers.
    pub(crate) fn measure_rate(&mut self) {
        let deliveries = self
            .deliveries
            .get_or_insert_with(|| Box::new(Deliveries::new()));
        deliveries.rate = Some(Box::default());
    }

    fn rate(&mut self) -> Option<&mut DeliveryRate> {
        self.deliveries.as_mut()?.rate.as_deref_mut()
    }

    /// New data went out, where rates may be measured.
    pub(crate) fn note_sent_last(&mut self, now: Time) {
        self.note_sent(self.tail - 1, now);
    }

    /// A segment goes out, new or again.
    #[inline]
    pub(super) fn note_sent(&mut self, ordinal: u64, now: Time) {
        if self.deliveries.as_ref().is_some_and(|it| it.rate.is_some()) {
            self.stamp(ordinal, now);
        }
    }

    #[inline(never)]
    fn stamp(&mut self, ordinal: u64, now: Time) {
        let idle =
            self.head == ordinal && self.tail == ordinal + 1 && !self.record(ordinal).is(RESENT);
        if let Some(rate) = self.rate() {
            rate.on_sent(ordinal, now, idle);
        }
    }

    /// An ACK comes that is to tell the rate.
    pub(crate) fn begin_rate(&mut self) {
        if let Some(rate) = self.rate() {
            rate.begin_ack();
        }
    }

    /// What it tells.
    pub(crate) fn sample_rate(&mut self, now: Time, facts: &AckFacts) -> Option<RateSample> {
        let head = self.head;
        Some(self.rate()?.sample(now, head, facts))
    }

    /// The application leaves a gap, or what is sent is held small, while so much is in flight.
    pub(crate) fn limit_rate(&mut self, in_flight: u64) {
        if let Some(rate) = self.rate() {
            rate.limit(in_flight);
        }
    }

    /// Whether the application left a gap of late, where rates are measured.
    pub(crate) fn is_rate_limited(&self) -> bool {
        let rate = self.deliveries.as_ref().and_then(|it| it.rate.as_ref());
        rate.is_some_and(|it| it.is_limited())
    }

    /// An ACK comes: what was sent again after `trusted` may have been delivered by an earlier
    /// transmission (RFC 8985 6.2 step 2). Returns one more than the highest SACKed ordinal.
    pub(crate) fn begin_ack(&mut self, trusted: Time) -> u64 {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.trusted = trusted;
            deliveries.sent = None;
            deliveries.sent_rank = 0;
            deliveries.sent_once = None;
            deliveries.first_once = u64::MAX;
            deliveries.first_once_end = u64::MAX;
        }
        self.highest_sacked[0]
    }

    /// From here on the ACK at hand may have been caused by what was sent again until `trusted`.
    pub(crate) fn trust(&mut self, trusted: Time) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.trusted = trusted;
        }
    }

    /// What the ACK delivered that began when `highest` was what [`Self::begin_ack`] said.
    pub(crate) fn arrived(&self, highest: u64) -> Arrived {
        let deliveries = self.deliveries.as_deref().expect("deliveries are tracked");
        let late = deliveries.first_once.saturating_add(1) < highest;
        Arrived {
            sent: deliveries.sent,
            sent_once: deliveries.sent_once,
            first_once_end: deliveries.first_once_end,
            late_by: if late {
                self.highest_sacked[0] - deliveries.first_once
            } else {
                0
            },
        }
    }

    /// The segment was SACKed.
    pub(super) fn note_delivery(&mut self, ordinal: u64) {
        let record = *self.record(ordinal);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.note(ordinal, &record, false);
        }
    }

    /// Whether anything was delivered since losses were looked for.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.deliveries.as_ref().is_some_and(|it| it.news)
    }

    /// Whether nothing can be lost, so that there is no need to look: all that is outstanding was sent
    /// once, and after what was delivered.
    #[inline]
    pub(crate) fn is_in_order(&mut self) -> bool {
        if self.sacked + self.lost + self.retransmitted > 0 {
            return false;
        }
        let head = (!self.is_empty()).then(|| self.record(self.head).transmission());
        let Some(deliveries) = &mut self.deliveries else {
            return true;
        };
        let in_order = head.is_none_or(|head| head >= deliveries.latest);
        deliveries.news &= !in_order;
        in_order
    }

    /// When the first outstanding segment was last sent.
    #[inline]
    pub(crate) fn head_sent(&self) -> Option<Time> {
        (!self.is_empty()).then(|| self.record(self.head).sent)
    }

    /// Marks as lost what was sent before the latest delivered transmission and is overdue by now:
    /// `span` (a round trip and the reordering window) has passed (RFC 8985 6.2 step 5). Returns
    /// how much was newly lost, in the window's unit, and how long until the next one is overdue,
    /// if there is any. (The kernel waits for the last that may be late, and looks
    /// again at each ACK as here.)
    pub(crate) fn mark_lost_by_time(&mut self, now: Time, span: Time) -> (u64, Option<Time>) {
        let Some(mut deliveries) = self.deliveries.take() else {
            return (0, None);
        };
        deliveries.news = false;
        let before = self.lost;
        let wait = self.mark_first_transmissions(now, span, deliveries.latest);
        let lost = self.lost - before;
        let (again, wait_again) = self.mark_retransmissions(now, span, &mut deliveries);
        self.deliveries = Some(deliveries);
        let wait = match (wait, wait_again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        (lost + again, wait)
    }

    fn mark_first_transmissions(
        &mut self,
        now: Time,
        span: Time,
        latest: Transmission,
    ) -> Option<Time> {
        let mut ordinal = self.lost_below.max(self.head);
        let mut wait = None;
        while ordinal < self.tail {
            let unit = self.unit;
            let record = self.record_mut(ordinal);
            // what was sent again stands in its own queue
            if !record.is(SACKED | LOST | RETRANSMITTED) {
                if record.transmission() >= latest {
                    break;
                }
                let due = record.sent.saturating_add(span);
                if due > now {
                    wait = Some(due - now);
                    break;
                }
                record.flags |= LOST;
                let weight = Self::weight(unit, record);
                self.lost += weight;
                self.lost_ever += weight;
            }
            ordinal += 1;
        }
        self.lost_below = self.lost_below.max(ordinal);
        wait
    }

    fn mark_retransmissions(
        &mut self,
        now: Time,
        span: Time,
        deliveries: &mut Deliveries,
    ) -> (u64, Option<Time>) {
        let mut again = 0;
        while let Some(resent) = deliveries.resent.front().copied() {
            if self.is_under_way(&resent) {
                if self.record(resent.ordinal).transmission() >= deliveries.latest {
                    return (again, None);
                }
                let due = resent.sent.saturating_add(span);
                if due > now {
                    return (again, Some(due - now));
                }
                again += self.lose_again(resent.ordinal);
                deliveries.again.push_back(resent.ordinal);
            }
            deliveries.resent.pop_front();
        }
        (again, None)
    }

    /// Whether nothing was heard of the retransmission, and it is the segment's last.
    pub(super) fn is_under_way(&self, resent: &Resent) -> bool {
        (self.head..self.tail).contains(&resent.ordinal) && {
            let record = self.record(resent.ordinal);
            record.is(RETRANSMITTED) && !record.is(SACKED) && record.sent == resent.sent
        }
    }

    /// The segment's retransmission was lost.
    pub(super) fn lose_again(&mut self, ordinal: u64) -> u64 {
        let unit = self.unit;
        let record = self.record_mut(ordinal);
        let weight = Self::weight(unit, record);
        let was_lost = record.is(LOST);
        record.flags = (record.flags | LOST) & !RETRANSMITTED;
        self.retransmitted -= weight;
        if !was_lost {
            self.lost += weight;
        }
        self.lost_ever += weight;
        weight
    }

    /// The first segment whose retransmission was lost and that was not sent since.
    #[inline]
    pub(super) fn next_lost_again(&mut self) -> Option<u64> {
        let mut deliveries = self.deliveries.take()?;
        let mut found = None;
        while let Some(&ordinal) = deliveries.again.front() {
            if ordinal >= self.head && !self.record(ordinal).is(SACKED | RETRANSMITTED) {
                found = Some(ordinal);
                break;
            }
            deliveries.again.pop_front();
        }
        self.deliveries = Some(deliveries);
        found
    }

    /// What was lost once more is found with everything else.
    pub(super) fn forget_lost_again(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.again.clear();
        }
    }

    /// After a timeout: the first segment is lost, and whatever was sent more than `span` ago;
    /// what was sent since may still arrive (Linux's `tcp_timeout_mark_lost`). A first segment that
    /// was SACKed takes all SACKs with it (RFC 2018 8).
    pub(crate) fn mark_overdue_lost(&mut self, now: Time, span: Time) {
        if self.is_empty() || self.record(self.head).is(SACKED) {
            self.mark_all_lost();
            return;
        }
        let mut again = VecDeque::new();
        let (head, unit) = (self.head, self.unit);
        let (mut lost, mut newly, mut retransmitted) = (0, 0, 0);
        let mut prefix = true;
        for ordinal in head..self.tail {
            let record = self.record_mut(ordinal);
            if !record.is(SACKED) {
                let overdue = ordinal == head || record.sent.saturating_add(span) <= now;
                let weight = Self::weight(unit, record);
                if overdue {
                    if !record.is(LOST) || record.is(RETRANSMITTED) {
                        newly += weight;
                    }
                    record.flags = (record.flags | LOST) & !RETRANSMITTED;
                }
                let flags = record.flags;
                lost += weight * u64::from(flags & LOST != 0);
                retransmitted += weight * u64::from(flags & RETRANSMITTED != 0);
                prefix &= flags & (LOST | RETRANSMITTED) != 0;
                if overdue && !prefix {
                    again.push_back(ordinal);
                }
            }
            if prefix {
                self.lost_below = self.lost_below.max(ordinal + 1);
            }
        }
        self.lost = lost;
        self.lost_ever += newly;
        self.retransmitted = retransmitted;
        self.next = head;
        if !again.is_empty() {
            // the first segment goes first all the same
            again.push_front(head);
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.again = again;
        }
    }

    /// The episode was needless: nothing is lost (`tcp_undo_cwnd_reduction`). What was sent again
    /// is in the network twice.
    pub(crate) fn unmark_lost(&mut self) {
        for ordinal in self.head..self.tail {
            let record = self.record_mut(ordinal);
            if !record.is(SACKED) {
                record.flags &= !LOST;
            }
        }
        self.lost = 0;
        self.lost_below = self.head;
        self.next = self.head;
        self.forget_lost_again();
    }

    /// Losses are to be looked for although nothing new was delivered.
    pub(crate) fn look_again(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.news = true;
        }
    }

    /// The last segment goes out again as a probe; it counts as in the network once (Linux's
    /// `tcp_send_loss_probe`). None if it was SACKed.
    pub(crate) fn repeat_last(&mut self, now: Time) -> Option<Chunk> {
        let last = self.tail.checked_sub(1).filter(|last| *last >= self.head)?;
        let record = self.record_mut(last);
        if record.is(SACKED) {
            return None;
        }
        record.sent = now;
        record.flags |= RESENT;
        self.note_sent(last, now);
        Some(self.chunk(last))
    }
}
