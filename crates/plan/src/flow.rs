//! A flow before it runs: its two ends, what its applications do, and where it comes from.

use fairport_net::routing::Protocol;
use fairport_units::{Duration, Instant};
use serde::Serialize;

use crate::udp::Udp;

/// An end of a flow: a host, and the stack that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// number of the host
    pub host: u32,
    /// index into the plan's stacks
    pub stack: u32,
}

/// One of the two sides of a flow. The value is the index of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// the side that sends the flow's data
    Sender = 0,
    /// the side that acknowledges the data, and may send requests
    Receiver = 1,
}

impl Side {
    /// The opposite side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// The description of a flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FlowSpec {
    /// the end that sends the data
    pub src: End,
    /// the end that receives the data
    pub dst: End,
    /// what its applications do
    pub application: Application,
    /// number of the part of the job's traffic that it belongs to
    pub traffic: u32,
    /// where it comes from
    pub origin: Origin,
}

impl FlowSpec {
    /// The numbers of the two hosts: sender and receiver.
    pub fn hosts(&self) -> [u32; 2] {
        [self.src.host, self.dst.host]
    }

    /// The transport protocol of its packets.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.application {
            Application::Datagrams { .. } => Protocol::Udp,
            _ => Protocol::Tcp,
        }
    }
}

/// What a flow's applications do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Application {
    /// the sender opens a TCP connection, sends, and closes it
    Transfer {
        /// bytes to send; none: without end
        size_bytes: Option<u64>,
    },
    /// the sender opens a TCP connection that stays open for further transfers
    Persistent {
        /// bytes sent so far
        size_bytes: u64,
    },
    /// the receiver opens a TCP connection that stays open, and sends requests; the sender answers
    RequestResponse {
        /// bytes of the first request
        request_bytes: u64,
        /// bytes of the sender's answers so far
        size_bytes: u64,
    },
    /// the sender sends UDP datagrams
    Datagrams {
        /// when it sends them
        source: Udp,
        /// bytes of payload in all; none: without end
        size_bytes: Option<u64>,
    },
}

impl Application {
    /// Bytes that the sender sends; for a connection that stays open, bytes so far. None: without end.
    pub fn size_bytes(&self) -> Option<u64> {
        match *self {
            Self::Transfer { size_bytes } | Self::Datagrams { size_bytes, .. } => size_bytes,
            Self::Persistent { size_bytes } | Self::RequestResponse { size_bytes, .. } => {
                Some(size_bytes)
            }
        }
    }

    /// Whether the flow uses TCP and its connection stays open after the data is delivered.
    pub fn stays_open(&self) -> bool {
        matches!(self, Self::Persistent { .. } | Self::RequestResponse { .. })
    }

    /// The source of datagrams, if the flow uses UDP.
    pub fn datagrams(&self) -> Option<Udp> {
        match *self {
            Self::Datagrams { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Bytes of the first request, if the receiver sends requests.
    pub fn request_bytes(&self) -> Option<u64> {
        match *self {
            Self::RequestResponse { request_bytes, .. } => Some(request_bytes),
            _ => None,
        }
    }

    /// The sender sends `more_bytes` on a connection that stays open.
    pub fn add(&mut self, more_bytes: u64) {
        match self {
            Self::Persistent { size_bytes } | Self::RequestResponse { size_bytes, .. } => {
                *size_bytes += more_bytes;
            }
            Self::Transfer { .. } | Self::Datagrams { .. } => {
                unreachable!("only a connection that stays open is written to again")
            }
        }
    }
}

/// Where a flow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Origin {
    /// the job lists it
    Listed,
    /// a workload started it, and is called when it completes
    Workload {
        /// the workload's number
        index: u32,
        /// the workload's own number for the flow
        token: u32,
    },
}

/// A flow that is known before the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListedFlow {
    /// when it opens its connection, with its drawn delay
    pub start: Instant,
    /// when its application stops, which is not before its start; none: when everything is sent
    pub stop: Option<Instant>,
    /// its description
    pub spec: FlowSpec,
}

/// A flow with its number and its paths.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// when it opens its connection
    pub start: Instant,
    /// its description
    pub spec: FlowSpec,
    /// number of links on the shortest path between its two hosts
    pub hops: u32,
    /// its completion time in an empty network: see `ideal.rs`
    pub ideal: Duration,
}
