//! The sender's answers to [`crate::info`].

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::info::{CaState, Info};
use crate::recovery::State;
use crate::report::Events;

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
