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
    pub(crate) finished_at: Time,
    /// within the measurement
    pub(crate) rtt: RttSummary,
    pub(crate) histogram: RttHistogram,
    /// since the last row of the series
    pub(crate) rtt_interval: RttSummary,
    /// delivered when the measurement began
    pub(crate) delivered_before: u64,
    /// delivered when it ended; `None` until then
    pub(crate) delivered_by_end: Option<u64>,
}

impl FlowRecord {
    fn new() -> Self {
        Self {
            established_at: Time::NEVER,
            finished_at: Time::NEVER,
            rtt: RttSummary::EMPTY,
            histogram: RttHistogram::new(),
            rtt_interval: RttSummary::EMPTY,
            delivered_before: 0,
            delivered_by_end: None,
        }
    }
}

/// All flows' records, the timeouts, and the window in which is measured.
pub(crate) struct Measurement {
    pub(crate) flows: Vec<FlowRecord>,
    timeouts: Vec<(u32, Timeout)>,
    unestablished: usize,
    /// when all flows were established
    pub(crate) all_established_at: Time,
    /// whether RTT samples count at present
    pub(crate) open: bool,
}

impl Measurement {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            flows: (0..flows).map(|_| FlowRecord::new()).collect(),
            timeouts: Vec::new(),
            unestablished: flows,
            all_established_at: Time::NEVER,
            open: true,
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

    /// Begins the measurement: `delivered` octets a flow so far do not count, nor do the RTTs.
    pub(crate) fn begin(&mut self, delivered: impl Iterator<Item = u64>) {
        self.open = true;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_before = delivered;
            flow.rtt = RttSummary::EMPTY;
            flow.histogram.clear();
        }
    }

    /// Ends the measurement.
    pub(crate) fn end(&mut self, delivered: impl Iterator<Item = u64>) {
        self.open = false;
        for (flow, delivered) in self.flows.iter_mut().zip(delivered) {
            flow.delivered_by_end = Some(delivered);
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
            let open = self.measurement.open;
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
            if self.measurement.unestablished == 0 {
                self.measurement.all_established_at = self.now;
            }
        }
    }

    fn finished(&mut self, _now: Time) {
        let record = &mut self.measurement.flows[self.flow as usize];
        if self.is_sender && record.finished_at == Time::NEVER {
            record.finished_at = self.now;
        }
    }
}
