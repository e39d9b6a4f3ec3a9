//! Which segments a receiver counts as full (`rcv_mss`): those as long as the longest one so far, and two of the same
//! length after each other.

/// Linux starts from the smallest MSS that any host may have, because it is easier to find that segments are longer
/// than that they are shorter (`TCP_MIN_RCVMSS`).
const FIRST_GUESS: u16 = 536;

/// The size of a full segment, as a receiver estimates it.
#[derive(Debug)]
pub(crate) struct FullSegment {
    /// `rcv_mss`, in bytes
    bytes: u64,
    /// payload of the last segment if that was short; 0 otherwise (`last_seg_size`)
    last_short: u16,
    /// the smallest payload that may prove to be that of full segments
    least: u16,
}

impl FullSegment {
    /// An estimate before any segment has arrived, from the segments of this host: their payload and the length of
    /// their options, in bytes (`tcp_initialize_rcv_mss`).
    pub(crate) fn new(payload: u16, options: u16) -> Self {
        Self {
            bytes: u64::from(payload.min(FIRST_GUESS)),
            last_short: 0,
            least: FIRST_GUESS - options,
        }
    }

    /// The size of a full segment in bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes a segment. Returns whether it is at least as long as a full one; if not, call [`Self::is_full_after_all`].
    #[inline]
    pub(crate) fn takes(&mut self, payload: u16) -> bool {
        let payload = u64::from(payload);
        let full = payload >= self.bytes;
        if full {
            self.bytes = payload;
            self.last_short = 0;
        }
        full
    }

    /// Whether a short segment is as long as the one before it, so that both are probably full: the path from this peer
    /// may take no longer ones (`tcp_measure_rcv_mss`).
    pub(crate) fn is_full_after_all(&mut self, payload: u16) -> bool {
        let before = std::mem::take(&mut self.last_short);
        if payload < self.least {
            return false;
        }
        self.last_short = payload;
        let is_full = payload == before;
        if is_full {
            self.bytes = u64::from(payload);
        }
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tcp_measure_rcv_mss`: what counts as full after each of these segments.
    #[test]
    fn the_longest_segment_is_full_and_so_are_two_of_one_length() {
        for (options, segments) in [
            (
                0,
                &[
                    (100, 536),
                    (1000, 1000),
                    (700, 1000),
                    (700, 700),
                    (900, 900),
                ][..],
            ),
            // the two must follow each other
            (0, &[(1000, 1000), (700, 1000), (600, 1000), (700, 1000)]),
            (0, &[(1000, 1000), (700, 1000), (1000, 1000), (700, 1000)]),
            // what is shorter than the smallest MSS of any host proves nothing, and its options count with it
            (
                0,
                &[
                    (1000, 1000),
                    (535, 1000),
                    (535, 1000),
                    (536, 1000),
                    (536, 536),
                ],
            ),
            (
                12,
                &[(988, 988), (523, 988), (523, 988), (524, 988), (524, 524)],
            ),
        ] {
            let mut full = FullSegment::new(1460 - options, options);
            for (payload, bytes) in segments {
                let _ = full.takes(*payload) || full.is_full_after_all(*payload);
                assert_eq!(full.bytes(), *bytes, "{payload} of {segments:?}");
            }
        }
    }
}
