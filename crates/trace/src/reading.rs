//! A capture file as the analysis reads it: packet by packet, cut into segments, in order of time, without copies.

use fairport_net::discipline::Reason;

use crate::capture::Capture;
use crate::copies::Copies;
use crate::damage::Damage;
use crate::error::Error;
use crate::in_order::InOrder;
use crate::join::Clock;
use crate::packet::{Packet, UnreadCounts, decode};
use crate::record::Direction;
use crate::segments::{Pieces, SegmentSizes};

/// Number of packets between two reports of progress.
pub(crate) const SLICE: u64 = 200_000;
const DAY_NS: u64 = 86_400_000_000_000;
/// The longest possible run, since times are 64 bits of ps: 213 days.
const LONGEST_NS: u64 = 213 * DAY_NS;

/// What was read from a file.
#[derive(Clone, Debug, Default)]
pub struct FileSummary {
    /// name of the file
    pub file: String,
    /// number of bytes, after unpacking
    pub bytes: u64,
    /// number of packets
    pub packets: u64,
    /// packets that are not TCP or UDP, or whose headers were not captured
    pub unread: UnreadCounts,
    /// number of packets of tunnels that were not decoded
    pub tunnelled: u64,
    /// number of packets whose TCP options were not captured whole
    pub options_cut: u64,
    /// packets that the capturing host lost, by its own count
    pub lost: u64,
    /// packets that the capture holds a second time; they are not counted anywhere
    pub copies: u64,
    /// packets that hold several segments, and those among them that stay whole, because the size of their segments is
    /// not known
    pub merged: u64,
    /// see `merged`
    pub uncut: u64,
    /// the most that a timestamp is earlier than one before it
    pub backward_ns: u64,
    /// the longest time without a packet, between two that were read
    pub gap_ns: u64,
    /// damage that was found
    pub damage: Damage,
}

/// A file that is being read, and its next packet.
pub(crate) struct Reading {
    pub(crate) capture: Capture,
    clock: Clock,
    /// packets inside tunnels are decoded
    tunnels: bool,
    summary: FileSummary,
    copies: Copies,
    order: InOrder<Found>,
    /// the segments that are left of a packet with several
    pieces: Option<(Pieces, RecordFacts)>,
    pub(crate) next: Option<Found>,
    is_over: bool,
    /// later timestamps do not fit into a run
    last_ns: u64,
    newest_ns: u64,
}

/// What a file says of a packet: the interface, the direction, and why it was dropped.
#[derive(Clone, Copy)]
pub(crate) struct RecordFacts {
    pub(crate) interface: u32,
    pub(crate) direction: Direction,
    pub(crate) reason: Option<Reason>,
}

/// A TCP or UDP packet, and the facts that its capture gives.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// its time is that of the reference's clock
    pub(crate) packet: Packet,
    pub(crate) facts: RecordFacts,
}

impl Reading {
    /// `has_copies`: it is known to hold packets twice.
    pub(crate) fn open(
        file: &str,
        clock: Clock,
        tunnels: bool,
        has_copies: bool,
    ) -> Result<Self, Error> {
        let capture = Capture::open(file)?;
        Ok(Self {
            summary: FileSummary {
                file: capture.name().to_owned(),
                ..FileSummary::default()
            },
            capture,
            clock,
            tunnels,
            copies: Copies::new(has_copies),
            order: InOrder::new(),
            pieces: None,
            next: None,
            is_over: false,
            last_ns: u64::MAX,
            newest_ns: 0,
        })
    }

    /// Sets the start of the run to `start_ns`. No packet may be more than [`LONGEST_NS`] later.
    pub(crate) fn starts_at(&mut self, start_ns: u64) -> Result<(), Error> {
        self.last_ns = start_ns.saturating_add(LONGEST_NS);
        match &self.next {
            Some(next) if next.packet.time_ns > self.last_ns => {
                Err(self.too_late(next.packet.time_ns))
            }
            _ => Ok(()),
        }
    }

    /// The error for a packet that is too much later than the very first one.
    #[cold]
    fn too_late(&self, time_ns: u64) -> Error {
        let first_ns = self.last_ns.saturating_sub(LONGEST_NS);
        let days = time_ns.saturating_sub(first_ns) / DAY_NS;
        let number = self.summary.packets;
        Error::new(
            &self.summary.file,
            format!(
                "the stamp of packet {number} is {days} days after the first packet; an analysis spans 213 days"
            ),
            "correct the stamp, or cut the capture: editcap -A START -B STOP IN OUT",
        )
    }

    /// Moves on to the next TCP or UDP packet. False if there is none among the next records, at most [`SLICE`], and the
    /// file goes on.
    #[inline]
    pub(crate) fn advance(&mut self, segments: &mut SegmentSizes) -> Result<bool, Error> {
        let mut next = None;
        let goes_on = self.read(segments, |one| next = Some(one))?;
        self.next = next;
        Ok(self.next.is_some() || !goes_on)
    }

    /// Gives the next TCP or UDP packet, in order of time, to `put`. Among at most [`SLICE`] records without one it gives
    /// nothing. False at the end of the file.
    #[inline]
    pub(crate) fn read(
        &mut self,
        segments: &mut SegmentSizes,
        put: impl FnOnce(Found),
    ) -> Result<bool, Error> {
        if !self.order.is_needed {
            return self.read_as_written(segments, put);
        }
        let mut found = self.order.next();
        while found.is_none() {
            let mut next = None;
            if !self.read_as_written(segments, |one| next = Some(one))? {
                found = self.order.rest();
                break;
            }
            let Some(next) = next else {
                return Ok(true);
            };
            self.order.add(next.packet.time_ns, next);
            found = self.order.next();
        }
        Ok(found.map(put).is_some())
    }

    /// As [`Self::read`], in the order of the file.
    #[inline]
    pub(crate) fn read_as_written(
        &mut self,
        segments: &mut SegmentSizes,
        put: impl FnOnce(Found),
    ) -> Result<bool, Error> {
        loop {
            if self.pieces.is_some()
                && let Some(found) = self.next_piece()?
            {
                put(found);
                return Ok(true);
            }
            let Some(record) = self.capture.next_record() else {
                break;
            };
            self.summary.packets += 1;
            let reason = if record.comment.is_empty() {
                None
            } else {
                reason(record.comment)
            };
            let facts = RecordFacts {
                interface: record.interface,
                direction: record.direction,
                reason,
            };
            let (bytes, length, time_ns) = (record.bytes, record.length, record.time_ns);
            let packet = decode(bytes, length, record.link_type, time_ns, self.tunnels);
            if self.summary.packets == 1 {
                self.capture.check_links()?;
            }
            let packet = match packet {
                Ok(packet) => packet,
                Err(unread) => {
                    self.summary.unread.add(unread);
                    self.summary.tunnelled += u64::from(!self.tunnels && unread.is_tunnel());
                    if self.summary.packets.is_multiple_of(SLICE) {
                        return Ok(true);
                    }
                    continue;
                }
            };
            self.summary.tunnelled += u64::from(!self.tunnels && packet.is_tunnel());
            self.summary.options_cut += u64::from(packet.options_cut);
            if let Some(pieces) = segments.pieces(&packet) {
                self.summary.merged += 1;
                self.summary.uncut += u64::from(pieces.is_whole());
                self.pieces = Some((pieces, facts));
                continue;
            }
            if self.is_copy(&packet, facts) {
                continue;
            }
            put(self.found(packet, facts)?);
            return Ok(true);
        }
        if !self.is_over {
            self.is_over = true;
            self.capture.check_links()?;
        }
        Ok(false)
    }

    /// The next segment of a packet with several.
    #[cold]
    fn next_piece(&mut self) -> Result<Option<Found>, Error> {
        while let Some((pieces, facts)) = &mut self.pieces {
            let facts = *facts;
            let Some(piece) = pieces.next() else {
                self.pieces = None;
                break;
            };
            if !self.is_copy(&piece, facts) {
                return Ok(Some(self.found(piece, facts)?));
            }
        }
        Ok(None)
    }

    #[inline]
    fn is_copy(&mut self, packet: &Packet, facts: RecordFacts) -> bool {
        self.copies
            .is_copy(packet, facts.interface, facts.direction)
    }

    /// The packet with its time by the reference's clock.
    #[expect(
        clippy::inline_always,
        reason = "the packet is made where it is put, and not copied there"
    )]
    #[inline(always)]
    fn found(&mut self, mut packet: Packet, facts: RecordFacts) -> Result<Found, Error> {
        let time_ns = packet.time_ns;
        let back_ns = self.newest_ns.saturating_sub(time_ns);
        self.summary.backward_ns = self.summary.backward_ns.max(back_ns);
        self.order.note(back_ns);
        if self.newest_ns > 0 {
            let gap_ns = time_ns.saturating_sub(self.newest_ns);
            self.summary.gap_ns = self.summary.gap_ns.max(gap_ns);
        }
        self.newest_ns = self.newest_ns.max(time_ns);
        packet.time_ns = self.clock.aligned(time_ns);
        if packet.time_ns > self.last_ns {
            return Err(self.too_late(packet.time_ns));
        }
        Ok(Found { packet, facts })
    }

    /// Number of records read so far, of whatever kind.
    pub(crate) fn records(&self) -> u64 {
        self.summary.packets
    }

    /// The summary of what was read so far.
    pub(crate) fn summary(&self) -> FileSummary {
        FileSummary {
            bytes: self.capture.position(),
            copies: self.copies.found,
            lost: self.capture.interfaces().iter().map(|one| one.lost).sum(),
            damage: self.capture.damage().clone(),
            ..self.summary.clone()
        }
    }
}

/// The reason in a comment of the form "dropped: REASON".
fn reason(comment: &[u8]) -> Option<Reason> {
    Reason::named(comment.strip_prefix(b"dropped: ")?)
}

/// The number of the file whose next packet is the earliest.
#[inline]
pub(crate) fn earliest(readings: &[Reading]) -> Option<usize> {
    if let [reading] = readings {
        return reading.next.as_ref().map(|_| 0);
    }
    let times = readings.iter().enumerate();
    times
        .filter_map(|(file, one)| Some((one.next.as_ref()?.packet.time_ns, file)))
        .min()
        .map(|(_, file)| file)
}
