//! The context in which a queue is built: its port, and the port's network. Also the checks that several disciplines
//! share.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;

use fairport_units::{Duration, Rate};

use crate::limit::{Limit, share};
use crate::stream::Stream;
use crate::{BuildError, NodeId, PortId, Topology};

/// The network whose queues are built.
#[derive(Debug)]
pub struct NetworkContext<'a> {
    topology: &'a Topology,
    seed: u64,
    full_frame_bytes: u32,
    /// numbers of the hosts, by name
    host_numbers: BTreeMap<&'a str, u32>,
    /// what the ports of each switch share so far, by its type
    shared: RefCell<BTreeMap<(NodeId, TypeId), Box<dyn Any>>>,
}

impl<'a> NetworkContext<'a> {
    /// The context of a run. All random streams derive from its `seed`. A packet of the MTU takes `full_frame_bytes` in
    /// a buffer.
    pub fn new(topology: &'a Topology, seed: u64, full_frame_bytes: u32) -> Self {
        let names = topology.hosts().iter().zip(0..);
        Self {
            topology,
            seed,
            full_frame_bytes,
            host_numbers: names
                .map(|(host, number)| (topology.node(*host).name.as_str(), number))
                .collect(),
            shared: RefCell::default(),
        }
    }

    /// The context of one port, whose queue is emptied at `rate`.
    pub fn port(&'a self, port: PortId, rate: Rate) -> PortContext<'a> {
        PortContext {
            network: self,
            port,
            rate,
        }
    }
}

/// The port whose queue is built.
#[derive(Clone, Copy, Debug)]
pub struct PortContext<'a> {
    network: &'a NetworkContext<'a>,
    port: PortId,
    rate: Rate,
}

impl PortContext<'_> {
    /// The port as results name it: `edge0.0:2`.
    pub fn name(&self) -> String {
        self.network.topology.port_name(self.port)
    }

    /// The rate at which the queue is emptied.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.network.seed
    }

    /// The random numbers for this port's discipline.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed(), "queue", u64::from(self.port.0))
    }

    /// Bytes that a packet of the MTU takes in the buffer.
    pub fn full_frame_bytes(&self) -> u32 {
        self.network.full_frame_bytes
    }

    /// The time that a packet of this size takes on the link.
    pub fn packet_time(&self, bytes: u32) -> Duration {
        let time = self.rate.time_of(bytes.max(1).into());
        time.max(Duration::from_ps(1))
    }

    /// This limit, or the one that the port's link overrides it with.
    pub fn limit(&self, limit: Limit) -> Limit {
        let own = self.network.topology.port(self.port).options.limit_bytes;
        own.map_or(limit, Limit::Bytes)
    }

    /// [`Self::limit`], if a buffer of that size has room for a packet of the MTU, and holds less than 4 GiB.
    ///
    /// # Errors
    /// If it has not, or may hold more.
    pub(crate) fn limit_of_buffer(&self, limit: Limit) -> Result<Limit, BuildError> {
        let limit = self.limit(limit);
        let (problem, remedy) = match limit {
            Limit::Bytes(bytes) if bytes < self.full_frame_bytes() => (
                format!(
                    "is smaller than one full frame of {} B",
                    self.full_frame_bytes()
                ),
                "give room for at least one packet, such as \"16KiB\"",
            ),
            Limit::Packets(0) => (
                "holds nothing".to_string(),
                "give a limit, such as \"16KiB\" or \"11 packets\"",
            ),
            _ => return limit.countable("queue.limit", self.full_frame_bytes()),
        };
        Err(BuildError::new("queue.limit", limit, problem, remedy))
    }

    /// The limit of a queue that counts packets only.
    ///
    /// # Errors
    /// If it is 0, or if the queue may hold 4 GiB or more.
    pub(crate) fn limit_in_packets(&self, packets: u32) -> Result<u32, BuildError> {
        positive("limit", packets)?;
        let limit = Limit::Packets(packets);
        limit.countable("queue.limit", self.full_frame_bytes())?;
        Ok(packets)
    }

    /// The bytes of one turn: those given, or the size of a packet of the MTU.
    ///
    /// # Errors
    /// If a turn is shorter than the smallest frame: a packet would wait for its bytes for many rounds, each of which
    /// takes time to simulate.
    pub fn quantum(&self, given: Option<u32>) -> Result<u32, BuildError> {
        /// IEEE 802.3
        const SMALLEST_FRAME: u32 = 64;
        match given {
            Some(bytes) if bytes < SMALLEST_FRAME => {
                let problem = format!("is less than the smallest frame of {SMALLEST_FRAME} B");
                let remedy = "give a longer turn, or none for one packet of the MTU";
                Err(BuildError::new("queue.quantum", bytes, problem, remedy))
            }
            _ => Ok(given.unwrap_or(self.full_frame_bytes())),
        }
    }

    /// The number of the host with this name.
    pub fn host_number(&self, name: &str) -> Option<u32> {
        self.network.host_numbers.get(name).copied()
    }

    /// Number of hosts in the network.
    pub fn hosts(&self) -> usize {
        self.network.topology.hosts().len()
    }

    /// What the ports of this port's switch share in one run: a clone of the `T` that the first of them made. Only a
    /// scheduler with [`shares_memory`](crate::scheduler::PacketScheduler::shares_memory) may use it during the run.
    pub fn shared<T: Clone + 'static>(&self, make: impl FnOnce() -> T) -> T {
        let switch = self.network.topology.port(self.port).node;
        let mut shared = self.network.shared.borrow_mut();
        let one = shared.entry((switch, TypeId::of::<T>()));
        let one = one.or_insert_with(|| Box::new(make()));
        one.downcast_ref::<T>().expect("found by its type").clone()
    }
}

/// Refuses the value 0 for the field with this name.
pub(crate) fn positive(field: &str, value: u32) -> Result<u32, BuildError> {
    at_most(field, value, u32::MAX)
}

/// Refuses 0, and more queues than any implementation has (Linux: 65536 in `sch_sfq` and `sch_fq_codel`), since each
/// takes memory at each port.
pub(crate) fn number_of_queues(field: &str, value: u32) -> Result<u32, BuildError> {
    at_most(field, value, 1 << 16)
}

fn at_most(field: &str, value: u32, most: u32) -> Result<u32, BuildError> {
    let (problem, remedy) = match value {
        0 => ("holds nothing".to_string(), "give a value above 0"),
        _ if value > most => (format!("is more than {most}"), "give a smaller number"),
        _ => return Ok(value),
    };
    Err(BuildError::new(
        format!("queue.{field}"),
        value,
        problem,
        remedy,
    ))
}

/// Refuses a time of 0 for the field with this name.
pub(crate) fn positive_time(
    field: &str,
    span: Duration,
    example: &str,
) -> Result<Duration, BuildError> {
    if span > Duration::ZERO {
        return Ok(span);
    }
    let remedy = format!("give a time above 0, such as \"{example}\"");
    let field = format!("queue.{field}");
    Err(BuildError::new(
        field,
        "0s",
        "is not a positive time",
        remedy,
    ))
}

/// Refuses an interval below 1 us between steps that are made one by one, also for the time in which no packet comes.
pub(crate) fn step_time(
    field: &str,
    span: Duration,
    example: &str,
) -> Result<Duration, BuildError> {
    if span >= Duration::from_us(1) {
        return Ok(span);
    }
    let remedy = format!("give a longer time, such as \"{example}\"");
    let field = format!("queue.{field}");
    Err(BuildError::new(field, span, "is shorter than 1 us", remedy))
}

/// A probability or a weight, given in parts of 10^9, as a number above 0 and at most 1.
pub(crate) fn positive_share(field: &str, ppb: u32) -> Result<f64, BuildError> {
    if ppb > 0 && ppb <= 1_000_000_000 {
        return Ok(share(ppb));
    }
    let field = format!("queue.{field}");
    let problem = "is not above 0 and at most 1";
    let remedy = "give a share such as 0.1";
    Err(BuildError::new(field, share(ppb), problem, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::star;

    #[test]
    fn a_port_has_its_name_and_a_packets_time_is_its_bits_over_the_rate() {
        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let time = |bps, bytes| {
            let port = network.port(PortId(0), Rate::from_bps(bps));
            port.packet_time(bytes)
        };
        assert_eq!(time(1_000_000_000, 1250), Duration::from_us(10));
        assert_eq!(time(3_000_000, 1500), Duration::from_ms(4));
        // a packet has at least one byte, and takes time
        assert_eq!(time(1_000_000_000, 0), Duration::from_ns(8));
        assert_eq!(time(100_000_000_000_000, 1), Duration::from_ps(1));
        let names = [0, 1, 2, 3].map(|port| {
            let port = network.port(PortId(port), Rate::from_bps(1));
            port.name()
        });
        assert_eq!(names, ["h0:0", "s0:0", "h1:0", "s0:1"]);
    }

    #[test]
    fn ports_of_one_switch_share_what_the_first_of_them_made() {
        use std::cell::Cell;
        use std::rc::Rc;

        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let shared = |network: &NetworkContext<'_>, port| {
            let port = network.port(PortId(port), Rate::from_bps(1));
            port.shared(|| Rc::new(Cell::new(0_u8)))
        };
        // h0:0, s0:0, h1:0, s0:1
        shared(&network, 1).set(7);
        assert_eq!(shared(&network, 3).get(), 7);
        assert_eq!(shared(&network, 0).get(), 0);
        let again = NetworkContext::new(&topology, 1, 1518);
        assert_eq!(shared(&again, 3).get(), 0);
    }

    #[test]
    fn a_buffer_has_room_for_a_packet_of_the_mtu() {
        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let port = network.port(PortId(0), Rate::from_bps(1_000_000));
        let accepts = |limit| port.limit_of_buffer(limit).is_ok();
        let bytes = [0, 1000, 1517, 1518, 1519, 100_000].map(Limit::Bytes);
        assert_eq!(bytes.map(accepts), [false, false, false, true, true, true]);
        let packets = [0, 1, 2].map(Limit::Packets);
        assert_eq!(packets.map(accepts), [false, true, true]);
    }

    #[test]
    fn a_share_is_above_0_and_at_most_1() {
        let share = |ppb| positive_share("weight", ppb).map_err(|error| error.field);
        let refused = Err("queue.weight".to_string());
        assert_eq!(share(0), refused);
        assert_eq!(share(1), Ok(1e-9));
        assert_eq!(share(250_000_000), Ok(0.25));
        assert_eq!(share(1_000_000_000), Ok(1.0));
        assert_eq!(share(1_000_000_001), refused);
    }

    #[test]
    fn what_holds_nothing_is_refused() {
        assert_eq!(positive("limit", 7).ok(), Some(7));
        assert_eq!(positive("limit", 0).unwrap_err().field, "queue.limit");
        let time = |ps| positive_time("target", Duration::from_ps(ps), "5ms");
        assert_eq!(time(3).ok(), Some(Duration::from_ps(3)));
        assert_eq!(time(0).unwrap_err().field, "queue.target");
    }
}
