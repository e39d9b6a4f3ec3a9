//! Every table of a run: its name and its columns, defined here and nowhere else.
//!
//! Names of columns end in their units. Hosts, ports, stacks and kinds are numbers, which index lists of names that are
//! returned with the tables. An `Option` is a value that may be missing.

use fairport_units::{Duration, Instant};

use crate::rows::table;

mod packets;

pub use packets::{
    DroppedPacket, Drops, LoggedPacket, LoggedPackets, MarkedPacket, Marks, TracedPacket,
    TracedPackets,
};

table! {
    /// The flows: one row per flow.
    Flows of Flow in "flows" {
        /// number of the flow
        flow: u32,
        /// sending host
        src: u32,
        /// receiving host
        dst: u32,
        /// number of links between them
        hops: u32,
        /// number of the part of the plan's traffic that it belongs to
        traffic: u32,
        /// 0: TCP, 1: UDP
        protocol: u8,
        /// the sender's stack
        stack: u32,
        /// when the application opened the connection
        start_s: Instant,
        /// when the handshake was complete
        established_s: Instant,
        /// when the last byte was delivered
        end_s: Instant,
        /// bytes to be sent; none: without end
        size_bytes: Option<u64>,
        /// bytes delivered in order to the application, in the whole run
        delivered_bytes: u64,
        /// new bytes that arrived at the receiving host during the measurement
        measured_bytes: u64,
        /// `measured_bytes` over the length of the measurement
        goodput_bps: f64,
        /// flow completion time
        fct_s: Duration,
        /// completion time in an empty network
        ideal_fct_s: Duration,
        /// segments with payload, retransmissions included
        segments_sent: u64,
        /// segments sent again
        retransmits: u64,
        /// entries into fast recovery
        fast_recoveries: u64,
        /// expiries of the retransmission timer
        timeouts: u64,
        /// total time spent waiting for these timeouts
        timeout_period_s: Duration,
        /// packets dropped at any port
        drops: u64,
        /// packets marked at any port
        marks: u64,
        /// mean of the sender's RTT samples
        rtt_mean_s: f64,
        /// smallest of the sender's RTT samples
        rtt_min_s: f64,
        /// largest of the sender's RTT samples
        rtt_max_s: f64,
    }
}

table! {
    /// The output ports: one row per port.
    PortRows of PortRow in "ports" {
        /// number of the port
        port: u32,
        /// packets accepted
        packets: u64,
        /// bytes accepted
        bytes: u64,
        /// packets dropped
        drops: u64,
        /// packets marked
        marks: u64,
        /// mean number of bytes in its buffer
        queue_mean_bytes: f64,
        /// largest number of bytes in its buffer
        queue_max_bytes: u64,
        /// share of the run during which it was sending
        busy_share: f64,
        /// flows whose data is routed through it
        flows: u32,
        /// how much faster than its nominal rate it sends
        clock_error_ppm: f64,
        /// packets that arrived, whether accepted or not
        arrivals: u64,
    }
}

table! {
    /// The flows over time: one row per watched flow and interval.
    SeriesRows of SeriesRow in "series" {
        /// end of the interval
        time_s: Instant,
        /// the flow
        flow: u32,
        /// new bytes that arrived at the receiving host during the interval, over its length
        goodput_bps: f64,
        /// congestion window; none of a flow that is over
        cwnd_bytes: Option<u64>,
        /// slow-start threshold
        ssthresh_bytes: Option<u64>,
        /// smoothed RTT
        srtt_s: Duration,
        /// bytes sent and not acknowledged
        in_flight_bytes: u64,
        /// smallest RTT sample of the interval
        rtt_min_s: f64,
        /// mean of the RTT samples of the interval
        rtt_mean_s: f64,
        /// largest RTT sample of the interval
        rtt_max_s: f64,
        /// bytes delivered in order since the start
        delivered_bytes: u64,
    }
}

table! {
    /// The queues over time: one row per watched port and interval.
    QueueRows of QueueRow in "queue" {
        /// time of the sample
        time_s: Instant,
        /// the port
        port: u32,
        /// bytes in its buffer
        bytes: u64,
        /// packets in its buffer
        packets: u64,
    }
}

table! {
    /// The retransmission timeouts: one row per expiry.
    Timeouts of TimeoutRow in "timeouts" by end_s, flow {
        /// the flow
        flow: u32,
        /// when the timer was started
        start_s: Instant,
        /// when the timer expired
        end_s: Instant,
        /// the timeout as set, including backoff
        rto_s: Duration,
        /// how often `rto_s` was doubled
        backoff: u32,
        /// why no fast retransmit came first
        cause: u8,
        /// the first byte that was not acknowledged
        seq: u32,
        /// whether the timer is that of the flow's receiver
        is_backward: bool,
    }
}

table! {
    /// The decisions of watched flows' senders: why a window or a phase changed.
    Decisions of DecisionRow in "decisions" by time_s, flow {
        /// time of the decision
        time_s: Instant,
        /// the flow
        flow: u32,
        /// what was decided
        what: u8,
        /// the reason
        cause: u8,
        /// the congestion window before
        cwnd_before_bytes: u64,
        /// the congestion window after
        cwnd_after_bytes: u64,
        /// the slow-start threshold after
        ssthresh_bytes: Option<u64>,
    }
}

table! {
    /// The RTT samples of the watched flows, as histograms: one row per bin that is not empty.
    RttBins of RttBin in "rtt" {
        /// the flow
        flow: u32,
        /// middle of the bin
        rtt_s: f64,
        /// number of samples in the bin
        samples: u64,
    }
}

table! {
    /// Single RTT samples, from which a run with real hosts makes its histograms: one row per sample.
    RttSamples of RttSample in "rtt_samples" {
        /// when it was taken
        time_s: Instant,
        /// the flow
        flow: u32,
        /// the round-trip time, or the one-way delay of a datagram
        rtt_s: Duration,
    }
}

table! {
    /// The rounds of workloads: one row per round.
    Rounds of Round in "rounds" {
        /// number of the part of the plan's traffic that it belongs to
        traffic: u32,
        /// number of the round, from 0
        round: u32,
        /// the flow of a transfer; none for a round of many flows, and for one under way that opened a connection
        flow: Option<u32>,
        /// when its data was ready to be sent
        start_s: Instant,
        /// when all of its data had arrived
        end_s: Instant,
        /// bytes of the round
        bytes: u64,
        /// from `start_s` to `end_s`
        completion_s: Duration,
    }
}

table! {
    /// Requests and their responses: one row per request.
    Requests of Request in "requests" {
        /// number of the part of the plan's traffic that it belongs to
        traffic: u32,
        /// the flow of its connection; none of a first request that has not reached the server
        flow: Option<u32>,
        /// number of the request on its connection, from 0
        request: u32,
        /// when the client sent the request
        start_s: Instant,
        /// when the client had the whole response
        end_s: Instant,
        /// bytes of the request
        request_bytes: u64,
        /// bytes of the response
        response_bytes: u64,
        /// from `start_s` to `end_s`
        response_s: Duration,
    }
}

table! {
    /// Answers of hosts: one row per frame that was answered.
    Answers of Answer in "answers" {
        /// when the frame was delivered
        time_s: Instant,
        /// the host that answered
        host: u32,
        /// the flow
        flow: u32,
        /// 0: an ACK of new data, 1: one of the first two duplicates of an ACK, 2: a later duplicate, 3: data
        answer: u8,
        /// frames that it answers: the one just delivered, and earlier ones without an answer
        frames: u32,
        /// from the delivery to the answer
        delay_s: Duration,
        /// since the previous frame, of any flow, was delivered to the same host
        idle_s: Duration,
        /// from when the frame was due to its delivery: the delay caused by the switch
        late_s: Duration,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    fn request(flow: Option<u32>, start_s: u64, end_s: Instant) -> Request {
        Request {
            traffic: 0,
            flow,
            request: 0,
            start_s: Instant::from_secs(start_s),
            end_s,
            request_bytes: 100,
            response_bytes: 1000,
            response_s: Duration::NEVER,
        }
    }

    #[test]
    fn a_missing_number_is_the_largest_one_and_a_missing_time_is_nan() {
        let mut requests = Requests::default();
        requests.push(request(Some(7), 1, Instant::from_secs(2)));
        requests.push(request(None, 3, Instant::NEVER));
        let table = requests.into_table();
        assert_eq!((table.name, table.rows()), ("requests", 2));
        assert_eq!(table.column("flow"), Some(&Column::U32(vec![7, u32::MAX])));
        let Some(Column::F64(ends)) = table.column("end_s") else {
            panic!("times are f64");
        };
        assert!((ends[0] - 2.0).abs() < 1e-12 && ends[1].is_nan());
        assert_eq!(table.column("weight"), None);
    }

    #[test]
    fn a_row_takes_what_its_columns_take() {
        assert_eq!(QueueRows::ROW_BYTES, 8 + 3 * 4 + 4);
        assert_eq!(SeriesRows::ROW_BYTES, 6 * 8 + 5 * 4 + 4);
        assert_eq!(Decisions::ROW_BYTES, 8 + 4 + 1 + 1 + 3 * 4 + 6);
        assert_eq!(Drops::ROW_BYTES, 8 + 9 * 4 + 3 + 1);
        assert_eq!(Drops::COLUMN_BYTES, 8 + 5 * 4 + 3 + 4 * 8);
    }
}
