//! What the frames that pass show of the hosts' TCP: timeouts, the hosts' times, and round-trip times.

use fairport_record::Table;
use fairport_units::{Duration, Instant};

use crate::answers::AnswerFinder;
use crate::edge::InFlight;
use crate::flows::Direction;
use crate::round_trips::RoundTripFinder;
use crate::timeouts::TimeoutFinder;

/// A finder for each kind of measurement; all know the same flows.
pub(crate) struct Finders {
    pub(crate) timeouts: TimeoutFinder,
    pub(crate) answers: AnswerFinder,
    pub(crate) round_trips: RoundTripFinder,
}

impl Finders {
    /// Finders without frames yet, for `hosts` hosts.
    pub(crate) fn new(hosts: usize) -> Self {
        Self {
            timeouts: TimeoutFinder::default(),
            answers: AnswerFinder::new(hosts),
            round_trips: RoundTripFinder::default(),
        }
    }

    /// Adds the next flow; `silences` are those of [`TimeoutFinder::add_flow`].
    pub(crate) fn add_flow(&mut self, silences: [Option<Duration>; 2]) {
        self.timeouts.add_flow(silences);
        self.answers.add_flow();
        self.round_trips.add_flow();
    }

    /// A packet that is sent in this direction enters the network at `at`.
    pub(crate) fn sent(&mut self, at: Instant, direction: Direction, content: &InFlight) {
        if content.length == 0 {
            return;
        }
        let Direction {
            flow, is_backward, ..
        } = direction;
        let (seq, length) = (content.seq, content.length.into());
        let is_overtaken = !is_backward && self.round_trips.is_overtaken(flow);
        self.timeouts
            .sent(at, direction.number(), seq, length, is_overtaken);
        if !is_backward {
            self.round_trips.sent(at, flow, seq, length);
        }
    }

    /// The tables.
    pub(crate) fn into_tables(self) -> [Table; 3] {
        [
            self.timeouts.into_table(),
            self.answers.into_table(),
            self.round_trips.into_table(),
        ]
    }
}
