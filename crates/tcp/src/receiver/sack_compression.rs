//! ACKs of out-of-order data that Linux holds back, to send one ACK for several (SACK compression, since 4.18).
//!
//! The first three ACKs above a gap are sent at once, for the peer's fast retransmit. Later ones wait for a timer of a
//! twentieth of the round-trip time, at most 1 ms. The kernel allows this timer to be late by 0.1 ms
//! (`__tcp_ack_snd_check`; `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`).

use fairport_units::{Duration, Instant};

use crate::timers::{Timer, Timers};

/// `TCP_FASTRETRANS_THRESH`: number of ACKs that are sent at once
const PROMPT: u8 = 3;
const DELAY_MAX: Duration = Duration::from_ms(1);
/// The kernel's slack for this timer. The timer is set to the end of it.
const SLACK: Duration = Duration::from_us(100);

/// Which ACKs are held back.
#[derive(Debug)]
pub(crate) struct SackCompression {
    /// largest number of ACKs that are held back; 0: none
    most: u8,
    /// ACKs held back since the last ACK was sent
    held: u8,
    /// position of the gap, and ACKs of data above it that were sent at once
    gap: u64,
    prompt: u8,
}

impl SackCompression {
    pub(crate) fn new(most: u8) -> Self {
        Self {
            most,
            held: 0,
            gap: 0,
            prompt: 0,
        }
    }

    /// Whether to hold back the ACK of data that arrived above the gap at `gap`. A held ACK is sent by the timer of
    /// delayed ACKs, which has no other use while there is a gap.
    #[cold]
    pub(crate) fn holds_back(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        gap: u64,
        srtt: Option<Duration>,
    ) -> bool {
        if self.held >= self.most {
            return false;
        }
        if self.gap != gap {
            self.gap = gap;
            self.prompt = 0;
        }
        if self.prompt < PROMPT {
            self.prompt += 1;
            return false;
        }
        self.held += 1;
        if timers.deadline(Timer::DelayedAck) == Instant::NEVER {
            let delay = srtt.map_or(DELAY_MAX, |srtt| (srtt / 20).min(DELAY_MAX));
            timers.set(Timer::DelayedAck, now + delay + SLACK);
        }
        true
    }

    /// A gap begins at `gap`, and the ACK that reports it is sent at once.
    pub(crate) fn starts_anew(&mut self, gap: u64) {
        self.gap = gap;
        self.prompt = 1;
    }

    /// Whether ACKs are held back.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.held > 0
    }

    /// An ACK was sent, which reports everything held back.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        self.held = 0;
    }

    /// The peer does not use SACK.
    pub(crate) fn turn_off(&mut self) {
        self.most = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(1);

    /// Which of `count` ACKs above a gap are held back.
    fn held(it: &mut SackCompression, timers: &mut Timers, gap: u64, count: usize) -> Vec<bool> {
        let srtt = Some(Duration::from_ms(10));
        (0..count)
            .map(|_| it.holds_back(timers, NOW, gap, srtt))
            .collect()
    }

    #[test]
    fn three_acks_go_at_once_and_up_to_44_more_are_held_back_as_one() {
        let (mut it, mut timers) = (SackCompression::new(44), Timers::new(Duration::ZERO));
        let mut expected = vec![true; 48];
        expected[..3].fill(false);
        expected[47] = false;
        assert_eq!(held(&mut it, &mut timers, 7, 48), expected);
        assert!(it.holds());
        // an ACK that was sent reports everything; above the same gap none is sent at once again
        it.on_sent();
        assert!(!it.holds());
        assert_eq!(held(&mut it, &mut timers, 7, 2), [true, true]);
        // another gap has three prompt ACKs of its own
        assert_eq!(
            held(&mut it, &mut timers, 9, 4),
            [false, false, false, true]
        );
        // a gap that an ACK has already reported has two left
        it.starts_anew(11);
        assert_eq!(held(&mut it, &mut timers, 11, 3), [false, false, true]);
    }

    #[test]
    fn they_wait_for_a_twentieth_of_the_round_trip_or_a_millisecond_and_the_slack() {
        for (srtt, waits_us) in [
            (Some(10), 600),
            (Some(20), 1100),
            (Some(21), 1100),
            (None, 1100),
        ] {
            let (mut it, mut timers) = (SackCompression::new(44), Timers::new(Duration::ZERO));
            held(&mut it, &mut timers, 7, 3);
            assert_eq!(timers.deadline(Timer::DelayedAck), Instant::NEVER);
            assert!(it.holds_back(&mut timers, NOW, 7, srtt.map(Duration::from_ms)));
            let fires = NOW + Duration::from_us(waits_us);
            assert_eq!(timers.deadline(Timer::DelayedAck), fires);
            // the next held ACK does not move the timer
            let later = NOW + Duration::from_us(50);
            assert!(it.holds_back(&mut timers, later, 7, None));
            assert_eq!(timers.deadline(Timer::DelayedAck), fires);
        }
    }

    #[test]
    fn without_sack_nothing_is_held_back() {
        let (mut it, mut timers) = (SackCompression::new(44), Timers::new(Duration::ZERO));
        it.turn_off();
        assert_eq!(held(&mut it, &mut timers, 7, 6), [false; 6]);
        assert!(!it.holds());
    }
}
