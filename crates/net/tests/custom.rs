//! A discipline and a scheduler from outside the crate. The laws of queues hold for them too.

use crate::common::{self, LIMIT_PACKETS, SENDERS, Setup, check, sends};
use fairport_net::BuildError;
use fairport_net::discipline::{
    Admission, DropTail, PacketView, QueueDiscipline, QueueView, Reason,
};
use fairport_net::limit::Limit;
use fairport_net::queue::{CustomQueue, CustomQueues, NetworkContext, PortContext, QueueConfig};
use fairport_net::scheduler::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use fairport_net::topology::star;
use fairport_net::{NodeId, PortId, Topology};
use fairport_units::{Instant, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A buffer in which each ingress port may have `share_packets` at most. This prevents port blackout.
#[derive(Debug)]
struct IngressShares {
    buffer: DropTail,
    share_packets: usize,
    /// when each packet in the buffer leaves it, and through which port it came in
    queued: Vec<(Instant, u16)>,
    /// the ingress port of the packet accepted last
    accepted: u16,
}

impl QueueDiscipline for IngressShares {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.queued.retain(|(leaves, _)| *leaves > queue.now);
        assert_eq!(self.queued.len(), queue.backlog.packets as usize);
        let own = self
            .queued
            .iter()
            .filter(|(_, ingress)| *ingress == packet.ingress_number);
        if own.count() >= self.share_packets {
            return Admission::Dropped(Reason::Share);
        }
        self.accepted = packet.ingress_number;
        self.buffer.admission(queue.backlog, packet.frame_bytes)
    }

    fn on_accepted(&mut self, leaves: Instant) {
        self.queued.push((leaves, self.accepted));
    }
}

/// Ingress ports take turns packet by packet; a full buffer drops the oldest packet of the longest
/// queue.
#[derive(Debug)]
struct IngressRoundRobin {
    buffer: DropTail,
    queues: Vec<PacketFifo>,
    turn: usize,
}

impl PacketScheduler for IngressRoundRobin {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let packet = packets[offer.packet].packet;
        let mut backlog = offer.backlog;
        while !self.buffer.fits(backlog, packet.frame_bytes) {
            let longest = self.queues.iter_mut().max_by_key(|queue| queue.bytes());
            let Some(oldest) = longest.and_then(|queue| queue.pop(packets)) else {
                return Admission::Dropped(Reason::Full);
            };
            backlog.bytes -= packets[oldest].packet.frame_bytes;
            backlog.packets -= 1;
            packets.drop_queued(oldest, Reason::PushedOut);
        }
        let ingress = usize::from(packet.ingress_number);
        if self.queues.len() <= ingress {
            self.queues.resize_with(ingress + 1, PacketFifo::default);
        }
        self.queues[ingress].push(offer.packet, packets);
        Admission::Accepted
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let queues = self.queues.len();
        let next = (1..=queues).map(|step| (self.turn + step) % queues);
        let next = next
            .into_iter()
            .find(|index| !self.queues[*index].is_empty())?;
        self.turn = next;
        self.queues[next].pop(packets)
    }
}

fn buffer(parameters: &Value, port: &PortContext<'_>) -> Result<DropTail, BuildError> {
    let packets = parameters["limit_packets"].as_u64().ok_or_else(|| {
        let field = "queue.parameters.limit_packets";
        BuildError::new(
            field,
            parameters,
            "is not there",
            "give a number of packets",
        )
    })?;
    port.buffer(Limit::Packets(packets as u32))
}

fn customs() -> CustomQueues {
    let mut customs = CustomQueues::default();
    customs.add("ingress-shares", |parameters, port| {
        Ok(CustomQueue::Discipline(Box::new(IngressShares {
            buffer: buffer(parameters, port)?,
            share_packets: LIMIT_PACKETS as usize / 4,
            queued: Vec::new(),
            accepted: 0,
        })))
    });
    customs.add("ingress-round-robin", |parameters, port| {
        Ok(CustomQueue::Scheduler(Box::new(IngressRoundRobin {
            buffer: buffer(parameters, port)?,
            queues: Vec::new(),
            turn: 0,
        })))
    });
    customs
}

fn queue(name: &str) -> Value {
    let parameters = json!({"limit_packets": LIMIT_PACKETS});
    json!({"kind": "custom", "name": name, "parameters": parameters})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_laws_of_queues_hold_for_disciplines_from_outside(
        sends in sends(), departure_first: bool,
    ) {
        for name in ["ingress-shares", "ingress-round-robin"] {
            let setup = Setup {
                customs: customs(),
                ..Setup::new(&queue(name), departure_first)
            };
            let (log, received) = setup.run(&sends);
            check(&json!(name), &log, &received, &sends);
        }
    }
}

#[test]
fn with_turns_by_ingress_port_each_sender_gets_its_part_of_a_crowded_line() {
    // sender 0 sends three times as often as each of the others
    let sends: Vec<common::Send> = (0..3000)
        .map(|n| common::Send {
            sender: [0, 1, 0, 2, 0, 3][n % 6],
            size_bytes: 1500,
            gap_ns: if n % 2 == 0 { 13_000 } else { 39_000 },
            ecn: 0,
        })
        .collect();
    let setup = Setup {
        customs: customs(),
        ..Setup::new(&queue("ingress-round-robin"), true)
    };
    let (_, received) = setup.run(&sends);
    let by = |sender: usize| {
        received
            .iter()
            .filter(|n| sends[**n].sender == sender)
            .count()
    };
    let counts: Vec<usize> = (0..SENDERS).map(by).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= LIMIT_PACKETS as usize, "{counts:?}");
}

/// The error with which building this queue for a switch port is refused.
fn refused(queue: Value, customs: &CustomQueues) -> BuildError {
    let topology: Topology = star(2).unwrap();
    let nodes = 0..topology.nodes().len() as u32;
    let switch = nodes.map(NodeId).find(|node| !topology.node(*node).is_host);
    let port: PortId = topology.node(switch.unwrap()).ports[0];
    let context = NetworkContext::new(&topology, 1, 1518);
    let config: QueueConfig = serde_json::from_value(queue).unwrap();
    let built = config.build(&context.port(port, Rate::from_bps(1_000_000_000)), customs);
    built.expect_err("refused")
}

#[test]
fn an_unknown_name_and_a_wrong_parameter_are_named() {
    let error = refused(queue("blue"), &customs());
    assert_eq!(
        (error.field.as_str(), error.value.as_str()),
        ("queue.name", "blue")
    );
    assert!(error.remedy.contains("ingress-shares"), "{error}");
    let without = json!({"kind": "custom", "name": "ingress-shares"});
    let error = refused(without, &customs());
    assert_eq!(error.field, "queue.parameters.limit_packets");
}
