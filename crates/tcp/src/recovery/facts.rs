//! What goes into loss recovery and what comes out of it: the facts of one ACK, and decisions about the
//! episode and the losses. [`super`] describes the walk.

use fairport_units::{Duration, Instant};

use super::undo::Before;
use crate::decision::DecisionCause;
use crate::scoreboard::Arrived;

/// What an ACK says, once the scoreboard has taken it in.
// More than 15 fields: one for each fact that an algorithm of recovery asks for, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckFacts {
    pub(crate) now: Instant,
    /// the acknowledgement number, and `SND.UNA` before
    pub(crate) ack: u64,
    pub(crate) from: u64,
    /// `SND.UNA` moved, by `acked` in the window's unit
    pub(crate) advances: bool,
    pub(crate) acked: u64,
    /// newly SACKed or acknowledged, in the window's unit
    pub(crate) delivered: u64,
    /// segments newly SACKed or acknowledged
    pub(crate) segments: u32,
    /// the round-trip time, where Karn's rule or a timestamp allows one
    pub(crate) rtt: Option<Duration>,
    /// round-trip times of the lowest and of the highest segment that it newly SACKs and that was sent once
    pub(crate) sack_rtt: Option<(Duration, Duration)>,
    /// a SACK block reported something new
    pub(crate) newly_sacked: bool,
    /// it acknowledged, SACKed and carried nothing, and changed no window (RFC 5681 2)
    pub(crate) is_duplicate: bool,
    /// it carries ECE, on a connection with ECN
    pub(crate) marked: bool,
    /// its first SACK block reports data that arrived twice (RFC 2883)
    pub(crate) dsack: Option<Dsack>,
    /// the timestamp that it echoes
    pub(crate) echoed: Option<u32>,
    /// which transmissions arrived, where that is tracked
    pub(crate) arrived: Option<Arrived>,
    /// nothing that it acknowledged was sent twice
    pub(crate) once: bool,
    /// new data could go out, as far as the peer's window and the application are concerned
    pub(crate) new_data: NewData,
}

impl AckFacts {
    /// Nothing but the number is known yet.
    #[inline]
    pub(crate) fn new(now: Instant, from: u64, ack: u64) -> Self {
        Self {
            now,
            ack,
            from,
            advances: ack > from,
            ..Self::default()
        }
    }
}

/// New data that the sender has. Looked at in state Loss and for early retransmit only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewData {
    /// the application has written more than was sent
    pub(crate) unsent: bool,
    /// the peer's window takes some of it
    pub(crate) fits: bool,
}

/// Data that arrived twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dsack {
    /// where it ends
    pub(crate) end: u64,
    pub(crate) segments: u32,
    /// a segment that was sent again and SACKed arrived so many segments late; 0: it is none
    pub(crate) late_by: u64,
}

/// What an ACK means for the episode under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// segments that a duplicate ACK counts as delivered
    pub(crate) delivered: u64,
    /// what was late arrived, while a retransmission is still out: no losses are looked for
    pub(crate) waits: bool,
    /// a tail loss probe repaired a loss: the window falls for it
    pub(crate) probe_repaired: bool,
    pub(crate) change: Change,
    /// RACK's reordering window has changed, for this reason
    pub(crate) reordering_window: Option<DecisionCause>,
}

/// How the episode under way changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Change {
    /// It goes on, or there is none.
    #[default]
    None,
    /// Fast recovery is complete: the window takes its final value.
    Recovered,
    /// The episode is over, and the window stays as it is: after a timeout, or where the reduction was
    /// taken back already.
    Repaired,
    /// The reduction was needless: the window is `before` again, unless it was taken back already
    /// or was called for by a mark.
    Undone {
        before: Option<Before>,
        cause: DecisionCause,
    },
}

/// What losses are looked for by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) now: Instant,
    /// the smoothed round-trip time
    pub(crate) srtt: Option<Duration>,
    /// a SACK block reported something new
    pub(crate) newly_sacked: bool,
    /// `SND.UNA` moved
    pub(crate) advances: bool,
    /// there is no new data to send
    pub(crate) idle: bool,
}

/// What was found when losses were looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// newly lost, in the window's unit
    pub(crate) lost: u64,
    /// how long until the next segment is overdue, if one may be late
    pub(crate) wait: Option<Duration>,
    /// fast recovery is to start, for this reason
    pub(crate) enters: Option<DecisionCause>,
}
