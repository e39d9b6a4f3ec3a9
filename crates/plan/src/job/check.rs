//! What a job must fulfil in any network. Topologies, routing, queues, shapers and stacks check themselves when they are
//! built, and `ends.rs` looks up the names of hosts.

use std::fmt::Display;

use fairport_net::BuildError;
use fairport_net::processing::Processing;
use fairport_units::Duration;

use super::workload::{CdfJob, EndJob, TraceJob, WebJob, WorkloadJob, WorkloadPattern};
use super::{FlowJob, Job};
use crate::sampling::CERTAIN_PPB;
use crate::udp::{HEADER_BYTES, Pattern, Udp};

/// The largest IPv4 packet, in bytes.
const MOST_MTU: u64 = 65_535;

/// The most connections or users of a workload, and the most objects of a page: what is set up at once.
const MOST_AT_ONCE: u64 = 1 << 20;

/// The largest size in a distribution, in bytes: draws of larger ones would overflow.
const MOST_SIZE: u64 = 1 << 50;

/// The most bursts of an on-off source per datagram, on average: they are drawn one by one.
const MOST_BURSTS: u64 = 1_000_000;

type Checked = Result<(), BuildError>;

impl Job {
    /// Checks every value that is possible or not in any network.
    ///
    /// # Errors
    /// If a value is not possible; the error names the field.
    pub(crate) fn check(&self) -> Checked {
        if self.duration_ps == Duration::ZERO {
            let remedy = "simulate for longer than 0 s";
            return refuse("duration", "0s", "is not a positive time", remedy);
        }
        within("link.mtu_bytes", self.link.mtu_bytes.into(), MOST_MTU)?;
        check_processing(self.host.processing)
            .map_err(|error| in_part("host.processing", error))?;
        if let Some(profile) = &self.host.profile {
            profile.check()?;
        }
        let probes = &self.probes;
        positive(
            "probes.series_interval_ps",
            probes.series_interval_ps.as_ps(),
        )?;
        positive("probes.queue_interval_ps", probes.queue_interval_ps.as_ps())?;
        for (i, flow) in self.flows.iter().enumerate() {
            let checked = self.check_flow(flow);
            checked.map_err(|error| in_part(&format!("flows.{i}"), error))?;
        }
        for (i, workload) in self.workloads.iter().enumerate() {
            let checked = self.check_workload(workload);
            checked.map_err(|error| in_part(&format!("workloads.{i}"), error))?;
        }
        Ok(())
    }

    fn check_flow(&self, flow: &FlowJob) -> Checked {
        sends_to_another(("src", &flow.src), &flow.dst)?;
        self.check_stack("sender_stack", flow.sender_stack)?;
        self.check_stack("receiver_stack", flow.receiver_stack)?;
        if let Some(bytes) = flow.size_bytes {
            positive("size_bytes", bytes)?;
        }
        flow.udp.map_or(Ok(()), |udp| self.check_udp(udp))
    }

    fn check_stack(&self, field: &str, stack: u32) -> Checked {
        if (stack as usize) < self.stacks.len() {
            return Ok(());
        }
        let problem = format!("is not the index of one of {} stacks", self.stacks.len());
        refuse(
            field,
            stack,
            problem,
            "give the place of a stack in `stacks`, from 0 on",
        )
    }

    fn check_udp(&self, udp: Udp) -> Checked {
        if udp.payload_bytes == 0 || udp.rate.as_bps() == 0 {
            let (problem, remedy) = ("sends nothing", "give a rate and a payload above 0");
            return refuse("udp", 0, problem, remedy);
        }
        if u32::from(udp.payload_bytes) + HEADER_BYTES > self.link.mtu_bytes {
            let problem = format!("and {HEADER_BYTES} B of headers exceed the MTU");
            let remedy = "give a smaller payload, or a larger link.mtu";
            return refuse("payload_bytes", udp.payload_bytes, problem, remedy);
        }
        if udp.gap() == Duration::ZERO {
            let value = format!("{} bit/s", udp.rate.as_bps());
            let problem = "sends all datagrams at one instant";
            return refuse(
                "rate_bps",
                value,
                problem,
                "give a lower rate, or a larger payload",
            );
        }
        if let Pattern::OnOff { on_mean, .. } = udp.pattern
            && on_mean * MOST_BURSTS < udp.gap()
        {
            let problem = "is less than a millionth of the time from one datagram to the next";
            let remedy = "give longer bursts, or a higher rate";
            return refuse("on_mean_ps", on_mean.as_ps(), problem, remedy);
        }
        Ok(())
    }

    fn check_workload(&self, workload: &WorkloadJob) -> Checked {
        let senders = ("senders", &*workload.senders);
        let receivers = ("receivers", &*workload.receivers);
        for (side, ends) in [senders, receivers] {
            if ends.is_empty() {
                return refuse(side, "[]", "has no host", "name at least one");
            }
            for end in ends {
                self.check_stack(side, end.stack)?;
            }
        }
        let one_receiver = &workload.receivers[..1];
        match &workload.pattern {
            WorkloadPattern::Incast(job) => {
                positive("block_bytes", job.block_bytes)?;
                have_partners(senders, one_receiver)
            }
            WorkloadPattern::Poisson(job) => {
                check_sizes("sizes", &job.sizes)?;
                positive("load_ppm", job.load_ppm)?;
                positive("capacity_bps", job.capacity_bps.unwrap_or(1))?;
                have_partners(senders, receivers.1)
            }
            WorkloadPattern::Periodic(job) => {
                positive("size_bytes", job.size_bytes)?;
                positive("period_ps", job.period_ps.as_ps())?;
                have_partners(senders, one_receiver)
            }
            WorkloadPattern::RequestResponse(job) => {
                check_sizes("request", &job.request)?;
                check_sizes("response", &job.response)?;
                check_processing(job.think).map_err(|error| in_part("think", error))?;
                let most = MOST_AT_ONCE / workload.receivers.len() as u64;
                within("connections", job.connections.into(), most)?;
                have_partners(receivers, senders.1)
            }
            WorkloadPattern::Trace(job) => check_trace(job, senders.1, receivers.1),
            WorkloadPattern::Web(job) => {
                check_web(job)?;
                have_partners(receivers, senders.1)
            }
        }
    }
}

fn check_processing(processing: Processing) -> Checked {
    match processing {
        Processing::Uniform { min_ps, max_ps } if min_ps > max_ps => {
            let value = Duration::from_ps(min_ps);
            refuse(
                "min",
                value,
                "is more than max",
                "give the smaller one as min",
            )
        }
        _ => Ok(()),
    }
}

/// Checks a distribution, whose points rise in both coordinates and end with probability 1.
fn check_sizes(field: &str, sizes: &CdfJob) -> Checked {
    let points = &sizes.points;
    let (largest, certain) = points.last().copied().unwrap_or_default();
    let rises = points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1);
    if !rises || certain != CERTAIN_PPB {
        let problem = "is not a list of sizes with probabilities that rise to 10^9";
        let remedy = "give the largest size the probability 1000000000";
        return refuse(field, format!("{points:?}"), problem, remedy);
    }
    positive(field, sizes.unit_bytes)?;
    within(field, largest, MOST_SIZE / sizes.unit_bytes)
}

fn check_trace(job: &TraceJob, senders: &[EndJob], receivers: &[EndJob]) -> Checked {
    let flows = job.start_ps.len();
    let lengths = [
        ("src", job.src.len()),
        ("dst", job.dst.len()),
        ("bytes", job.bytes.len()),
    ];
    for (column, length) in lengths {
        if length != flows {
            let problem = format!("is the number of its values, and start_ps has {flows}");
            return refuse(
                column,
                length,
                problem,
                "give every flow one value in each column",
            );
        }
    }
    if !job.start_ps.is_sorted() {
        return refuse(
            "start_ps",
            "",
            "is not in order",
            "list the flows by their start times",
        );
    }
    for ((src, dst), bytes) in job.src.iter().zip(&job.dst).zip(&job.bytes) {
        let Some(sender) = senders.get(*src as usize) else {
            return refuse(
                "src",
                src,
                "is not the index of a sender",
                "name more senders",
            );
        };
        let Some(receiver) = receivers.get(*dst as usize) else {
            return refuse(
                "dst",
                dst,
                "is not the index of a receiver",
                "name more receivers",
            );
        };
        sends_to_another(("dst", &receiver.host), &sender.host)?;
        positive("bytes", *bytes)?;
    }
    Ok(())
}

fn check_web(job: &WebJob) -> Checked {
    within("sessions", job.sessions.into(), MOST_AT_ONCE)?;
    positive("shape_milli", job.shape_milli.into())?;
    positive("packet_bytes", job.packet_bytes)?;
    if job.think_from_start {
        positive("think_mean_ps", job.think_mean_ps.as_ps())?; // so that time passes
    }
    let most_packets = MOST_SIZE / job.packet_bytes;
    for (field, [least, most], limit) in [
        ("objects", job.objects, MOST_AT_ONCE),
        ("size_packets", job.size_packets, most_packets),
    ] {
        within(field, least, most)?;
        within(field, most, limit)?;
    }
    Ok(())
}

/// Refuses hosts on one side of a workload that have no other host on the other side.
fn have_partners((side, hosts): (&str, &[EndJob]), others: &[EndJob]) -> Checked {
    let first = &others[0].host;
    // a host has no partner only if all others are that same host
    let alone = others.iter().all(|other| other.host == *first);
    match hosts.iter().find(|end| alone && end.host == *first) {
        Some(end) => {
            let problem = "would have only itself to exchange data with";
            refuse(
                side,
                &end.host,
                problem,
                "name another host on the other side",
            )
        }
        None => Ok(()),
    }
}

/// Refuses a host at this end of a flow that is at its other end, too.
fn sends_to_another((field, host): (&str, &str), other: &str) -> Checked {
    if host == other {
        let problem = "is at both ends of a flow";
        return refuse(field, host, problem, "send to another host");
    }
    Ok(())
}

fn positive(field: &str, value: u64) -> Checked {
    within(field, value, u64::MAX)
}

/// Refuses 0, and values above `most`.
fn within(field: &str, value: u64, most: u64) -> Checked {
    match value {
        0 => refuse(field, value, "is not above 0", "give 1 or more"),
        _ if value > most => {
            let remedy = format!("give at most {most}");
            refuse(field, value, format!("is more than {most}"), remedy)
        }
        _ => Ok(()),
    }
}

fn refuse(
    field: &str,
    value: impl Display,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Checked {
    Err(BuildError::new(field, value, problem, remedy))
}

/// The error of a part of the job, with the field's path from the top.
fn in_part(part: &str, error: BuildError) -> BuildError {
    let field = format!("{part}.{}", error.field);
    BuildError { field, ..error }
}
