//! The state of a running flow: its connection's two ends, or its source of datagrams.

use fairport_net::NodeId;
use fairport_record::Progress;
use fairport_tcp::{Connection, Counters, Gauges};

pub(crate) use fairport_plan::flow::Side;

use super::udp::UdpFlow;

/// One end of a TCP flow.
///
/// In a large network it has left the near caches when a packet arrives. So the fields that every packet needs come
/// first, here and in [`Connection`]. The network prefetches these cache lines.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// packets
    pub(crate) received: u64,
    /// packets
    pub(crate) sent: u64,
    /// bytes received from the other end at which the delivery is reported; `u64::MAX`: none awaited
    pub(crate) awaits: u64,
    /// number of its host
    pub(crate) host: u32,
    /// the route that its packets carry when they enter the network
    pub(crate) route: u32,
    pub(crate) connection: Connection,
    /// bytes that its application has written; `u64::MAX`: without end
    pub(crate) written: u64,
}

impl Endpoint {
    /// An end whose application has already written `written` bytes.
    pub(crate) fn new(mut connection: Connection, host: u32, route: u32, written: u64) -> Self {
        match written {
            0 => {}
            u64::MAX => connection.write_endless(),
            bytes => connection.write(bytes),
        }
        Self {
            connection,
            host,
            route,
            sent: 0,
            received: 0,
            written,
            awaits: u64::MAX,
        }
    }

    /// Whether a delivery is awaited, and has happened.
    #[inline]
    pub(crate) fn has_delivered(&self) -> bool {
        self.awaits != u64::MAX && self.connection.delivered_bytes() >= self.awaits
    }
}

/// A TCP flow while it runs: sender and receiver.
pub(crate) struct TcpFlow {
    pub(crate) ends: Box<[Endpoint; 2]>,
    /// the receiving host
    pub(crate) receiver: NodeId,
}

impl TcpFlow {
    pub(crate) fn new(ends: [Endpoint; 2], receiver: NodeId) -> Self {
        let ends = Box::new(ends);
        let mut flow = Self { ends, receiver };
        for side in [Side::Sender, Side::Receiver] {
            flow.expect(side);
        }
        flow
    }

    /// The application on one side writes `bytes` more bytes.
    pub(crate) fn write(&mut self, side: Side, bytes: u64) {
        let end = &mut self.ends[side as usize];
        end.connection.write(bytes);
        end.written += bytes;
        self.expect(side);
    }

    /// The side that is at this host.
    #[inline]
    pub(crate) fn side_at(&self, host: NodeId) -> Side {
        if self.receiver == host {
            Side::Receiver
        } else {
            Side::Sender
        }
    }

    /// Makes the other side report the delivery of everything that this side has written so far.
    fn expect(&mut self, side: Side) {
        let written = self.ends[side as usize].written;
        if written > 0 {
            self.ends[side.other() as usize].awaits = written;
        }
    }
}

/// A flow while it runs. Flow f has the timers 2f (sender) and 2f + 1 (receiver).
pub(crate) enum LiveFlow {
    Tcp(TcpFlow),
    Udp(Box<UdpFlow>),
}

impl LiveFlow {
    /// Whether this end may still act if it receives nothing more.
    pub(crate) fn may_wake(&self, side: Side) -> bool {
        match self {
            Self::Tcp(flow) => flow.ends[side as usize].connection.poll_timer().is_some(),
            Self::Udp(_) => true, // a source of datagrams does not report its end
        }
    }

    /// What the receiving host has received.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Tcp(flow) => {
                let receiver = &flow.ends[1].connection;
                Progress {
                    delivered_bytes: receiver.delivered_bytes(),
                    arrived_bytes: receiver.arrived_bytes(),
                }
            }
            Self::Udp(flow) => Progress::in_order(flow.delivered),
        }
    }

    /// The state of the sender's congestion control; none for UDP.
    pub(crate) fn gauges(&self) -> Option<Gauges> {
        match self {
            Self::Tcp(flow) => Some(flow.ends[0].connection.gauges()),
            Self::Udp(_) => None,
        }
    }

    /// The sender's counters, or the sum of both ends' if the receiver has written data too.
    pub(crate) fn counters(&self) -> Counters {
        match self {
            Self::Tcp(flow) => {
                let [sender, receiver] = &*flow.ends;
                let counters = sender.connection.counters();
                match receiver.written {
                    0 => counters,
                    _ => counters + receiver.connection.counters(),
                }
            }
            Self::Udp(flow) => Counters {
                segments_sent: flow.sent,
                ..Counters::default()
            },
        }
    }

    /// Packets sent and received by both ends.
    pub(crate) fn packets(&self) -> (u64, u64) {
        match self {
            Self::Tcp(flow) => {
                let [sender, receiver] = &*flow.ends;
                (
                    sender.sent + receiver.sent,
                    sender.received + receiver.received,
                )
            }
            Self::Udp(flow) => (flow.sent, flow.received),
        }
    }

    /// The routes of both directions.
    pub(crate) fn routes(&self) -> [Option<u32>; 2] {
        match self {
            Self::Tcp(flow) => [Some(flow.ends[0].route), Some(flow.ends[1].route)],
            Self::Udp(flow) => [Some(flow.route), None],
        }
    }
}
