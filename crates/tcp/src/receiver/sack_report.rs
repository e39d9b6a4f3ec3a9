//! What a receiver reports beyond its cumulative ACK: SACK blocks, latest first (RFC 2018 4), and data that arrived
//! twice (RFC 2883).
//!
//! Four blocks are kept, as in Linux (`selective_acks`), whatever number fits into an ACK. A block that was dropped is
//! not restored when data next to it arrives (`tcp_sack_new_ofo_skb`).

use crate::ranges::Range;
use crate::segment::{Options, SackBlock};
use crate::seq;

/// What the next ACK reports.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // the blocks, which few segments have, come last
pub(crate) struct SackReport {
    count: usize,
    /// the range that arrived twice; only one is kept
    duplicate: Option<Range>,
    blocks: [Range; Options::MAX_SACKS],
}

impl SackReport {
    pub(crate) fn new() -> Self {
        Self {
            duplicate: None,
            blocks: [Range { start: 0, end: 0 }; Options::MAX_SACKS],
            count: 0,
        }
    }

    /// Whether the next ACK reports data that arrived twice.
    #[inline]
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// Notes that bytes arrived a second time (RFC 2883 4; `tcp_dsack_set`).
    pub(crate) fn note_duplicate(&mut self, range: Range) {
        self.duplicate = Some(range);
    }

    /// Extends the first block that `range` overlaps or adjoins. Returns its index, or the number of blocks if there is
    /// none.
    pub(crate) fn extend(&mut self, range: Range) -> usize {
        let blocks = &mut self.blocks[..self.count];
        for (place, block) in blocks.iter_mut().enumerate() {
            if block.start <= range.end && range.start <= block.end {
                block.start = block.start.min(range.start);
                block.end = block.end.max(range.end);
                return place;
            }
        }
        self.count
    }

    /// Puts the block that [`Self::extend`] found first, or else a new block. Blocks that it now adjoins are merged
    /// into it.
    pub(crate) fn put_first(&mut self, place: usize, range: Range) {
        let mut first = if place < self.count {
            self.blocks[place]
        } else {
            range
        };
        let mut blocks = [first; Options::MAX_SACKS];
        let mut count = 1;
        for &block in &self.blocks[..self.count] {
            if block.start <= first.end && first.start <= block.end {
                first.start = first.start.min(block.start);
                first.end = first.end.max(block.end);
            } else if count < Options::MAX_SACKS {
                blocks[count] = block;
                count += 1;
            }
        }
        blocks[0] = first;
        (self.blocks, self.count) = (blocks, count);
    }

    /// All data below `position` is now in order.
    pub(crate) fn advance(&mut self, position: u64) {
        let mut kept = 0;
        for index in 0..self.count {
            if self.blocks[index].end > position {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// The end of the highest block.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.blocks[..self.count].iter().map(|it| it.end).max()
    }

    /// Writes as many blocks into the options of an ACK as fit.
    #[inline]
    pub(crate) fn write(&self, options: &mut Options) {
        let blocks = self.duplicate.iter().chain(&self.blocks[..self.count]);
        for range in blocks.take(options.sack_room()) {
            options.push_sack(SackBlock {
                start: seq::wire(range.start),
                end: seq::wire(range.end),
            });
        }
    }

    /// An ACK went out, or the peer's FIN came (`tcp_fin`).
    #[inline]
    pub(crate) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    /// The blocks reported after `ranges` arrived in this order.
    fn after(ranges: &[(u64, u64)]) -> Vec<(u32, u32)> {
        let mut report = SackReport::new();
        for &(start, end) in ranges {
            let place = report.extend(range(start, end));
            report.put_first(place, range(start, end));
        }
        let mut options = Options::default();
        report.write(&mut options);
        options.sacks().map(|it| (it.start, it.end)).collect()
    }

    #[test]
    fn the_block_that_grew_last_comes_first() {
        assert_eq!(
            after(&[(10, 20), (30, 40), (50, 60), (20, 22)]),
            [(10, 22), (50, 60), (30, 40)]
        );
    }

    #[test]
    fn what_fills_the_space_between_blocks_makes_them_one() {
        assert_eq!(after(&[(10, 20), (30, 40), (50, 60), (20, 50)]), [(10, 60)]);
    }

    /// Observed in Linux 6.18: with five blocks the first is dropped. Data between it and the next extends only the
    /// latter.
    #[test]
    fn a_block_that_was_forgotten_stays_forgotten() {
        let five = [(10, 20), (30, 40), (50, 60), (70, 80), (90, 99)];
        assert_eq!(after(&five), [(90, 99), (70, 80), (50, 60), (30, 40)]);
        let then = [five.as_slice(), &[(20, 30)]].concat();
        assert_eq!(after(&then), [(20, 40), (90, 99), (70, 80), (50, 60)]);
    }
}
