//! An output port at which captures are joined: its counts, drops, marks and longest blackouts, recorded in the same
//! way as at a simulated port.

use fairport_net::discipline::{Admission, Reason};
use fairport_net::{Addresses, Arrival, Counts, Header, Observer, PortId, Topology};
use fairport_record::tables::{PortRow, PortRows};
use fairport_record::{Content, Counter, PacketLog, PortFingerprint, Recorder, Table};
use fairport_units::Instant;

use super::emitted::{Emitted, Fate, Joined};
use super::queue::Occupancy;
use crate::load::Load;
use crate::packet::Packet;

/// Interval of the samples of the queue.
const QUEUE_INTERVAL_NS: u64 = 1_000_000;

/// The end of a connection that sends the packets of its first direction. The other one has the next number.
const FIRST_END: u32 = 0;

/// Bytes of the frame check sequence, which is not in captures but is in buffers.
const CHECK_BYTES: u32 = 4;

impl Content for Packet {
    fn seq(&self) -> u32 {
        self.seq
    }

    fn is_pure_ack(&self) -> bool {
        Self::is_pure_ack(self)
    }

    fn identity(&self) -> u64 {
        u64::from(self.seq) << 32 | u64::from(self.ack)
    }
}

/// The port, and the ingress ports of its packets.
pub(crate) struct JoinedPort {
    pub(super) port: PortId,
    ingress: Vec<PortId>,
    /// the traffic that passed it
    pub(super) load: Load,
    recorder: Recorder,
    pub(super) hash: PortFingerprint,
    counter: Counter,
    queue: Occupancy,
    /// a row per packet, if requested
    log: Option<PacketLog>,
    flows: u32,
    accepted: [u64; 2],
    drops: u64,
    marks: u64,
    /// whether the capture gives reasons for drops
    pub(super) has_reasons: bool,
}

impl JoinedPort {
    /// The given port of the topology, with the ingress ports of its packets. `logs_packets`: log a row per packet.
    pub(super) fn new(
        topology: &Topology,
        port: PortId,
        ingress: &[PortId],
        logs_packets: bool,
    ) -> Self {
        let end = Instant::NEVER;
        Self {
            port,
            ingress: ingress.to_vec(),
            load: Load::default(),
            recorder: Recorder::new(topology, port, end),
            hash: PortFingerprint::default(),
            log: logs_packets.then(|| PacketLog::new([port], Instant::ZERO, end)),
            counter: Counter::default(),
            queue: Occupancy::new(QUEUE_INTERVAL_NS),
            flows: 0,
            accepted: [0; 2],
            drops: 0,
            marks: 0,
            has_reasons: false,
        }
    }

    /// Records the arrival of a packet.
    #[inline]
    pub(super) fn arrive(&mut self, joined: &Joined, emitted: &Emitted) {
        let (direction, time_ns) = (emitted.direction, emitted.time_ns);
        let frame_bytes = emitted.packet.frame_bytes + CHECK_BYTES;
        let flow = direction / 2;
        while self.flows <= flow {
            self.recorder.add_flow(FIRST_END);
            self.flows += 1;
        }
        self.queue.advance(time_ns);
        let ingress = self.ingress[joined.ingress as usize];
        let time = Instant::from_ns(time_ns);
        let header = Header {
            flow,
            size_bytes: frame_bytes as u16,
            ..Header::default()
        };
        let source = FIRST_END + direction % 2;
        let ends = Addresses {
            source,
            destination: 1 - source,
        };
        let mut arrival = Arrival {
            time,
            port: self.port,
            ingress,
            header: &header,
            content: &emitted.packet,
            addresses: &|| ends,
            frame_bytes,
            backlog: self.queue.backlog(),
            admission: Admission::Accepted,
            depart: Instant::NEVER,
            port_arrival: 0,
            counts: &Counts::default,
        };
        if joined.fate == Fate::Open {
            self.log.iter_mut().for_each(|log| log.arrived(&arrival));
            return;
        }
        let direction = u64::from(direction);
        if emitted.is_apart {
            self.counter.arrive(self.port, ingress, direction);
        }
        let counts = self.counter.arrive(self.port, ingress, direction);
        let counts_of = || counts;
        (arrival.port_arrival, arrival.counts) = (counts.port_arrival, &counts_of);
        let (admission, depart) = self.decided(joined.fate, time_ns, frame_bytes);
        self.hash.admission(time, &header, admission);
        (arrival.admission, arrival.depart) = (admission, depart);
        self.recorder.detail(&arrival);
        if let Some(log) = &mut self.log {
            log.arrived(&arrival);
        }
        if admission.is_accepted() {
            self.counter.accept(self.port);
        }
    }

    /// What the port decided about a packet, which is counted, and when the packet left.
    #[inline]
    fn decided(&mut self, fate: Fate, time_ns: u64, frame_bytes: u32) -> (Admission, Instant) {
        let decided = match fate {
            Fate::Forwarded { left_ns, is_marked } => {
                self.queue.accept(time_ns, left_ns, frame_bytes);
                let admission = if is_marked {
                    Admission::Marked
                } else {
                    Admission::Accepted
                };
                (admission, Instant::from_ns(left_ns))
            }
            Fate::Unseen | Fate::Open => (Admission::Accepted, Instant::NEVER),
            Fate::Dropped(reason) => {
                self.has_reasons |= reason.is_some();
                (
                    Admission::Dropped(reason.unwrap_or(Reason::Full)),
                    Instant::NEVER,
                )
            }
        };
        match decided.0 {
            Admission::Dropped(_) => self.drops += 1,
            admission => {
                self.marks += u64::from(admission == Admission::Marked);
                self.accepted[0] += 1;
                self.accepted[1] += u64::from(frame_bytes);
            }
        }
        decided
    }

    /// Numbers of dropped and of marked packets of a flow.
    pub(super) fn losses(&self, flow: u32) -> (u64, u64) {
        if flow >= self.flows {
            return (0, 0);
        }
        let losses = self.recorder.losses(flow);
        (losses.drops, losses.marks)
    }

    /// The tables of ports, queue, drops, marks and the longest blackouts, at the end of a capture of length `run_ns`
    /// with `flows` flows. In `drops` the first direction of a connection counts as forward.
    pub(super) fn into_tables(mut self, run_ns: u64, flows: u32) -> Vec<Table> {
        self.queue.advance(run_ns);
        let (queue_mean_bytes, queue_max_bytes) = self.queue.mean_and_max_bytes();
        let sending_s = self.load.wire_bytes as f64 * 8.0 / self.load.peak_bps().max(1.0);
        let mut ports = PortRows::default();
        ports.push(PortRow {
            port: self.port.0,
            packets: self.accepted[0],
            bytes: self.accepted[1],
            drops: self.drops,
            marks: self.marks,
            queue_mean_bytes,
            queue_max_bytes,
            busy_share: (sending_s / (run_ns.max(1) as f64 / 1e9)).min(1.0),
            flows,
            clock_error_ppm: f64::NAN,
            arrivals: self.accepted[0] + self.drops,
        });
        let port = self.port.0;
        let [drops, marks, trace] = self.recorder.into_tables();
        let packets = self.log.map(|log| log.into_table(Instant::from_ns(run_ns)));
        let tables = vec![
            ports.into_table(),
            self.queue.into_rows(port).into_table(),
            drops,
            marks,
            trace,
        ];
        tables.into_iter().chain(packets).collect()
    }
}
