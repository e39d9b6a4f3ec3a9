//! Losses that no queue causes: random losses, as on a bad link, runs of a given length, or chosen packets.
//!
//! A packet is lost before it reaches the port's queue, whatever the queue's discipline, and takes no time on the link.

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::stream::Stream;
use crate::{BuildError, PortId, Topology};

/// Losses in front of some ports, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Config {
    /// each packet is lost with the same probability
    Random {
        /// at which ports
        at: LossyPorts,
        /// probability in parts of 10^9
        probability_ppb: u64,
    },
    /// a fixed number of consecutive packets is lost, then none for a while
    OnOff {
        /// at which ports
        at: LossyPorts,
        /// packets per run, at least 1
        drops: u32,
        /// time between two runs, and before the first
        off_ps: Duration,
    },
    /// one packet in so many is lost
    Periodic {
        /// at which ports
        at: LossyPorts,
        /// packets from one loss to the next, at least 1
        every: u64,
    },
    /// the packets with these numbers are lost
    Numbered {
        /// at which ports
        at: LossyPorts,
        /// numbers of packets in the order of their arrival at a port, which rise from 1 on
        packets: Vec<u64>,
    },
}

/// The output ports at which packets are lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossyPorts {
    /// all ports of all switches
    AllOfSwitches,
    /// the ports with these names
    Named(Vec<String>),
}

impl Config {
    fn ports(&self) -> &LossyPorts {
        match self {
            Self::Random { at, .. }
            | Self::OnOff { at, .. }
            | Self::Periodic { at, .. }
            | Self::Numbered { at, .. } => at,
        }
    }

    /// Checks the numbers; the error names the field within this entry.
    fn check(&self) -> Result<(), BuildError> {
        let refuse = |field, value: u64, problem| {
            let remedy = "give 1 packet or more, and numbers in order";
            Err(BuildError::new(field, value, problem, remedy))
        };
        match self {
            Self::OnOff { drops: 0, .. } => refuse("drops", 0, "is not a valid length of a run"),
            Self::Periodic { every: 0, .. } => refuse("every", 0, "is not a number of packets"),
            Self::Numbered { packets, .. } => {
                let before = std::iter::once(&0).chain(packets);
                match packets
                    .iter()
                    .zip(before)
                    .find(|(one, before)| one <= before)
                {
                    Some((one, _)) => refuse("packets", *one, "is not above the number before it"),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// The losses of a network, by port.
#[derive(Debug)]
pub struct Losses<'a> {
    configs: &'a [Config],
    topology: &'a Topology,
    seed: u64,
}

impl<'a> Losses<'a> {
    /// All random streams derive from the run's `seed`.
    ///
    /// # Errors
    /// If a named port does not exist, a run of losses has no packet, or numbers of packets do not rise from 1 on.
    pub fn new(
        configs: &'a [Config],
        topology: &'a Topology,
        seed: u64,
    ) -> Result<Self, BuildError> {
        let names = match configs {
            [] => Vec::new(),
            _ => topology.port_names(),
        };
        for (i, config) in configs.iter().enumerate() {
            if let Err(error) = config.check() {
                let field = format!("losses.{i}.{}", error.field);
                return Err(BuildError { field, ..error });
            }
            let LossyPorts::Named(wanted) = config.ports() else {
                continue;
            };
            if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
                let remedy =
                    "name a node and a number, such as `s0:0`; the table `ports` lists all";
                let (field, problem) = (format!("losses.{i}.at"), "is not a port of this network");
                return Err(BuildError::new(field, unknown, problem, remedy));
            }
        }
        Ok(Self {
            configs,
            topology,
            seed,
        })
    }

    /// The losses at a port. If the plan has several for one port, a packet passes the last one first.
    pub fn at(&self, port: PortId) -> Vec<Loss> {
        let here = |config: &Config| match config.ports() {
            LossyPorts::AllOfSwitches => {
                let node = self.topology.port(port).node;
                !self.topology.node(node).is_host
            }
            LossyPorts::Named(names) => names.contains(&self.topology.port_name(port)),
        };
        let loss = |(i, config): (u64, &Config)| match config {
            Config::Random {
                probability_ppb, ..
            } => Loss::Random {
                probability_ppb: *probability_ppb,
                stream: Stream::new(self.seed, "loss", i << 32 | u64::from(port.0)),
            },
            Config::OnOff { drops, off_ps, .. } => Loss::OnOff(Runs::new(*drops, *off_ps)),
            Config::Periodic { every, .. } => Loss::Periodic {
                every: *every,
                left: *every,
            },
            Config::Numbered { packets, .. } => Loss::Numbered {
                arrived: 0,
                packets: packets.iter().copied().rev().collect(),
            },
        };
        let here = (0..).zip(self.configs).filter(|(_, config)| here(config));
        let mut losses: Vec<Loss> = here.map(loss).collect();
        losses.reverse();
        losses
    }
}

/// A place in front of a port's queue where packets are lost.
#[derive(Clone, Debug)]
pub enum Loss {
    /// each packet is lost with the same probability
    Random {
        /// parts of 10^9
        probability_ppb: u64,
        /// the random numbers
        stream: Stream,
    },
    /// a fixed number of consecutive packets is lost, then none for a while: the ON/OFF model of Prakash et al. 2012
    OnOff(Runs),
    /// one packet in so many is lost
    Periodic {
        /// packets from one loss to the next
        every: u64,
        /// packets until the next loss, which is the last of them
        left: u64,
    },
    /// the packets with these numbers are lost
    Numbered {
        /// packets that have arrived
        arrived: u64,
        /// numbers that are still to come, the next one last
        packets: Vec<u64>,
    },
}

/// State of runs of losses.
#[derive(Clone, Debug)]
pub struct Runs {
    drops: u32,
    off: Duration,
    /// packets of the present run that are still to be lost
    left: u32,
    /// nothing is lost until then
    off_until: Instant,
}

impl Runs {
    /// Runs of `drops` packets, at least one. `off` is the time from the last loss of a run until the next run may
    /// begin, and before the first run.
    pub fn new(drops: u32, off: Duration) -> Self {
        assert!(drops > 0, "a run has at least one packet");
        Self {
            drops,
            off,
            left: drops,
            off_until: Instant::ZERO + off,
        }
    }

    fn takes(&mut self, now: Instant) -> bool {
        if now < self.off_until {
            return false;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.drops;
            self.off_until = now + self.off;
        }
        true
    }
}

impl Loss {
    /// Whether the packet that arrives at `now` is lost.
    pub(crate) fn takes(&mut self, now: Instant) -> bool {
        match self {
            Self::Random {
                probability_ppb,
                stream,
            } => stream.up_to(999_999_999) < *probability_ppb,
            Self::OnOff(runs) => runs.takes(now),
            Self::Periodic { every, left } => {
                *left -= 1;
                let takes = *left == 0;
                if takes {
                    *left = *every;
                }
                takes
            }
            Self::Numbered { arrived, packets } => {
                *arrived += 1;
                packets.pop_if(|next| *next == *arrived).is_some()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `packets` packets are lost, one arriving every microsecond.
    fn lost(mut loss: Loss, packets: u64) -> Vec<bool> {
        (0..packets)
            .map(|us| loss.takes(Instant::from_us(us)))
            .collect()
    }

    #[test]
    fn a_run_is_exactly_as_long_as_asked_for_and_the_next_comes_after_the_pause() {
        let loss = Loss::OnOff(Runs::new(3, Duration::from_us(5)));
        let (o, x) = (false, true);
        assert_eq!(
            lost(loss, 20),
            [o, o, o, o, o, x, x, x, o, o, o, o, x, x, x, o, o, o, o, x]
        );
    }

    /// The numbers of the packets that are lost of twelve, from 1 on.
    fn numbers_lost(config: Config) -> Vec<usize> {
        let topology = crate::topology::star(2).expect("two hosts");
        let configs = [config];
        let losses = Losses::new(&configs, &topology, 1).expect("possible losses");
        let port = topology
            .port_ids()
            .find(|port| !losses.at(*port).is_empty());
        let mut here = losses.at(port.expect("a port of the switch"));
        let fates = lost(here.remove(0), 12);
        (1..)
            .zip(fates)
            .filter_map(|(number, lost)| lost.then_some(number))
            .collect()
    }

    #[test]
    fn every_nth_packet_is_lost_or_those_that_are_named() {
        let at = LossyPorts::AllOfSwitches;
        let periodic = |every| Config::Periodic {
            at: LossyPorts::AllOfSwitches,
            every,
        };
        assert_eq!(numbers_lost(periodic(5)), [5, 10]);
        assert_eq!(numbers_lost(periodic(1)).len(), 12);
        let packets = vec![1, 4, 5, 12, 99];
        assert_eq!(
            numbers_lost(Config::Numbered { at, packets }),
            [1, 4, 5, 12]
        );
    }

    #[test]
    fn numbers_that_no_packet_has_name_their_field() {
        let topology = crate::topology::star(2).expect("two hosts");
        let field = |config: Config| {
            let configs = [config];
            Losses::new(&configs, &topology, 1)
                .map(|_| ())
                .map_err(|error| error.field)
        };
        let at = || LossyPorts::AllOfSwitches;
        let periodic = field(Config::Periodic { at: at(), every: 0 });
        assert_eq!(periodic, Err("losses.0.every".to_string()));
        for packets in [vec![0], vec![3, 3], vec![4, 2]] {
            let numbered = field(Config::Numbered { at: at(), packets });
            assert_eq!(numbered, Err("losses.0.packets".to_string()));
        }
    }

    #[test]
    fn random_losses_have_their_probability_and_no_memory() {
        let loss = Loss::Random {
            probability_ppb: 100_000_000,
            stream: Stream::new(1, "loss", 0),
        };
        let fates = lost(loss, 100_000);
        let share = fates.iter().filter(|fate| **fate).count() as f64 / 1e5;
        // four standard deviations
        assert!(
            (share - 0.1).abs() < 4.0 * (0.09_f64 / 1e5).sqrt(),
            "{share}"
        );
        let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!((pairs as f64 / 1e5 - 0.01).abs() < 0.0015);
    }

    #[test]
    fn a_port_has_the_losses_that_name_it_and_those_of_all_switches_the_last_one_first() {
        let topology = crate::topology::star(2).expect("two hosts");
        let is_of_switch = |port: &PortId| !topology.node(topology.port(*port).node).is_host;
        let ports: Vec<PortId> = topology.port_ids().collect();
        let of_switch: Vec<PortId> = ports.iter().copied().filter(is_of_switch).collect();
        let of_host = ports
            .iter()
            .find(|port| !is_of_switch(port))
            .expect("a NIC");
        let on_off = |drops, at| Config::OnOff {
            at,
            drops,
            off_ps: Duration::from_us(5),
        };
        let named = LossyPorts::Named(vec![topology.port_name(of_switch[0])]);
        let configs = [on_off(3, LossyPorts::AllOfSwitches), on_off(2, named)];
        let losses = Losses::new(&configs, &topology, 1).expect("these ports are there");
        // lengths of the first runs, in order
        let runs = |port: PortId| {
            let first_run = |loss| lost(loss, 20).split(|lost| !lost).map(<[bool]>::len).max();
            losses
                .at(port)
                .into_iter()
                .filter_map(first_run)
                .collect::<Vec<_>>()
        };
        assert_eq!(runs(of_switch[0]), [2, 3]);
        assert_eq!(runs(of_switch[1]), [3]);
        assert_eq!(runs(*of_host), [0; 0]);
    }

    #[test]
    fn each_port_and_each_of_its_losses_draws_for_itself() {
        let topology = crate::topology::star(2).expect("two hosts");
        let half = || Config::Random {
            at: LossyPorts::AllOfSwitches,
            probability_ppb: 500_000_000,
        };
        let configs = [half(), half()];
        let losses = Losses::new(&configs, &topology, 1).expect("these ports are there");
        let fates: Vec<Vec<bool>> = topology
            .port_ids()
            .flat_map(|port| losses.at(port))
            .map(|loss| lost(loss, 1000))
            .collect();
        assert_eq!(fates.len(), 4); // two ports of the switch
        for (i, one) in fates.iter().enumerate() {
            for other in &fates[i + 1..] {
                let alike = one.iter().zip(other).filter(|(one, other)| one == other);
                assert!((430..570).contains(&alike.count()));
            }
        }
    }

    #[test]
    fn of_a_billion_draws_alike_likely_just_so_many_lose() {
        let stream = Stream::new(1, "loss", 0);
        let draw = stream.clone().up_to(999_999_999);
        let is_lost = |probability_ppb| {
            let stream = stream.clone();
            Loss::Random {
                probability_ppb,
                stream,
            }
            .takes(Instant::ZERO)
        };
        assert!(!is_lost(0) && is_lost(1_000_000_000));
        assert!(!is_lost(draw) && is_lost(draw + 1));
    }
}
