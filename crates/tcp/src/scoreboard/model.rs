//! A model of the scoreboard as a plain list of segments: every sum and every answer is computed by going through the
//! list.

use std::collections::BTreeSet;

use fairport_units::{Duration, Instant};

use super::Chunk;

/// One outstanding segment of the model.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// its number since the start
    pub(super) number: u64,
    pub(super) start: u64,
    pub(super) payload: u64,
    pub(super) fin: bool,
    pub(super) sent: Instant,
    pub(super) sacked: bool,
    pub(super) lost: bool,
    /// its latest transmission was found lost by its time, even if that was undone
    pub(super) found: bool,
    /// sent again, and not found lost since
    pub(super) again: bool,
    /// sent again at any time
    pub(super) ever_again: bool,
    /// `SND.NXT` when it was sent again
    pub(super) nxt: u64,
}

impl Segment {
    pub(super) fn end(&self) -> u64 {
        self.start + self.payload + u64::from(self.fin)
    }

    /// Whether a transmission of the segment may be in the network.
    fn is_out(&self) -> bool {
        !self.sacked && (!self.lost || self.again)
    }

    /// RFC 8985 6.2: transmissions are ordered by their times, and then by their ends.
    pub(super) fn order(&self) -> (Instant, u64) {
        (self.sent, self.end())
    }
}

/// What one ACK delivered: the segments as they were, acknowledged or SACKed.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    pub(super) acked: Vec<Segment>,
    pub(super) sacked: Vec<Segment>,
}

impl Delivered {
    /// The delivered segments that were sent only once.
    pub(super) fn once(&self) -> impl Iterator<Item = &Segment> {
        let all = self.acked.iter().chain(&self.sacked);
        all.filter(|it| !it.ever_again)
    }
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) unit: u64,
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) segments: Vec<Segment>,
    /// positions of SACKed bytes
    bytes: BTreeSet<u64>,
    pub(super) acknowledged: u64,
    pub(super) lost_ever: u64,
    /// number plus one of the highest segment that was ever SACKed
    pub(super) highest_ever: u64,
    /// the latest transmission known to have arrived (`RACK.xmit_ts`, `RACK.end_seq`)
    pub(super) latest: (Instant, u64),
}

impl Model {
    pub(super) fn new(start: u64, unit: u64) -> Self {
        Self {
            unit,
            una: start,
            nxt: start,
            segments: Vec::new(),
            bytes: BTreeSet::new(),
            acknowledged: 0,
            lost_ever: 0,
            highest_ever: 0,
            latest: (Instant::ZERO, 0),
        }
    }

    /// The weight of a segment: 1 if windows count segments; otherwise its payload in bytes, or 1 for a FIN without
    /// data.
    pub(super) fn weight(&self, segment: &Segment) -> u64 {
        if self.unit == 1 {
            1
        } else {
            segment.payload.max(1)
        }
    }

    pub(super) fn sum(&self, of: impl Fn(&Segment) -> bool) -> u64 {
        let chosen = self.segments.iter().filter(|it| of(it));
        chosen.map(|it| self.weight(it)).sum()
    }

    pub(super) fn has_fin(&self) -> bool {
        self.segments.iter().any(|it| it.fin)
    }

    pub(super) fn push(&mut self, now: Instant, chunk: Chunk) {
        self.segments.push(Segment {
            number: self.acknowledged + self.segments.len() as u64,
            start: chunk.start,
            payload: u64::from(chunk.payload),
            fin: chunk.fin,
            sent: now,
            ..Segment::default()
        });
        self.nxt = chunk.end();
    }

    /// RFC 6675 4: a segment with three SACKed ones above it is lost.
    pub(super) fn mark_by_count(&mut self) {
        for at in 0..self.segments.len() {
            let above = &self.segments[at + 1..];
            if above.iter().filter(|it| it.sacked).count() >= 3 {
                self.lose(at);
            }
        }
    }

    /// Forward acknowledgement: a segment three or more below the highest SACKed one is lost.
    pub(super) fn mark_by_distance(&mut self) {
        let Some(highest) = self.segments.iter().rposition(|it| it.sacked) else {
            return;
        };
        for at in 0..(highest + 1).saturating_sub(3) {
            self.lose(at);
        }
    }

    pub(super) fn mark_first(&mut self) {
        if !self.segments.is_empty() {
            self.lose(0);
        }
    }

    fn lose(&mut self, at: usize) {
        let weight = self.weight(&self.segments[at]);
        let segment = &mut self.segments[at];
        if !segment.sacked && !segment.lost {
            segment.lost = true;
            self.lost_ever += weight;
        }
    }

    /// Marks the segment as lost, and its retransmission with it.
    fn lose_all_of(&mut self, at: usize) -> u64 {
        let weight = self.weight(&self.segments[at]);
        let segment = &mut self.segments[at];
        let newly = segment.is_out();
        segment.lost = true;
        segment.again = false;
        let weight = if newly { weight } else { 0 };
        self.lost_ever += weight;
        weight
    }

    /// Forward acknowledgement: a retransmission is lost if a segment sent after it is SACKed.
    pub(super) fn mark_overtaken(&mut self) -> u64 {
        let highest = self.segments.iter().rfind(|it| it.sacked);
        let Some(start) = highest.map(|it| it.start) else {
            return 0;
        };
        let overtaken = |it: &Segment| it.again && !it.sacked && it.nxt < start;
        let found: Vec<usize> = (0..self.segments.len())
            .filter(|&at| overtaken(&self.segments[at]))
            .collect();
        found.into_iter().map(|at| self.lose_all_of(at)).sum()
    }

    /// RFC 8985 6.2 step 5: returns what is newly lost, and the timeout for segments that may be late.
    pub(super) fn mark_by_time(
        &mut self,
        now: Instant,
        allowed: Duration,
    ) -> (u64, Option<Duration>) {
        let mut lost = 0;
        let mut timeout = None;
        for at in 0..self.segments.len() {
            let segment = &self.segments[at];
            if !segment.is_out() || segment.found || segment.order() >= self.latest {
                continue;
            }
            let due = segment.sent + allowed;
            if due <= now {
                lost += self.lose_all_of(at);
                self.segments[at].found = true;
            } else {
                timeout = timeout.max(Some(due - now));
            }
        }
        (lost, timeout)
    }

    /// A timeout: the first segment is lost, and all that were sent longer than `span` ago; without a span, all are. If
    /// the first is SACKed, the peer has discarded data that it had SACKed (RFC 2018 8).
    pub(super) fn time_out(&mut self, now: Instant, span: Option<Duration>) {
        let reneged = self.segments.first().is_some_and(|it| it.sacked);
        if reneged {
            self.bytes.clear();
            self.highest_ever = 0;
            for segment in &mut self.segments {
                segment.sacked = false;
            }
        }
        for at in 0..self.segments.len() {
            let segment = &self.segments[at];
            let recent = span.is_some_and(|span| segment.sent + span > now);
            if !segment.sacked && (at == 0 || reneged || !recent) {
                self.lose_all_of(at);
            }
        }
    }

    /// Takes all loss marks back.
    pub(super) fn unmark(&mut self) {
        for segment in &mut self.segments {
            segment.lost = false;
        }
    }

    /// RFC 6675 4, `NextSeg` rule 1: the first lost segment that was not sent again since.
    pub(super) fn first_to_repeat(&self) -> Option<u64> {
        let due = |it: &&Segment| it.lost && !it.sacked && !it.again;
        self.segments.iter().find(due).map(|it| it.number)
    }

    /// RFC 6675 4, `NextSeg` rule 3: the first one below the highest SACKed that is neither SACKed nor sent again.
    pub(super) fn first_hole(&self) -> Option<u64> {
        let highest = self.segments.iter().rposition(|it| it.sacked)?;
        let below = self.segments[..highest].iter();
        let undone = |it: &Segment| it.found && !it.lost;
        let mut holes = below.filter(|it| !it.sacked && !it.again && !undone(it));
        holes.next().map(|it| it.number)
    }

    pub(super) fn repeat(&mut self, now: Instant, number: u64) {
        let nxt = self.nxt;
        let at = (number - self.acknowledged) as usize;
        let segment = &mut self.segments[at];
        segment.sent = now;
        segment.again = true;
        segment.ever_again = true;
        segment.found = false;
        segment.nxt = nxt;
    }

    /// A segment takes those after it along. Returns how many.
    pub(super) fn join(&mut self, number: u64, payload: u64, room: u64) -> u64 {
        let at = (number - self.acknowledged) as usize;
        let mut count = 0;
        while let Some(next) = self.segments.get(at + 1) {
            let (first, next) = (&self.segments[at], next.clone());
            let fits = first.payload + next.payload <= payload;
            if next.sacked || !fits || next.end() - first.start > room {
                break;
            }
            let first = &mut self.segments[at];
            first.payload += next.payload;
            first.fin = next.fin;
            first.ever_again |= next.ever_again;
            self.segments.remove(at + 1);
            count += 1;
        }
        let above = self.segments.iter_mut().skip(at + 1);
        above.for_each(|it| it.number -= count);
        if self.highest_ever > number + 1 {
            self.highest_ever = (number + 1).max(self.highest_ever - count);
        }
        count
    }

    /// Cuts a segment in two.
    pub(super) fn split(&mut self, number: u64, payload: u64) {
        let at = (number - self.acknowledged) as usize;
        let mut rest = self.segments[at].clone();
        let first = &mut self.segments[at];
        first.payload = payload;
        first.fin = false;
        rest.start += payload;
        rest.payload -= payload;
        self.segments.insert(at + 1, rest);
        let above = self.segments.iter_mut().skip(at + 1);
        above.for_each(|it| it.number += 1);
        self.highest_ever += u64::from(self.highest_ever > number);
    }

    /// Sends the last segment again as a probe, which counts once.
    pub(super) fn probe(&mut self, now: Instant) -> bool {
        let last = self.segments.last_mut().filter(|it| !it.sacked);
        let Some(last) = last else { return false };
        last.sent = now;
        last.ever_again = true;
        last.found = false;
        true
    }

    pub(super) fn acknowledge(&mut self, ack: u64) -> Vec<Segment> {
        let gone = self.segments.iter().filter(|it| it.end() <= ack).count();
        let gone: Vec<Segment> = self.segments.drain(..gone).collect();
        self.acknowledged += gone.len() as u64;
        if let Some(first) = self.segments.first_mut()
            && first.start < ack
        {
            first.payload -= ack - first.start;
            first.start = ack;
        }
        self.una = ack;
        self.bytes = self.bytes.split_off(&ack);
        gone
    }

    /// Takes in a SACK block. Returns the newly SACKed segments as they were; a segment counts if all its bytes are
    /// SACKed.
    pub(super) fn sack(&mut self, start: u64, end: u64) -> Vec<Segment> {
        let start = start.max(self.una);
        if start >= end || end > self.nxt {
            return Vec::new();
        }
        let new: BTreeSet<u64> = (start..end)
            .filter(|byte| self.bytes.insert(*byte))
            .collect();
        let mut newly = Vec::new();
        for segment in &mut self.segments {
            let mut bytes = segment.start..segment.end();
            let touched = new.range(bytes.clone()).next().is_some();
            if touched && !segment.sacked && bytes.all(|byte| self.bytes.contains(&byte)) {
                newly.push(segment.clone());
                segment.sacked = true;
                segment.lost = false;
                self.highest_ever = self.highest_ever.max(segment.number + 1);
            }
        }
        newly
    }

    /// RFC 8985 6.2 step 2: a segment that was sent again since `trusted` may have arrived by its first transmission.
    pub(super) fn note_arrival(&mut self, segment: &Segment, trusted: Instant) -> bool {
        let known = !segment.ever_again || segment.sent <= trusted;
        if known {
            self.latest = self.latest.max(segment.order());
        }
        known
    }
}
