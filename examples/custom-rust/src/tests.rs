//! Each algorithm runs, and does what it is for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fairport_net::Limit;
use fairport_net::discipline::{Admission, DropTail, PacketView, QueueDiscipline, QueueView};
use fairport_net::queue::CustomQueue;
use fairport_net::scheduler::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use fairport_plan::{Customs, Job, Plan};
use fairport_sim::Simulation;
use fairport_tcp::Controller;
use fairport_units::Instant;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{goodput_bps, run};

/// `fairport scenario show outcast --set duration=500ms --job`: 15 senders, of which
/// the first is on the receiver's own switch.
const OUTCAST: &str = include_str!("../outcast.json");

fn outcast() -> Value {
    serde_json::from_str(OUTCAST).expect("JSON")
}

/// The lone flow's goodput over the mean of the others', and the sum of all.
fn lone_share(job: Value) -> (f64, f64) {
    let job: Job = serde_json::from_value(job).expect("a job");
    let recorded = run(job).expect("a possible job");
    let goodput = goodput_bps(&recorded);
    let (lone, others) = goodput.split_first().expect("15 flows");
    let sum: f64 = others.iter().sum();
    (lone * others.len() as f64 / sum, lone + sum)
}

fn with_queue(name: &str, mut parameters: Value) -> Value {
    let mut job = outcast();
    parameters["limit"] = job["queue"]["limit"].take();
    job["queue"] = json!({"kind": "custom", "name": name, "parameters": parameters});
    job
}

#[test]
fn the_lone_flow_is_starved_at_a_drop_tail_queue() {
    let (share, sum) = lone_share(outcast());
    assert!(share < 0.5, "{share}");
    assert!(sum > 0.8e9, "{sum}");
}

#[test]
fn a_share_of_the_queue_for_each_ingress_port_saves_it() {
    let (share, sum) = lone_share(with_queue("per-ingress", json!({"share_percent": 50})));
    assert!(share > 1.0, "{share}");
    assert!(sum > 0.8e9, "{sum}");
}

#[test]
fn turns_of_the_ingress_ports_save_it() {
    let (share, sum) = lone_share(with_queue("round-robin", json!({})));
    assert!(share > 1.0, "{share}");
    assert!(sum > 0.8e9, "{sum}");
}

#[test]
fn a_congestion_control_of_ones_own_fills_the_link() {
    let mut job = outcast();
    job["stacks"][0]["overrides"]["congestion_control"] = json!("custom:gentle");
    let (_, sum) = lone_share(job);
    assert!(sum > 0.8e9, "{sum}");
}

#[derive(Debug)]
struct OwnDropTail(DropTail);

impl QueueDiscipline for OwnDropTail {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.0.admission(queue.backlog, packet.frame_bytes)
    }
}

#[derive(Debug)]
struct OwnNewReno;

impl Controller for OwnNewReno {}

fn fingerprint(job: Value) -> u64 {
    let mut customs = Customs::default();
    customs.queues.add("drop-tail", |parameters, _| {
        let limit = Limit::deserialize(&parameters["limit"]).expect("a limit");
        let own = OwnDropTail(DropTail::new(limit));
        Ok(CustomQueue::Discipline(Box::new(own)))
    });
    customs.controllers.add("newreno", |_| Box::new(OwnNewReno));
    let job: Job = serde_json::from_value(job).expect("a job");
    let plan = Plan::with_customs(job, customs).expect("a possible job");
    let mut simulation = Simulation::new(plan);
    while !simulation.advance(1_000_000) {}
    simulation.into_recorded().fingerprint
}

#[test]
fn the_same_algorithms_from_outside_give_the_same_run_packet_for_packet() {
    let mut built_in = outcast();
    built_in["stacks"][0]["overrides"]["congestion_control"] = json!("newreno");
    let mut own = with_queue("drop-tail", json!({}));
    own["queue"]["count_in_service"] = built_in["queue"]["count_in_service"].clone();
    own["stacks"][0]["overrides"]["congestion_control"] = json!("custom:newreno");
    assert_eq!(fingerprint(own), fingerprint(built_in));
}

#[test]
fn a_name_that_nobody_registered_is_refused_with_those_there_are() {
    let job: Job = serde_json::from_value(with_queue("mine", json!({}))).expect("a job");
    let error = run(job).expect_err("refused");
    assert_eq!((&*error.field, &*error.value), ("queue.name", "mine"));
    assert!(error.remedy.contains("per-ingress, round-robin"), "{error}");
    let mut job = outcast();
    job["stacks"][0]["overrides"]["congestion_control"] = json!("custom:gentel");
    let error = run(serde_json::from_value(job).expect("a job")).expect_err("refused");
    assert_eq!(error.value, "custom:gentel");
    assert_eq!(error.remedy, "use one of those that are: gentle");
}

/// What a run says when its scheduler, first in and first out, gives the wrong answer at every dequeue.
fn panic_of(wrong: fn(&mut Option<Handle>) -> Option<Handle>) -> String {
    let mut customs = Customs::default();
    customs.queues.add("wrong", move |_, _| {
        let scheduler = Faulty {
            waiting: PacketFifo::default(),
            last: None,
            wrong,
        };
        Ok(CustomQueue::Scheduler(Box::new(scheduler)))
    });
    let job = serde_json::from_value(with_queue("wrong", json!({}))).expect("a job");
    let mut simulation = Simulation::new(Plan::with_customs(job, customs).expect("possible"));
    let panicked = catch_unwind(AssertUnwindSafe(|| while !simulation.advance(1_000_000) {}));
    let message = panicked.expect_err("the run panics");
    message
        .downcast_ref::<String>()
        .cloned()
        .unwrap_or_else(|| {
            let text = message.downcast_ref::<&str>().expect("a text");
            (*text).to_owned()
        })
}

#[derive(Debug)]
struct Faulty {
    waiting: PacketFifo,
    /// the packet that was sent last
    last: Option<Handle>,
    wrong: fn(&mut Option<Handle>) -> Option<Handle>,
}

impl PacketScheduler for Faulty {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        self.waiting.push(offer.packet, packets);
        Admission::Accepted
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let next = self.waiting.pop(packets);
        if self.last.is_some() {
            return (self.wrong)(&mut self.last);
        }
        self.last = next;
        next
    }
}

#[test]
fn a_scheduler_that_sends_a_packet_twice_or_none_is_told_so() {
    let twice = panic_of(|last| *last);
    assert!(
        twice.contains("sent or dropped a packet that does not wait"),
        "{twice}"
    );
    let none = panic_of(|_| None);
    assert!(
        none.contains("the scheduler sent no packet while"),
        "{none}"
    );
}

#[test]
fn a_parameter_that_is_missing_or_too_large_is_refused() {
    for (parameters, problem) in [
        (json!({}), "share_percent"),
        (json!({"share_percent": 500}), "500"),
    ] {
        let job = serde_json::from_value(with_queue("per-ingress", parameters)).expect("a job");
        let error = run(job).expect_err("refused");
        assert_eq!(error.field, "queue.parameters");
        assert!(error.problem.contains(problem), "{error}");
    }
}
