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

    /// The receiver says that it has this range twice (RFC 2883). Returns whether some of it was sent again.
    pub(super) fn is_twice(&mut self, from: u64, until: u64) -> bool {
        let overlaps = |one: &Retransmission| from < one.end && one.start < until;
        let Some(place) = self.newest.iter().position(overlaps) else {
            return false;
        };
        let one = &mut self.newest[place];
        // of a merged segment, each part is reported
        if from <= one.start && until < one.end {
            one.start = until;
        } else {
            self.newest.remove(place);
        }
        true
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
