//! What is measured of every flow: round-trip times, timeouts, and the octets delivered within
//! the measurement's window.

use fairport_tcp::{Events, Timeout};
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

/// One flow's record.
pub(crate) struct FlowRecord {
    pub(crate) established_at: Time,
    /// octets after which the flow is complete; `u64::MAX` for an endless one
    size_bytes: u64,
    /// when the last of them was delivered
    pub(crate) finished_at: Time,
    /// within the measurement
    pub(crate) rtt: RttSummary,
    pub(crate) histogram: RttHistogram,
    /// since the last row of the series
    pub(crate) rtt_interval: RttSummary,
    /// delivered when the measurement began
    pub(crate) delivered_before: u64,
    /// delivered when it ended
    pub(crate) delivered_by_end: u64,
}

impl FlowRecord {
    fn new(size_bytes: Option<u64>) -> Self {
        Self {
            established_at: Time::NEVER,
            size_bytes: size_bytes.unwrap_or(u64::MAX),
            finished_at: Time::NEVER,
            rtt: RttSummary::EMPTY,
            histogram: RttHistogram::new(),
            rtt_interval: RttSummary::EMPTY,
            delivered_before: 0,
            delivered_by_end: 0,
        }
    }
}

/// All flows' records, the timeouts, and the window in which is measured.
pub(crate) struct Measurement {
    pub(crate) flows: Vec<FlowRecord>,
    timeouts: Vec<(u32, Timeout)>,
    unestablished: usize,
    /// whether the measurement begins when all flows are established
    waits_for_all: bool,
    /// when the measurement is to begin; [`Time::NEVER`] once it has, and while that is unknown
    pub(crate) begin_at: Time,
    /// when it is to end, likewise
    pub(crate) end_at: Time,
    /// when it began: with the run, until it begins anew
    pub(crate) from: Time,
    /// when it ended
    pub(crate) to: Time,
}

impl Measurement {
    /// Measures flows of these sizes between two times; without `from`, from when all are
    /// established.
    pub(crate) fn new(
        sizes: impl Iterator<Item = Option<u64>>,
        from: Option<Time>,
        to: Option<Time>,
    ) -> Self {
        let flows: Vec<FlowRecord> = sizes.map(FlowRecord::new).collect();
        Self {
            unestablished: flows.len(),
            flows,
            timeouts: Vec::new(),
            waits_for_all: from.is_none(),
            begin_at: from.unwrap_or(Time::NEVER),
            end_at: to.unwrap_or(Time::NEVER),
            from: Time::ZERO,
            to: Time::NEVER,
        }
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

    /// Notes that the receiver has `delivered` octets of the flow.
    #[inline]
    pub(crate) fn delivered(&mut self, flow: u32, delivered: u64, now: Time) {
        let record = &mut self.flows[flow as usize];
        if delivered >= record.size_bytes && record.finished_at == Time::NEVER {
            record.finished_at = now;
        }
    }

    /// Begins the measurement: the octets `delivered` by each flow so far do not count, nor do the
    /// RTTs.
    pub(crate) fn begin(&mut self, now: Time, delivered: impl Iterator<Item = u64>) {
        self.begin_at = Time::NEVER;
        self.from = now;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_before = delivered;
            flow.rtt = RttSummary::EMPTY;
            flow.histogram.clear();
        }
    }

    /// Ends the measurement, unless it has ended.
    pub(crate) fn end(&mut self, now: Time, delivered: impl Iterator<Item = u64>) {
        if self.to != Time::NEVER {
            return;
        }
        self.end_at = Time::NEVER;
        self.to = now;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_by_end = delivered;
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
            for (rtt_s, n) in record.histogram.bins() {
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

/// What one endpoint reports while it handles an event. A flow is seen from its sender.
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
                record.histogram.add(rtt);
            }
        }
    }

    fn timeout(&mut self, timeout: Timeout) {
        if self.is_sender {
            self.measurement.timeouts.push((self.flow, timeout));
        }
    }

    fn established(&mut self, _now: Time) {
        let record = &mut self.measurement.flows[self.flow as usize];
        if self.is_sender && record.established_at == Time::NEVER {
            record.established_at = self.now;
            self.measurement.unestablished -= 1;
            if self.measurement.unestablished == 0 && self.measurement.waits_for_all {
                self.measurement.begin_at = self.now;
            }
        }
    }
}
