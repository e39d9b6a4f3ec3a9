//! What the join learns of one output: how long packets wait there, which of them the ingress captures missed, and
//! how complete the captures are.

use std::collections::VecDeque;

use super::emitted::Completeness;
use super::waiting::Waiting;

/// An output of the switch.
#[derive(Debug)]
pub(super) struct Output {
    /// packets seen going out only, by the time at which they will have come in
    pub(super) missed: VecDeque<Waiting>,
    pub(super) missed_first: u64,
    /// by ingress tap: when the last packet came that was forwarded
    pub(super) last_forwarded_ns: Vec<u64>,
    pub(super) last_delay_ns: u64,
    pub(super) first_joined_ns: Option<u64>,
    /// when its capture saw the last packet
    pub(super) last_ns: u64,
    pub(super) completeness: Completeness,
}

impl Output {
    pub(super) fn new(ingress: u32) -> Self {
        Self {
            missed: VecDeque::new(),
            missed_first: 0,
            last_forwarded_ns: vec![0; ingress as usize],
            last_delay_ns: 0,
            first_joined_ns: None,
            last_ns: 0,
            completeness: Completeness {
                delay_min_ns: u64::MAX,
                ..Completeness::default()
            },
        }
    }

    /// The packet of this number was seen elsewhere, too.
    pub(super) fn take_missed(&mut self, number: u64) -> Waiting {
        let missed = &mut self.missed[(number - self.missed_first) as usize];
        missed.is_gone = true;
        *missed
    }

    /// A packet was seen on both sides.
    pub(super) fn note_joined(&mut self, came_ns: u64, left_ns: u64) {
        let delay_ns = left_ns - came_ns;
        self.last_delay_ns = delay_ns;
        self.first_joined_ns.get_or_insert(came_ns);
        let completeness = &mut self.completeness;
        completeness.delay_min_ns = completeness.delay_min_ns.min(delay_ns);
        completeness.delay_max_ns = completeness.delay_max_ns.max(delay_ns);
    }

    /// Whether its capture does not show what became of a packet that came now.
    pub(super) fn is_open(&self, time_ns: u64) -> bool {
        let is_before = self
            .first_joined_ns
            .is_none_or(|first_ns| time_ns < first_ns);
        is_before || time_ns + self.completeness.delay_max_ns >= self.last_ns
    }
}
