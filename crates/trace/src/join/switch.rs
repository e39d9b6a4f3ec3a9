//! The switch whose captures are joined: its ports in the tables, and the results of all outputs together.

use fairport_net::{PortId, Topology};
use fairport_record::{Fingerprint, PortFingerprint, Table};

use super::emitted::{Completeness, Emitted, Joined};
use super::port::JoinedPort;
use crate::error::Error;

/// Tables with rows in order of time across all outputs.
const IN_ORDER: [&str; 4] = ["queue", "drops", "marks", "packets"];

/// The outputs, and the ingress ports of their packets.
pub(crate) struct JoinedSwitch {
    topology: Topology,
    /// ports of the switch: first the ingress ports, then the outputs
    ports: Vec<PortId>,
    outputs: Vec<JoinedPort>,
    /// by connection: the ingress tap and the output of its data
    ways: Vec<Option<(u32, u32)>>,
}

/// Facts about an output that are not in the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSummary {
    /// its name
    pub name: String,
    /// how complete its captures are
    pub completeness: Completeness,
    /// highest rate within any 10 ms, in bit/s
    pub peak_bps: f64,
}

impl JoinedSwitch {
    /// A switch with these numbers of ingress ports and outputs. `logs_packets`: log a row per packet.
    pub(crate) fn new(ingress: u32, egress: u32, logs_packets: bool) -> Result<Self, Error> {
        // a host represents everything behind each port
        let topology = fairport_net::topology::star(ingress + egress).map_err(|_| {
            let remedy = "give the captures of the ports that carry traffic for the outputs";
            Error::new("--ingress", "has too many ports", remedy)
        })?;
        let switch = topology.nodes().iter().find(|node| node.ports.len() > 1);
        let ports = switch
            .expect("a star has a switch with ports")
            .ports
            .clone();
        let (comes_in, goes_out) = ports.split_at(ingress as usize);
        let outputs = goes_out
            .iter()
            .map(|port| JoinedPort::new(&topology, *port, comes_in, logs_packets))
            .collect();
        Ok(Self {
            outputs,
            ports,
            topology,
            ways: Vec::new(),
        })
    }

    /// The names of all ports in the tables, from the names of the ingress taps and of the outputs.
    pub(crate) fn names(&self, ingress: &[String], egress: &[String]) -> Vec<String> {
        let mut names = vec![String::new(); self.topology.ports().len()];
        for (port, name) in self.ports.iter().zip(ingress.iter().chain(egress)) {
            names[port.0 as usize].clone_from(name);
        }
        names
    }

    /// Records that a packet passes an output.
    #[inline]
    pub(crate) fn pass(&mut self, egress: u32, time_ns: u64, frame_bytes: u32) {
        self.outputs[egress as usize].load.add(time_ns, frame_bytes);
    }

    /// Records a packet whose fate is decided.
    #[inline]
    pub(crate) fn arrive(&mut self, joined: &Joined, emitted: &Emitted) {
        if emitted.packet.payload > 0 {
            let place = emitted.direction as usize;
            if self.ways.len() <= place {
                self.ways.resize(place + 1, None);
            }
            self.ways[place] = Some((joined.ingress, joined.egress));
        }
        self.outputs[joined.egress as usize].arrive(joined, emitted);
    }

    /// The numbers, in the tables, of the ingress port and the output of the data in this direction.
    pub(crate) fn way(&self, direction: u32) -> [Option<u32>; 2] {
        let way = self.ways.get(direction as usize).copied().flatten();
        let output = self.ports.len() - self.outputs.len();
        way.map_or([None; 2], |(ingress, egress)| {
            [ingress as usize, output + egress as usize].map(|place| Some(self.ports[place].0))
        })
    }

    /// Numbers of dropped and of marked packets of a flow.
    pub(crate) fn losses(&self, flow: u32) -> (u64, u64) {
        let losses = self.outputs.iter().map(|output| output.losses(flow));
        losses.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Whether the captures gave reasons for drops.
    pub(crate) fn has_reasons(&self) -> bool {
        self.outputs.iter().any(|output| output.has_reasons)
    }

    /// The hash over everything that happened at the outputs.
    pub(crate) fn fingerprint(&self) -> u64 {
        let empty = PortFingerprint::default();
        let of = |port: PortId| {
            let output = self.outputs.iter().find(|output| output.port == port);
            output.map_or(&empty, |output| &output.hash)
        };
        Fingerprint::new(self.topology.port_ids().map(of)).digest
    }

    /// The summary of each output, from its name and the completeness of its captures.
    pub(crate) fn summaries(
        &self,
        names: &[String],
        completeness: &[Completeness],
    ) -> Vec<OutputSummary> {
        let outputs = self.outputs.iter().zip(names).zip(completeness);
        outputs
            .map(|((output, name), found)| OutputSummary {
                name: name.clone(),
                completeness: Completeness {
                    delay_min_ns: found.delay_min_ns.min(found.delay_max_ns),
                    ..*found
                },
                peak_bps: output.load.peak_bps(),
            })
            .collect()
    }

    /// The tables of ports, queue, drops, marks and the longest blackouts, at the end of captures of length `run_ns`.
    pub(crate) fn into_tables(self, run_ns: u64) -> Vec<Table> {
        let flows = |place: usize| {
            let ways = self.ways.iter().flatten();
            ways.filter(|(_, egress)| *egress as usize == place).count() as u32
        };
        let counts: Vec<u32> = (0..self.outputs.len()).map(flows).collect();
        let mut tables: Vec<Table> = Vec::new();
        let is_one = counts.len() == 1;
        for (output, flows) in self.outputs.into_iter().zip(counts) {
            for table in output.into_tables(run_ns, flows) {
                match tables.iter_mut().find(|known| known.name == table.name) {
                    Some(known) => known.append(table),
                    None => tables.push(table),
                }
            }
        }
        let ordered = |table: Table| {
            if is_one || !IN_ORDER.contains(&table.name) {
                table
            } else {
                table.in_order_of(["time_s", "port"])
            }
        };
        tables.into_iter().map(ordered).collect()
    }
}
