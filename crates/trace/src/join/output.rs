//! What the join knows about one output: how long packets wait there, which of them the ingress captures missed, and
//! how complete the captures are.

use std::collections::VecDeque;

use super::emitted::Completeness;
use super::waiting::Missed;

/// An output of the switch.
#[derive(Debug)]
pub(super) struct Output {
    /// packets that were only seen going out, in order of the estimated time at which they came in
    pub(super) missed: VecDeque<Missed>,
    pub(super) missed_first: u64,
    /// by ingress tap: when the last forwarded packet came in
    pub(super) last_forwarded_ns: Vec<u64>,
    pub(super) last_delay_ns: u64,
    pub(super) first_joined_ns: Option<u64>,
    /// when the capture of the output saw its last packet
    pub(super) last_ns: u64,
    /// when the first and the last packet came in of those after the last packet of the output
    after_ns: Option<(u64, u64)>,
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
            after_ns: None,
            completeness: Completeness {
                delay_min_ns: u64::MAX,
                ..Completeness::default()
            },
        }
    }

    /// Removes the packet with this number, because it was seen at another tap as well.
    pub(super) fn take_missed(&mut self, number: u64) -> Missed {
        let missed = &mut self.missed[(number - self.missed_first) as usize];
        missed.is_gone = true;
        *missed
    }

    /// Records a packet that was seen on both sides.
    pub(super) fn note_joined(&mut self, came_ns: u64, left_ns: u64) {
        let delay_ns = left_ns - came_ns;
        self.last_delay_ns = delay_ns;
        self.first_joined_ns.get_or_insert(came_ns);
        let completeness = &mut self.completeness;
        completeness.delay_min_ns = completeness.delay_min_ns.min(delay_ns);
        completeness.delay_max_ns = completeness.delay_max_ns.max(delay_ns);
    }

    /// Records a packet without a decision, which came in at `time_ns`.
    pub(super) fn note_open(&mut self, time_ns: u64) {
        self.completeness.open += 1;
        if time_ns > self.last_ns {
            let known = self.after_ns.filter(|(from_ns, _)| *from_ns > self.last_ns);
            self.after_ns = Some((known.map_or(time_ns, |(from_ns, _)| from_ns), time_ns));
        }
    }

    /// How complete the captures are so far.
    pub(super) fn completeness(&self) -> Completeness {
        let known = self.completeness;
        let after_ns = self.after_ns.filter(|(from_ns, _)| *from_ns > self.last_ns);
        let is_over = after_ns.is_some_and(|(from_ns, to_ns)| to_ns - from_ns > known.delay_max_ns);
        Completeness {
            ended_ns: is_over.then_some(self.last_ns),
            ..known
        }
    }

    /// Whether the capture ends too early to show the fate of a packet that came in at `time_ns`.
    pub(super) fn is_open(&self, time_ns: u64) -> bool {
        let is_before = self
            .first_joined_ns
            .is_none_or(|first_ns| time_ns < first_ns);
        is_before || time_ns + self.completeness.delay_max_ns >= self.last_ns
    }
}
