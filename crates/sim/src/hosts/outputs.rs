//! The hosts' output paths: the time that a host takes to send a segment, its latency to the NIC, and the room in the
//! queues of its adapters.

use fairport_net::classifier::{Classifier, LONG};
use fairport_net::{Access, Observer};
use fairport_plan::{Answer, HostOutput, HostTime};
use fairport_record::Simulated;
use fairport_tcp::Segment;
use fairport_units::Instant;

use super::live_flow::Endpoint;

/// The output paths of all hosts: a segment takes its host's processing time, and then a constant latency to the NIC.
pub(crate) struct Outputs {
    /// by host number
    hosts: Vec<Output>,
    /// separates short flows from long ones
    classifier: Option<Classifier>,
}

impl Outputs {
    pub(crate) fn new(hosts: Vec<HostOutput>, classifier: Option<Classifier>) -> Self {
        let output = |host: HostOutput| Output {
            room: host.queue_packets,
            host,
        };
        Self {
            hosts: hosts.into_iter().map(output).collect(),
            classifier,
        }
    }

    /// The output path of one host, looked up once per event.
    #[inline]
    pub(crate) fn of(&mut self, host: u32) -> OutputPath<'_> {
        OutputPath {
            output: &mut self.hosts[host as usize],
            classifier: &mut self.classifier,
        }
    }
}

/// The output of one host.
struct Output {
    host: HostOutput,
    /// lower bound on the packets that it can send before the queue of one of its adapters is full
    room: u32,
}

/// The output of the host at which an event happens.
pub(crate) struct OutputPath<'a> {
    output: &'a mut Output,
    classifier: &'a mut Option<Classifier>,
}

impl OutputPath<'_> {
    /// A packet reaches the host.
    #[inline]
    pub(crate) fn reached(&mut self, now: Instant) {
        if let HostTime::Measured(host) = &mut self.output.host.time {
            host.reached(now);
        }
    }

    /// Returns when a packet that an endpoint sends at `now` reaches its host's NIC, and its class. The
    /// packet is classified at that time, because the wire to the edge switch delays all packets equally.
    #[expect(clippy::inline_always, reason = "the hot path: every packet sent")]
    #[inline(always)]
    pub(crate) fn leave(
        &mut self,
        now: Instant,
        endpoint: u32,
        segment: &Segment,
    ) -> (Instant, u8) {
        let host = &mut self.output.host;
        let done = match &mut host.time {
            HostTime::Drawn(server) => server.serve(now),
            HostTime::Measured(host) => host.answer(now, answer(segment)),
        };
        let at = done + host.latency;
        let class = match self.classifier {
            Some(classifier) => classifier.classify(at, host.edge, endpoint),
            None => LONG,
        };
        (at, class)
    }

    /// Whether the host certainly has room for another packet. Does not look at its queues.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.output.room > 0
    }

    /// Counts a packet that the host sends, which may take a place in a queue.
    #[inline]
    pub(crate) fn take_room(&mut self) {
        self.output.room = self.output.room.saturating_sub(1);
    }

    /// Whether a connection waits because its host's queue is full. Updates `room` from the queues' backlogs.
    #[cold]
    pub(crate) fn holds<P: Simulated, O: Observer<P>>(
        &mut self,
        network: &mut Access<'_, P, O>,
        endpoint: &mut Endpoint,
        now: Instant,
    ) -> bool {
        let Output { host, room } = &mut *self.output;
        let at = now.max(host.time.free_at()) + host.latency;
        let mut waiting = |port| network.backlog(port, at).packets;
        let most = host.adapters.iter().map(|port| waiting(*port)).max();
        *room = host.queue_packets.saturating_sub(most.unwrap_or(0));
        *room == 0
            && network.backlog_of_adapter(endpoint.route, at).packets >= host.queue_packets
            && endpoint.connection.yields_to_host(now)
    }
}

/// Which of the measured times a segment takes. An ACK with SACK blocks reports missing segments.
fn answer(segment: &Segment) -> Answer {
    if segment.payload > 0 {
        Answer::Data
    } else if segment.options.sacks().len() > 0 {
        Answer::DuplicateAck
    } else {
        Answer::Ack
    }
}

#[cfg(test)]
mod tests {
    use fairport_tcp::{Flags, SackBlock};

    use super::*;

    #[test]
    fn data_acks_and_acks_with_sack_blocks_take_times_of_their_own() {
        let mut segment = Segment {
            flags: Flags::ACK,
            ..Segment::default()
        };
        assert!(matches!(answer(&segment), Answer::Ack));
        let (start, end) = (1449, 2897);
        segment.options.push_sack(SackBlock { start, end });
        assert!(matches!(answer(&segment), Answer::DuplicateAck));
        // a segment with a payload counts as data, whatever else it carries
        segment.payload = 1;
        assert!(matches!(answer(&segment), Answer::Data));
    }
}
