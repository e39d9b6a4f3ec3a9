//! Segments that were sent and are not yet acknowledged.

use std::collections::VecDeque;

/// Maximum number of segments that wait for an ACK; more than any window holds.
const MOST: usize = 1 << 16;

/// A segment that waits for its ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) end: u64,
    /// when it passed the tap for the last time
    pub(super) time_ns: u64,
    pub(super) is_retransmission: bool,
}

/// The segments that wait for their ACKs, in the order of their positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    segments: VecDeque<Sent>,
}

impl Outstanding {
    /// When the first of them passed the tap; 0 if there is none.
    #[inline]
    pub(super) fn oldest_ns(&self) -> u64 {
        self.segments.front().map_or(0, |one| one.time_ns)
    }

    /// Adds a segment beyond all others, unless there are too many.
    #[inline]
    pub(super) fn add(&mut self, segment: Sent) {
        if self.segments.len() < MOST {
            self.segments.push_back(segment);
        }
    }

    /// The segments that lie between these positions were sent again.
    pub(super) fn sent_again(&mut self, start: u64, end: u64, now_ns: u64) {
        let first = self.segments.partition_point(|one| one.end <= start);
        for one in self.segments.range_mut(first..) {
            if one.end > end {
                break;
            }
            one.is_retransmission = true;
            one.time_ns = now_ns;
        }
    }

    /// Removes the first segment if it lies before `to`.
    #[inline]
    pub(super) fn pop_before(&mut self, to: u64) -> Option<Sent> {
        self.segments.front().filter(|one| one.end <= to)?;
        self.segments.pop_front()
    }

    /// Whether a segment that lies between these positions was sent after `time_ns`.
    pub(super) fn has_newer(&self, (start, end): (u64, u64), time_ns: u64) -> bool {
        let first = self.segments.partition_point(|one| one.end <= start);
        let mut inside = self
            .segments
            .range(first..)
            .take_while(|one| one.end <= end);
        inside.any(|one| one.time_ns > time_ns)
    }

    pub(super) fn clear(&mut self) {
        self.segments.clear();
    }
}
