//! Support for a congestion control that uses the delivery rate: a report of each ACK, of gaps left by the application,
//! and of sending that starts again.

use fairport_units::{Duration, Instant};

use super::{Agreed, Sender};
use crate::congestion::{AckSample, Start};
use crate::delivery_rate::FlightFacts;
use crate::recovery::AckFacts;

/// The state of the sender before an ACK, and what the ACK shows. All amounts but `una` are in the window's unit.
#[derive(Debug, Default)]
pub(super) struct BeforeAck {
    una: u64,
    sacked: u64,
    /// data that is outstanding and not `SACKed`
    held: u64,
    in_flight: u64,
    /// all data ever marked lost
    lost: u64,
    /// what the ACK itself shows
    delivered: u64,
    rtt: Option<Duration>,
}

impl Sender {
    /// The handshake is complete.
    pub(super) fn begin_rate(&mut self, agreed: Agreed) {
        if self.congestion.wants_rate_samples() {
            self.before_ack = Some(Box::default());
            self.board.measure_rate(self.rtt.srtt());
        }
        self.congestion.on_established(&Start {
            now: agreed.at,
            rtt: self.rtt.srtt(),
            seed: agreed.seed,
            flow: agreed.flow,
            size_bytes: self.stream.size(),
        });
    }

    /// Records the state before an ACK.
    #[inline(never)]
    pub(super) fn note_before_ack(&mut self) {
        self.board.begin_rate();
        let sacked = self.board.sacked();
        let in_flight = self.recovery.pipe(&self.board);
        if let Some(before) = &mut self.before_ack {
            **before = BeforeAck {
                una: self.board.una(),
                sacked,
                held: self.board.outstanding() - sacked,
                in_flight,
                lost: self.board.lost_ever(),
                delivered: 0,
                rtt: None,
            };
        }
    }

    /// Records what an ACK delivers, and the round-trip time of the data delivered last.
    #[inline]
    pub(super) fn note_delivered(&mut self, facts: &AckFacts) {
        if self.before_ack.is_some() {
            self.note_measured(facts);
        }
    }

    #[inline(never)]
    fn note_measured(&mut self, facts: &AckFacts) {
        let held = self.board.outstanding() - self.board.sacked();
        let uncounted = self.recovery.uses_sack() && !self.recovery.tracks_deliveries();
        if let Some(before) = &mut self.before_ack {
            before.delivered = if uncounted {
                before.held - held
            } else {
                facts.delivered
            };
            before.rtt = facts.rtt;
        }
    }

    /// Whether congestion control or the pacer follows every ACK.
    #[inline]
    pub(super) fn follows_acks(&self) -> bool {
        self.before_ack.is_some() || self.policies.pacer.is_some()
    }

    /// An ACK was processed that came while data was outstanding.
    #[inline(never)]
    pub(super) fn after_ack(&mut self, now: Instant) {
        if self.before_ack.is_some() {
            self.report_rate(now);
        }
        self.pace();
    }

    /// Reports the ACK to congestion control, whether it acknowledges anything new or not.
    #[inline(never)]
    fn report_rate(&mut self, now: Instant) {
        let Some(before) = &self.before_ack else {
            return;
        };
        let newly_delivered = before.delivered;
        let advanced = self.board.una() - before.una;
        let in_flight = self.recovery.pipe(&self.board);
        let facts = FlightFacts {
            newly_delivered,
            rtt: before.rtt,
            newly_lost: self.board.lost_ever() - before.lost,
            lost: self.board.lost_ever(),
            lone_short: before.sacked == 0
                && advanced > 0
                && advanced < u64::from(self.stream.payload),
            prior_in_flight: before.in_flight,
            in_flight,
            next_departure: self
                .policies
                .pacer
                .as_ref()
                .map_or(now, |it| it.next_departure()),
        };
        if let Some(rate) = self.board.sample_rate(now, &facts) {
            let ack = AckSample {
                now,
                acked: newly_delivered,
                segments: 0,
                marked: self.marked_of(newly_delivered),
                rtt: None,
                srtt: self.rtt.srtt(),
                una: self.board.una(),
                nxt: self.board.nxt(),
                state: self.recovery.state(),
                limited: true,
            };
            self.congestion.on_rate_sample(&ack, &rate);
        }
        if self.congestion.is_probing_rtt() {
            self.board.limit_rate(in_flight);
        }
    }

    /// A timeout has marked the outstanding data lost (`tcp_set_ca_state` in `tcp_enter_loss`).
    pub(super) fn report_all_lost(&mut self, now: Instant) {
        if let Some(totals) = self.board.rate_totals() {
            self.congestion.on_all_lost(now, totals);
        }
    }

    /// The application writes more: notes whether it had left a gap (`tcp_rate_check_app_limited`).
    pub(super) fn note_gap(&mut self) {
        let board = &self.board;
        let unsent = self.stream.write_end.saturating_sub(board.nxt());
        let in_flight = self.recovery.pipe(board);
        let gap = unsent < u64::from(self.stream.payload)
            && in_flight < self.congestion.window().cwnd
            && board.lost() <= board.retransmitted();
        if gap {
            self.board.limit_rate(in_flight);
        }
    }

    /// A segment is sent: notes whether it is alone in the network after a gap.
    pub(super) fn note_restart(&mut self, now: Instant) {
        if self.board.pipe() <= self.board.unit() && self.board.is_rate_limited() {
            self.congestion.on_resume(now);
        }
    }
}
