//! A flow before it runs: its two ends, what its applications do, and who asked for it.

use fairport_units::{Duration, Instant};
use serde::Serialize;

use crate::udp::Udp;

/// An end of a flow: a host with the stack that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// number of the host
    pub host: u32,
    /// index into the plan's stacks
    pub stack: u32,
}

/// One of the two sides of a flow, as the index of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// whose data the flow is
    Sender = 0,
    /// who acknowledges it, and may send requests
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

/// What a flow is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FlowSpec {
    /// where its data comes from
    pub src: End,
    /// where its data goes to
    pub dst: End,
    /// what its applications do
    pub application: Application,
    /// which part of the job's traffic it is of
    pub traffic: u32,
    /// who asked for it
    pub origin: Origin,
}

/// What a flow's applications do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Application {
    /// the sender opens a TCP connection, sends, and closes it
    Transfer {
        /// how much it sends; none: without end
        size_bytes: Option<u64>,
    },
    /// the sender opens a TCP connection that stays open for further transfers
    Persistent {
        /// what it has sent so far
        size_bytes: u64,
    },
    /// the receiver opens a TCP connection that stays open and sends requests; the sender answers
    RequestResponse {
        /// the first request
        request_bytes: u64,
        /// what the sender has answered so far
        size_bytes: u64,
    },
    /// the sender sends UDP datagrams
    Datagrams {
        /// when it sends them
        source: Udp,
        /// payload in all; none: without end
        size_bytes: Option<u64>,
    },
}

impl Application {
    /// What the sender sends, for connections that stay open: so far. None: without end.
    pub fn size_bytes(&self) -> Option<u64> {
        match *self {
            Self::Transfer { size_bytes } | Self::Datagrams { size_bytes, .. } => size_bytes,
            Self::Persistent { size_bytes } | Self::RequestResponse { size_bytes, .. } => {
                Some(size_bytes)
            }
        }
    }

    /// Whether it is TCP, and its connection stays open when the data is delivered.
    pub fn stays_open(&self) -> bool {
        matches!(self, Self::Persistent { .. } | Self::RequestResponse { .. })
    }

    /// The source of datagrams, if it is UDP.
    pub fn datagrams(&self) -> Option<Udp> {
        match *self {
            Self::Datagrams { source, .. } => Some(source),
            _ => None,
        }
    }

    /// The first request, if the receiver sends requests.
    pub fn request_bytes(&self) -> Option<u64> {
        match *self {
            Self::RequestResponse { request_bytes, .. } => Some(request_bytes),
            _ => None,
        }
    }

    /// The sender sends more on a connection that stays open.
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

/// Who asked for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Origin {
    /// the job lists it
    Listed,
    /// a workload, which hears of its completion
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
    /// when its application stops, not before its start; none: when all is sent
    pub stop: Option<Instant>,
    /// what it is
    pub spec: FlowSpec,
}

/// A flow that has its number and its paths.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// when it opens its connection
    pub start: Instant,
    /// what it is
    pub spec: FlowSpec,
    /// links between its two hosts by the shortest way
    pub hops: u32,
    /// its completion time in the empty network: see `ideal.rs`
    pub ideal: Duration,
}
