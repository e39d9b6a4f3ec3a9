//! Receive offload: what comes in order and close together is merged, and acknowledged as one.
//!
//! An adapter that moderates its interrupts hands the kernel what came within some microseconds of the
//! first segment, and Linux merges segments of one flow among it into one of up to 64 KB before TCP sees
//! them (`tcp_gro_receive`). So the rules for ACKs see one large segment. A short segment ends a merge, and so
//! does what is out of order or marked otherwise. Here the application has the data at once; only the
//! ACK waits.

use fairport_units::{Duration, Instant};

use crate::timers::{Timer, Timers};

/// `GRO_LEGACY_MAX_SIZE`, what one merge takes.
const MERGE_MAX_BYTES: u64 = 65_536;

/// Data that came in order, and what the ACK policy looks at besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    pub(crate) payload: u16,
    /// received and not acknowledged yet, in bytes
    pub(crate) unacknowledged: u64,
    /// there is or was a gap
    pub(crate) gap: bool,
    /// the receive window in bytes
    pub(crate) window: u64,
    /// this endpoint's own timeout and smoothed round-trip time
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
}

/// The merge that is under way at one receiver.
#[derive(Debug)]
pub(crate) struct Merge {
    /// from the first segment to the end
    span: Duration,
    bytes: u64,
    last: Option<InOrder>,
}

impl Merge {
    /// None where segments are not merged.
    pub(crate) fn new(span: Duration) -> Option<Box<Self>> {
        (span > Duration::ZERO).then(|| {
            Box::new(Self {
                span,
                bytes: 0,
                last: None,
            })
        })
    }

    /// Data came in order, of full segments or shorter. Whether the merge goes on; if not, this
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

    /// The merge is over; what is known of its last segment, if there was one.
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
            rto: Duration::from_ms(200),
            srtt: None,
        }
    }

    /// `tcp_gro_receive`: only full segments without a gap between them go on being merged.
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
