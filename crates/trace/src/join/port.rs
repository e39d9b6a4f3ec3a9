//! The output port at which captures are joined: its counts, drops, marks and longest blackouts, filled as a
//! simulated port fills them.

use fairport_net::discipline::{Admission, Reason};
use fairport_net::{Arrival, Header, Observer, PortId, Topology};
use fairport_record::tables::{PortRow, PortRows};
use fairport_record::{Content, Counter, Fingerprint, PacketLog, PortFingerprint, Recorder, Table};
use fairport_units::Instant;

use super::queue::Occupancy;
use crate::error::Error;

/// Interval of the queue's samples.
const QUEUE_INTERVAL_NS: u64 = 1_000_000;

/// What a record needs of a captured packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) seq: u32,
    pub(crate) identity: u64,
}

impl Content for Facts {
    fn seq(&self) -> u32 {
        self.seq
    }

    fn identity(&self) -> u64 {
        self.identity
    }
}

/// A packet's arrival at the port, and its fate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) time_ns: u64,
    /// number of the ingress tap
    pub(crate) ingress: u32,
    pub(crate) flow: u32,
    /// number of the direction
    pub(crate) direction: u32,
    pub(crate) facts: Facts,
    pub(crate) frame_bytes: u32,
    pub(crate) fate: Fate,
    /// whether another packet may have arrived between the last drop and this one
    pub(crate) is_apart: bool,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// it was seen on both sides
    Forwarded {
        /// when it left
        left_ns: u64,
        /// whether it got the codepoint CE on the way
        is_marked: bool,
    },
    /// it was acknowledged, though nobody saw it leave
    Unseen,
    /// it never left, for the reason that the capture gives, if any
    Dropped(Option<Reason>),
}

/// The port, and the ports by which packets come in for it.
pub(crate) struct JoinedPort {
    topology: Topology,
    port: PortId,
    recorder: Recorder,
    hash: PortFingerprint,
    counter: Counter,
    queue: Occupancy,
    /// a row for each packet, where it is asked for
    log: Option<PacketLog>,
    flows: u32,
    accepted: [u64; 2],
    drops: u64,
    marks: u64,
    /// reasons that the capture gave
    pub(crate) has_reasons: bool,
}

impl JoinedPort {
    /// With so many ports by which packets come in; `logs_packets`: with a row for each packet.
    pub(crate) fn new(ingress: u32, logs_packets: bool) -> Result<Self, Error> {
        // port i of the switch is the i-th by which packets come in; the last one is the output
        let topology = fairport_net::topology::star(ingress + 1).map_err(|_| {
            let remedy = "give the captures of the ports that carry traffic for the output";
            Error::new("--ingress", "has too many ports", remedy)
        })?;
        let switch = topology.nodes().iter().find(|node| node.ports.len() > 1);
        let port = switch.and_then(|node| node.ports.last().copied());
        let port = port.expect("a star has a switch with ports");
        let end = Instant::NEVER;
        Ok(Self {
            recorder: Recorder::new(&topology, port, end),
            hash: PortFingerprint::default(),
            log: logs_packets.then(|| PacketLog::new([port], Instant::ZERO, end)),
            topology,
            port,
            counter: Counter::default(),
            queue: Occupancy::new(QUEUE_INTERVAL_NS),
            flows: 0,
            accepted: [0; 2],
            drops: 0,
            marks: 0,
            has_reasons: false,
        })
    }

    /// Names of all ports in the tables, given those of the ingress taps and of the output.
    pub(crate) fn names(&self, ingress: &[String], output: &str) -> Vec<String> {
        let switch = self.topology.port(self.port).node;
        let ports = self.topology.ports().iter();
        let name = |port: &fairport_net::topology::Port| {
            if port.node != switch {
                return String::new();
            }
            let number = usize::from(port.number);
            ingress
                .get(number)
                .map_or_else(|| output.to_owned(), Clone::clone)
        };
        ports.map(name).collect()
    }

    /// Number of an ingress tap in the tables.
    pub(crate) fn ingress_number(&self, tap: u32) -> u32 {
        self.ingress_port(tap).0
    }

    fn ingress_port(&self, tap: u32) -> PortId {
        let switch = self.topology.port(self.port).node;
        self.topology.node(switch).ports[tap as usize]
    }

    /// A packet arrives.
    #[inline]
    pub(crate) fn arrive(&mut self, arriving: &Arriving) {
        while self.flows <= arriving.flow {
            self.recorder.add_flow();
            self.flows += 1;
        }
        let ingress = self.ingress_port(arriving.ingress);
        let direction = u64::from(arriving.direction);
        if arriving.is_apart {
            self.counter.arrive(self.port, ingress, direction);
        }
        let counts = self.counter.arrive(self.port, ingress, direction);
        self.queue.advance(arriving.time_ns);
        let backlog = self.queue.backlog();
        let (admission, depart) = match arriving.fate {
            Fate::Forwarded { left_ns, is_marked } => {
                self.queue
                    .accept(arriving.time_ns, left_ns, arriving.frame_bytes);
                let admission = if is_marked {
                    Admission::Marked
                } else {
                    Admission::Accepted
                };
                (admission, Instant::from_ns(left_ns))
            }
            Fate::Unseen => (Admission::Accepted, Instant::NEVER),
            Fate::Dropped(reason) => {
                self.has_reasons |= reason.is_some();
                (
                    Admission::Dropped(reason.unwrap_or(Reason::Full)),
                    Instant::NEVER,
                )
            }
        };
        match admission {
            Admission::Dropped(_) => self.drops += 1,
            Admission::Accepted | Admission::Marked => {
                self.marks += u64::from(admission == Admission::Marked);
                self.accepted[0] += 1;
                self.accepted[1] += u64::from(arriving.frame_bytes);
            }
        }
        let header = Header {
            flow: arriving.flow,
            route: 0,
            output: self.port,
            size_bytes: arriving.frame_bytes as u16,
            ecn: 0,
            class: 0,
        };
        let time = Instant::from_ns(arriving.time_ns);
        self.hash.admission(time, &header, admission);
        let arrival = Arrival {
            time,
            port: self.port,
            ingress,
            header: &header,
            content: &arriving.facts,
            frame_bytes: arriving.frame_bytes,
            backlog,
            admission,
            depart,
            counts,
        };
        self.recorder.detail(&arrival);
        if let Some(log) = &mut self.log {
            log.arrived(&arrival);
        }
        if admission.is_accepted() {
            self.counter.accept(self.port);
        }
    }

    /// Packets of a flow that were dropped, and marked.
    pub(crate) fn losses(&self, flow: u32) -> (u64, u64) {
        if flow >= self.flows {
            return (0, 0);
        }
        let losses = self.recorder.losses(flow);
        (losses.drops, losses.marks)
    }

    /// The hash of what happened.
    pub(crate) fn fingerprint(&self) -> u64 {
        let empty = PortFingerprint::default();
        let ports = (0..self.topology.ports().len() as u32).map(PortId);
        let hash = |port| {
            if port == self.port {
                &self.hash
            } else {
                &empty
            }
        };
        Fingerprint::new(ports.map(hash)).digest
    }

    /// The tables of ports, queue, drops, marks and the longest blackouts, at the end of a capture of this
    /// length at a port of this rate.
    pub(crate) fn into_tables(
        mut self,
        run_ns: u64,
        rate_bps: f64,
        wire_bytes: u64,
        flows: u32,
    ) -> Vec<Table> {
        self.queue.advance(run_ns);
        let (queue_mean_bytes, queue_max_bytes) = self.queue.mean_and_max_bytes();
        let sending_s = wire_bytes as f64 * 8.0 / rate_bps.max(1.0);
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
