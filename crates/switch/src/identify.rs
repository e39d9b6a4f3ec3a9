//! What of a frame the network needs to know.

use fairport_tcp::{Ecn, Flags};
use fairport_wire::{Captured, FlowKey, Frame, Transport};

/// What of a frame the network needs.
pub(crate) struct Identified {
    pub(crate) key: FlowKey,
    pub(crate) size_bytes: u16,
    pub(crate) ecn: Ecn,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// what it takes of the sequence space
    pub(crate) length: u32,
}

/// None if the frame holds no whole packet of IP.
pub(crate) fn identify(frame: Captured<'_>) -> Option<Identified> {
    let frame = Frame::parse(frame).ok()?;
    let key = frame.network.flow_key().ok()??;
    let (seq, ack, length) = match frame.network.transport().ok()?? {
        Transport::Tcp(tcp) => {
            let flags = tcp.flags();
            let ends =
                u32::from(flags.contains(Flags::SYN)) + u32::from(flags.contains(Flags::FIN));
            (tcp.seq(), tcp.ack(), tcp.payload_length() as u32 + ends)
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
