//! Which of several packets that reach one output port in the same picosecond goes first.

use serde::{Deserialize, Serialize};

use crate::stream::Stream;

/// The rule for simultaneous arrivals at one output port (DESIGN 5). A rule is applied to every
/// arrival of the instant together, never to the order in which the program found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// in a circle over the ingress ports, beginning behind the one that went first last time
    RoundRobin,
    /// lowest ingress port number first
    Fixed,
    /// drawn anew every time
    Random,
}

/// The rule, and what it remembers of every output port.
pub struct Arbiter {
    rule: Rule,
    /// for each output port, the ingress port number that a round begins with
    turn: Vec<u16>,
    stream: Stream,
}

impl Arbiter {
    /// An arbiter for `ports` output ports.
    pub fn new(rule: Rule, ports: usize, stream: Stream) -> Self {
        Self {
            rule,
            turn: vec![0; ports],
            stream,
        }
    }

    /// A number for each contender: the lowest goes first.
    pub fn rank(&mut self, output: u32, ingress_number: u16) -> u64 {
        match self.rule {
            Rule::RoundRobin => u64::from(ingress_number.wrapping_sub(self.turn[output as usize])),
            Rule::Fixed => u64::from(ingress_number),
            Rule::Random => self.stream.up_to(u64::MAX - 1),
        }
    }

    /// Notes that `ingress_number` went first among several at `output`.
    pub fn went_first(&mut self, output: u32, ingress_number: u16) {
        self.turn[output as usize] = ingress_number.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arbiter: &mut Arbiter, mut contenders: Vec<u16>) -> Vec<u16> {
        contenders.sort_by_cached_key(|number| arbiter.rank(0, *number));
        arbiter.went_first(0, contenders[0]);
        contenders
    }

    #[test]
    fn round_robin_lets_two_ports_take_turns() {
        let mut arbiter = Arbiter::new(Rule::RoundRobin, 1, Stream::new(1, "test", 0));
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [3, 1]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
    }

    #[test]
    fn fixed_always_favours_the_lowest_port() {
        let mut arbiter = Arbiter::new(Rule::Fixed, 1, Stream::new(1, "test", 0));
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
    }

    #[test]
    fn random_favours_neither() {
        let mut arbiter = Arbiter::new(Rule::Random, 1, Stream::new(1, "test", 0));
        let first = (0..1000)
            .filter(|_| order(&mut arbiter, vec![0, 1])[0] == 0)
            .count();
        assert!((430..570).contains(&first), "{first} of 1000");
    }
}
