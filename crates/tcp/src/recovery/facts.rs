//! Input and output of loss recovery: the facts of one ACK, and the decisions about the episode and the losses.
//! [`super`] describes the whole path.

use fairport_units::{Duration, Instant};

use super::undo::Before;
use crate::decision::DecisionCause;
use crate::scoreboard::Arrived;

/// What an ACK says, once it is on the scoreboard.
// More than 15 fields: one for each fact that an algorithm of recovery asks for, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckFacts {
    pub(crate) now: Instant,
    /// the acknowledgement number, and `SND.UNA` before the ACK
    pub(crate) ack: u64,
    pub(crate) from: u64,
    /// `SND.UNA` moved, by `acked` in the window's unit
    pub(crate) advances: bool,
    pub(crate) acked: u64,
    /// data newly SACKed or acknowledged, in the window's unit
    pub(crate) delivered: u64,
    /// segments newly SACKed or acknowledged
    pub(crate) segments: u32,
    /// the round-trip time, if Karn's rule or a timestamp allows one
    pub(crate) rtt: Option<Duration>,
    /// round-trip times of the lowest and the highest segment that were newly SACKed and sent only once
    pub(crate) sack_rtt: Option<(Duration, Duration)>,
    /// a SACK block reported something new
    pub(crate) newly_sacked: bool,
    /// the ACK acknowledged, SACKed and carried nothing, and did not change the window (RFC 5681 2)
    pub(crate) is_duplicate: bool,
    /// the ACK carries ECE, and the connection uses ECN
    pub(crate) marked: bool,
    /// the first SACK block reports data that arrived twice (RFC 2883)
    pub(crate) dsack: Option<Dsack>,
    /// the timestamp that the ACK echoes
    pub(crate) echoed: Option<u32>,
    /// which transmissions arrived, if that is tracked
    pub(crate) arrived: Option<Arrived>,
    /// no segment that was acknowledged was sent twice
    pub(crate) once: bool,
    /// new data that could be sent, considering the peer's window and the application
    pub(crate) new_data: NewData,
}

impl AckFacts {
    /// The facts of an ACK of which only the number is known.
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

    /// The time since a transmission. New data may be stamped a picosecond after its ACK comes, see
    /// [`crate::scoreboard::Scoreboard::follow_retransmission`].
    #[inline]
    pub(crate) fn since(&self, sent: Instant) -> Duration {
        self.now.saturating_sub(sent)
    }
}

/// New data of the sender. Used in state Loss and for early retransmit only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewData {
    /// the application has written data that was not yet sent
    pub(crate) unsent: bool,
    /// the peer's window has room for some of it
    pub(crate) fits: bool,
}

/// Data that arrived twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dsack {
    /// position where the data ends
    pub(crate) end: u64,
    pub(crate) segments: u32,
    /// the data was sent again, or is acknowledged already
    pub(crate) of_resent: bool,
    /// a segment that was sent again and SACKed arrived late, by this many segments; 0: none did
    pub(crate) late_by: u64,
}

/// What an ACK means for the present episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// segments that a duplicate ACK shows to be delivered
    pub(crate) delivered: u64,
    /// a late segment arrived while a retransmission is in the network: losses are not looked for now
    pub(crate) waits: bool,
    /// an ACK of a late segment undid the recovery before its end, so a mark in it is not acted on
    /// (`tcp_try_undo_partial`)
    pub(crate) ignores_mark: bool,
    /// a tail loss probe repaired a loss, so the window must fall
    pub(crate) probe_repaired: bool,
    pub(crate) change: Change,
    /// RACK's reordering window changed, for this reason
    pub(crate) reordering_window: Option<DecisionCause>,
}

/// How the present episode changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Change {
    /// It continues, or there is none.
    #[default]
    None,
    /// Fast recovery is complete: the window takes its final value.
    Recovered,
    /// The episode is over and the window stays as it is: it followed a timeout, or its reduction was undone before.
    Repaired,
    /// The reduction was needless: the window is `before` again. None if the reduction was undone before, or if a mark
    /// required it.
    Undone {
        before: Option<Before>,
        cause: DecisionCause,
    },
}

/// What the search for losses depends on.
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

/// What the search for losses found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// data newly lost, in the window's unit
    pub(crate) lost: u64,
    /// time until the next segment is overdue, if a segment may be late
    pub(crate) wait: Option<Duration>,
    /// fast recovery must start, for this reason
    pub(crate) enters: Option<DecisionCause>,
}
