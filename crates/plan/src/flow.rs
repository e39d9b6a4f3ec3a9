//! A flow before it runs: its two ends, its size, and who asked for it.

use fairport_units::Instant;
use serde::Serialize;

use crate::udp::Udp;

/// A host with the stack that it uses: an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// number of the host
    pub host: u32,
    /// index into the job's stacks
    pub stack: u32,
}

/// One of the two sides of a flow, as the index of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// whose data the flow is
    Sender = 0,
    /// who acknowledges it, and may ask for it
    Receiver = 1,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// A flow as whoever starts it describes it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Start {
    pub src: End,
    pub dst: End,
    /// what it sends; none: without end
    pub size_bytes: Option<u64>,
    /// what the receiver asks with on the connection, which it then opens; none: the sender opens
    /// it, and sends unasked
    pub request_bytes: Option<u64>,
    /// a source of UDP datagrams; none: TCP
    pub udp: Option<Udp>,
    /// the connection stays open when the data is delivered, for more
    pub persistent: bool,
    pub origin: Origin,
}

/// Where a flow comes from.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Origin {
    /// which part of the job's traffic it is of
    pub traffic: u32,
    /// the workload that is told of its completion; [`Origin::LISTED`]: none
    pub workload: u32,
    /// the workload's own number for it
    pub token: u32,
}

impl Origin {
    /// The workload of the flows that the job lists.
    pub const LISTED: u32 = u32::MAX;
}

/// A flow as the tables show it.
pub struct FlowSpec {
    pub start: Instant,
    pub how: Start,
    pub hops: u32,
    /// its completion in the empty network, see `ideal.rs`
    pub ideal: Instant,
}

/// A flow that is known before the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListedFlow {
    /// when it opens its connection, with its drawn delay
    pub start: Instant,
    /// when its application stops, not before its start; none: when all is sent
    pub stop: Option<Instant>,
    /// what it is
    pub how: Start,
}
