//! The tracker of all flows in a capture: it takes packets and gives tables.

use fairport_record::RttSummary;
use fairport_record::tables::TimeoutRow;
use fairport_tcp::Flags;
use fairport_units::{Duration, Instant};
use fairport_wire::tcp;

use super::direction::Direction;
use super::events::{Ack, Seen};
use super::histogram::Histogram;
use super::report::{Counts, Expiry, FlowTotals};
use super::series::{Present, Series};

/// Facts about a connection that both directions share.
#[derive(Clone, Copy, Debug, Default)]
struct Opening {
    first_ns: u64,
    last_ns: u64,
    /// when the SYN passed, and when the SYN-ACK passed; 0 if not seen
    syn_ns: u64,
    answer_ns: u64,
    syns: u32,
    established_ns: Option<u64>,
    /// by direction: when data last reached the receiver, and its bytes during the measurement
    ended_ns: [u64; 2],
    measured_bytes: [u64; 2],
    /// by direction: RTT samples, of the measurement if its bounds are given
    rtt: [RttSummary; 2],
}

/// The other direction of the same connection: the two have neighbouring numbers.
#[inline]
fn reverse(direction: usize) -> usize {
    direction ^ 1
}

/// Follows all flows.
#[derive(Debug)]
pub struct Tracker {
    directions: Vec<Direction>,
    /// by connection, which has half the number of its directions
    openings: Vec<Opening>,
    /// by direction
    histograms: Vec<Histogram>,
    pub(crate) series: Series,
    /// expiries of the retransmission timer, with their directions
    expiries: Vec<(u32, Expiry)>,
    measure_ns: Option<(u64, u64)>,
}

impl Tracker {
    /// A tracker with a series of this interval, and the bounds of the measurement if they are known.
    pub fn new(interval_ns: u64, measure_ns: Option<(u64, u64)>) -> Self {
        Self {
            directions: Vec::new(),
            openings: Vec::new(),
            histograms: Vec::new(),
            series: Series::new(interval_ns),
            expiries: Vec::new(),
            measure_ns,
        }
    }

    fn add_connection(&mut self, now: u64) {
        self.directions
            .extend([Direction::default(), Direction::default()]);
        self.histograms
            .extend([Histogram::default(), Histogram::default()]);
        self.openings.push(Opening {
            first_ns: now,
            last_ns: now,
            ..Opening::default()
        });
    }

    /// Reads data that the next packets of these directions need, so that it is in the cache when they are observed.
    /// With thousands of flows it is not in the cache, and a separate access for each packet would have to wait. The
    /// returned sum has no meaning.
    pub fn warm(&self, directions: &[u32]) -> u64 {
        let mut sum = 0;
        let known = directions
            .iter()
            .filter(|one| (**one as usize) < self.directions.len());
        for place in known.clone().map(|one| *one as usize) {
            sum ^= self.directions[place].warm() ^ self.directions[reverse(place)].warm();
            sum ^= self.openings[place / 2].last_ns;
        }
        // then the data that these point to
        for direction in known {
            let other = reverse(*direction as usize);
            sum ^= self.directions[other].oldest_ns();
            sum ^= u64::from(self.series.warm(*direction) ^ self.series.warm(other as u32));
            sum ^= u64::from(self.histograms[other].warm());
        }
        sum
    }

    /// Processes a packet that passes the tap. Directions are numbered in pairs, from 0.
    #[inline]
    pub fn observe(&mut self, seen: &Seen<'_>) {
        let place = seen.direction as usize;
        while self.directions.len() <= place {
            self.add_connection(seen.time_ns);
        }
        let opening = &mut self.openings[place / 2];
        opening.last_ns = opening.last_ns.max(seen.time_ns);
        let packet = seen.packet;
        let counts = &mut self.directions[place].counts;
        counts.packets += 1;
        counts.ttl = counts.ttl.max(packet.ttl);
        if packet.key.protocol != tcp::PROTOCOL {
            counts.segments += 1;
            self.openings[place / 2]
                .established_ns
                .get_or_insert(seen.time_ns);
            if let Some(left_ns) = seen.left_ns {
                self.directions[place].counts.delivered_bytes += u64::from(packet.payload);
                self.deliver(seen.direction, left_ns, u64::from(packet.payload));
            }
            return;
        }
        if !packet.flags.contains(Flags::RST) {
            self.observe_tcp(seen);
        }
    }

    #[inline]
    fn observe_tcp(&mut self, seen: &Seen<'_>) {
        let (packet, now) = (seen.packet, seen.time_ns);
        let place = seen.direction as usize;
        let other = reverse(place);
        if packet.flags.contains(Flags::SYN) {
            self.on_syn(seen);
        } else {
            self.note_established(seen);
        }
        if let Some(stamps) = packet.timestamps {
            self.directions[place].leg.stamp(stamps.val, now);
            if packet.flags.contains(Flags::ACK)
                && let Some(sample) = self.directions[other].leg.echoed(stamps.ecr, now)
            {
                // the time to the sender of this packet and back belongs to its own direction
                self.directions[place].leg.add(sample);
            }
        }
        if packet.flags.contains(Flags::ACK) {
            self.on_ack(seen);
        }
        if packet.sequence_length() > 0 {
            let other_leg_ns = self.directions[other].leg.typical_ns();
            let outcome = self.directions[place].on_segment(seen, other_leg_ns);
            if let Some(expiry) = outcome.expiry {
                self.expiries.push((seen.direction, expiry));
            }
            if outcome.new_bytes > 0 {
                self.deliver(
                    seen.direction,
                    seen.left_ns.unwrap_or(now),
                    outcome.new_bytes,
                );
            }
        }
    }

    #[cold]
    fn on_syn(&mut self, seen: &Seen<'_>) {
        let packet = seen.packet;
        let place = seen.direction as usize;
        let opening = &mut self.openings[place / 2];
        if packet.flags.contains(Flags::ACK) {
            if opening.syns == 1 && opening.answer_ns == 0 {
                let sample = seen.time_ns.saturating_sub(opening.syn_ns);
                self.directions[place].leg.add(sample);
            }
            opening.answer_ns = seen.time_ns;
            if packet.window_scale.is_none() && !packet.options_cut {
                // windows are scaled only if both ends offer it (RFC 7323 2.2)
                self.directions[reverse(place)].window_scale = Some(0);
            }
        } else {
            opening.syns += 1;
            opening.syn_ns = seen.time_ns;
        }
        let state = &mut self.directions[place];
        state.window_scale = match packet.window_scale {
            None if packet.options_cut => None,
            offered => Some(offered.unwrap_or(0).min(14)),
        };
        let mss = packet.mss.unwrap_or(0);
        self.directions[reverse(place)].counts.mss = mss;
        // where the answer takes another way, an end probably sends what it accepts
        let own = &mut self.directions[place].counts.mss;
        *own = if *own == 0 { mss } else { *own };
    }

    /// Processes the first packet after the handshake, or the very first one.
    #[inline]
    fn note_established(&mut self, seen: &Seen<'_>) {
        let opening = &mut self.openings[seen.direction as usize / 2];
        if opening.established_ns.is_some() {
            return;
        }
        opening.established_ns = Some(seen.time_ns);
        let opening = *opening;
        if opening.answer_ns > 0 {
            let sample = seen.time_ns.saturating_sub(opening.answer_ns);
            self.directions[seen.direction as usize].leg.add(sample);
        } else if opening.syns == 1 {
            // the SYN-ACK took another path, so this is the full round trip
            self.directions[seen.direction as usize]
                .add_rtt(seen.time_ns.saturating_sub(opening.syn_ns));
        }
    }

    /// Processes a packet that acknowledges data of the other direction.
    #[inline]
    fn on_ack(&mut self, seen: &Seen<'_>) {
        let (packet, now) = (seen.packet, seen.time_ns);
        let place = seen.direction as usize;
        let other = reverse(place);
        let mut sacks = [None; 2];
        for (sack, block) in sacks.iter_mut().zip(packet.sacks.blocks()) {
            *sack = Some((block.start, block.end));
        }
        let scale = match packet.window {
            0 => Some(0),
            _ if packet.flags.contains(Flags::SYN) => None,
            _ => self.directions[place].window_scale,
        };
        let sender_leg_ns = self.directions[other].leg.typical_ns();
        let acknowledged = &mut self.directions[other];
        let outcome = acknowledged.on_ack(&Ack {
            time_ns: now,
            to: packet.ack,
            window: scale.map(|bits| u32::from(packet.window) << bits),
            has_data: packet.payload > 0,
            echo: packet.timestamps.map(|stamps| stamps.ecr),
            sacks,
            sacks_cut: packet.sacks_cut,
        });
        if let Some(leg_ns) = outcome.rtt_ns {
            // if the path to the sender was never measured, only this part is known
            let rtt_ns = leg_ns + sender_leg_ns.unwrap_or(0);
            acknowledged.add_rtt(rtt_ns);
            self.series.add_rtt(other as u32, now, rtt_ns);
            if self
                .measure_ns
                .is_none_or(|(from, to)| (from..=to).contains(&now))
            {
                self.openings[place / 2].rtt[other % 2].add(Duration::from_ns(rtt_ns));
                self.histograms[other].add(rtt_ns);
            }
        }
        if outcome.unseen_bytes > 0 {
            self.deliver(other as u32, now, outcome.unseen_bytes);
        }
    }

    #[inline]
    fn deliver(&mut self, direction: u32, left_ns: u64, new_bytes: u64) {
        let state = &self.directions[direction as usize];
        let present = Present {
            in_flight_bytes: state.in_flight(),
            srtt_ns: state.srtt_ns,
        };
        self.series.add(direction, left_ns, new_bytes, present);
        let opening = &mut self.openings[direction as usize / 2];
        let side = direction as usize % 2;
        opening.ended_ns[side] = opening.ended_ns[side].max(left_ns);
        if self
            .measure_ns
            .is_some_and(|(from, to)| (from..=to).contains(&left_ns))
        {
            opening.measured_bytes[side] += new_bytes;
        }
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.openings.len()
    }

    /// The direction of a connection that carried more data.
    pub fn data_direction(&self, connection: u32) -> u32 {
        let first = 2 * connection;
        let load = |direction: u32| {
            let counts = &self.directions[direction as usize].counts;
            (counts.delivered_bytes, counts.segments)
        };
        if load(first + 1) > load(first) {
            first + 1
        } else {
            first
        }
    }

    /// The counters of a direction so far.
    pub fn counts(&self, direction: u32) -> &Counts {
        &self.directions[direction as usize].counts
    }

    /// Everything known about a flow so far.
    pub fn totals(&self, direction: u32) -> FlowTotals {
        let place = direction as usize;
        let opening = &self.openings[place / 2];
        let state = &self.directions[place];
        FlowTotals {
            first_ns: opening.first_ns,
            last_ns: opening.last_ns,
            established_ns: opening.established_ns,
            has_start: opening.syns > 0,
            ended_ns: opening.ended_ns[place % 2],
            measured_bytes: opening.measured_bytes[place % 2],
            counts: state.counts,
            done_ns: state.done_ns(),
            back: self.directions[reverse(place)].counts,
            rtt: opening.rtt[place % 2],
            legs_ns: [
                state.leg.typical_ns(),
                self.directions[reverse(place)].leg.typical_ns(),
            ],
        }
    }

    /// The timeouts of all connections, as rows with the number of the connection, in the order in which they ended.
    /// The first direction of a connection counts as forward.
    pub fn timeouts(&self) -> Vec<TimeoutRow> {
        let rows = self.expiries.iter().map(|(direction, expiry)| TimeoutRow {
            flow: direction / 2,
            start_s: Instant::from_ns(expiry.since_ns),
            end_s: Instant::from_ns(expiry.at_ns),
            rto_s: Duration::NEVER,
            backoff: expiry.backoff,
            cause: 0,
            seq: expiry.seq,
            is_backward: !direction.is_multiple_of(2),
        });
        rows.collect()
    }

    /// The histogram of a direction's round-trip times: middles of bins in s, and numbers of samples.
    pub fn rtt_bins(&self, direction: u32) -> Vec<(f64, u64)> {
        self.histograms[direction as usize].bins().collect()
    }
}
