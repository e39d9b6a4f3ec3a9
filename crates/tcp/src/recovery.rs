//! Loss recovery: which segments are lost, what is sent again and when, and when the window falls.
//!
//! It is one state machine: the facts of an ACK go in ([`AckFacts`]), and decisions come out ([`Outcome`],
//! [`Detected`]). It works on the marks of the [`Scoreboard`]. Congestion control decides how far the window falls; the
//! sender applies both. One file per algorithm.
//!
//! The path of an ACK:
//! - `Sender::on_ack` (`sender/ack.rs`) puts it on the scoreboard and collects its facts.
//! - [`Recovery::on_ack`] decides whether the present episode continues, is complete or was needless ([`undo`],
//!   [`frto`]), and whether a tail loss probe repaired a loss ([`tlp`]).
//! - [`Recovery::detect`] looks for losses. RACK's rule is [`rack::detect`], applied in `scoreboard/overdue.rs`. Three
//!   SACKed segments are counted in `scoreboard/marks.rs`, called by [`rfc6675`]; three duplicate ACKs in [`newreno`].
//! - `Sender::enter_recovery` (`sender/episode.rs`) starts recovery. The window falls there at once, or later with each
//!   ACK in `Sender::reduce_window_by`, by [`prr`] or [`rate_halving`].
//! - A timeout goes through `Sender::on_timeout` (`sender/timeout.rs`) and [`Recovery::enter_loss`].

mod detect;
mod duplicates;
mod emulated_sack;
mod episode;
mod facts;
pub(crate) mod frto;
mod newreno;
mod prr;
pub(crate) mod rack;
mod rate_halving;
pub(crate) mod reduction;
mod reordering;
mod resend;
mod rfc6675;
pub(crate) mod tlp;
pub(crate) mod undo;

use fairport_units::{Duration, Instant};

use self::emulated_sack::EmulatedSack;
pub(crate) use self::facts::{AckFacts, Change, Detected, Dsack, Look, NewData, Outcome};
use self::frto::Frto;
use self::newreno::NewReno;
use self::rack::Rack;
use self::reduction::{Reduction, ReductionSample};
use self::reordering::Reordering;
use self::rfc6675::Rfc6675;
use self::tlp::TailProbe;
use self::undo::Undo;
use crate::decision::DecisionCause;
use crate::scoreboard::Scoreboard;
use crate::settings::Settings;

/// The phase of loss recovery (Linux's `ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Fast,
    /// A timeout is being repaired, in slow start.
    Loss,
}

/// How losses are detected. Dispatched statically.
#[derive(Debug)]
enum Detection {
    /// By three duplicate ACKs, without SACK.
    DuplicateAcks(NewReno),
    /// By duplicate ACKs that are each taken for a SACKed segment: Linux without SACK.
    Emulated(EmulatedSack),
    /// By SACKed segments above a hole.
    Sack(Rfc6675),
    /// By the time since a segment that was sent later arrived.
    Rack(Rack),
}

/// The loss recovery of one sender.
// More than 15 fields: one per rule that a stack may have, and the state that these rules share.
#[derive(Debug)]
pub(crate) struct Recovery {
    state: State,
    /// `SND.NXT` when the present or last episode began; an episode ends when this is acknowledged
    point: u64,
    /// the first lost segment is sent again whatever the window allows
    retransmit_now: bool,
    /// the last ACK answered a late segment while a retransmission is in the network: only new data is sent
    waits: bool,
    limited_transmit: bool,
    early_retransmit: bool,
    /// each ACK reports which transmissions arrived; only the plain RFC algorithms do not need this
    tracks_deliveries: bool,
    /// RFC 6675 only: outside of an episode, nothing but new SACK blocks can change anything
    looks_at_sacks_only: bool,
    detection: Detection,
    reordering: Reordering,
    undo: Undo,
    probe: Option<TailProbe>,
    reduction: Option<Reduction>,
    frto: Option<Frto>,
    /// segments that duplicate SACKs reported so far, at most as many as were sent again
    dsacked: u64,
    /// segments that duplicate SACKs reported, whether that was plausible or not
    duplicates: u64,
    /// RACK's reordering window changed, for this reason
    window_changed: Option<DecisionCause>,
}

impl Recovery {
    /// Loss recovery of a connection with or without SACK. `rtt` is the round-trip time that the handshake measured.
    pub(crate) fn new(settings: &Settings, sack: bool, isn: u64, rtt: Option<Duration>) -> Self {
        let emulates = !sack && settings.duplicate_acks_deliver;
        let detection = if emulates {
            Detection::Emulated(EmulatedSack::default())
        } else if !sack {
            Detection::DuplicateAcks(NewReno::new())
        } else if settings.rack {
            Detection::Rack(Rack::default())
        } else {
            Detection::Sack(Rfc6675::new(settings.fack))
        };
        let probe = (sack && settings.tail_loss_probe).then(|| TailProbe::new(settings));
        // a gradual reduction depends on how much each ACK delivers
        let reduction = Reduction::new(settings.window_reduction).filter(|_| sack || emulates);
        let frto = ((sack || emulates) && settings.frto).then(Frto::default);
        let extended = settings.rack || settings.fack || settings.undo;
        let tracks_deliveries =
            sack && (extended || probe.is_some() || reduction.is_some() || frto.is_some());
        Self {
            state: State::Open,
            point: isn,
            retransmit_now: false,
            waits: false,
            limited_transmit: settings.limited_transmit,
            early_retransmit: settings.early_retransmit,
            tracks_deliveries,
            looks_at_sacks_only: sack && !tracks_deliveries && !settings.early_retransmit,
            detection,
            reordering: Reordering::new(rtt),
            undo: Undo::new(settings.undo),
            probe,
            reduction,
            frto,
            dsacked: 0,
            duplicates: 0,
            window_changed: None,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether each ACK must report which transmissions arrived.
    #[inline]
    pub(crate) fn tracks_deliveries(&self) -> bool {
        self.tracks_deliveries
    }

    /// Whether an ACK of new data, without SACK blocks and without ECE, needs no call of [`Self::on_ack`] and
    /// [`Self::detect`]. This is so outside of an episode if only SACK blocks can show losses.
    #[inline]
    pub(crate) fn is_unconcerned(&self, board: &Scoreboard) -> bool {
        self.state == State::Open && self.looks_at_sacks_only && !board.has_lost()
    }

    /// Whether [`Self::on_delivery`] can replace [`Self::on_ack`] and [`Self::detect`] for an ACK of new data without
    /// SACK blocks, on a board that is [undisturbed](Scoreboard::is_undisturbed). Such an ACK only shows a round-trip
    /// time.
    #[inline]
    pub(crate) fn asks_for_times_only(&self) -> bool {
        self.state == State::Open
            && self.tracks_deliveries
            && !self.early_retransmit
            && !self.undo.all_duplicates()
            && self.window_changed.is_none()
            && !self.probe.as_ref().is_some_and(TailProbe::is_out)
    }

    /// Takes in the round-trip time of the last-sent segment that arrived, which was sent only once.
    #[inline]
    pub(crate) fn on_delivery(&mut self, now: Instant, rtt: Duration) {
        self.reordering.on_delivery(now, Some(rtt));
        if let Detection::Rack(rack) = &mut self.detection {
            rack.on_delivery(rtt);
        }
    }

    /// Whether SACK blocks are evaluated.
    #[inline]
    pub(crate) fn uses_sack(&self) -> bool {
        matches!(self.detection, Detection::Sack(_) | Detection::Rack(_))
    }

    /// Whether the facts of an ACK must say what new data there is.
    #[inline]
    pub(crate) fn asks_for_new_data(&self) -> bool {
        self.state == State::Loss || self.early_retransmit
    }

    /// Whether a segment that arrived twice counts as delivered, since it leaves the network
    /// (`tcp_sacktag_write_queue`).
    pub(crate) fn counts_duplicates(&self) -> bool {
        matches!(self.reduction, Some(Reduction::Prr(_)))
    }

    /// Whether the window falls gradually.
    pub(crate) fn reduces_gradually(&self) -> bool {
        self.reduction.is_some()
    }

    /// How often and how much segments arrived late.
    pub(crate) fn reordering(&self) -> &Reordering {
        &self.reordering
    }

    /// Segments that arrived twice, according to duplicate SACKs.
    pub(crate) fn dsacked(&self) -> u64 {
        self.dsacked
    }

    /// Estimate of the data in the network, in the window's unit. Before recovery, each SACKed segment releases a new
    /// one (RFC 6675 5 step 3.3), and so do the first two duplicate ACKs (RFC 3042), unless limited transmit is off.
    #[inline]
    pub(crate) fn pipe(&self, board: &Scoreboard) -> u64 {
        if self.state == State::Open && !self.limited_transmit {
            return board.outstanding();
        }
        self.in_flight(board)
    }

    /// Of `segments` acknowledged, those newly delivered. Segments that duplicate ACKs had counted are not, but the one
    /// that fills the hole is.
    #[inline]
    pub(crate) fn newly_delivered(&mut self, board: &Scoreboard, segments: u32) -> u32 {
        match &mut self.detection {
            Detection::Emulated(it) if segments > 0 => {
                let counted = it.on_acknowledged(board, u64::from(segments));
                if let Some(late_by) = counted.late_by {
                    self.reordering.set_degree(late_by);
                }
                counted.delivered as u32
            }
            _ => segments,
        }
    }

    /// Segments that are SACKed or counted by duplicate ACKs, in the window's unit.
    pub(crate) fn sacked(&self, board: &Scoreboard) -> u64 {
        match &self.detection {
            Detection::Emulated(it) => it.sacked() * board.unit(),
            _ => board.sacked(),
        }
    }

    /// Whether growth depends on the recovery state after the ACK, as in today's Linux (`tcp_cong_control`). The plain
    /// RFC algorithms use the state before it.
    #[inline]
    pub(crate) fn grows_last(&self) -> bool {
        self.tracks_deliveries || self.reduction.is_some()
    }

    /// Whether exactly the data sent before the episode is acknowledged. Without SACK, Linux keeps its state until more
    /// is acknowledged, since duplicate ACKs may answer retransmissions (RFC 6582 3.2;
    /// `tcp_is_non_sack_preventing_reopen`).
    pub(crate) fn is_held(&self, board: &Scoreboard) -> bool {
        matches!(self.detection, Detection::Emulated(_))
            && self.state != State::Open
            && board.una() == self.point
    }

    /// Data in the network while the window is reduced, in the window's unit.
    #[inline]
    pub(crate) fn in_flight(&self, board: &Scoreboard) -> u64 {
        match &self.detection {
            Detection::DuplicateAcks(it) => it.pipe(board),
            Detection::Emulated(it) => it.pipe(board),
            Detection::Sack(_) | Detection::Rack(_) => board.pipe(),
        }
    }

    /// Whether a duplicate ACK arrived since `SND.UNA` last moved, or a segment is SACKed.
    pub(crate) fn saw_duplicates(&self, board: &Scoreboard) -> bool {
        match &self.detection {
            Detection::DuplicateAcks(it) => it.duplicates() > 0,
            Detection::Emulated(it) => it.sacked() > 0,
            Detection::Sack(_) | Detection::Rack(_) => board.sacked() > 0,
        }
    }

    /// Whether a report of `segments` more duplicates is plausible, given all `retransmits` so far. Reports that are not
    /// plausible count as well (`tcp_dsack_seen`).
    pub(crate) fn believes(&mut self, segments: u32, retransmits: u64) -> bool {
        self.duplicates += u64::from(segments);
        self.duplicates <= retransmits
    }
}

/// The window, and what is sent.
impl Recovery {
    /// Begins a gradual reduction from a window of `cwnd`. Returns false if the window falls at once.
    pub(crate) fn begin_reduction(&mut self, cwnd: u64) -> bool {
        match &mut self.reduction {
            Some(reduction) => {
                reduction.begin(cwnd);
                true
            }
            None => false,
        }
    }

    /// Begins a gradual reduction for a mark. There is nothing to undo then, and a probe is given up (`tcp_enter_cwr`).
    pub(crate) fn begin_cwr(&mut self, cwnd: u64) {
        self.begin_reduction(cwnd);
        self.undo.forget();
        self.forget_probe();
    }

    /// The window after an ACK during a gradual reduction; none if it does not change.
    pub(crate) fn reduced_window(&mut self, sample: &ReductionSample) -> Option<u64> {
        self.reduction.as_mut()?.window(sample)
    }

    /// The window at the end of a reduction.
    pub(crate) fn final_window(&self, cwnd: u64, ssthresh: u64) -> u64 {
        match &self.reduction {
            Some(it) => it.end(cwnd, ssthresh),
            None => ssthresh,
        }
    }

    /// Counts data sent during a reduction, in the window's unit.
    #[inline]
    pub(crate) fn count_sent(&mut self, amount: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(amount);
        }
    }

    /// The tail loss probe, if the settings have one.
    #[inline]
    pub(crate) fn probe(&self) -> Option<&TailProbe> {
        self.probe.as_ref()
    }

    /// The tail loss probe, to be changed.
    #[inline]
    pub(crate) fn probe_mut(&mut self) -> Option<&mut TailProbe> {
        self.probe.as_mut()
    }

    /// Whether new data is sent before lost segments (F-RTO).
    #[inline]
    pub(crate) fn prefers_new(&self) -> bool {
        self.frto.as_ref().is_some_and(Frto::prefers_new)
    }

    /// Whether that new data is sent even if Nagle's rule would delay it.
    pub(crate) fn pushes_new(&self) -> bool {
        self.frto.as_ref().is_some_and(Frto::pushes)
    }

    /// F-RTO had no new data to send. If none was sent since the timeout, F-RTO ends and lost segments are sent.
    pub(crate) fn no_new_data(&mut self, nxt: u64) {
        if let Some(frto) = &mut self.frto {
            if nxt == self.point {
                frto.give_up();
            } else {
                frto.obey_nagle();
            }
        }
    }

    /// The pacer waits. Its timer sends lost segments first, even those that F-RTO would send new data before
    /// (`tcp_tsq_write`).
    pub(crate) fn on_pace(&mut self, nxt: u64) {
        self.no_new_data(nxt);
        if let Some(frto) = &mut self.frto {
            frto.lost_first();
        }
    }

    /// The first lost segment waits for the window, too.
    pub(crate) fn obey_window(&mut self) {
        self.retransmit_now = false;
    }
}
