//! Loss recovery: what is lost, what to send again and when, and when the window falls for it.
//!
//! One machine: the facts of an ACK go in ([`AckFacts`]), decisions come out ([`Outcome`], [`Detected`]).
//! It works on the marks of the [`Scoreboard`]. How far the window falls is congestion control's matter;
//! the sender applies both. One file per algorithm.
//!
//! A walk, for an ACK:
//! - `Sender::on_ack` (`sender/ack.rs`) puts it on the scoreboard and collects its facts.
//! - [`Recovery::on_ack`] says whether the episode under way goes on, is complete or was needless
//!   ([`undo`], [`frto`]), and whether a tail loss probe repaired a loss ([`tlp`]).
//! - [`Recovery::detect`] looks for losses. RACK marks a segment lost where [`rack::detect`] says
//!   so, in `scoreboard/overdue.rs`; three SACKed segments do in `scoreboard/marks.rs`, at the call of
//!   [`rfc6675`]; three duplicate ACKs do in [`newreno`].
//! - Recovery is entered in `Sender::enter_recovery` (`sender/episode.rs`): there the window falls, at
//!   once, or on each later ACK by [`prr`] or [`rate_halving`] in `Sender::reduce_window_by`.
//! - A timeout enters `Sender::on_timeout` (`sender/timeout.rs`) and [`Recovery::enter_loss`].

mod detect;
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

/// What shows a loss. Static dispatch.
#[derive(Debug)]
enum Detection {
    /// Three duplicate ACKs: without SACK.
    DuplicateAcks(NewReno),
    /// Duplicate ACKs, each taken for a SACKed segment: without SACK, in Linux.
    Emulated(EmulatedSack),
    /// SACKed segments above a hole.
    Sack(Rfc6675),
    /// Time, since a segment that was sent later arrived.
    Rack(Rack),
}

/// The loss recovery of one sender.
#[derive(Debug)]
pub(crate) struct Recovery {
    state: State,
    /// `SND.NXT` when the present or last episode began: it ends when that is acknowledged
    point: u64,
    /// the first lost segment goes out whatever the window says
    retransmit_now: bool,
    limited_transmit: bool,
    early_retransmit: bool,
    /// each ACK says which transmissions arrived: all but the plain algorithms of the RFCs need that
    tracks_deliveries: bool,
    /// RFC 6675 alone: nothing is looked at outside of an episode but new SACK blocks
    looks_at_sacks_only: bool,
    detection: Detection,
    reordering: Reordering,
    undo: Undo,
    probe: Option<TailProbe>,
    reduction: Option<Reduction>,
    frto: Option<Frto>,
    /// segments that duplicate SACKs reported: more than were sent again are not believed
    dsacked: u64,
    /// RACK's reordering window has changed, for this reason
    window_changed: Option<DecisionCause>,
}

impl Recovery {
    /// For a connection with SACK or without; `rtt` is the handshake's.
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
        let probe = (sack && settings.tail_loss_probe)
            .then(|| TailProbe::new(settings.timer_slack_ps, settings.rto_min_ps));
        // a gradual reduction goes by what each ACK delivers
        let reduction = Reduction::new(settings.window_reduction).filter(|_| sack || emulates);
        let frto = ((sack || emulates) && settings.frto).then(Frto::default);
        let extended = settings.rack || settings.fack || settings.undo;
        let tracks_deliveries =
            sack && (extended || probe.is_some() || reduction.is_some() || frto.is_some());
        Self {
            state: State::Open,
            point: isn,
            retransmit_now: false,
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
            window_changed: None,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether each ACK is to say which transmissions arrived.
    #[inline]
    pub(crate) fn tracks_deliveries(&self) -> bool {
        self.tracks_deliveries
    }

    /// Whether an ACK of new data without SACK blocks and without ECE changes nothing here and says nothing:
    /// outside of an episode, where SACK blocks alone show losses. Then [`Self::on_ack`] and [`Self::detect`]
    /// need not be asked.
    #[inline]
    pub(crate) fn is_unconcerned(&self, board: &Scoreboard) -> bool {
        self.state == State::Open && self.looks_at_sacks_only && !board.has_lost()
    }

    /// Whether an ACK of new data without SACK blocks, on a board that is [undisturbed](Scoreboard::is_undisturbed),
    /// says nothing here but how long it took: [`Self::on_delivery`] replaces [`Self::on_ack`] and [`Self::detect`].
    #[inline]
    pub(crate) fn asks_for_times_only(&self) -> bool {
        self.state == State::Open
            && self.tracks_deliveries
            && !self.early_retransmit
            && !self.undo.all_duplicates()
            && self.window_changed.is_none()
            && !self.probe.as_ref().is_some_and(TailProbe::is_out)
    }

    /// What was sent only once, and last of what has arrived, took `rtt`.
    #[inline]
    pub(crate) fn on_delivery(&mut self, now: Instant, rtt: Duration) {
        self.reordering.on_delivery(now, Some(rtt));
        if let Detection::Rack(rack) = &mut self.detection {
            rack.on_delivery(rtt);
        }
    }

    /// Whether SACK blocks are looked at.
    #[inline]
    pub(crate) fn uses_sack(&self) -> bool {
        matches!(self.detection, Detection::Sack(_) | Detection::Rack(_))
    }

    /// Whether the facts of an ACK are to say what new data there is.
    #[inline]
    pub(crate) fn asks_for_new_data(&self) -> bool {
        self.state == State::Loss || self.early_retransmit
    }

    /// Whether a segment that arrived twice counts as delivered, as what leaves the network does
    /// (`tcp_sacktag_write_queue`).
    pub(crate) fn counts_duplicates(&self) -> bool {
        matches!(self.reduction, Some(Reduction::Prr(_)))
    }

    /// Whether the window falls gradually.
    pub(crate) fn reduces_gradually(&self) -> bool {
        self.reduction.is_some()
    }

    /// How often something came late, and by how much.
    pub(crate) fn reordering(&self) -> &Reordering {
        &self.reordering
    }

    /// Segments that came twice, as duplicate SACKs reported.
    pub(crate) fn dsacked(&self) -> u64 {
        self.dsacked
    }

    /// What is estimated to be in the network, in the window's unit. Before recovery each SACKed segment
    /// lets a new one out (RFC 6675 5 step 3.3), and so do the first two duplicate ACKs (RFC 3042), unless limited
    /// transmit is off.
    #[inline]
    pub(crate) fn pipe(&self, board: &Scoreboard) -> u64 {
        if self.state == State::Open && !self.limited_transmit {
            return board.outstanding();
        }
        self.in_flight(board)
    }

    /// `segments` were acknowledged: how many of them are newly delivered. Those that duplicate ACKs
    /// had counted are not, but what fills the hole is.
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

    /// Segments that are SACKed, or that duplicate ACKs are taken for, in the window's unit.
    pub(crate) fn sacked(&self, board: &Scoreboard) -> u64 {
        match &self.detection {
            Detection::Emulated(it) => it.sacked() * board.unit(),
            _ => board.sacked(),
        }
    }

    /// Whether the window grows by the state in which an ACK leaves loss recovery, as in today's Linux
    /// (`tcp_cong_control`); the RFCs' plain algorithms count by the state that it finds.
    #[inline]
    pub(crate) fn grows_last(&self) -> bool {
        self.tracks_deliveries || self.reduction.is_some()
    }

    /// Whether all that was sent before the episode is acknowledged, but nothing above: without SACK
    /// Linux keeps its state until then, since duplicate ACKs may answer retransmissions (RFC 6582 3.2;
    /// `tcp_is_non_sack_preventing_reopen`).
    pub(crate) fn is_held(&self, board: &Scoreboard) -> bool {
        matches!(self.detection, Detection::Emulated(_))
            && self.state != State::Open
            && board.una() == self.point
    }

    /// What is in the network while the window is reduced.
    #[inline]
    pub(crate) fn in_flight(&self, board: &Scoreboard) -> u64 {
        match &self.detection {
            Detection::DuplicateAcks(it) => it.pipe(board),
            Detection::Emulated(it) => it.pipe(board),
            Detection::Sack(_) | Detection::Rack(_) => board.pipe(),
        }
    }

    /// Whether any duplicate ACK came since `SND.UNA` last moved, or anything above is SACKed.
    pub(crate) fn saw_duplicates(&self, board: &Scoreboard) -> bool {
        match &self.detection {
            Detection::DuplicateAcks(it) => it.duplicates() > 0,
            Detection::Emulated(it) => it.sacked() > 0,
            Detection::Sack(_) | Detection::Rack(_) => board.sacked() > 0,
        }
    }

    /// Whether duplicate SACKs of so many more segments are believed, of `retransmits` ever.
    pub(crate) fn believes(&self, segments: u64, retransmits: u64) -> bool {
        self.dsacked + segments <= retransmits
    }
}

/// The window and what goes out.
impl Recovery {
    /// A gradual reduction begins with a window of `cwnd`; false if the window falls at once.
    pub(crate) fn begin_reduction(&mut self, cwnd: u64) -> bool {
        match &mut self.reduction {
            Some(reduction) => {
                reduction.begin(cwnd);
                true
            }
            None => false,
        }
    }

    /// A gradual reduction begins for a mark: there is nothing to take back, and no probe any more
    /// (`tcp_enter_cwr`).
    pub(crate) fn begin_cwr(&mut self, cwnd: u64) {
        self.begin_reduction(cwnd);
        self.undo.forget();
        self.forget_probe();
    }

    /// The window after an ACK, in a gradual reduction; none if it stays.
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

    /// So much went out during a reduction, in the window's unit.
    #[inline]
    pub(crate) fn count_sent(&mut self, amount: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(amount);
        }
    }

    /// A segment was sent again when the timestamp clock showed `stamp`.
    pub(crate) fn on_retransmit(&mut self, stamp: u32) {
        self.undo.on_retransmit(stamp);
    }

    /// The tail loss probe, where there is one.
    #[inline]
    pub(crate) fn probe(&self) -> Option<&TailProbe> {
        self.probe.as_ref()
    }

    /// The same.
    #[inline]
    pub(crate) fn probe_mut(&mut self) -> Option<&mut TailProbe> {
        self.probe.as_mut()
    }

    /// Whether new data goes before what counts as lost (F-RTO).
    #[inline]
    pub(crate) fn prefers_new(&self) -> bool {
        self.frto.as_ref().is_some_and(Frto::prefers_new)
    }

    /// F-RTO could send no new data: if none went out before, lost segments go on.
    pub(crate) fn no_new_data(&mut self, nxt: u64) {
        if nxt == self.point
            && let Some(frto) = &mut self.frto
        {
            frto.give_up();
        }
    }

    /// The lost segment to send again, if `window_open` or if it must not wait for the window
    /// (the first of an episode, RFC 6675 5 step 4.3; on a partial ACK, RFC 6582 3.2 step 3).
    #[inline]
    pub(crate) fn next_lost(&mut self, board: &mut Scoreboard, window_open: bool) -> Option<u64> {
        if self.state == State::Open || !(window_open || self.retransmit_now) {
            return None;
        }
        self.retransmit_now = false;
        board.next_lost()
    }

    /// What else is worth sending again when the window is open and there is no new data to send:
    /// holes that may still be on their way (RFC 6675 4, `NextSeg` rule 3). RACK would mistake the times
    /// of what is not lost.
    pub(crate) fn next_speculative(&self, board: &mut Scoreboard) -> Option<u64> {
        match &self.detection {
            Detection::Sack(_) if self.state == State::Fast => board.next_hole(),
            _ => None,
        }
    }
}
