//! Segmentation offload: a sender hands its host bursts, which the network adapter cuts into segments and sends back to
//! back.
//!
//! The length of a burst is Linux's `tcp_tso_autosize` (5.18 and later): the data that leaves in 1/1024 s at the pacing
//! rate, plus 64 KB halved for each 512 us of the shortest round-trip time; at least two segments and at most 64 KB. If
//! the windows allow less than that, the sender waits for more, as in `tcp_tso_should_defer`. It does not wait if they
//! allow a third of the window or all data that is left, if the next ACK is more than half a round trip away, or if
//! nothing was sent for a millisecond. So ACKs release bursts, not segments.

use fairport_units::{Duration, Instant};

/// `sk_gso_max_size`: 64 KB less the longest header.
const BURST_MAX_BYTES: u64 = 65_536 - 321;

/// `tcp_tso_rtt_log` = 9: microseconds of round trip by which the allowance for near peers halves.
const RTT_SHIFT: u32 = 9;

/// `tcp_min_tso_segs`
const SEGMENTS_MIN: u64 = 2;

/// `tcp_tso_win_divisor`
const WINDOW_SHARE: u64 = 3;

/// How long after its last transmission a sender may wait for a larger burst.
const RECENT: Duration = Duration::from_ms(1);

/// What the sender could send now, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// bytes that both windows allow
    pub(crate) room: u64,
    /// the smaller of the two windows, in bytes
    pub(crate) window: u64,
    /// bytes that the application has written and that were not yet sent
    pub(crate) unsent: u64,
    /// payload of a full segment, in bytes
    pub(crate) segment: u64,
    /// bytes that leave in 1/1024 s at the pacing rate
    pub(crate) paced: u64,
    pub(crate) rtt_min: Option<Duration>,
    pub(crate) srtt: Option<Duration>,
    /// when the oldest outstanding segment was sent
    pub(crate) head_sent: Option<Instant>,
    /// losses are being repaired: the sender does not wait
    pub(crate) recovers: bool,
}

impl Offer {
    /// Length of a full burst in bytes, in whole segments.
    pub(crate) fn burst(&self) -> u64 {
        let halvings = self
            .rtt_min
            .map_or(0, |rtt| (rtt.as_ps() / 1_000_000) >> RTT_SHIFT);
        let near = BURST_MAX_BYTES
            .checked_shr(halvings.min(64) as u32)
            .unwrap_or(0);
        let bytes = self.paced.saturating_add(near).min(BURST_MAX_BYTES);
        (bytes / self.segment).max(SEGMENTS_MIN) * self.segment
    }
}

/// The bursts of one sender.
#[derive(Debug, Default)]
pub(crate) struct Offload {
    /// bytes left in the present burst
    left: u64,
    /// the next segment starts a burst
    fresh: bool,
    /// the last segment continued a burst
    follows: bool,
    sent_at: Instant,
}

impl Offload {
    /// Whether a burst is under way.
    #[inline]
    pub(crate) fn is_amid(&self) -> bool {
        self.left > 0 && !self.fresh
    }

    /// Whether the sender continues its burst or starts one; if not, it waits for more room.
    pub(crate) fn sends(&mut self, now: Instant, offer: &Offer) -> bool {
        if self.left > 0 {
            return true;
        }
        let burst = offer.burst();
        if self.is_worth(now, offer, burst) {
            self.left = burst.min(offer.room).max(1);
            self.fresh = true;
        }
        self.left > 0
    }

    fn is_worth(&self, now: Instant, offer: &Offer, burst: u64) -> bool {
        let room = offer.room;
        if offer.recovers
            || room >= burst
            || room >= offer.unsent
            || room >= offer.window / WINDOW_SHARE
        {
            return true;
        }
        let (Some(head_sent), Some(srtt)) = (offer.head_sent, offer.srtt) else {
            return true;
        };
        now.saturating_sub(head_sent) < srtt / 2 || now.saturating_sub(self.sent_at) > RECENT
    }

    /// A new segment with `bytes` of data was sent.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.follows = !self.fresh && self.left > 0;
        self.fresh = false;
        self.left = self.left.saturating_sub(bytes);
        self.sent_at = now;
    }

    /// Ends the burst: something else was sent, or nothing is left to send.
    pub(crate) fn end(&mut self) {
        *self = Self {
            sent_at: self.sent_at,
            ..Self::default()
        };
    }

    /// Whether the segment sent last continues the burst of the one before.
    #[inline]
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer {
        room: 0,
        window: 144_800,
        unsent: u64::MAX,
        segment: 1448,
        paced: 0,
        rtt_min: Some(Duration::from_ms(10)),
        srtt: Some(Duration::from_ms(10)),
        head_sent: Some(Instant::ZERO),
        recovers: false,
    };

    #[test]
    fn a_burst_is_two_segments_a_millisecond_of_the_rate_or_64_kb_for_a_near_peer() {
        assert_eq!(OFFER.burst(), 2 * 1448);
        let fast = Offer {
            paced: 20_000,
            ..OFFER
        };
        assert_eq!(fast.burst(), 13 * 1448);
        // below 512 us all of the 64 KB, then half of it
        for (us, segments) in [(100, 45), (511, 45), (512, 22), (1024, 11)] {
            let rtt_min = Some(Duration::from_us(us));
            assert_eq!(
                Offer { rtt_min, ..OFFER }.burst(),
                segments * 1448,
                "{us} us"
            );
        }
    }

    #[test]
    fn a_burst_leaves_room_for_the_longest_header_in_64_kb() {
        let (segment, rtt_min) = (1, Some(Duration::ZERO));
        let offer = Offer {
            segment,
            rtt_min,
            ..OFFER
        };
        assert_eq!(offer.burst(), 65_215);
    }

    #[test]
    fn less_than_a_burst_waits_for_a_third_of_the_window() {
        let near = Offer {
            rtt_min: Some(Duration::from_us(100)),
            ..OFFER
        };
        // the oldest segment was sent long ago, the last one just now
        let now = Instant::from_ms(8);
        let sends = |room| {
            let mut it = Offload {
                sent_at: now,
                ..Offload::default()
            };
            it.sends(now, &Offer { room, ..near })
        };
        assert!(!sends(33 * 1448));
        assert!(sends(34 * 1448));
    }

    #[test]
    fn nothing_waits_without_an_ack_to_wait_for() {
        let mut it = Offload::default();
        let room = 1448;
        let now = Instant::from_us(500);
        assert!(it.sends(
            now,
            &Offer {
                room,
                head_sent: None,
                ..OFFER
            }
        ));
        it.on_sent(now, 1448);
        // the next ACK is half a round trip away and more
        assert!(it.sends(now, &Offer { room, ..OFFER }));
        it.on_sent(now, 1448);
        let now = Instant::from_ms(6);
        it.sent_at = now;
        assert!(!it.sends(now, &Offer { room, ..OFFER }));
        // nothing was sent for a millisecond
        assert!(it.sends(Instant::from_us(7001), &Offer { room, ..OFFER }));
    }

    /// `tcp_tso_should_defer`: each reason not to wait is enough alone.
    #[test]
    fn a_sender_waits_only_if_nothing_speaks_against_it() {
        // a burst of two segments, a window of 100, half a round trip of 5 ms
        let now = Instant::from_ms(8);
        let waits = |offer: Offer, sent_at: Instant| {
            let mut it = Offload {
                sent_at,
                ..Offload::default()
            };
            !it.sends(now, &offer)
        };
        let short = Offer {
            room: 1448,
            head_sent: Some(Instant::from_ms(2)),
            ..OFFER
        };
        assert!(waits(short, now));
        // losses are repaired; all data fits; a third of a small window is there
        let recovers = true;
        assert!(!waits(Offer { recovers, ..short }, now));
        for (unsent, waiting) in [(1447, false), (1448, false), (1449, true)] {
            assert_eq!(waits(Offer { unsent, ..short }, now), waiting);
        }
        for (window, waiting) in [(3 * 1448, false), (3 * 1449 - 1, false), (3 * 1449, true)] {
            assert_eq!(waits(Offer { window, ..short }, now), waiting);
        }
        for (room, waiting) in [(2 * 1448 - 1, true), (2 * 1448, false)] {
            assert_eq!(waits(Offer { room, ..short }, now), waiting);
        }
        // the ACK of what was sent 5 ms ago is half a round trip away
        for (ago_us, waiting) in [(4999, false), (5000, true), (5001, true)] {
            let head_sent = Some(now.earlier_by(Duration::from_us(ago_us)));
            assert_eq!(waits(Offer { head_sent, ..short }, now), waiting);
        }
        // no more than a millisecond has passed since the last transmission, and then more
        for (ago_us, waiting) in [(999, true), (1000, true), (1001, false)] {
            let sent_at = now.earlier_by(Duration::from_us(ago_us));
            assert_eq!(waits(short, sent_at), waiting);
        }
        assert!(!waits(
            Offer {
                srtt: None,
                ..short
            },
            now
        ));
        let head_sent = None;
        assert!(!waits(Offer { head_sent, ..short }, now));
    }

    #[test]
    fn a_burst_is_under_way_from_its_first_segment_to_its_last() {
        let mut it = Offload::default();
        let offer = Offer {
            room: 2 * 1448,
            ..OFFER
        };
        assert!(!it.is_amid());
        assert!(it.sends(Instant::ZERO, &offer) && !it.is_amid());
        it.on_sent(Instant::ZERO, 1448);
        assert!(it.is_amid() && !it.follows());
        it.on_sent(Instant::ZERO, 1448);
        assert!(!it.is_amid() && it.follows());
        // a segment sent outside a burst continues none
        it.on_sent(Instant::ZERO, 1448);
        assert!(!it.is_amid() && !it.follows());
        // something else ends the burst
        assert!(it.sends(Instant::ZERO, &offer));
        it.on_sent(Instant::ZERO, 1448);
        it.end();
        assert!(!it.is_amid());
    }

    #[test]
    fn the_first_segment_begins_a_burst_and_the_others_follow() {
        let mut it = Offload::default();
        let offer = Offer {
            room: 3 * 1448,
            recovers: true,
            paced: 10_000,
            ..OFFER
        };
        let mut follows = Vec::new();
        for _ in 0..3 {
            assert!(it.sends(Instant::ZERO, &offer));
            it.on_sent(Instant::ZERO, 1448);
            follows.push(it.follows());
        }
        assert_eq!(follows, [false, true, true]);
        assert!(!it.is_amid());
    }
}
