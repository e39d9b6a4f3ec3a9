//! What is measured of every flow: round-trip times, timeouts, and the octets delivered within
//! the measurement's window; and the news of what arrived and of flows that are over.

use fairport_plan::flow::{Side, Start};
use fairport_tcp::{Counters, Events, Timeout};
use fairport_units::Time;

use crate::results::{Column, Table};
use crate::rtt_histogram::RttHistogram;

/// RTT samples of an interval.
#[derive(Clone, Copy)]
pub(crate) struct RttSummary {
    pub(crate) samples: u64,
    pub(crate) min: Time,
    pub(crate) max: Time,
    sum: Time,
}

impl RttSummary {
    pub(crate) const EMPTY: Self = Self {
        samples: 0,
        min: Time::NEVER,
        max: Time::ZERO,
        sum: Time::ZERO,
    };

    #[inline]
    fn add(&mut self, rtt: Time) {
        self.samples += 1;
        self.min = self.min.min(rtt);
        self.max = self.max.max(rtt);
        self.sum += rtt;
    }

    /// In s; NaN without samples.
    pub(crate) fn min_s(&self) -> f64 {
        if self.samples == 0 {
            f64::NAN
        } else {
            self.min.as_secs_f64()
        }
    }

    /// In s; NaN without samples.
    pub(crate) fn max_s(&self) -> f64 {
        if self.samples == 0 {
            f64::NAN
        } else {
            self.max.as_secs_f64()
        }
    }

    /// In s; NaN without samples.
    pub(crate) fn mean_s(&self) -> f64 {
        self.sum.as_secs_f64() / self.samples as f64
    }
}

/// One flow's record. There may be a million of them: what is large is for some of them only.
pub(crate) struct FlowRecord {
    pub(crate) established_at: Time,
    /// when the last octet of what the sender wrote was delivered
    pub(crate) finished_at: Time,
    /// within the measurement
    pub(crate) rtt: RttSummary,
    /// the same sample by sample; none: the flow is not watched
    pub(crate) histogram: Option<RttHistogram>,
    /// since the last row of the series
    pub(crate) rtt_interval: RttSummary,
    /// delivered when the measurement began
    pub(crate) delivered_before: u64,
    /// delivered when it ended
    pub(crate) delivered_by_end: u64,
    /// ends of the connection that are not finished; none where it is never closed
    open_ends: u8,
    /// the receiver sends, too
    is_two_way: bool,
    /// delivered in all, once the flow is over
    pub(crate) delivered: u64,
    /// what the sender did, once the flow is over
    pub(crate) counters: Counters,
    /// packets sent and received in all, once the flow is over
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl FlowRecord {
    fn new(how: &Start, is_watched: bool) -> Self {
        Self {
            established_at: Time::NEVER,
            finished_at: Time::NEVER,
            rtt: RttSummary::EMPTY,
            histogram: is_watched.then(RttHistogram::new),
            rtt_interval: RttSummary::EMPTY,
            delivered_before: 0,
            delivered_by_end: 0,
            open_ends: if how.persistent { 0 } else { 2 },
            is_two_way: how.request_bytes.is_some(),
            delivered: 0,
            counters: Counters::default(),
            sent: 0,
            received: 0,
        }
    }
}

/// Something about a flow that matters beyond its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// all that this side has written is delivered
    Arrived(u32, Side),
    /// both ends have closed, and all of it is acknowledged
    Over(u32),
}

/// All flows' records, the timeouts, and the window in which is measured.
pub(crate) struct Measurement {
    pub(crate) flows: Vec<FlowRecord>,
    timeouts: Vec<(u32, Timeout)>,
    /// listed flows that are not established
    unestablished: usize,
    /// their number, where the measurement begins when all of them are established
    waits_for: u32,
    /// flows from this number on are not watched sample by sample
    watched: u32,
    /// when the measurement is to begin; [`Time::NEVER`] once it has, and while that is unknown
    pub(crate) begin_at: Time,
    /// when it is to end, likewise
    pub(crate) end_at: Time,
    /// when it began: with the run, until it begins anew
    pub(crate) from: Time,
    /// when it ended
    pub(crate) to: Time,
    /// in order of time, until somebody takes them
    news: Vec<(Time, News)>,
    /// nothing later may happen before somebody has looked here
    pub(crate) stop_at: Time,
}

impl Measurement {
    /// Measures between two times; without `from`, from when the first `listed` flows are all
    /// established. The first `watched` flows are watched sample by sample.
    pub(crate) fn new(listed: u32, watched: u32, from: Option<Time>, to: Option<Time>) -> Self {
        let begin_at = from.unwrap_or(Time::NEVER);
        Self {
            unestablished: listed as usize,
            flows: Vec::new(),
            timeouts: Vec::new(),
            waits_for: if from.is_none() { listed } else { 0 },
            watched,
            begin_at,
            end_at: to.unwrap_or(Time::NEVER),
            from: Time::ZERO,
            to: Time::NEVER,
            news: Vec::new(),
            stop_at: begin_at,
        }
    }

    /// Adds the next flow's record.
    pub(crate) fn add(&mut self, how: &Start) {
        let is_watched = self.flows.len() < self.watched as usize;
        self.flows.push(FlowRecord::new(how, is_watched));
    }

    /// Takes the news; from now on only new ones stop the network.
    pub(crate) fn take_news(&mut self) -> Vec<(Time, News)> {
        self.stop_at = self.begin_at;
        std::mem::take(&mut self.news)
    }

    /// Whether there are news.
    pub(crate) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    #[cold]
    pub(crate) fn tell(&mut self, now: Time, news: News) {
        self.news.push((now, news));
        self.stop_at = self.stop_at.min(now);
    }

    /// Where the endpoint's TCP reports to.
    #[inline]
    pub(crate) fn events(&mut self, endpoint: u32, now: Time) -> FlowEvents<'_> {
        FlowEvents {
            measurement: self,
            flow: endpoint / 2,
            is_sender: endpoint.is_multiple_of(2),
            now,
        }
    }

    /// Notes that all that one side of the flow has written is delivered.
    #[cold]
    pub(crate) fn arrived(&mut self, flow: u32, from: Side, now: Time) {
        if from == Side::Sender {
            self.flows[flow as usize].finished_at = now;
        }
        self.tell(now, News::Arrived(flow, from));
    }

    /// The flow is established; the measurement may wait for that.
    pub(crate) fn established(&mut self, flow: u32, now: Time) {
        let record = &mut self.flows[flow as usize];
        if record.established_at != Time::NEVER {
            return;
        }
        record.established_at = now;
        if flow < self.waits_for {
            self.unestablished -= 1;
            if self.unestablished == 0 {
                self.begin_at = now;
                self.stop_at = self.stop_at.min(now);
            }
        }
    }

    /// Begins the measurement: the octets `delivered` by each flow so far do not count, nor do the
    /// RTTs.
    pub(crate) fn begin(&mut self, now: Time, delivered: &[u64]) {
        self.begin_at = Time::NEVER;
        self.stop_at = Time::NEVER;
        self.from = now;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_before = *delivered;
            flow.rtt = RttSummary::EMPTY;
            if let Some(histogram) = &mut flow.histogram {
                histogram.clear();
            }
        }
    }

    /// Ends the measurement, unless it has ended.
    pub(crate) fn end(&mut self, now: Time, delivered: &[u64]) {
        if self.to != Time::NEVER {
            return;
        }
        self.end_at = Time::NEVER;
        self.to = now;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_by_end = *delivered;
        }
    }

    pub(crate) fn timeouts_table(&self) -> Table {
        let rows = &self.timeouts;
        let timeout = |of: fn(&Timeout) -> Time| Column::seconds(rows.iter().map(|(_, t)| of(t)));
        let number =
            |of: fn(&Timeout) -> u32| Column::U32(rows.iter().map(|(_, t)| of(t)).collect());
        Table {
            name: "timeouts",
            columns: vec![
                (
                    "flow",
                    Column::U32(rows.iter().map(|(flow, _)| *flow).collect()),
                ),
                ("start_s", timeout(|t| t.start)),
                ("end_s", timeout(|t| t.end)),
                ("rto_s", timeout(|t| t.rto)),
                ("backoff", number(|t| t.backoff)),
                (
                    "cause",
                    Column::U8(rows.iter().map(|(_, t)| t.cause as u8).collect()),
                ),
                ("seq", number(|t| t.seq)),
            ],
        }
    }

    pub(crate) fn rtt_table(&self) -> Table {
        let (mut flows, mut rtts, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        for (flow, record) in self.flows.iter().enumerate() {
            for (rtt_s, n) in record.histogram.iter().flat_map(RttHistogram::bins) {
                flows.push(flow as u32);
                rtts.push(rtt_s);
                samples.push(n);
            }
        }
        Table {
            name: "rtt",
            columns: vec![
                ("flow", Column::U32(flows)),
                ("rtt_s", Column::F64(rtts)),
                ("samples", Column::U64(samples)),
            ],
        }
    }
}

/// What one endpoint reports while it handles an event. A flow is seen from its sender; where the
/// receiver sends too, its timeouts count as well.
pub(crate) struct FlowEvents<'a> {
    measurement: &'a mut Measurement,
    flow: u32,
    is_sender: bool,
    now: Time,
}

impl Events for FlowEvents<'_> {
    #[inline]
    fn rtt_sample(&mut self, _now: Time, rtt: Time) {
        if self.is_sender {
            let open = self.measurement.to == Time::NEVER;
            let record = &mut self.measurement.flows[self.flow as usize];
            record.rtt_interval.add(rtt);
            if open {
                record.rtt.add(rtt);
                if let Some(histogram) = &mut record.histogram {
                    histogram.add(rtt);
                }
            }
        }
    }

    fn timeout(&mut self, timeout: Timeout) {
        if self.is_sender || self.measurement.flows[self.flow as usize].is_two_way {
            self.measurement.timeouts.push((self.flow, timeout));
        }
    }

    fn established(&mut self, _now: Time) {
        if self.is_sender {
            self.measurement.established(self.flow, self.now);
        }
    }

    fn finished(&mut self, now: Time) {
        let record = &mut self.measurement.flows[self.flow as usize];
        let Some(left) = record.open_ends.checked_sub(1) else {
            return;
        };
        record.open_ends = left;
        if left == 0 {
            self.measurement.tell(now, News::Over(self.flow));
        }
    }
}
