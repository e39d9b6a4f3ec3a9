//! The latest retransmissions, to find those that were needless.

use std::collections::VecDeque;

/// Number of retransmissions that are remembered. A burst of needless ones is as long as a window.
const MOST: usize = 64;

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    start: u64,
    end: u64,
    stamp: Option<u32>,
}

/// The latest retransmissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    newest: VecDeque<Retransmission>,
}

impl Retransmissions {
    pub(super) fn add(&mut self, start: u64, end: u64, stamp: Option<u32>) {
        if self.newest.len() == MOST {
            self.newest.pop_front();
        }
        self.newest.push_back(Retransmission { start, end, stamp });
    }

    /// The receiver says that it has this range twice (RFC 2883). Returns how many of its segments were sent again: the
    /// receiver's GRO may have merged several.
    pub(super) fn count_twice(&mut self, mut from: u64, until: u64) -> u64 {
        let mut count = 0;
        loop {
            let overlaps =
                |(_, one): &(usize, &Retransmission)| from < one.end && one.start < until;
            let inside = self.newest.iter().enumerate().filter(overlaps);
            let Some((place, first)) = inside.min_by_key(|(_, one)| one.start) else {
                return count;
            };
            let (start, end) = (first.start, first.end);
            // of a segment that the receiver had in parts, each part is reported
            if from <= start && until < end {
                self.newest[place].start = until;
            } else {
                self.newest.remove(place);
            }
            count += 1;
            from = end;
        }
    }

    /// An ACK moves on from `una`. Returns whether it shows that the first segment needed no retransmission: it echoes an
    /// older timestamp (RFC 3522). A delayed ACK echoes that of its first segment only (RFC 7323 4.3).
    #[inline]
    pub(super) fn is_answer_to_original(&mut self, una: u64, to: u64, echo: Option<u32>) -> bool {
        let is_first = |one: &Retransmission| one.start <= una && una < one.end && one.end <= to;
        let Some(place) = self.newest.iter().position(is_first) else {
            return false;
        };
        let stamp = self.newest[place].stamp;
        let is_older = stamp
            .zip(echo)
            .is_some_and(|(stamp, echo)| echo.wrapping_sub(stamp).cast_signed() < 0);
        if is_older {
            self.newest.remove(place);
        }
        is_older
    }
}
