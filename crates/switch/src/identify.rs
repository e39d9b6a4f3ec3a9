//! Extracts the fields of a frame that the network needs.

use fairport_tcp::{Ecn, Flags};
use fairport_wire::{Captured, FlowKey, Frame, Transport};

use crate::answers::Numbers;
use crate::flows::Lane;

/// The fields of a frame that the network needs.
pub(crate) struct Identified {
    pub(crate) key: FlowKey,
    pub(crate) size_bytes: u16,
    pub(crate) ecn: Ecn,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// length in the sequence space, in bytes
    pub(crate) length: u16,
}

impl Identified {
    /// The frame's place in its flow.
    pub(crate) fn numbers(&self, lane: Lane) -> Numbers {
        Numbers {
            flow: lane.flow,
            is_backward: lane.is_backward,
            seq: self.seq,
            ack: self.ack,
            length: self.length.into(),
        }
    }
}

/// Reads these fields from a frame. None if it does not contain a whole IP packet.
pub(crate) fn identify(frame: Captured<'_>) -> Option<Identified> {
    let frame = Frame::parse(frame).ok()?;
    let key = frame.network.flow_key().ok()??;
    let (seq, ack, length) = match frame.network.transport().ok()?? {
        Transport::Tcp(tcp) => {
            let flags = tcp.flags();
            let ends =
                u16::from(flags.contains(Flags::SYN)) + u16::from(flags.contains(Flags::FIN));
            (tcp.seq(), tcp.ack(), tcp.payload_length() as u16 + ends)
        }
        _ => (0, 0, 0),
    };
    Some(Identified {
        key,
        size_bytes: u16::try_from(frame.network.total_length()?).ok()?,
        ecn: frame.network.ecn()?,
        seq,
        ack,
        length,
    })
}
