//! Between headers and the segments of `fairport-tcp`, which the state machines send and receive.

use fairport_tcp::{Flags, Options, Segment, SynOptions};

use crate::error::{Fault, Layer, ParseError};
use crate::tcp::{TcpHeader, TcpPacket};
use crate::tcp_options::{OptionSet, SackList};

/// The largest segment that a peer takes that does not say (RFC 9293 3.7.1, MUST-15).
const DEFAULT_MSS: u16 = 536;

impl TcpPacket<'_> {
    /// The segment. Sequence numbers are those of the wire, and the window is not shifted. As hosts read
    /// them, the options of a SYN count in a SYN alone, and SACK blocks do not; a SYN with some of its
    /// options but no MSS means 536 bytes. Ports, urgent pointer, Fast Open and accurate ECN are not part
    /// of a segment.
    ///
    /// # Errors
    /// If the options were cut off, or the length of one does not fit, or if the segment has more than
    /// 65,535 bytes of data: a host's capture before its adapter cuts segments to size.
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
    /// The header of a segment. Where a stack has one size for every header ([`Segment::fixed_header`]), the
    /// header has its own size nevertheless.
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
                fast_open: None,
            },
        }
    }
}
