//! Conversion between TCP headers and the segments of `fairport-tcp`, which its state machines send and receive.

use fairport_tcp::{Flags, Options, Segment, SynOptions};

use crate::error::{Fault, Layer, ParseError};
use crate::tcp::{TcpHeader, TcpPacket};
use crate::tcp_options::{OptionSet, SackList};

/// The MSS of a peer that does not announce one (RFC 9293 3.7.1, MUST-15).
const DEFAULT_MSS: u16 = 536;

impl TcpPacket<'_> {
    /// Converts to a segment. Sequence numbers are those of the wire, and the window is not scaled. As on a host, the
    /// MSS, window scale and SACK-permitted options count only in a SYN, and SACK blocks only outside one. A SYN that
    /// has some of these options but no MSS has an MSS of 536 bytes. A segment has no ports, urgent pointer or
    /// accurate ECN bit: they are left out.
    ///
    /// # Errors
    /// [`ParseError`] if the options were cut off, if an option's length is not valid, or if the segment has more than
    /// 65,535 bytes of data. Captures on a host may hold such segments, which the network adapter will split.
    #[inline]
    pub fn to_segment(&self) -> Result<Segment, ParseError> {
        let set = OptionSet::read(self.options())?;
        let payload = u16::try_from(self.payload_length())
            .map_err(|_| Fault::PayloadLength.at(Layer::Tcp))?;
        let flags = self.flags();
        Ok(Segment {
            seq: self.seq(),
            ack: self.ack(),
            payload,
            window: self.window(),
            flags,
            fixed_header: 0,
            options: segment_options(&set, flags.contains(Flags::SYN)),
        })
    }
}

#[inline]
fn segment_options(set: &OptionSet, is_syn: bool) -> Options {
    let mut options = Options::default();
    if let Some(timestamps) = set.timestamps {
        options.set_timestamps(timestamps);
    }
    if is_syn {
        if set.mss.is_some() || set.window_scale.is_some() || set.sack_permitted {
            options.set_syn(SynOptions {
                mss: set.mss.unwrap_or(DEFAULT_MSS),
                window_scale: set.window_scale,
                sack_permitted: set.sack_permitted,
            });
        }
    } else {
        let room = options.sack_room();
        for block in set.sacks.blocks().iter().take(room) {
            options.push_sack(*block);
        }
    }
    options
}

impl TcpHeader {
    /// The header of a segment. It has its own length, also if the segment gives one length for all its headers
    /// ([`Segment::fixed_header`]).
    pub fn from_segment(segment: &Segment, source_port: u16, destination_port: u16) -> Self {
        let options = &segment.options;
        let syn = options.syn();
        let mut blocks = [fairport_tcp::SackBlock::default(); Options::MAX_SACKS];
        let mut count = 0;
        for (place, block) in blocks.iter_mut().zip(options.sacks()) {
            *place = block;
            count += 1;
        }
        Self {
            source_port,
            destination_port,
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            accurate_ecn: false,
            window: segment.window,
            urgent_pointer: 0,
            options: OptionSet {
                mss: syn.map(|syn| syn.mss),
                window_scale: syn.and_then(|syn| syn.window_scale),
                sack_permitted: syn.is_some_and(|syn| syn.sack_permitted),
                timestamps: options.timestamps(),
                sacks: SackList::new(&blocks[..count]).unwrap_or_default(),
            },
        }
    }
}
