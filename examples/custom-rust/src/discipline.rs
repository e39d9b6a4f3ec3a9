//! A queue discipline: an ingress port may fill no more than its share of the queue.

use std::collections::{HashMap, VecDeque};

use fairport_net::discipline::{
    Admission, Backlog, DropTail, PacketView, QueueDiscipline, QueueView, Reason,
};
use fairport_net::queue::{CustomQueue, PortContext};
use fairport_net::{BuildError, Limit};
use serde::Deserialize;
use serde_json::Value;

/// The fields of `[queue.parameters]`, and the limit, which every queue has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    limit: Limit,
    /// Of the limit, in percent.
    share_percent: u8,
}

/// Makes the queue of one port.
pub(crate) fn build(parameters: &Value, port: &PortContext<'_>) -> Result<CustomQueue, BuildError> {
    let parameters = Parameters::deserialize(parameters).map_err(|error| {
        let remedy = "give `share_percent`, such as 50";
        BuildError::new("queue.parameters", parameters, error.to_string(), remedy)
    })?;
    let share = parameters
        .limit
        .share(u32::from(parameters.share_percent) * 10_000_000);
    Ok(CustomQueue::Discipline(Box::new(PerIngress {
        buffer: port.buffer(parameters.limit)?,
        share: DropTail::new(share),
        waiting: VecDeque::new(),
        backlog: EMPTY,
        of_ingress: HashMap::new(),
    })))
}

const EMPTY: Backlog = Backlog {
    bytes: 0,
    packets: 0,
};

#[derive(Debug)]
struct PerIngress {
    buffer: DropTail,
    share: DropTail,
    /// What waits, in the order of its arrival, which is also that of its departure.
    waiting: VecDeque<PacketView>,
    backlog: Backlog,
    of_ingress: HashMap<u16, Backlog>,
}

impl QueueDiscipline for PerIngress {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        while self.backlog.packets > queue.backlog.packets {
            let Some(gone) = self.waiting.pop_front() else {
                break;
            };
            let own = self.of_ingress.entry(gone.ingress_number).or_insert(EMPTY);
            for backlog in [&mut self.backlog, own] {
                backlog.bytes -= gone.frame_bytes;
                backlog.packets -= 1;
            }
        }
        let own = self
            .of_ingress
            .entry(packet.ingress_number)
            .or_insert(EMPTY);
        if !self.buffer.fits(queue.backlog, packet.frame_bytes) {
            return Admission::Dropped(Reason::Full);
        }
        if !self.share.fits(*own, packet.frame_bytes) {
            return Admission::Dropped(Reason::Share);
        }
        for backlog in [&mut self.backlog, own] {
            backlog.bytes += packet.frame_bytes;
            backlog.packets += 1;
        }
        self.waiting.push_back(*packet);
        Admission::Accepted
    }
}
