//! The end points of traffic: hosts by name, the flows that the job lists, and the hosts of its workloads.

use std::collections::BTreeMap;

use fairport_net::stream::Stream;
use fairport_net::{BuildError, NodeId, Topology};

use crate::flow::{Application, End, FlowSpec, ListedFlow, Origin};
use crate::job::workload::{EndJob, TraceJob, WorkloadJob, WorkloadPattern};
use crate::job::{FlowJob, Job};
use crate::permutation::draw_receivers;
use crate::wiring::link_rate;
use crate::workload::Ends;

/// The numbers of the hosts, by name.
pub(crate) struct HostNumbers<'a>(BTreeMap<&'a str, u32>);

impl<'a> HostNumbers<'a> {
    pub(crate) fn new(topology: &'a Topology) -> Self {
        let name = |host: &NodeId| topology.node(*host).name.as_str();
        let numbers = topology.hosts().iter().map(name).zip(0..);
        Self(numbers.collect())
    }

    fn find(&self, name: &str, field: impl FnOnce() -> String) -> Result<u32, BuildError> {
        self.0.get(name).copied().ok_or_else(|| {
            let remedy = format!("name one of the {} hosts", self.0.len());
            BuildError::new(field(), name, "is not a host of this network", remedy)
        })
    }
}

/// The flows that the job lists, with their randomly drawn start times and receivers.
pub(crate) fn listed_flows(
    job: &Job,
    hosts: &HostNumbers<'_>,
) -> Result<Vec<ListedFlow>, BuildError> {
    let build = |(i, flow): (usize, &FlowJob)| {
        let end = |name, host: &str, stack| {
            let host = hosts.find(host, || format!("flows.{i}.{name}"))?;
            Ok(End { host, stack })
        };
        let src = end("src", &flow.src, flow.sender_stack)?;
        let dst = end("dst", &flow.dst, flow.receiver_stack)?;
        let mut stream = Stream::new(job.seed, "start", i as u64);
        let start = flow.start_ps + stream.span_up_to(flow.start_jitter_ps);
        let size_bytes = flow.size_bytes;
        let spec = FlowSpec {
            src,
            dst,
            application: match &flow.udp {
                None => Application::Transfer { size_bytes },
                Some(udp) => Application::Datagrams {
                    source: *udp,
                    size_bytes,
                },
            },
            traffic: flow.traffic,
            origin: Origin::Listed,
        };
        Ok(ListedFlow {
            start,
            stop: flow.stop_ps.map(|stop| stop.max(start)),
            spec,
        })
    };
    let flows = job.flows.iter().enumerate().map(build);
    let mut flows = flows.collect::<Result<Vec<_>, _>>()?;
    draw_receivers(job, &mut flows)?;
    Ok(flows)
}

/// The senders and receivers of each workload.
pub(crate) fn workload_ends(
    job: &Job,
    topology: &Topology,
    hosts: &HostNumbers<'_>,
) -> Result<Vec<Ends>, BuildError> {
    let build = |(i, workload): (usize, &WorkloadJob)| {
        let ends = |side: &str, jobs: &[EndJob]| {
            let end = |(j, end): (usize, &EndJob)| {
                let host = hosts.find(&end.host, || format!("workloads.{i}.{side}.{j}"))?;
                let stack = end.stack;
                Ok(End { host, stack })
            };
            jobs.iter()
                .enumerate()
                .map(end)
                .collect::<Result<Vec<_>, _>>()
        };
        let senders = ends("senders", &workload.senders)?;
        let receivers = ends("receivers", &workload.receivers)?;
        let rates = |ends: &[End]| {
            let hosts = ends.iter().map(|end| end.host);
            sum(hosts.map(|host| links_bps(job, topology, host)))
        };
        Ok(Ends {
            senders_bps: rates(&senders),
            receivers_bps: rates(&receivers),
            senders,
            receivers,
            of_trace: match &workload.pattern {
                WorkloadPattern::Trace(TraceJob { src, dst, .. }) => {
                    Some(src.iter().zip(dst).map(|(src, dst)| [*src, *dst]).collect())
                }
                _ => None,
            },
        })
    };
    job.workloads.iter().enumerate().map(build).collect()
}

/// The rates of a host's links together. The ports by which a forwarding host reaches itself are no links.
fn links_bps(job: &Job, topology: &Topology, host: u32) -> u64 {
    let host = topology.hosts()[host as usize];
    let ports = topology.node(host).ports.iter();
    let links = ports.filter(|port| topology.leads_on(**port));
    sum(links.map(|port| link_rate(job, topology, *port).as_bps()))
}

fn sum(rates: impl Iterator<Item = u64>) -> u64 {
    rates.fold(0, u64::saturating_add)
}
