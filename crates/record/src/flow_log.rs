//! Records about flows: round-trip times, timeouts, decisions of the sender, and the data that arrived during the
//! measurement.
//!
//! A flow's goodput is counted by arrival: a byte of new data counts if it arrives at the receiving host during the
//! measurement, even if a hole before it delays its delivery. So bytes that arrived before the measurement do not count
//! when the hole is filled. Goodput can exceed the line's rate only by the first packet, of which only the last bit
//! need arrive during the measurement.

use fairport_tcp::{Decision, Timeout};
use fairport_units::{Duration, Instant};

use crate::column::Table;
use crate::rtt::{RttHistogram, RttSummary, WatchedRtt};
use crate::series::Progress;
use crate::tables::{DecisionRow, Decisions, RttBin, RttBins, TimeoutRow, Timeouts};

/// Maximum number of rows in the table of decisions, which bounds its memory. The first ones are kept.
pub const MOST_DECISIONS: u64 = 1_000_000;

/// The record of one flow. A run may have a million, so the large parts are kept only for watched flows.
pub struct FlowRecord {
    /// when the handshake was complete; [`Instant::NEVER`]: not yet
    pub established_at: Instant,
    /// when the last byte that the sender wrote was delivered; [`Instant::NEVER`]: not yet
    pub finished_at: Instant,
    /// RTT samples of the measurement
    rtt: RttSummary,
    /// none if the flow is not watched
    watched: Option<Box<WatchedRtt>>,
    /// bytes that had arrived when the measurement began
    arrived_before: u64,
    /// bytes that had arrived when the measurement ended
    arrived_by_end: u64,
}

impl FlowRecord {
    fn new(is_watched: bool) -> Self {
        Self {
            established_at: Instant::NEVER,
            finished_at: Instant::NEVER,
            rtt: RttSummary::EMPTY,
            watched: is_watched.then(Box::default),
            arrived_before: 0,
            arrived_by_end: 0,
        }
    }

    /// RTT samples of the measurement.
    pub fn rtt(&self) -> &RttSummary {
        &self.rtt
    }

    /// RTT samples of a watched flow since the last call.
    pub fn take_interval(&mut self) -> RttSummary {
        let watched = self.watched.as_mut();
        watched.map_or(RttSummary::EMPTY, |it| std::mem::take(&mut it.interval))
    }

    /// Adds the record of the same flow in another log, which saw its other end in another region. The bytes at the
    /// beginning and the end of the measurement are not added, because both logs have them for all flows.
    fn absorb(&mut self, other: &Self) {
        self.established_at = self.established_at.min(other.established_at);
        self.finished_at = self.finished_at.min(other.finished_at);
        self.rtt = self.rtt.and(other.rtt);
        if let (Some(own), Some(more)) = (&mut self.watched, &other.watched) {
            own.histogram.absorb(&more.histogram);
        }
    }

    /// New bytes that arrived during the measurement.
    pub fn measured_bytes(&self) -> u64 {
        self.arrived_by_end - self.arrived_before
    }
}

/// The records of all flows, the timeouts, and the bounds of the measurement.
pub struct FlowLog {
    flows: Vec<FlowRecord>,
    timeouts: Timeouts,
    decisions: Decisions,
    decided: u64,
    /// when the last decision that is kept was made
    last_kept: Instant,
    /// flows from this number on have no samples recorded one by one
    watched: u32,
    from: Instant,
    to: Instant,
}

impl FlowLog {
    /// A log without flows yet. Flows with numbers below `watched` are watched.
    pub fn new(watched: u32) -> Self {
        Self {
            flows: Vec::new(),
            timeouts: Timeouts::default(),
            decisions: Decisions::default(),
            decided: 0,
            last_kept: Instant::ZERO,
            watched,
            from: Instant::ZERO,
            to: Instant::NEVER,
        }
    }

    /// Adds the next flow.
    pub fn add_flow(&mut self) {
        let is_watched = self.flows.len() < self.watched as usize;
        self.flows.push(FlowRecord::new(is_watched));
    }

    /// The record of a flow.
    #[inline]
    pub fn flow(&self, flow: u32) -> &FlowRecord {
        &self.flows[flow as usize]
    }

    /// The record of a flow, to be changed.
    #[inline]
    pub fn flow_mut(&mut self, flow: u32) -> &mut FlowRecord {
        &mut self.flows[flow as usize]
    }

    /// When the measurement began: at the start of the run, until [`Self::begin`] is called.
    pub fn from(&self) -> Instant {
        self.from
    }

    /// When the measurement ended; [`Instant::NEVER`]: not yet.
    pub fn to(&self) -> Instant {
        self.to
    }

    /// The sender of a flow measured a round-trip time.
    #[inline]
    pub fn rtt_sample(&mut self, flow: u32, rtt: Duration) {
        let is_measured = self.to == Instant::NEVER;
        let record = &mut self.flows[flow as usize];
        if is_measured {
            record.rtt.add(rtt);
        }
        if let Some(watched) = &mut record.watched {
            watched.interval.add(rtt);
            if is_measured {
                watched.histogram.add(rtt);
            }
        }
    }

    /// The retransmission timer of a flow's sender expired, or that of its receiver (`is_backward`).
    pub fn timeout(&mut self, flow: u32, is_backward: bool, timeout: &Timeout) {
        self.timeouts.push(TimeoutRow {
            flow,
            start_s: timeout.start,
            end_s: timeout.end,
            rto_s: timeout.rto,
            backoff: timeout.backoff,
            cause: timeout.cause as u8,
            seq: timeout.seq,
            is_backward,
        });
    }

    /// The sender of a flow made a decision, which is recorded if the flow is watched.
    pub fn decision(&mut self, now: Instant, flow: u32, decision: &Decision) {
        if flow >= self.watched {
            return;
        }
        self.decided += 1;
        // decisions at one instant are all kept, because they are put in order only at the end
        if self.decided > MOST_DECISIONS && now > self.last_kept {
            return;
        }
        self.last_kept = now;
        self.decisions.push(DecisionRow {
            time_s: now,
            flow,
            what: decision.what as u8,
            cause: decision.cause as u8,
            cwnd_before_bytes: decision.cwnd_before_bytes,
            cwnd_after_bytes: decision.cwnd_after_bytes,
            ssthresh_bytes: Some(decision.ssthresh_bytes),
        });
    }

    /// Number of decisions for which there was no room.
    pub fn decisions_left_out(&self) -> u64 {
        self.decided.saturating_sub(MOST_DECISIONS)
    }

    /// Begins the measurement, unless it has ended. Data that has arrived so far, which `progress` gives by flow, does
    /// not count, nor do earlier RTT samples.
    pub fn begin(&mut self, now: Instant, progress: impl Iterator<Item = Progress>) {
        if self.to != Instant::NEVER {
            return;
        }
        self.from = now;
        for (flow, progress) in self.flows.iter_mut().zip(progress) {
            flow.arrived_before = progress.arrived_bytes;
            flow.rtt = RttSummary::EMPTY;
            if let Some(watched) = &mut flow.watched {
                watched.histogram.clear();
            }
        }
    }

    /// Ends the measurement, unless it has ended.
    pub fn end(&mut self, now: Instant, progress: impl Iterator<Item = Progress>) {
        if self.to != Instant::NEVER {
            return;
        }
        self.to = now;
        for (flow, progress) in self.flows.iter_mut().zip(progress) {
            flow.arrived_by_end = progress.arrived_bytes;
        }
    }

    /// Adds another log of the same flows, which was kept in another region. Both have begun and ended their
    /// measurement at the same instants.
    pub fn absorb(&mut self, other: Self) {
        self.decided += other.decided;
        self.timeouts.append(other.timeouts);
        self.decisions.append(other.decisions);
        for (own, more) in self.flows.iter_mut().zip(other.flows) {
            own.absorb(&more);
        }
    }

    /// The tables of timeouts, of decisions and of RTT samples.
    pub fn into_tables(self) -> [Table; 3] {
        let mut bins = RttBins::default();
        for (flow, record) in (0..).zip(&self.flows) {
            let histogram = record.watched.iter().map(|it| &it.histogram);
            for (rtt_s, samples) in histogram.flat_map(RttHistogram::bins) {
                bins.push(RttBin {
                    flow,
                    rtt_s,
                    samples,
                });
            }
        }
        let mut decisions = self.decisions.into_table();
        decisions.truncate(MOST_DECISIONS as usize);
        [self.timeouts.into_table(), decisions, bins.into_table()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use fairport_tcp::{DecisionCause, DecisionKind};

    const MARKED: Decision = Decision {
        what: DecisionKind::EcnReduction,
        cause: DecisionCause::Mark,
        cwnd_before_bytes: 20_000,
        cwnd_after_bytes: 10_000,
        ssthresh_bytes: u64::MAX,
    };

    fn progress(delivered_bytes: u64, arrived_bytes: u64) -> Progress {
        Progress {
            delivered_bytes,
            arrived_bytes,
        }
    }

    #[test]
    fn what_arrived_before_the_measurement_does_not_count_when_its_hole_is_filled() {
        let mut log = FlowLog::new(0);
        log.add_flow();
        // 5000 B wait behind a hole when the measurement begins; the hole of 1460 B is filled during it
        log.begin(Instant::from_ms(1), [progress(10_000, 15_000)].into_iter());
        log.end(Instant::from_ms(2), [progress(16_460, 16_460)].into_iter());
        assert_eq!(log.flow(0).measured_bytes(), 1460);
        assert_eq!(
            (log.from(), log.to()),
            (Instant::from_ms(1), Instant::from_ms(2))
        );
    }

    #[test]
    fn a_measurement_that_has_ended_does_not_begin_anew() {
        let mut log = FlowLog::new(0);
        log.add_flow();
        log.end(Instant::from_ms(2), [progress(5000, 5000)].into_iter());
        log.begin(Instant::from_ms(3), [progress(9000, 9000)].into_iter());
        assert_eq!((log.from(), log.to()), (Instant::ZERO, Instant::from_ms(2)));
        assert_eq!(log.flow(0).measured_bytes(), 5000);
    }

    #[test]
    fn the_record_of_a_flow_whose_ends_are_in_two_regions_is_the_sum_of_both() {
        let [mut sender, mut receiver] = [true, true].map(FlowRecord::new);
        sender.established_at = Instant::from_ms(3);
        receiver.established_at = Instant::from_ms(2);
        receiver.finished_at = Instant::from_ms(9);
        receiver.arrived_before = 7;
        for (end, ms) in [(&mut sender, 4), (&mut receiver, 6)] {
            end.rtt.add(Duration::from_ms(ms));
            let watched = end.watched.as_mut().expect("the flow is watched");
            watched.histogram.add(Duration::from_ms(ms));
        }
        sender.absorb(&receiver);
        assert_eq!(sender.established_at, Instant::from_ms(2));
        assert_eq!(sender.finished_at, Instant::from_ms(9));
        assert!((sender.rtt().mean_s() - 0.005).abs() < 1e-12);
        assert_eq!(
            sender
                .watched
                .expect("the flow is watched")
                .histogram
                .bins()
                .count(),
            2
        );
        assert_eq!(sender.arrived_before, 0);
    }

    #[test]
    fn decisions_are_recorded_of_watched_flows() {
        let mut log = FlowLog::new(1);
        for flow in [0, 1] {
            log.add_flow();
            log.decision(Instant::from_ms(5), flow, &MARKED);
        }
        let [_, decisions, _] = log.into_tables();
        assert_eq!(decisions.rows(), 1);
        let cause = Column::U8(vec![DecisionCause::Mark as u8]);
        assert_eq!(decisions.column("cause"), Some(&cause));
        let none = Column::U64(vec![u64::MAX]);
        assert_eq!(decisions.column("ssthresh_bytes"), Some(&none));
    }

    #[test]
    fn logs_of_two_regions_are_one() {
        let [mut one, mut other] = [FlowLog::new(1), FlowLog::new(1)];
        for (log, ms) in [(&mut one, 5), (&mut other, 6)] {
            log.add_flow();
            log.decision(Instant::from_ms(ms), 0, &MARKED);
            log.rtt_sample(0, Duration::from_ms(ms));
        }
        one.absorb(other);
        let [_, decisions, samples] = one.into_tables();
        assert_eq!((decisions.rows(), samples.rows()), (2, 2));
    }

    #[test]
    fn the_first_decisions_are_recorded_and_the_others_counted() {
        let mut log = FlowLog::new(1);
        log.add_flow();
        for time_ps in 0..MOST_DECISIONS + 3 {
            log.decision(Instant::from_ps(time_ps), 0, &MARKED);
        }
        assert_eq!(log.decisions_left_out(), 3);
        let [_, decisions, _] = log.into_tables();
        assert_eq!(decisions.rows() as u64, MOST_DECISIONS);
    }

    #[test]
    fn samples_of_the_measurement_are_those_between_its_begin_and_its_end() {
        let mut log = FlowLog::new(1);
        log.add_flow();
        let none = || [Progress::default()].into_iter();
        log.rtt_sample(0, Duration::from_ms(1));
        log.begin(Instant::from_ms(1), none());
        log.rtt_sample(0, Duration::from_ms(4));
        log.end(Instant::from_ms(2), none());
        log.rtt_sample(0, Duration::from_ms(9));
        let record = log.flow_mut(0);
        assert_eq!((record.rtt().min_s(), record.rtt().max_s()), (0.004, 0.004));
        let interval = record.take_interval();
        assert_eq!((interval.min_s(), interval.max_s()), (0.001, 0.009));
        let [.., rtt] = log.into_tables();
        assert_eq!(rtt.rows(), 1);
    }
}
