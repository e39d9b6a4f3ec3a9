//! Compares the segments that the stack sends with those that the script expects.
//!
//! Segments that were sent back to back count as one larger segment, as a host with segmentation offload sends it: they
//! have the same time, and the same size except for the last. A larger segment also counts as its parts. PSH and URG
//! are not compared, because the state machines send neither.

use std::collections::VecDeque;

use fairport_units::Instant;

use super::endpoint::Sent;
use super::{Due, Runner};
use crate::ast::{Packet, TcpOption};
use crate::outcome::{Failure, FailureKind, shown};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
/// The flags that are compared: FIN, SYN, RST, ACK, ECE, CWR.
const COMPARED: u8 = 0xd7;

impl Runner {
    pub(super) fn expect(&mut self, line: u32, due: Due, packet: &Packet) -> Result<(), Failure> {
        if packet.flags & SYN != 0 {
            self.numbering.synchronise(packet.seq);
        }
        let latest = due.to + self.setup.tolerance;
        self.await_segment(line, latest, packet)?;
        let taken = self.take(line, packet);
        let Some(first) = taken.first() else {
            let actual = format!("nothing was sent until {}", until(latest));
            return Err(self.failure(FailureKind::Silence, line, quoted(packet), actual));
        };
        self.now = self.now.max(first.at);
        if let Some(problem) = self.difference(packet, &taken) {
            let actual = format!("{problem}: sent {}", self.sent_text(&taken));
            return Err(self.failure(FailureKind::Segment, line, quoted(packet), actual));
        }
        let earliest = due.from.earlier_by(self.setup.tolerance);
        if due.to < Instant::NEVER && (first.at < earliest || first.at > latest) {
            let expected = if due.from == due.to {
                format!("{} at {}", quoted(packet), shown(due.from))
            } else {
                let (from, to) = (shown(due.from), shown(due.to));
                format!("{} between {from} and {to}", quoted(packet))
            };
            let actual = format!("it was sent at {}", shown(first.at));
            return Err(self.failure(FailureKind::Time, line, expected, actual));
        }
        self.note_stamps(packet, first);
        Ok(())
    }

    /// Fails if the script expected only a part of a segment and not the rest. Called before every event other than an
    /// expected segment, and at the end.
    pub(super) fn no_rest(&self) -> Result<(), Failure> {
        let sent = self.endpoint.as_ref().and_then(|it| it.sent.front());
        let Some((sent, line)) = sent.and_then(|sent| Some((sent, sent.rest_of?))) else {
            return Ok(());
        };
        let expected = "a segment that ends here".to_owned();
        let rest = self.sent_text(std::slice::from_ref(sent));
        let actual = format!("it went on: sent {rest}");
        Err(self.failure(FailureKind::Segment, line, expected, actual))
    }

    /// Lets time pass until the stack has sent a segment, but not beyond `latest`.
    fn await_segment(
        &mut self,
        line: u32,
        latest: Instant,
        packet: &Packet,
    ) -> Result<(), Failure> {
        for _ in 0..super::endpoint::STEPS_MAX {
            let Some(endpoint) = &mut self.endpoint else {
                return Ok(());
            };
            let next = endpoint.next_timer().filter(|next| *next <= latest);
            match next {
                Some(next) if endpoint.sent.is_empty() => {
                    self.now = self.now.max(next);
                    endpoint.tick(self.now);
                }
                _ => return Ok(()),
            }
        }
        let actual = "timers fire without end and nothing is sent".to_owned();
        Err(self.failure(FailureKind::Silence, line, quoted(packet), actual))
    }

    /// Takes as many of the sent segments as `packet` may represent.
    fn take(&mut self, line: u32, packet: &Packet) -> Vec<Sent> {
        let mut taken: Vec<Sent> = Vec::new();
        let Some(endpoint) = &mut self.endpoint else {
            return taken;
        };
        let mut missing = packet.payload;
        while let Some(&next) = endpoint.sent.front() {
            let payload = u32::from(next.segment.payload);
            if let Some(last) = taken.last() {
                let (before, size) = (last.segment, taken[0].segment.payload);
                let follows =
                    before.seq.wrapping_add(u32::from(before.payload)) == next.segment.seq;
                // a shorter segment ends a burst
                if !follows || next.at != last.at || before.payload != size || payload == 0 {
                    break;
                }
            }
            endpoint.sent.pop_front();
            if payload > missing && missing > 0 {
                taken.push(split(next, missing, line, &mut endpoint.sent));
                break;
            }
            taken.push(next);
            missing = missing.saturating_sub(payload);
            if missing == 0 {
                break;
            }
        }
        taken
    }

    /// The first difference between the segments and `packet`, or None.
    fn difference(&self, packet: &Packet, taken: &[Sent]) -> Option<String> {
        let all: Vec<Packet> = taken
            .iter()
            .map(|sent| self.numbering.outbound(&sent.segment))
            .collect();
        let (first, last) = (all.first()?, all.last()?);
        let flags = all.iter().fold(0, |flags, it| flags | it.flags);
        if (flags ^ packet.flags) & COMPARED != 0 {
            return Some("other flags".to_owned());
        }
        if all[..all.len() - 1].iter().any(|it| it.flags & FIN != 0) {
            return Some("a FIN amid the data".to_owned());
        }
        let is_other = |sent: &&Sent| !packet.ecn.is_empty() && !packet.ecn.contains(&sent.ecn);
        if let Some(other) = taken.iter().find(is_other) {
            return Some(format!("the ECN codepoint {:?}", other.ecn));
        }
        if first.seq != packet.seq {
            return Some("another sequence number".to_owned());
        }
        let payload: u32 = all.iter().map(|it| it.payload).sum();
        if payload != packet.payload {
            return Some(format!("{payload} bytes"));
        }
        if packet.ack.is_some() && all.iter().any(|it| it.ack != packet.ack) {
            return Some("another acknowledgement number".to_owned());
        }
        if packet.window.is_some() && last.window != packet.window {
            return Some("another window".to_owned());
        }
        let expected = packet.options.as_ref()?;
        let actual = first.options.as_deref().unwrap_or_default();
        self.option_difference(expected, actual)
    }

    fn option_difference(&self, expected: &[TcpOption], actual: &[TcpOption]) -> Option<String> {
        if expected.len() != actual.len() {
            return Some("other options".to_owned());
        }
        for (expected, actual) in expected.iter().zip(actual) {
            match (expected, actual) {
                (TcpOption::Timestamps(val, ecr), TcpOption::Timestamps(our_val, our_ecr)) => {
                    if ecr != our_ecr {
                        return Some("another timestamp is echoed".to_owned());
                    }
                    // the first timestamp that the script names only fixes its offset from ours
                    let Some(tick) = self.setup.timestamp_tick else {
                        continue;
                    };
                    let distance = our_val.wrapping_sub(*val).cast_signed().unsigned_abs();
                    let off = tick * u64::from(distance);
                    if self.numbering.counts_stamps() && off > self.setup.tolerance {
                        return Some("another timestamp".to_owned());
                    }
                }
                _ if expected == actual => {}
                _ => return Some("other options".to_owned()),
            }
        }
        None
    }

    /// Notes which of our timestamps the script's timestamp represents.
    fn note_stamps(&mut self, packet: &Packet, first: &Sent) {
        let Some(stamps) = first.segment.options.timestamps() else {
            return;
        };
        for option in packet.options.iter().flatten() {
            if let TcpOption::Timestamps(val, _) = option {
                self.numbering.note_stamp(*val, stamps.val);
            }
        }
    }

    /// Describes the segments as the one segment that they count as.
    fn sent_text(&self, taken: &[Sent]) -> String {
        let Some((first, rest)) = taken.split_first() else {
            return String::new();
        };
        let mut whole = self.numbering.outbound(&first.segment);
        for sent in rest {
            let next = self.numbering.outbound(&sent.segment);
            whole.flags |= next.flags;
            whole.payload += next.payload;
        }
        let count = match taken.len() {
            1 => String::new(),
            count => format!(" in {count} segments"),
        };
        format!("{}{count} at {}", quoted(&whole), shown(first.at))
    }
}

/// Takes the first `bytes` of a segment. The rest goes back to the front of the queue.
fn split(sent: Sent, bytes: u32, line: u32, queue: &mut VecDeque<Sent>) -> Sent {
    let (mut head, mut tail) = (sent, sent);
    head.segment.payload = bytes as u16;
    let flags = head.segment.flags.bits() & !FIN;
    head.segment.flags = fairport_tcp::Flags::from_bits(flags);
    tail.segment.payload -= bytes as u16;
    tail.segment.seq = tail.segment.seq.wrapping_add(bytes);
    tail.rest_of = Some(line);
    queue.push_front(tail);
    head
}

fn until(latest: Instant) -> String {
    if latest == Instant::NEVER {
        "the end".to_owned()
    } else {
        shown(latest)
    }
}

/// A segment as the script writes it after `>`, in backquotes.
fn quoted(packet: &Packet) -> String {
    format!("`> {packet}`")
}
