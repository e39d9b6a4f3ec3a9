//! What it costs that an algorithm is from outside: ns per packet-hop of the outcast scenario with built-in
//! algorithms, and with the same ones behind the interface for custom ones. The fingerprints are equal.
//!
//! `cargo bench -p fairport-custom-example`. For instructions: run its program under callgrind with the name
//! of one row.

use std::time::Instant as Clock;

use fairport_net::Limit;
use fairport_net::discipline::{Admission, DropTail, PacketView, QueueDiscipline, QueueView};
use fairport_net::queue::CustomQueue;
use fairport_net::scheduler::{
    Handle, Offer, PacketFifo, PacketScheduler, StrictPriority, WaitingPackets,
};
use fairport_plan::{Customs, Job, Plan};
use fairport_sim::{Recorded, Simulation};
use fairport_tcp::Controller;
use fairport_units::Instant;
use serde::Deserialize;
use serde_json::{Value, json};

const ROUNDS: usize = 10;

#[derive(Debug)]
struct OwnDropTail(DropTail);

impl QueueDiscipline for OwnDropTail {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.0.admission(queue.backlog, packet.frame_bytes)
    }
}

/// First in, first out: strict priority without a classifier is the same, and so is drop-tail.
#[derive(Debug)]
struct OwnFifo(DropTail, PacketFifo);

impl PacketScheduler for OwnFifo {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let bytes = packets[offer.packet].packet.frame_bytes;
        let admission = self.0.admission(offer.backlog, bytes);
        if admission.is_accepted() {
            self.1.push(offer.packet, packets);
        }
        admission
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        self.1.pop(packets)
    }
}

#[derive(Debug)]
struct OwnNewReno;

impl Controller for OwnNewReno {}

fn customs() -> Customs {
    fn limit(parameters: &Value) -> DropTail {
        DropTail::new(Limit::deserialize(&parameters["limit"]).expect("a limit"))
    }
    let mut customs = Customs::default();
    customs.queues.add("drop-tail", |parameters, _| {
        let own = OwnDropTail(limit(parameters));
        Ok(CustomQueue::Discipline(Box::new(own)))
    });
    customs.queues.add("fifo", |parameters, _| {
        let own = OwnFifo(limit(parameters), PacketFifo::default());
        Ok(CustomQueue::Scheduler(Box::new(own)))
    });
    customs.queues.add("prio", |parameters, _| {
        let own = StrictPriority::new(limit(parameters));
        Ok(CustomQueue::Scheduler(Box::new(own)))
    });
    customs.controllers.add("newreno", |_| Box::new(OwnNewReno));
    customs
}

/// The outcast scenario with this queue and congestion control.
fn job(queue: &Value, control: &str) -> Job {
    let mut job: Value = serde_json::from_str(include_str!("../outcast.json")).expect("JSON");
    let limit = job["queue"]["limit"].take();
    job["queue"] = queue.clone();
    match queue["kind"].as_str() {
        Some("custom") => job["queue"]["parameters"] = json!({"limit": limit}),
        _ => job["queue"]["limit"] = limit,
    }
    job["stacks"][0]["overrides"]["congestion_control"] = json!(control);
    serde_json::from_value(job).expect("a job")
}

fn run(job: Job) -> (f64, Recorded) {
    let plan = Plan::with_customs(job, customs()).expect("a possible job");
    let mut simulation = Simulation::new(plan);
    let start = Clock::now();
    while !simulation.advance(1_000_000) {}
    let ns = start.elapsed().as_secs_f64() * 1e9;
    let recorded = simulation.into_recorded();
    (ns / recorded.packet_hops as f64, recorded)
}

fn main() {
    let drop_tail = json!({"kind": "drop-tail", "count_in_service": false});
    let strict = json!({"kind": "strict-priority"});
    let custom = |name: &str| json!({"kind": "custom", "name": name});
    let rows = [
        ("discipline, built in", drop_tail.clone(), "newreno"),
        ("discipline, custom", custom("drop-tail"), "newreno"),
        ("scheduler, built in", strict, "newreno"),
        ("scheduler, custom", custom("prio"), "newreno"),
        ("the shortest scheduler, custom", custom("fifo"), "newreno"),
        ("congestion control, custom", drop_tail, "custom:newreno"),
    ];
    let only = std::env::args().nth(1).filter(|name| name != "--bench");
    let mut fingerprint = None;
    for (name, queue, control) in rows {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let rounds = if only.is_some() { 1 } else { ROUNDS };
        let best = (0..rounds)
            .map(|_| {
                let (ns, recorded) = run(job(&queue, control));
                let first = *fingerprint.get_or_insert(recorded.fingerprint);
                assert_eq!(recorded.fingerprint, first, "{name}");
                ns
            })
            .fold(f64::INFINITY, f64::min);
        println!("{name:32} {best:6.1} ns per packet-hop");
    }
}
