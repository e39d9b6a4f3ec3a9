//! Tables with one row per interval: the watched flows over time, and the queues of watched ports.

use fairport_net::PortId;
use fairport_net::discipline::Backlog;
use fairport_tcp::Gauges;
use fairport_units::{Duration, Instant};

use crate::column::Table;
use crate::rtt::RttSummary;
use crate::tables::{QueueRow, QueueRows, SeriesRow, SeriesRows};

/// One row per watched flow and interval, from the flow's start to the interval in which it ends.
pub struct Series {
    interval: Duration,
    next_at: Instant,
    rows: SeriesRows,
    /// by flow: new bytes that had arrived at the last sample
    previous: Vec<u64>,
    /// flows from this number on have no rows
    watched: u32,
}

/// A flow at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// what its receiver has received
    pub progress: Progress,
    /// state of its sender; none if it has no congestion control or is over
    pub gauges: Option<Gauges>,
    /// whether the flow is over
    pub is_over: bool,
    /// RTT samples of the interval
    pub rtt: RttSummary,
}

/// What a flow's receiving host has received since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// bytes of data delivered to the application, in order
    pub delivered_bytes: u64,
    /// bytes of data that arrived, each counted once: delivered, or waiting for a hole before them to be filled
    pub arrived_bytes: u64,
}

impl Progress {
    /// The progress of a flow whose data is delivered as it arrives.
    pub fn in_order(bytes: u64) -> Self {
        Self {
            delivered_bytes: bytes,
            arrived_bytes: bytes,
        }
    }
}

/// The gauges of a flow that is over or has no congestion control: it has no window, and nothing in flight.
const NO_GAUGES: Gauges = Gauges {
    cwnd_bytes: u64::MAX,
    ssthresh_bytes: u64::MAX,
    srtt: None,
    in_flight_bytes: 0,
    acked_bytes: 0,
};

impl Series {
    /// A series of the flows with numbers below `watched`.
    pub fn new(interval: Duration, watched: u32) -> Self {
        Self {
            interval,
            next_at: Instant::ZERO + interval,
            rows: SeriesRows::default(),
            previous: Vec::new(),
            watched,
        }
    }

    /// When the next sample is due.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// How many of `flows` flows have rows: those with the lowest numbers.
    pub fn watched(&self, flows: usize) -> usize {
        flows.min(self.watched as usize)
    }

    /// Takes a sample of the first `flows` flows. `of` gives each flow's sample, or none if it has not started.
    pub fn sample(&mut self, flows: usize, mut of: impl FnMut(u32) -> Option<FlowSample>) {
        let watched = self.watched(flows);
        self.previous.resize(watched, 0);
        for flow in 0..watched as u32 {
            if let Some(sample) = of(flow) {
                self.add(flow, &sample);
            }
        }
        self.next_at += self.interval;
    }

    fn add(&mut self, flow: u32, sample: &FlowSample) {
        let previous = &mut self.previous[flow as usize];
        let progress = sample.progress;
        let new_bytes = progress.arrived_bytes - *previous;
        if sample.is_over && new_bytes == 0 {
            return;
        }
        *previous = progress.arrived_bytes;
        let gauges = sample.gauges.unwrap_or(NO_GAUGES);
        self.rows.push(SeriesRow {
            time_s: self.next_at,
            flow,
            goodput_bps: new_bytes as f64 * 8.0 / self.interval.as_secs_f64(),
            cwnd_bytes: Some(gauges.cwnd_bytes),
            ssthresh_bytes: Some(gauges.ssthresh_bytes),
            srtt_s: gauges.srtt.unwrap_or(Duration::NEVER),
            in_flight_bytes: gauges.in_flight_bytes,
            rtt_min_s: sample.rtt.min_s(),
            rtt_mean_s: sample.rtt.mean_s(),
            rtt_max_s: sample.rtt.max_s(),
            delivered_bytes: progress.delivered_bytes,
        });
    }

    /// The table.
    pub fn into_table(self) -> Table {
        self.rows.into_table()
    }
}

/// One row per watched port and interval.
pub struct QueueSamples {
    interval: Duration,
    next_at: Instant,
    ports: Vec<PortId>,
    rows: QueueRows,
}

impl QueueSamples {
    /// Samples of the queues at these ports.
    pub fn new(interval: Duration, ports: Vec<PortId>) -> Self {
        Self {
            interval,
            next_at: Instant::ZERO + interval,
            ports,
            rows: QueueRows::default(),
        }
    }

    /// Which ports are sampled.
    pub fn ports(&self) -> &[PortId] {
        &self.ports
    }

    /// When the next sample is due.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Takes a sample of every port's buffer.
    pub fn sample(&mut self, mut backlog: impl FnMut(PortId, Instant) -> Backlog) {
        for port in &self.ports {
            let backlog = backlog(*port, self.next_at);
            self.rows.push(QueueRow {
                time_s: self.next_at,
                port: port.0,
                bytes: u64::from(backlog.bytes),
                packets: u64::from(backlog.packets),
            });
        }
        self.next_at += self.interval;
    }

    /// The table.
    pub fn into_table(self) -> Table {
        self.rows.into_table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    fn sample(arrived_bytes: u64, delivered_bytes: u64, is_over: bool) -> FlowSample {
        FlowSample {
            progress: Progress {
                delivered_bytes,
                arrived_bytes,
            },
            gauges: None,
            is_over,
            rtt: RttSummary::EMPTY,
        }
    }

    #[test]
    fn what_is_delivered_as_it_arrives_has_arrived() {
        let progress = Progress::in_order(7);
        assert_eq!((progress.delivered_bytes, progress.arrived_bytes), (7, 7));
    }

    #[test]
    fn a_hole_that_is_filled_does_not_make_an_interval_faster_than_the_line() {
        let mut series = Series::new(Duration::from_ms(1), 1);
        // 1000 B before a hole and 4000 B behind it; then the hole of 1000 B is filled
        for (arrived, delivered) in [(5000, 1000), (6000, 6000)] {
            series.sample(1, |_| Some(sample(arrived, delivered, false)));
        }
        let table = series.into_table();
        let bps = Column::F64(vec![40e6, 8e6]);
        assert_eq!(table.column("goodput_bps"), Some(&bps));
        let delivered = Column::U64(vec![1000, 6000]);
        assert_eq!(table.column("delivered_bytes"), Some(&delivered));
    }

    #[test]
    fn a_flow_has_rows_from_its_start_to_the_interval_in_which_it_ends() {
        let mut series = Series::new(Duration::from_ms(1), 1);
        assert_eq!(series.next_at(), Instant::from_ms(1));
        series.sample(1, |_| None);
        assert_eq!(series.next_at(), Instant::from_ms(2));
        series.sample(1, |_| Some(sample(10, 10, false)));
        series.sample(1, |_| Some(sample(30, 30, true)));
        series.sample(1, |_| Some(sample(30, 30, true)));
        let times = Column::F64(vec![0.002, 0.003]);
        assert_eq!(series.into_table().column("time_s"), Some(&times));
    }

    #[test]
    fn a_flow_that_is_over_has_no_window_rather_than_one_of_no_bytes() {
        let mut series = Series::new(Duration::from_ms(1), 1);
        series.sample(1, |_| Some(sample(30, 30, true)));
        let none = Column::U64(vec![u64::MAX]);
        assert_eq!(series.into_table().column("cwnd_bytes"), Some(&none));
    }
}
