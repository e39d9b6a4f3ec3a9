//! ACKs of data out of order that Linux holds back, to send one for several (SACK compression, since 4.18).
//!
//! The first three behind a gap go out at once, for the peer's fast retransmit. The next ones wait for a timer
//! of a twentieth of the round-trip time, at most 1 ms, which the kernel lets be late by 0.1 ms
//! (`__tcp_ack_snd_check`; `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`).

use fairport_units::{Duration, Instant};

use crate::timers::{Timer, Timers};

/// `TCP_FASTRETRANS_THRESH`: so many go out at once
const PROMPT: u8 = 3;
const DELAY_MAX: Duration = Duration::from_ms(1);
/// The timer is programmed for the end of its slack.
const SLACK: Duration = Duration::from_us(100);

/// What is held back.
#[derive(Debug)]
pub(crate) struct SackCompression {
    /// most ACKs that are held back; 0: none
    most: u8,
    /// held back since the last ACK
    held: u8,
    /// the gap's beginning, and ACKs of data behind it that went out at once
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

    /// Whether the ACK of what came behind the gap at `gap` is held back. It goes out with the timer of
    /// delayed ACKs, which nothing else needs while there is a gap.
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

    /// A gap begins at `gap`, and the ACK that says so goes out at once.
    pub(crate) fn starts_anew(&mut self, gap: u64) {
        self.gap = gap;
        self.prompt = 1;
    }

    /// Whether ACKs are held back.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.held > 0
    }

    /// An ACK went out, with all that there is to report.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        self.held = 0;
    }

    /// The peer does not understand SACK.
    pub(crate) fn turn_off(&mut self) {
        self.most = 0;
    }
}
