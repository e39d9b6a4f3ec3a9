//! What each ACK delivered, ordered by time of sending. Used by loss detection by time (RFC 8985; Linux's
//! `tcp_recovery.c`), by undo and by F-RTO.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

use super::{RESENT, Record, Scoreboard};
use crate::delivery_rate::DeliveryRate;

/// A transmission. RACK orders transmissions by time, and at equal times by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Transmission {
    pub(crate) sent: Instant,
    /// position where the segment ends
    pub(crate) end: u64,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) ordinal: u64,
    pub(super) sent: Instant,
    /// `SND.NXT` when the retransmission was sent
    pub(super) nxt: u64,
}

impl Record {
    #[inline]
    pub(super) fn transmission(&self) -> Transmission {
        Transmission {
            sent: self.sent,
            end: self.end(),
        }
    }
}

/// What the present ACK delivered, and the latest transmission delivered by any ACK.
// More than 15 fields: what each rule of recovery asks of the present ACK is kept apart, to be emptied with the next.
#[derive(Debug)]
pub(super) struct Deliveries {
    /// the latest transmission known to have arrived (`RACK.segment`)
    pub(super) latest: Transmission,
    /// every segment below this was sent before `latest`, or sent again; none from here on was sent before it
    pub(super) earlier_end: u64,
    /// a segment was delivered since losses were last looked for
    pub(super) unexamined: bool,
    /// the delivery of a segment that was sent again after this time may be that of its first transmission
    trusted: Instant,
    /// of the present ACK: when the transmission was sent that the kernel processes last, and its rank in that order
    /// (acknowledged segments after SACKed ones, higher ones after lower ones)
    sent: Option<Instant>,
    sent_rank: u64,
    /// of the present ACK: the latest sending time of a segment that was sent once, and of one that was sent again
    sent_once: Option<Instant>,
    sent_again: Option<Instant>,
    /// of the present ACK: ordinal and sending time of the lowest and the highest newly SACKed segment that was sent
    /// once
    first_sacked: Option<(u64, Instant)>,
    last_sacked: Option<(u64, Instant)>,
    /// of the present ACK: the first segment that was sent once, and where it ends
    first_once: u64,
    first_once_end: u64,
    /// retransmissions in order of sending; those delivered since are skipped
    pub(super) resent: VecDeque<Resent>,
    /// under RACK, those of them that were not sent after `latest`
    pub(super) overtaken: VecDeque<Resent>,
    /// segments whose retransmission was lost, in order; those sent since are skipped
    pub(super) again: VecDeque<u64>,
    /// the delivery rate, for a congestion control that asks for it
    pub(super) rate: Option<Box<DeliveryRate>>,
}

impl Deliveries {
    pub(super) fn new() -> Self {
        Self {
            latest: Transmission::default(),
            earlier_end: 0,
            unexamined: false,
            trusted: Instant::ZERO,
            sent: None,
            sent_rank: 0,
            sent_once: None,
            sent_again: None,
            first_sacked: None,
            last_sacked: None,
            first_once: u64::MAX,
            first_once_end: u64::MAX,
            resent: VecDeque::new(),
            overtaken: VecDeque::new(),
            again: VecDeque::new(),
            rate: None,
        }
    }

    /// The segment was delivered, acknowledged (`acked`) or SACKed. It had not been SACKed before.
    #[inline]
    pub(super) fn note(&mut self, ordinal: u64, record: &Record, acked: bool) {
        if let Some(rate) = &mut self.rate {
            rate.on_delivered(ordinal, record.sent);
        }
        if record.is(RESENT) {
            self.sent_again = self.sent_again.max(Some(record.sent));
            if record.sent > self.trusted {
                return;
            }
        } else {
            self.sent_once = self.sent_once.max(Some(record.sent));
            if ordinal < self.first_once {
                self.first_once = ordinal;
                self.first_once_end = record.end();
            }
            if !acked {
                let sacked = (ordinal, record.sent);
                self.first_sacked = Some(self.first_sacked.map_or(sacked, |it| it.min(sacked)));
                self.last_sacked = self.last_sacked.max(Some(sacked));
            }
        }
        self.unexamined = true;
        let rank = if acked { u64::MAX } else { ordinal };
        if rank >= self.sent_rank {
            self.sent_rank = rank;
            self.sent = Some(record.sent);
        }
        self.latest = self.latest.max(record.transmission());
    }

    /// A segment is sent again. Entries below `head` are dropped.
    #[inline]
    pub(super) fn note_resent(&mut self, head: u64, resent: Resent) {
        while self.resent.front().is_some_and(|it| it.ordinal < head) {
            self.resent.pop_front();
        }
        self.resent.push_back(resent);
    }

    /// The `count` segments after `ordinal` are now part of it, and the ordinals of those above have fallen.
    pub(super) fn close_gap(&mut self, ordinal: u64, count: u64) {
        let stays = |it: &mut u64| {
            let is_above = *it > ordinal + count;
            *it -= count * u64::from(is_above);
            is_above || *it <= ordinal
        };
        self.resent.retain_mut(|it| stays(&mut it.ordinal));
        self.overtaken.retain_mut(|it| stays(&mut it.ordinal));
        self.again.retain_mut(stays);
        let end = self.earlier_end;
        self.earlier_end = end.min((ordinal + 1).max(end.saturating_sub(count)));
        if let Some(rate) = &mut self.rate {
            rate.forget_after(ordinal, count);
        }
    }

    /// The end of segment `ordinal` is now a segment of its own, and the ordinals of those above have risen.
    pub(super) fn open_gap(&mut self, ordinal: u64) {
        let moved = |it: u64| it + u64::from(it > ordinal);
        let parts = |it: u64| moved(it)..=it + u64::from(it >= ordinal);
        let resent = |it: &Resent| {
            let it = *it;
            parts(it.ordinal).map(move |ordinal| Resent { ordinal, ..it })
        };
        self.resent = self.resent.iter().flat_map(resent).collect();
        self.overtaken = self.overtaken.iter().flat_map(resent).collect();
        self.again = self.again.iter().flat_map(|it| parts(*it)).collect();
        self.earlier_end = moved(self.earlier_end);
        if let Some(rate) = &mut self.rate {
            rate.repeat_stamp(ordinal);
        }
    }

    /// The retransmission of a segment was lost. Such segments are sent again in the order of their sequence numbers
    /// (`tcp_verify_retransmit_hint`).
    pub(super) fn note_lost_again(&mut self, ordinal: u64) {
        let at = self.again.partition_point(|it| *it < ordinal);
        if self.again.get(at) != Some(&ordinal) {
            self.again.insert(at, ordinal);
        }
    }
}

/// What an ACK delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// when the transmission that the kernel processes last was sent; none if it is not known which one arrived. (RFC
    /// 8985 6.2 takes the one sent last. The kernel does so for the order of transmissions, but not for the round-trip
    /// time: `tcp_rack_advance`.)
    pub(crate) sent: Option<Instant>,
    /// the latest sending time of a segment that was sent only once
    pub(crate) sent_once: Option<Instant>,
    /// sending times of the lowest and the highest segment that were newly SACKed and sent only once
    pub(crate) sacked: Option<(Instant, Instant)>,
    /// the end of the first segment that was sent only once; `u64::MAX` if there is none
    pub(crate) first_once_end: u64,
    /// how late that segment arrived: segments from it up to the highest SACKed one, both included
    pub(crate) late_by: u64,
}

impl Scoreboard {
    /// Starts to track deliveries by time.
    pub(crate) fn track_deliveries(&mut self) {
        self.deliveries = Some(Box::new(Deliveries::new()));
    }

    /// An ACK arrives. A segment that was sent again after `trusted` may have been delivered by an earlier transmission
    /// (RFC 8985 6.2 step 2). Returns the highest SACKed ordinal plus one.
    pub(crate) fn begin_ack(&mut self, trusted: Instant) -> u64 {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.trusted = trusted;
            deliveries.sent = None;
            deliveries.sent_rank = 0;
            deliveries.sent_once = None;
            deliveries.sent_again = None;
            deliveries.first_sacked = None;
            deliveries.last_sacked = None;
            deliveries.first_once = u64::MAX;
            deliveries.first_once_end = u64::MAX;
        }
        self.highest_sacked[0]
    }

    /// Makes the last segment, new data sent at `now`, a little younger than a retransmission of the same instant. The
    /// kernel reads its clock again between the two (`tcp_write_xmit`), so the round trip of the retransmission is too
    /// short to show that this data is lost.
    pub(crate) fn follow_retransmission(&mut self, now: Instant) {
        let again = self.deliveries.as_ref().and_then(|it| it.resent.back());
        if again.is_some_and(|it| it.sent == now) {
            self.record_mut(self.tail - 1).sent += Duration::from_ps(1);
        }
    }

    /// From here on, a segment that was sent again by `trusted` counts as delivered by that transmission.
    pub(crate) fn trust(&mut self, trusted: Instant) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.trusted = trusted;
        }
    }

    /// What the present ACK delivered. `highest` is the value that [`Self::begin_ack`] returned.
    pub(crate) fn arrived(&self, highest: u64) -> Arrived {
        let deliveries = self.deliveries.as_deref().expect("deliveries are tracked");
        let late = deliveries.first_once.saturating_add(1) < highest;
        Arrived {
            sent: deliveries.sent,
            sent_once: deliveries.sent_once,
            sacked: deliveries
                .first_sacked
                .zip(deliveries.last_sacked)
                .map(|((_, first), (_, last))| (first, last)),
            first_once_end: deliveries.first_once_end,
            late_by: if late {
                // if nothing is SACKed any more, up to what is acknowledged (`tcp_highest_sack_seq`)
                let end = if self.sacked > 0 {
                    self.highest_sacked[0]
                } else {
                    self.head.max(highest)
                };
                end - deliveries.first_once
            } else {
                0
            },
        }
    }

    /// The latest sending time of what the present ACK delivered; none if that is nothing.
    pub(crate) fn newest_arrived(&self) -> Option<Instant> {
        let deliveries = self.deliveries.as_deref()?;
        deliveries.sent_once.max(deliveries.sent_again)
    }

    /// Makes sure that the next ACK that delivers something is looked at closely.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = self.tail + 1;
    }

    /// The segment was SACKed.
    pub(super) fn note_delivery(&mut self, ordinal: u64) {
        let record = *self.record(ordinal);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.note(ordinal, &record, false);
        }
    }

    /// Whether a segment was delivered since losses were last looked for.
    #[inline]
    pub(crate) fn has_unexamined(&self) -> bool {
        self.deliveries.as_ref().is_some_and(|it| it.unexamined)
    }

    /// Whether nothing can be lost, so that there is no need to look: every outstanding segment was sent once, and
    /// after the latest delivered one.
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
        deliveries.unexamined &= !in_order;
        in_order
    }

    /// When the first outstanding segment was last sent.
    #[inline]
    pub(crate) fn head_sent(&self) -> Option<Instant> {
        (!self.is_empty()).then(|| self.record(self.head).sent)
    }
}
