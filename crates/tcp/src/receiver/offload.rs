//! Receive offload: segments that arrive in order and close together are merged, and acknowledged as one.
//!
//! An adapter that moderates its interrupts hands the kernel all packets of some microseconds at once. Linux merges
//! segments of one flow among them into one of up to 64 KB before TCP sees them (`tcp_gro_receive`), so the ACK rules
//! see one large segment. A short segment ends a merge, and so does one that is out of order or whose mark differs. In
//! this model the application gets the data at once; only the ACK waits.

use fairport_units::{Duration, Instant};

use crate::timers::{Timer, Timers};

/// `GRO_LEGACY_MAX_SIZE`: the most bytes that one merge holds.
const MERGE_MAX_BYTES: u64 = 65_536;

/// This endpoint's own timeout and smoothed round-trip time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnRtt {
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
}

/// Data that arrived in order, and what else the ACK policy looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    pub(crate) payload: u16,
    /// bytes received and not yet acknowledged
    pub(crate) unacknowledged: u64,
    /// there is a gap, or this data filled one
    pub(crate) gap: bool,
    /// the receive window in bytes
    pub(crate) window: u64,
    pub(crate) own: OwnRtt,
}

/// The merge in progress at one receiver.
#[derive(Debug)]
pub(crate) struct Merge {
    /// the longest time from the first segment to the end of the merge
    span: Duration,
    bytes: u64,
    last: Option<InOrder>,
}

impl Merge {
    /// None if segments are not merged.
    pub(crate) fn new(span: Duration) -> Option<Box<Self>> {
        (span > Duration::ZERO).then(|| {
            Box::new(Self {
                span,
                bytes: 0,
                last: None,
            })
        })
    }

    /// Adds data that arrived in order; `full`: it is a full segment. Returns whether the merge continues; if not, this
    /// was its last segment.
    pub(crate) fn takes(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        data: &InOrder,
        full: bool,
    ) -> bool {
        if self.last.is_none() {
            timers.set(Timer::ReceiveOffload, now + self.span);
        }
        let payload = u64::from(data.payload);
        self.bytes += payload;
        self.last = Some(*data);
        let goes_on = full && !data.gap && self.bytes + payload <= MERGE_MAX_BYTES;
        if !goes_on {
            self.stop(timers);
        }
        goes_on
    }

    /// Ends the merge. Returns what is known of its last segment, if there was one.
    pub(crate) fn stop(&mut self, timers: &mut Timers) -> Option<InOrder> {
        timers.stop(Timer::ReceiveOffload);
        self.bytes = 0;
        self.last.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_us(20);

    fn data(payload: u16, gap: bool) -> InOrder {
        InOrder {
            payload,
            unacknowledged: u64::from(payload),
            gap,
            window: 65_536,
            own: OwnRtt {
                rto: Duration::from_ms(200),
                srtt: None,
            },
        }
    }

    /// `tcp_gro_receive`: merging continues only with full segments that have no gap between them.
    #[test]
    fn a_short_segment_and_a_gap_end_a_merge() {
        for (gap, full, goes_on) in [
            (false, true, true),
            (false, false, false),
            (true, true, false),
            (true, false, false),
        ] {
            let (mut timers, mut merge) = (Timers::new(Duration::ZERO), Merge::new(SPAN).unwrap());
            let found = merge.takes(&mut timers, Instant::ZERO, &data(1448, gap), full);
            assert_eq!(found, goes_on, "gap {gap}, full {full}");
            assert_eq!(merge.stop(&mut timers).is_some(), goes_on);
        }
    }

    /// 45 segments of 1448 bytes are 65,160: there is no room for a 46th.
    #[test]
    fn a_merge_takes_64_kibibytes() {
        let (mut timers, mut merge) = (Timers::new(Duration::ZERO), Merge::new(SPAN).unwrap());
        for number in 1..=45 {
            let goes_on = merge.takes(&mut timers, Instant::ZERO, &data(1448, false), true);
            assert_eq!(goes_on, number < 45, "segment {number}");
        }
    }

    #[test]
    fn hosts_that_do_not_wait_merge_nothing() {
        assert!(Merge::new(Duration::ZERO).is_none());
    }
}
