//! What watches the network: the fingerprint, the drops, the marks, the longest blackouts.

mod log;
mod trace;

use fairport_net::discipline::Verdict;
use fairport_net::{Arrival, Header, Observer, Packet, PortId, Topology};
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::fingerprint::Fingerprint;
use log::{Drops, Marks};
pub(crate) use trace::Trace;

/// The observer of a run's network.
pub(crate) struct Probes {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) drops: Drops,
    pub(crate) marks: Marks,
    pub(crate) trace: Trace,
    /// drops by flow
    pub(crate) flow_drops: Vec<u64>,
    /// marks by flow
    pub(crate) flow_marks: Vec<u64>,
}

impl Probes {
    /// Probes without flows; every packet at the `busiest` port may be traced.
    pub(crate) fn new(topology: &Topology, busiest: PortId) -> Self {
        Self {
            fingerprint: Fingerprint::new(topology.ports().len()),
            drops: Drops::default(),
            marks: Marks::default(),
            trace: Trace::new(topology, busiest),
            flow_drops: Vec::new(),
            flow_marks: Vec::new(),
        }
    }
}

impl Observer<Segment> for Probes {
    #[inline]
    fn sent(&mut self, port: PortId, packet: &Packet<Segment>) {
        self.fingerprint.sent(port, &packet.content);
    }

    #[inline]
    fn verdict(&mut self, time: Time, port: PortId, header: &Header, verdict: Verdict) {
        self.fingerprint.met(time, port, header, verdict);
    }

    #[inline]
    fn watches(&self, port: PortId) -> bool {
        self.trace.port == port
    }

    fn detail(&mut self, arrival: &Arrival<'_, Segment>) {
        self.note(arrival);
        if arrival.port == self.trace.port {
            self.trace.note(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, Segment>) {
        self.note(arrival);
        if arrival.port == self.trace.port && !arrival.verdict.is_accepted() {
            self.trace.dropped(arrival.counts.port_arrival);
        }
    }

    fn departs(&mut self, _: PortId, _: &Packet<Segment>, port_arrival: u64, depart: Time) {
        self.trace.departs(port_arrival, depart);
    }
}

impl Probes {
    /// Counts what was dropped or marked.
    fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        let flow = arrival.packet.header.flow as usize;
        match arrival.verdict {
            Verdict::Accepted => {}
            Verdict::Marked => {
                self.marks.note(arrival);
                self.flow_marks[flow] += 1;
            }
            Verdict::Dropped(reason) => {
                self.drops.note(arrival, reason);
                self.flow_drops[flow] += 1;
            }
        }
    }
}
