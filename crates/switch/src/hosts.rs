//! The hosts that are attached to the switch: their interfaces, and how their frames enter the network.

use fairport_net::classifier::{Classifier, LONG};
use fairport_net::{NodeId, Topology};
use fairport_plan::HostOutput;
use fairport_units::{Duration, Instant};

use crate::attachment::Attachment;

/// All hosts of the network, by their numbers in the plan.
pub(crate) struct AttachedHosts {
    hosts: Vec<Host>,
    /// by number of the interface: the host, if one is attached
    of_interface: Vec<Option<u32>>,
    /// by node: the host's number
    of_node: Vec<u32>,
    /// the edge classifier, if the plan has one
    classifier: Option<Classifier>,
}

struct Host {
    /// none if it is not attached
    interface: Option<u32>,
    /// its way into the network, of which the processing time is not used: the host is real
    output: HostOutput,
    /// when its last frame arrived
    last_arrival: Instant,
    /// minimum silence of its senders before a timeout
    silence: Duration,
}

impl AttachedHosts {
    /// The hosts of `topology`, with their ways into the network, of which some are attached.
    pub(crate) fn new(
        topology: &Topology,
        outputs: Vec<HostOutput>,
        classifier: Option<Classifier>,
        attachments: &[Attachment],
    ) -> Self {
        let host = |output| Host {
            interface: None,
            output,
            last_arrival: Instant::ZERO,
            silence: Duration::ZERO,
        };
        let interfaces = attachments.iter().map(|one| one.interface as usize + 1);
        let mut all = Self {
            hosts: outputs.into_iter().map(host).collect(),
            of_interface: vec![None; interfaces.max().unwrap_or(0)],
            of_node: topology.host_numbers(),
            classifier,
        };
        for one in attachments {
            all.of_interface[one.interface as usize] = Some(one.host);
            let host = &mut all.hosts[one.host as usize];
            host.interface = Some(one.interface);
            host.silence = one.silence;
        }
        all
    }

    /// The number of the host at an interface, if there is one.
    pub(crate) fn at_interface(&self, interface: u32) -> Option<u32> {
        self.of_interface.get(interface as usize).copied().flatten()
    }

    /// The number of the host at a node, and its interface.
    pub(crate) fn at_node(&self, node: NodeId) -> (u32, u32) {
        let host = self.of_node[node.0 as usize];
        let interface = self.hosts[host as usize].interface;
        let interface = interface.expect("flows run between attached hosts only");
        (host, interface)
    }

    /// Minimum silence of a host's senders before a timeout.
    pub(crate) fn silence(&self, host: u32) -> Duration {
        self.hosts[host as usize].silence
    }

    /// When a frame with the timestamp `at` arrives: not before `now`, nor before the last frame of its host.
    pub(crate) fn arrival(&mut self, host: u32, at: Instant, now: Instant) -> Instant {
        let last = &mut self.hosts[host as usize].last_arrival;
        *last = at.max(*last).max(now);
        *last
    }

    /// When a packet that arrives at `at` reaches its host's adapter, and its class.
    pub(crate) fn enter(&mut self, host: u32, at: Instant, direction: u32) -> (Instant, u8) {
        let output = &self.hosts[host as usize].output;
        let at_adapter = at + output.latency;
        let class = match &mut self.classifier {
            Some(classifier) => classifier.classify(at_adapter, output.edge, direction),
            None => LONG,
        };
        (at_adapter, class)
    }
}
