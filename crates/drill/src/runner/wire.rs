//! Converts between segments as scripts write them and as they are on the wire: relative sequence numbers, timestamps,
//! the order of options.

use fairport_tcp::{Flags, SackBlock, Segment, SynOptions, Timestamps};

use crate::ast::{Packet, TcpOption};

/// The MSS of a peer that does not announce one (RFC 9293 3.7.1).
const MSS_DEFAULT: u16 = 536;

/// A segment as a script writes it, with the sequence numbers and timestamps that it has.
impl From<&Segment> for Packet {
    fn from(segment: &Segment) -> Self {
        Numbering::new(0).outbound(segment)
    }
}

/// Converts a script's numbers to those on the wire and back. The peer's sequence numbers are the same in both.
#[derive(Debug)]
pub(super) struct Numbering {
    /// sequence number of the stack's SYN on the wire
    isn: u32,
    /// sequence number of the stack's SYN in the script
    script_isn: u32,
    /// known timestamps of the stack: in the script, and on the wire
    stamps: Vec<(u32, u32)>,
}

impl Numbering {
    pub(super) fn new(isn: u32) -> Self {
        Self {
            isn,
            script_isn: 0,
            stamps: Vec::new(),
        }
    }

    /// Sets the sequence number that the stack's SYN has in the script.
    pub(super) fn synchronise(&mut self, script_isn: u32) {
        self.script_isn = script_isn;
    }

    fn to_wire(&self, number: u32) -> u32 {
        number.wrapping_sub(self.script_isn).wrapping_add(self.isn)
    }

    fn to_script(&self, number: u32) -> u32 {
        number.wrapping_sub(self.isn).wrapping_add(self.script_isn)
    }

    /// Notes that the script's timestamp `script` is `wire` on the wire.
    pub(super) fn note_stamp(&mut self, script: u32, wire: u32) {
        self.stamps.push((script, wire));
    }

    /// Whether any timestamp of the stack is known, so that the others can be converted.
    pub(super) fn counts_stamps(&self) -> bool {
        !self.stamps.is_empty()
    }

    /// Converts a timestamp of the stack to the script's count. Before one is known, it stays as it is.
    pub(super) fn stamp_to_script(&self, wire: u32) -> u32 {
        match self.stamps.first() {
            Some((script, first)) => script.wrapping_add(wire.wrapping_sub(*first)),
            None => wire,
        }
    }

    /// Converts a timestamp from the script's count: a known one exactly, another one by its distance from the first.
    fn stamp_to_wire(&self, script: u32) -> u32 {
        let seen = self.stamps.iter().rev().find(|(known, _)| *known == script);
        match (seen, self.stamps.first()) {
            (Some((_, wire)), _) => *wire,
            (None, Some((first, wire))) if script != 0 => {
                wire.wrapping_add(script.wrapping_sub(*first))
            }
            _ => script,
        }
    }

    /// Converts a segment of the peer for the stack.
    pub(super) fn inbound(&self, packet: &Packet) -> Result<Segment, String> {
        let payload = u16::try_from(packet.payload)
            .map_err(|_| format!("{} bytes are more than a segment holds", packet.payload))?;
        let mut segment = Segment {
            seq: packet.seq,
            ack: packet.ack.map_or(0, |ack| self.to_wire(ack)),
            payload,
            window: packet.window.unwrap_or_default(),
            flags: Flags::from_bits(packet.flags),
            ..Segment::default()
        };
        let mut syn = None::<SynOptions>;
        let mut blocks = Vec::new();
        for option in packet.options.iter().flatten() {
            let offer = || SynOptions {
                mss: MSS_DEFAULT,
                ..SynOptions::default()
            };
            match option {
                TcpOption::Nop | TcpOption::Eol => {}
                TcpOption::Mss(mss) => syn.get_or_insert_with(offer).mss = *mss,
                TcpOption::WindowScale(bits) => {
                    syn.get_or_insert_with(offer).window_scale = Some(*bits);
                }
                TcpOption::SackPermitted => syn.get_or_insert_with(offer).sack_permitted = true,
                TcpOption::Sack(given) => blocks.extend_from_slice(given),
                TcpOption::Timestamps(val, ecr) => segment.options.set_timestamps(Timestamps {
                    val: *val,
                    ecr: self.stamp_to_wire(*ecr),
                }),
            }
        }
        if let Some(syn) = syn {
            if !blocks.is_empty() {
                return Err("SACK blocks beside the options of a SYN".to_owned());
            }
            segment.options.set_syn(syn);
        }
        for (start, end) in blocks.iter().take(segment.options.sack_room()) {
            segment.options.push_sack(SackBlock {
                start: self.to_wire(*start),
                end: self.to_wire(*end),
            });
        }
        Ok(segment)
    }

    /// Converts a segment of the stack to the form in which a script would write it.
    pub(super) fn outbound(&self, segment: &Segment) -> Packet {
        let has_ack = segment.flags.contains(Flags::ACK);
        Packet {
            ecn: Vec::new(),
            flags: segment.flags.bits(),
            seq: self.to_script(segment.seq),
            payload: u32::from(segment.payload),
            ack: has_ack.then_some(segment.ack),
            window: Some(segment.window),
            options: Some(self.options(segment)),
        }
    }

    /// The options of a segment, in the order in which Linux writes them (`tcp_options_write`).
    fn options(&self, segment: &Segment) -> Vec<TcpOption> {
        let mut list = Vec::new();
        let syn = segment.options.syn();
        let sack_permitted = syn.is_some_and(|syn| syn.sack_permitted);
        list.extend(syn.map(|syn| TcpOption::Mss(syn.mss)));
        if let Some(stamps) = segment.options.timestamps() {
            if sack_permitted {
                list.push(TcpOption::SackPermitted);
            } else {
                list.extend([TcpOption::Nop, TcpOption::Nop]);
            }
            let val = self.stamp_to_script(stamps.val);
            list.push(TcpOption::Timestamps(val, stamps.ecr));
        } else if sack_permitted {
            list.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackPermitted]);
        }
        if let Some(bits) = syn.and_then(|syn| syn.window_scale) {
            list.extend([TcpOption::Nop, TcpOption::WindowScale(bits)]);
        }
        if segment.options.has_sacks() {
            let blocks = segment.options.sacks();
            let blocks = blocks.map(|block| (block.start, block.end)).collect();
            list.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
        }
        list
    }
}
