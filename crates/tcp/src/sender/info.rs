//! What a program may ask a socket for: the sender's state in the form of Linux's `struct tcp_info`.

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::recovery::State;
use crate::report::Events;

/// The phase of loss recovery as Linux names it (`tcp_ca_state`), with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CaState {
    /// Nothing is known to be lost.
    Open = 0,
    /// Duplicate ACKs or SACK blocks arrived, but too few to call anything lost.
    Disorder = 1,
    /// The window is being reduced after a mark of congestion.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// A timeout is being repaired.
    Loss = 4,
}

/// The sender's state in Linux's units: windows and counts in segments. It has the fields of `struct tcp_info` that a
/// script may ask for.
// More than 15 fields: they are those of `struct tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Phase of loss recovery.
    pub ca_state: CaState,
    /// Congestion window in segments.
    pub snd_cwnd: u64,
    /// Slow-start threshold in segments; none before the first loss.
    pub snd_ssthresh: Option<u64>,
    /// Largest payload of a segment that is sent, in bytes.
    pub snd_mss: u16,
    /// Segments sent and not yet acknowledged cumulatively.
    pub unacked: u64,
    /// Segments among `unacked` that are SACKed.
    pub sacked: u64,
    /// Segments among `unacked` that are marked lost.
    pub lost: u64,
    /// Segments among `unacked` that were sent again after they were marked lost.
    pub retrans: u64,
    /// Retransmission timeout, with backoff.
    pub rto: Duration,
    /// How often `rto` was doubled.
    pub backoff: u32,
    /// Smoothed round-trip time; none before the first sample.
    pub rtt: Option<Duration>,
    /// SACKed segments above a hole that make it count as lost: 3, or the largest lateness seen so far, in segments.
    pub reordering: u64,
    /// How often SACK showed that a segment arrived late.
    pub reord_seen: u64,
    /// Retransmissions since the start.
    pub total_retrans: u64,
    /// Segments known to have arrived, including the SYN and the copies that duplicate SACKs reported.
    pub delivered: u64,
    /// Segments among `delivered` that were acknowledged with ECE. Counted if PRR reduces the window.
    pub delivered_ce: u64,
    /// Smallest round-trip time of the last minutes, if losses are repaired with SACK.
    pub min_rtt: Option<Duration>,
}

impl Sender {
    /// See [`Info`].
    pub(crate) fn info(&self) -> Info {
        let window = self.congestion.window();
        // if windows count bytes, a partial segment counts as one
        let segments = |amount: u64| amount.div_ceil(window.unit());
        let ca_state = match self.recovery.state() {
            State::Open if self.is_in_cwr() => CaState::Cwr,
            State::Open if self.recovery.saw_duplicates(&self.board) => CaState::Disorder,
            State::Open => CaState::Open,
            State::Fast => CaState::Recovery,
            State::Loss => CaState::Loss,
        };
        let path = self.recovery.reordering();
        Info {
            ca_state,
            snd_cwnd: segments(window.cwnd),
            snd_ssthresh: (window.ssthresh < u64::MAX).then(|| segments(window.ssthresh)),
            snd_mss: self.stream.payload,
            unacked: segments(self.board.outstanding()),
            sacked: segments(self.recovery.sacked(&self.board)),
            lost: segments(self.board.lost()),
            retrans: segments(self.board.retransmitted()),
            rto: self.rtt.rto(),
            backoff: self.rtt.backoff(),
            rtt: self.rtt.srtt(),
            reordering: path.degree(),
            reord_seen: path.seen(),
            total_retrans: self.counters.retransmits,
            delivered: 1 + self.board.delivered_segments() + self.recovery.dsacked(),
            delivered_ce: self.delivered_ce(),
            min_rtt: Some(path.min_rtt())
                .filter(|it| self.recovery.tracks_deliveries() && *it < Duration::NEVER),
        }
    }

    /// Passes on what congestion control has decided since the last call.
    #[inline]
    pub(crate) fn pass_decisions(&mut self, now: Instant, events: &mut impl Events) {
        if self.congestion.has_decisions() {
            self.congestion.pass_decisions(now, events);
        }
    }

    /// Sets whether a short segment waits while data is unacknowledged.
    pub(crate) fn set_nagle(&mut self, nagle: bool) {
        self.stream.nagle = nagle;
    }
}
