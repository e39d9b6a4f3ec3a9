//! The edge of the network: the content of packets, the observer of the network, and the place where packets leave.

use fairport_net::discipline::Admission;
use fairport_net::{Access, Arrival, Header, Hosts, NodeId, Observer, Packet, PortId};
use fairport_record::{Content, PacketLog, PortFingerprint, Recorder};
use fairport_tcp::Ecn;
use fairport_units::Instant;

use crate::answers::Numbers;
use crate::capture::{Event, Seen};
use crate::frames::FrameId;

/// The content of a packet in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) frame: FrameId,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) has_ack: bool,
    /// length in the sequence space, in bytes
    pub(crate) length: u16,
    pub(crate) is_backward: bool,
}

impl InFlight {
    /// Its place in its flow.
    pub(crate) fn numbers(&self, flow: u32) -> Numbers {
        Numbers {
            flow,
            is_backward: self.is_backward,
            seq: self.seq,
            ack: self.ack,
            length: self.length.into(),
        }
    }
}

impl Content for InFlight {
    fn seq(&self) -> u32 {
        self.seq
    }

    fn is_pure_ack(&self) -> bool {
        self.has_ack && self.length == 0
    }

    fn identity(&self) -> u64 {
        u64::from(self.seq) << 32 | u64::from(self.ack)
    }
}

/// Records and logs packets, and remembers the frames of packets that the network has dropped.
pub(crate) struct PacketObserver {
    pub(crate) recorder: Recorder,
    pub(crate) log: PacketLog,
    pub(crate) dropped: Vec<FrameId>,
    /// by port: whether it is captured; empty if no port is
    pub(crate) is_captured: Vec<bool>,
    /// packets seen at captured ports since they were last collected
    pub(crate) seen: Vec<Seen>,
    pub(crate) end: Instant,
}

impl PacketObserver {
    /// An observer that logs and captures no port yet. The run ends at `end`.
    pub(crate) fn new(recorder: Recorder, end: Instant) -> Self {
        Self {
            recorder,
            log: PacketLog::new([], Instant::ZERO, end),
            dropped: Vec::new(),
            is_captured: Vec::new(),
            seen: Vec::new(),
            end,
        }
    }

    fn forget(&mut self, arrival: &Arrival<'_, InFlight>) {
        if !arrival.admission.is_accepted() {
            self.dropped.push(arrival.content.frame);
        }
    }

    fn captures(&self, port: PortId) -> bool {
        self.is_captured.get(port.0 as usize) == Some(&true)
    }

    /// Captures a packet's arrival. If the port sends in order of arrival, its departure is known and captured as well.
    fn capture(&mut self, arrival: &Arrival<'_, InFlight>) {
        if arrival.time > self.end {
            return;
        }
        let is_open = arrival.admission.is_accepted() && arrival.depart == Instant::NEVER;
        let came = Seen {
            port: arrival.port,
            at: arrival.time,
            event: Event::Arrived {
                ingress: arrival.ingress,
                fate: (!is_open).then_some(arrival.admission),
            },
            ecn: Ecn::from_bits(arrival.header.ecn),
            frame: arrival.content.frame,
        };
        self.seen.push(came);
        if arrival.depart <= self.end {
            self.seen.push(Seen {
                at: arrival.depart,
                event: Event::Departed,
                ecn: match arrival.admission {
                    Admission::Marked => Ecn::Ce,
                    _ => came.ecn,
                },
                ..came
            });
        }
    }
}

impl Observer<InFlight> for PacketObserver {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<InFlight>) {
        self.recorder.sent(port, state, packet);
    }

    fn admission(
        &mut self,
        port: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        Observer::<InFlight>::admission(&mut self.recorder, port, state, time, header, admission);
    }

    fn watches(&self, port: PortId) -> bool {
        self.captures(port)
            || self.log.watches(port)
            || Observer::<InFlight>::watches(&self.recorder, port)
    }

    fn detail(&mut self, arrival: &Arrival<'_, InFlight>) {
        self.recorder.detail(arrival);
        self.log.arrived(arrival);
        if self.captures(arrival.port) {
            self.capture(arrival);
        }
        self.forget(arrival);
    }

    fn revised(&mut self, arrival: &Arrival<'_, InFlight>) {
        self.recorder.revised(arrival);
        self.log.revised(arrival);
        if self.captures(arrival.port) {
            self.seen.push(Seen {
                port: arrival.port,
                at: arrival.time,
                event: Event::Settled {
                    port_arrival: arrival.port_arrival,
                    fate: arrival.admission,
                },
                ecn: Ecn::NotEct,
                frame: arrival.content.frame,
            });
        }
        self.forget(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<InFlight>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
        self.log.departs(port, arrival, depart);
        if !self.captures(port) {
            return;
        }
        let settled = Seen {
            port,
            at: depart,
            event: Event::Settled {
                port_arrival: arrival,
                fate: Admission::Accepted,
            },
            ecn: Ecn::from_bits(packet.header.ecn),
            frame: packet.content.frame,
        };
        self.seen.push(settled);
        if depart <= self.end {
            let event = Event::Departed;
            self.seen.push(Seen { event, ..settled });
        }
    }
}

/// A frame that has reached its host.
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) host: NodeId,
    pub(crate) ecn: Ecn,
    pub(crate) flow: u32,
    pub(crate) content: InFlight,
}

impl Due {
    /// The number of the direction whose data the frame acknowledges.
    pub(crate) fn acknowledged_direction(&self) -> u32 {
        2 * self.flow + u32::from(!self.content.is_backward)
    }
}

/// Collects the packets that leave the network.
#[derive(Default)]
pub(crate) struct Exits {
    pub(crate) due: Vec<Due>,
}

impl Hosts<InFlight, PacketObserver> for Exits {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(
        &mut self,
        network: Access<'_, InFlight, PacketObserver>,
        host: NodeId,
        packet: &Packet<InFlight>,
    ) {
        self.due.push(Due {
            at: network.now(),
            host,
            ecn: Ecn::from_bits(packet.header.ecn),
            flow: packet.header.flow,
            content: packet.content,
        });
    }
}
