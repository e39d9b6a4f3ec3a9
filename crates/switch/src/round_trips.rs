//! Measures round-trip times at the ports of real hosts: from the kernel's timestamp of a segment as it leaves its host
//! to the delivery of the ACK that covers it.
//!
//! As in Linux (`tcp_ack_update_rtt`), an ACK gives at most one sample: of the data that it acknowledges, the time
//! since the first segment left; if it acknowledges no new data, or data that was sent twice (Karn's rule), the same of
//! the data that it newly SACKs. Handshakes are not measured. What the sender's own stack takes is not included.

use std::collections::VecDeque;

use fairport_record::Table;
use fairport_record::tables::{RttSample, RttSamples};
use fairport_tcp::SackBlock;
use fairport_units::{Duration, Instant};
use fairport_wire::SackList;

use crate::answers::is_before;

/// Maximum number of outstanding segments per flow. Those sent beyond it give no samples.
const MOST_OUTSTANDING: usize = 1 << 16;

/// A segment that is not acknowledged yet.
struct Outstanding {
    start: u32,
    /// The byte after its last one.
    end: u32,
    left_at: Instant,
    is_sent_once: bool,
    is_sacked: bool,
}

impl Outstanding {
    /// When the segment left, if a sample may be taken from it.
    fn clean(&self) -> Option<Instant> {
        self.is_sent_once.then_some(self.left_at)
    }
}

/// The outstanding segments of a flow, in the order of their sequence numbers.
#[derive(Default)]
struct Sender {
    /// The byte after the last one that was sent; none before the handshake.
    next: Option<u32>,
    outstanding: VecDeque<Outstanding>,
    /// Number of outstanding segments that SACKs reported.
    sacked: usize,
}

/// Finds the round-trip times of all flows.
#[derive(Default)]
pub(crate) struct RoundTripFinder {
    senders: Vec<Sender>,
    found: RttSamples,
}

impl RoundTripFinder {
    /// Adds the next flow.
    pub(crate) fn add_flow(&mut self) {
        self.senders.push(Sender::default());
    }

    /// `length` bytes of a flow's sequence space, starting at `seq`, left their host.
    pub(crate) fn sent(&mut self, now: Instant, flow: u32, seq: u32, length: u32) {
        let sender = &mut self.senders[flow as usize];
        let end = seq.wrapping_add(length);
        let Some(next) = sender.next else {
            // the first one is the SYN, or its answer
            sender.next = Some(end);
            return;
        };
        for one in sender.from(seq) {
            if !is_before(one.start, end) {
                break;
            }
            one.is_sent_once = false;
        }
        if !is_before(next, end) {
            return;
        }
        sender.next = Some(end);
        if sender.outstanding.len() < MOST_OUTSTANDING {
            sender.outstanding.push_back(Outstanding {
                start: seq,
                end,
                left_at: now,
                is_sent_once: !is_before(seq, next),
                is_sacked: false,
            });
        }
    }

    /// Whether the first outstanding segment was sent once, and SACKs have reported later ones: then the sender has
    /// found by itself that it is lost.
    pub(crate) fn is_overtaken(&self, flow: u32) -> bool {
        let sender = &self.senders[flow as usize];
        let first = sender.outstanding.front();
        sender.sacked > 0 && first.is_some_and(|one| one.is_sent_once)
    }

    /// An ACK with these SACK blocks reached the sender.
    pub(crate) fn acknowledged(&mut self, now: Instant, flow: u32, ack: u32, sacks: &SackList) {
        let sender = &mut self.senders[flow as usize];
        let acked = sender.acknowledge(ack);
        let sacked = sender.sack(sacks.blocks());
        if let Some(left_at) = acked.or(sacked) {
            self.add(now, flow, now.saturating_sub(left_at));
        }
    }

    /// A datagram that had left its host at `left_at` reached the other host.
    pub(crate) fn delivered(&mut self, now: Instant, flow: u32, left_at: Instant) {
        self.add(now, flow, now.saturating_sub(left_at));
    }

    fn add(&mut self, now: Instant, flow: u32, rtt: Duration) {
        self.found.push(RttSample {
            time_s: now,
            flow,
            rtt_s: rtt,
        });
    }

    /// The table.
    pub(crate) fn into_table(self) -> Table {
        self.found.into_table()
    }
}

impl Sender {
    /// The outstanding segments from the one with this byte on.
    fn from(&mut self, seq: u32) -> impl Iterator<Item = &mut Outstanding> {
        let first = self
            .outstanding
            .partition_point(|one| !is_before(seq, one.end));
        self.outstanding.range_mut(first..)
    }

    /// Removes what is acknowledged. Returns when the first of it left that no SACK reported before, if all of it was
    /// sent once.
    fn acknowledge(&mut self, ack: u32) -> Option<Instant> {
        let (mut first, mut is_clean) = (None, true);
        while let Some(one) = self.outstanding.front() {
            if is_before(ack, one.end) {
                break;
            }
            is_clean &= one.is_sent_once;
            self.sacked -= usize::from(one.is_sacked);
            if !one.is_sacked && first.is_none() {
                first = one.clean();
            }
            self.outstanding.pop_front();
        }
        first.filter(|_| is_clean)
    }

    /// Notes what SACK blocks report. Returns when the first of it left that was sent once and not reported before.
    fn sack(&mut self, blocks: &[SackBlock]) -> Option<Instant> {
        let mut first: Option<Instant> = None;
        let mut newly = 0;
        for block in blocks {
            for one in self.from(block.start) {
                if is_before(block.end, one.end) {
                    break;
                }
                if !one.is_sacked && !is_before(one.start, block.start) {
                    one.is_sacked = true;
                    newly += 1;
                    first = first.into_iter().chain(one.clean()).min();
                }
            }
        }
        self.sacked += newly;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairport_record::column::Column;

    fn ms(ms: u64) -> Instant {
        Instant::from_ms(ms)
    }

    /// The SACK block of an ACK.
    fn sack(start: u32, end: u32) -> SackList {
        SackList::new(&[SackBlock { start, end }]).expect("one fits")
    }

    /// Segments of 1000 bytes from 0 on, the first of which leave at the given times in ms.
    fn sender(left_ms: &[u64]) -> RoundTripFinder {
        let mut finder = RoundTripFinder::default();
        finder.add_flow();
        finder.sent(ms(0), 0, u32::MAX, 1); // SYN
        finder.acknowledged(ms(5), 0, 0, &SackList::default());
        for (number, &left) in left_ms.iter().enumerate() {
            finder.sent(ms(left), 0, 1000 * number as u32, 1000);
        }
        finder
    }

    /// The samples in ms.
    fn samples(finder: RoundTripFinder) -> Vec<u64> {
        match finder.into_table().column("rtt_s") {
            Some(Column::F64(values)) => values.iter().map(|s| (s * 1e3).round() as u64).collect(),
            _ => unreachable!("times are numbers"),
        }
    }

    #[test]
    fn a_sample_is_the_time_of_the_first_segment_that_an_ack_covers() {
        let mut finder = sender(&[10, 12, 14]);
        finder.acknowledged(ms(30), 0, 2000, &SackList::default());
        finder.acknowledged(ms(35), 0, 3000, &SackList::default());
        assert_eq!(samples(finder), [20, 21]);
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample() {
        let mut finder = sender(&[10, 12]);
        finder.sent(ms(300), 0, 0, 1000);
        finder.acknowledged(ms(320), 0, 2000, &SackList::default());
        // the next segment does again
        finder.sent(ms(320), 0, 2000, 1000);
        finder.acknowledged(ms(340), 0, 3000, &SackList::default());
        assert_eq!(samples(finder), [20]);
    }

    #[test]
    fn what_is_newly_sacked_gives_a_sample_and_its_later_ack_none() {
        let mut finder = sender(&[10, 12, 14, 16]);
        assert!(!finder.is_overtaken(0));
        finder.acknowledged(ms(32), 0, 0, &sack(1000, 2000));
        assert!(finder.is_overtaken(0));
        finder.acknowledged(ms(34), 0, 0, &sack(1000, 3000));
        // nothing new
        finder.acknowledged(ms(35), 0, 0, &sack(1000, 3000));
        finder.sent(ms(36), 0, 0, 1000);
        assert!(
            !finder.is_overtaken(0),
            "its second loss may be found by the timer"
        );
        finder.acknowledged(ms(60), 0, 3000, &SackList::default());
        assert!(!finder.is_overtaken(0));
        finder.acknowledged(ms(61), 0, 4000, &SackList::default());
        assert_eq!(samples(finder), [20, 20, 45]);
    }

    #[test]
    fn an_ack_of_new_data_may_report_what_overtook_the_next() {
        let mut finder = sender(&[10, 12, 14]);
        finder.acknowledged(ms(34), 0, 1000, &sack(2000, 3000));
        assert!(finder.is_overtaken(0));
        assert_eq!(samples(finder), [24]);
    }

    #[test]
    fn an_ack_that_fills_no_hole_is_measured_from_what_was_not_sacked() {
        // the first one comes late, on a longer path
        let mut finder = sender(&[10, 11, 12]);
        finder.acknowledged(ms(21), 0, 0, &sack(1000, 2000));
        finder.acknowledged(ms(40), 0, 3000, &SackList::default());
        assert_eq!(samples(finder), [10, 30]);
    }

    #[test]
    fn sequence_numbers_wrap_and_handshakes_are_not_measured() {
        let mut finder = RoundTripFinder::default();
        finder.add_flow();
        finder.sent(ms(0), 0, u32::MAX - 500, 1);
        finder.sent(ms(3), 0, u32::MAX - 500, 1);
        finder.acknowledged(ms(5), 0, u32::MAX - 499, &SackList::default());
        finder.sent(ms(10), 0, u32::MAX - 499, 1000);
        finder.acknowledged(ms(17), 0, 500, &SackList::default());
        assert_eq!(samples(finder), [7]);
    }
}
