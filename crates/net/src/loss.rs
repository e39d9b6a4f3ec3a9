//! Losses that no queue causes: random losses, as on a bad link, runs of a given length, chosen packets, or
//! all packets of a link that is down.
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
        /// when the time before the first run begins
        #[serde(default)]
        from_ps: Duration,
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
    /// all packets are lost for a while
    Outage {
        /// at which ports
        at: LossyPorts,
        /// first moment
        from_ps: Duration,
        /// first moment after it; none: the run ends before
        to_ps: Option<Duration>,
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
            | Self::Numbered { at, .. }
            | Self::Outage { at, .. } => at,
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
            Config::OnOff {
                drops,
                off_ps,
                from_ps,
                ..
            } => Loss::OnOff(Runs::new(*drops, *off_ps, Instant::ZERO + *from_ps)),
            Config::Periodic { every, .. } => Loss::Periodic {
                every: *every,
                left: *every,
            },
            Config::Numbered { packets, .. } => Loss::Numbered {
                arrived: 0,
                packets: packets.iter().copied().rev().collect(),
            },
            Config::Outage { from_ps, to_ps, .. } => Loss::Outage {
                from: Instant::ZERO + *from_ps,
                to: to_ps.map_or(Instant::NEVER, |to| Instant::ZERO + to),
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
    /// all packets are lost for a while
    Outage {
        /// first moment
        from: Instant,
        /// first moment after it
        to: Instant,
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
    /// begin, and from `from` until the first run may.
    pub fn new(drops: u32, off: Duration, from: Instant) -> Self {
        assert!(drops > 0, "a run has at least one packet");
        Self {
            drops,
            off,
            left: drops,
            off_until: from + off,
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
            Self::Outage { from, to } => (*from..*to).contains(&now),
        }
    }
}

#[cfg(test)]
mod tests;
