//! Tables with a row each interval: the flows' series, and the queues of ports where flows meet.

use fairport_net::{Network, PortId};
use fairport_tcp::{Gauges, Segment};
use fairport_units::Time;

use crate::flow::LiveFlow;
use crate::hosts::Endpoints;
use crate::measurement::RttSummary;
use crate::probes::Probes;
use crate::results::{Column, Table};

/// One row a watched flow and interval: from its start to the interval in which it ends.
pub(crate) struct Series {
    interval: Time,
    pub(crate) next_at: Time,
    time: Vec<Time>,
    flow: Vec<u32>,
    goodput_bps: Vec<f64>,
    cwnd_bytes: Vec<u64>,
    ssthresh_bytes: Vec<u64>,
    srtt_s: Vec<f64>,
    in_flight_bytes: Vec<u64>,
    rtt_min_s: Vec<f64>,
    rtt_mean_s: Vec<f64>,
    rtt_max_s: Vec<f64>,
    delivered_bytes: Vec<u64>,
    /// delivered at the last sample, by flow
    previous: Vec<u64>,
    /// flows from this number on have no rows
    watched: usize,
}

/// A flow that is over, or that has no congestion control.
const NO_GAUGES: Gauges = Gauges {
    cwnd_bytes: 0,
    ssthresh_bytes: u64::MAX,
    srtt: None,
    in_flight_bytes: 0,
    acked_bytes: 0,
};

/// What a row of the series takes, octets.
pub(crate) const SERIES_ROW_BYTES: u64 = 84;

impl Series {
    pub(crate) fn new(interval: Time, watched: u32) -> Self {
        Self {
            interval,
            next_at: interval,
            time: Vec::new(),
            flow: Vec::new(),
            goodput_bps: Vec::new(),
            cwnd_bytes: Vec::new(),
            ssthresh_bytes: Vec::new(),
            srtt_s: Vec::new(),
            in_flight_bytes: Vec::new(),
            rtt_min_s: Vec::new(),
            rtt_mean_s: Vec::new(),
            rtt_max_s: Vec::new(),
            delivered_bytes: Vec::new(),
            previous: Vec::new(),
            watched: watched as usize,
        }
    }

    pub(crate) fn sample(&mut self, hosts: &mut Endpoints) {
        let seconds = self.interval.as_secs_f64();
        let watched = hosts.live.len().min(self.watched);
        self.previous.resize(watched, 0);
        for flow in 0..watched {
            let delivered = hosts.delivered(flow);
            let gauges = match &hosts.live[flow] {
                Some(LiveFlow::Tcp(live)) => live.ends[0].connection.gauges(),
                Some(LiveFlow::Udp(_)) => NO_GAUGES,
                None if delivered > self.previous[flow] => NO_GAUGES,
                None => continue,
            };
            let rtt = &mut hosts.measurement.flows[flow].rtt_interval;
            self.time.push(self.next_at);
            self.flow.push(flow as u32);
            self.goodput_bps
                .push((delivered - self.previous[flow]) as f64 * 8.0 / seconds);
            self.cwnd_bytes.push(gauges.cwnd_bytes);
            self.ssthresh_bytes.push(gauges.ssthresh_bytes);
            self.srtt_s
                .push(gauges.srtt.map_or(f64::NAN, Time::as_secs_f64));
            self.in_flight_bytes.push(gauges.in_flight_bytes);
            self.rtt_min_s.push(rtt.min_s());
            self.rtt_mean_s.push(rtt.mean_s());
            self.rtt_max_s.push(rtt.max_s());
            self.delivered_bytes.push(delivered);
            self.previous[flow] = delivered;
            *rtt = RttSummary::EMPTY;
        }
        self.next_at += self.interval;
    }

    pub(crate) fn into_table(self) -> Table {
        Table {
            name: "series",
            columns: vec![
                ("time_s", Column::seconds(self.time)),
                ("flow", Column::U32(self.flow)),
                ("goodput_bps", Column::F64(self.goodput_bps)),
                ("cwnd_bytes", Column::U64(self.cwnd_bytes)),
                ("ssthresh_bytes", Column::U64(self.ssthresh_bytes)),
                ("srtt_s", Column::F64(self.srtt_s)),
                ("in_flight_bytes", Column::U64(self.in_flight_bytes)),
                ("rtt_min_s", Column::F64(self.rtt_min_s)),
                ("rtt_mean_s", Column::F64(self.rtt_mean_s)),
                ("rtt_max_s", Column::F64(self.rtt_max_s)),
                ("delivered_bytes", Column::U64(self.delivered_bytes)),
            ],
        }
    }
}

/// One row a watched port and interval.
pub(crate) struct QueueSamples {
    interval: Time,
    pub(crate) next_at: Time,
    ports: Vec<PortId>,
    time: Vec<Time>,
    port: Vec<u32>,
    bytes: Vec<u64>,
    packets: Vec<u64>,
}

/// What a row of the queue table takes, octets.
pub(crate) const QUEUE_ROW_BYTES: u64 = 28;

impl QueueSamples {
    pub(crate) fn new(interval: Time, ports: Vec<PortId>) -> Self {
        Self {
            interval,
            next_at: interval,
            ports,
            time: Vec::new(),
            port: Vec::new(),
            bytes: Vec::new(),
            packets: Vec::new(),
        }
    }

    pub(crate) fn sample(&mut self, network: &mut Network<Segment, Probes>) {
        for port in &self.ports {
            let backlog = network.backlog(*port, self.next_at);
            self.time.push(self.next_at);
            self.port.push(port.0);
            self.bytes.push(u64::from(backlog.bytes));
            self.packets.push(u64::from(backlog.packets));
        }
        self.next_at += self.interval;
    }

    pub(crate) fn into_table(self) -> Table {
        Table {
            name: "queue",
            columns: vec![
                ("time_s", Column::seconds(self.time)),
                ("port", Column::U32(self.port)),
                ("bytes", Column::U64(self.bytes)),
                ("packets", Column::U64(self.packets)),
            ],
        }
    }
}
