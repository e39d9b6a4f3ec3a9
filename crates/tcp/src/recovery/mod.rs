//! Loss recovery: what to send again, when, and how much is in the network meanwhile.
//!
//! One file an algorithm. All work on the marks of the [`Scoreboard`]; how far the window goes
//! down is the congestion control's matter.

pub(crate) mod frto;
mod newreno;
mod prr;
pub(crate) mod rack;
mod rate_halving;
pub(crate) mod reduction;
mod sack;
pub(crate) mod tlp;
pub(crate) mod undo;

use self::newreno::NewReno;
use self::sack::Sack;
use crate::scoreboard::Scoreboard;

/// Segments of a flight that cannot cause three duplicate ACKs.
const SMALL_FLIGHT: u64 = 3;

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

/// Static dispatch over the algorithms.
#[derive(Debug)]
enum Algorithm {
    NewReno(NewReno),
    Sack(Sack),
}

/// The recovery of one sender.
#[derive(Debug)]
pub(crate) struct Recovery {
    algorithm: Algorithm,
    state: State,
    /// `SND.NXT` when the present or last episode began: it ends when that is acknowledged
    point: u64,
    /// the first lost segment goes out whatever the window says
    retransmit_now: bool,
}

impl Recovery {
    pub(crate) fn new(sack: bool, limited_transmit: bool, isn: u64) -> Self {
        let algorithm = if sack {
            Algorithm::Sack(Sack::new(limited_transmit))
        } else {
            Algorithm::NewReno(NewReno::new(limited_transmit))
        };
        Self {
            algorithm,
            state: State::Open,
            point: isn,
            retransmit_now: false,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// What is estimated to be in the network, in the window's unit.
    #[inline]
    pub(crate) fn pipe(&self, board: &Scoreboard) -> u64 {
        match &self.algorithm {
            Algorithm::NewReno(it) => it.pipe(self.state, board),
            Algorithm::Sack(it) => it.pipe(self.state, board),
        }
    }

    /// A duplicate ACK came (RFC 5681 2).
    #[inline]
    pub(crate) fn on_duplicate(&mut self, board: &Scoreboard) {
        if let Algorithm::NewReno(it) = &mut self.algorithm {
            it.on_duplicate(self.state, board);
        }
    }

    /// Segments of which duplicate ACKs have told that they left the network, without SACK.
    pub(crate) fn told(&self) -> u64 {
        match &self.algorithm {
            Algorithm::NewReno(it) => it.duplicates(),
            Algorithm::Sack(_) => 0,
        }
    }

    /// Whether any duplicate ACK came since `SND.UNA` last moved, or anything above is SACKed.
    pub(crate) fn saw_duplicates(&self, board: &Scoreboard) -> bool {
        match &self.algorithm {
            Algorithm::NewReno(it) => it.saw_duplicates(),
            Algorithm::Sack(_) => board.sacked() > 0,
        }
    }

    /// Whether a loss shows that is to start fast recovery.
    #[inline]
    pub(crate) fn is_due(&self, board: &Scoreboard) -> bool {
        self.state == State::Open
            && match &self.algorithm {
                Algorithm::NewReno(it) => it.is_due(board, self.point),
                Algorithm::Sack(_) => board.has_lost(),
            }
    }

    /// Whether a small flight shows a loss as far as it can: all of its segments but one are
    /// SACKed, or were counted by duplicate ACKs (RFC 5827 3.2). The first is marked lost then.
    pub(crate) fn is_due_early(&mut self, board: &mut Scoreboard) -> bool {
        let segments = board.segments();
        if self.state != State::Open || !(2..=SMALL_FLIGHT).contains(&segments) {
            return false;
        }
        let seen = match &self.algorithm {
            Algorithm::NewReno(it) if board.una() > self.point => it.duplicates(),
            Algorithm::NewReno(_) => 0,
            Algorithm::Sack(_) => board.sacked_segments(),
        };
        let due = seen + 1 >= segments;
        if due {
            board.mark_head_lost();
        }
        due
    }

    /// Starts fast recovery.
    pub(crate) fn enter_fast(&mut self, board: &mut Scoreboard) {
        self.state = State::Fast;
        self.point = board.nxt();
        self.retransmit_now = true;
        if let Algorithm::NewReno(it) = &mut self.algorithm {
            it.enter(board);
        }
    }

    /// The retransmission timer fired: all that is not SACKed is lost.
    pub(crate) fn enter_loss(&mut self, board: &mut Scoreboard) {
        board.mark_all_lost();
        self.state = State::Loss;
        self.point = board.nxt();
        self.retransmit_now = false;
        if let Algorithm::NewReno(it) = &mut self.algorithm {
            it.reset();
        }
    }

    /// The same, where the scoreboard was marked already.
    pub(crate) fn enter_loss_marked(&mut self, board: &Scoreboard) {
        self.state = State::Loss;
        self.point = board.nxt();
        self.retransmit_now = false;
    }

    /// What was sent when the episode began ends here.
    #[inline]
    pub(crate) fn point(&self) -> u64 {
        self.point
    }

    /// The episode ends where one that it takes over would have.
    pub(crate) fn set_point(&mut self, point: u64) {
        self.point = point;
    }

    /// The episode covers what was sent since it began, too (F-RTO).
    pub(crate) fn extend(&mut self, board: &Scoreboard) {
        self.point = board.nxt();
    }

    /// The episode is over.
    pub(crate) fn reopen(&mut self) {
        self.state = State::Open;
        self.retransmit_now = false;
        if let Algorithm::NewReno(it) = &mut self.algorithm {
            it.reset();
        }
    }

    /// Losses are found by time: holes that may still be on their way are left alone.
    pub(crate) fn rely_on_time(&mut self) {
        if let Algorithm::Sack(it) = &mut self.algorithm {
            it.rely_on_time();
        }
    }

    /// `SND.UNA` moved by `acked`, in the window's unit.
    #[inline]
    pub(crate) fn on_advance(&mut self, board: &mut Scoreboard, acked: u64) {
        let complete = board.una() >= self.point;
        if let Algorithm::NewReno(it) = &mut self.algorithm {
            if self.state == State::Fast && !complete {
                it.on_partial(board, acked);
                self.retransmit_now = true;
            } else {
                it.reset();
            }
        }
        if complete {
            self.state = State::Open;
            self.retransmit_now = false;
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
    /// holes that may still be on their way (RFC 6675 4, `NextSeg` rule 3).
    pub(crate) fn next_speculative(&self, board: &mut Scoreboard) -> Option<u64> {
        match &self.algorithm {
            Algorithm::Sack(it) if self.state == State::Fast && it.speculates() => {
                board.next_hole()
            }
            _ => None,
        }
    }
}
