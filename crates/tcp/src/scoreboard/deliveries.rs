//! What each ACK delivered, by time of sending: for loss detection by time (RFC 8985; Linux's
//! `tcp_recovery.c`), for undo and for F-RTO.

use std::collections::VecDeque;

use fairport_units::Instant;

use super::{RESENT, Record, Scoreboard};
use crate::delivery_rate::DeliveryRate;

/// A transmission in the order that RACK looks at: by time, and within one instant by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Transmission {
    pub(crate) sent: Instant,
    /// where the segment ends
    pub(crate) end: u64,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) ordinal: u64,
    pub(super) sent: Instant,
    /// `SND.NXT` when it was sent
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

/// What the ACK at hand delivered, and the latest transmission that any ACK did.
#[derive(Debug)]
pub(super) struct Deliveries {
    /// the latest transmission that is known to have arrived (`RACK.segment`)
    pub(super) latest: Transmission,
    /// something arrived since losses were last looked for
    pub(super) unexamined: bool,
    /// a segment sent again after this may have been delivered by its first transmission
    trusted: Instant,
    /// of this ACK: the transmission that the kernel looks at last, and its rank in that order:
    /// acknowledged is after SACKed, and the higher after the lower
    sent: Option<Instant>,
    sent_rank: u64,
    /// of this ACK: the latest of what was sent once
    sent_once: Option<Instant>,
    /// of this ACK: when the lowest and the highest of what is newly SACKed and was sent once were sent
    first_sacked: Option<(u64, Instant)>,
    last_sacked: Option<(u64, Instant)>,
    /// of this ACK: the first segment that was sent once, and where it ends
    first_once: u64,
    first_once_end: u64,
    /// retransmissions by time of sending; those delivered meanwhile are skipped
    pub(super) resent: VecDeque<Resent>,
    /// lost once more, in order; those sent meanwhile are skipped
    pub(super) again: VecDeque<u64>,
    /// for a congestion control that asks
    pub(super) rate: Option<Box<DeliveryRate>>,
}

impl Deliveries {
    pub(super) fn new() -> Self {
        Self {
            latest: Transmission::default(),
            unexamined: false,
            trusted: Instant::ZERO,
            sent: None,
            sent_rank: 0,
            sent_once: None,
            first_sacked: None,
            last_sacked: None,
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
            if !acked {
                let sacked = (ordinal, record.sent);
                self.first_sacked = Some(self.first_sacked.map_or(sacked, |it| it.min(sacked)));
                self.last_sacked = self.last_sacked.max(Some(sacked));
            }
        } else if record.sent > self.trusted {
            return;
        }
        self.unexamined = true;
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

    /// The retransmission of a segment was lost. What is sent again goes in the order of its sequence
    /// numbers (`tcp_verify_retransmit_hint`).
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
    /// when the transmission was sent that is looked at last, where it is known which that was. (RFC
    /// 8985 6.2 takes the one that was sent last, as does the kernel for the order of
    /// transmissions, but not for the round trip: `tcp_rack_advance`.)
    pub(crate) sent: Option<Instant>,
    /// when the latest of what was sent only once was sent
    pub(crate) sent_once: Option<Instant>,
    /// when the lowest and the highest segment were sent that were newly SACKed and sent only once
    pub(crate) sacked: Option<(Instant, Instant)>,
    /// the end of the first segment that was sent only once; `u64::MAX`: none
    pub(crate) first_once_end: u64,
    /// segments by which that one came late: from it to the highest that is SACKed, both included
    pub(crate) late_by: u64,
}

impl Scoreboard {
    /// From now on deliveries are tracked by time.
    pub(crate) fn track_deliveries(&mut self) {
        self.deliveries = Some(Box::new(Deliveries::new()));
    }

    /// An ACK comes: what was sent again after `trusted` may have been delivered by an earlier
    /// transmission (RFC 8985 6.2 step 2). Returns one more than the highest SACKed ordinal.
    pub(crate) fn begin_ack(&mut self, trusted: Instant) -> u64 {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.trusted = trusted;
            deliveries.sent = None;
            deliveries.sent_rank = 0;
            deliveries.sent_once = None;
            deliveries.first_sacked = None;
            deliveries.last_sacked = None;
            deliveries.first_once = u64::MAX;
            deliveries.first_once_end = u64::MAX;
        }
        self.highest_sacked[0]
    }

    /// From here on the ACK at hand may have been caused by what was sent again until `trusted`.
    pub(crate) fn trust(&mut self, trusted: Instant) {
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
            sacked: deliveries
                .first_sacked
                .zip(deliveries.last_sacked)
                .map(|((_, first), (_, last))| (first, last)),
            first_once_end: deliveries.first_once_end,
            late_by: if late {
                // with nothing SACKed any more, up to what is acknowledged (`tcp_highest_sack_seq`)
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

    /// The segment was SACKed.
    pub(super) fn note_delivery(&mut self, ordinal: u64) {
        let record = *self.record(ordinal);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.note(ordinal, &record, false);
        }
    }

    /// Whether anything was delivered since losses were looked for.
    #[inline]
    pub(crate) fn has_unexamined(&self) -> bool {
        self.deliveries.as_ref().is_some_and(|it| it.unexamined)
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
        deliveries.unexamined &= !in_order;
        in_order
    }

    /// When the first outstanding segment was last sent.
    #[inline]
    pub(crate) fn head_sent(&self) -> Option<Instant> {
        (!self.is_empty()).then(|| self.record(self.head).sent)
    }
}
