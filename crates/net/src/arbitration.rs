//! Decides which of several packets goes first that reach one output port in the same picosecond.

use serde::{Deserialize, Serialize};

use crate::stream::Stream;

/// The rule for simultaneous arrivals at one output port. It orders all arrivals of one instant together, so the result
/// does not depend on the order in which the program finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// cycles through the ingress ports, starting after the one that went first last time
    RoundRobin,
    /// lowest ingress port number first
    Fixed,
    /// a new random order every time
    Random,
}

/// Applies the rule, and keeps the state that it needs per output port.
pub struct Arbiter {
    rule: Rule,
    /// by output port: the ingress port number that the next round starts with
    turn: Vec<u16>,
    /// by output port: the random numbers of the rule `Random`; empty for other rules
    streams: Vec<Stream>,
}

impl Arbiter {
    /// An arbiter for `ports` output ports, in a run with this `seed`.
    ///
    /// The rule `Random` draws from a separate stream per output port, so the draws at one port do not depend on ties
    /// at another.
    pub fn new(rule: Rule, ports: usize, seed: u64) -> Self {
        let random = if rule == Rule::Random { ports } else { 0 };
        let stream = |port| Stream::new(seed, "arbitration", port);
        Self {
            rule,
            turn: vec![0; ports],
            streams: (0..random as u64).map(stream).collect(),
        }
    }

    /// A number for an ingress port whose packets contend at `output`; the one with the lowest number goes first.
    pub(crate) fn rank(&mut self, output: u32, ingress_number: u16) -> u64 {
        match self.rule {
            Rule::RoundRobin => u64::from(ingress_number.wrapping_sub(self.turn[output as usize])),
            Rule::Fixed => u64::from(ingress_number),
            Rule::Random => self.streams[output as usize].up_to(u64::MAX - 1),
        }
    }

    /// Records that `ingress_number` went first among several at `output`.
    pub(crate) fn went_first(&mut self, output: u32, ingress_number: u16) {
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
        let mut arbiter = Arbiter::new(Rule::RoundRobin, 1, 1);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [3, 1]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
    }

    #[test]
    fn fixed_always_favours_the_lowest_port() {
        let mut arbiter = Arbiter::new(Rule::Fixed, 1, 1);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
        assert_eq!(order(&mut arbiter, vec![3, 1]), [1, 3]);
    }

    #[test]
    fn random_favours_neither() {
        let mut arbiter = Arbiter::new(Rule::Random, 1, 1);
        let first = (0..1000)
            .filter(|_| order(&mut arbiter, vec![0, 1])[0] == 0)
            .count();
        assert!((430..570).contains(&first), "{first} of 1000");
    }

    #[test]
    fn what_is_drawn_at_an_output_does_not_depend_on_ties_at_another() {
        let draws = |others: u32| {
            let mut arbiter = Arbiter::new(Rule::Random, 2, 1);
            let draw = |_| {
                let elsewhere: Vec<u64> = (0..others).map(|_| arbiter.rank(1, 0)).collect();
                assert_eq!(elsewhere.len(), others as usize);
                arbiter.rank(0, 0)
            };
            (0..100).map(draw).collect::<Vec<u64>>()
        };
        assert_eq!(draws(0), draws(3));
        assert_ne!(draws(0)[0], Arbiter::new(Rule::Random, 2, 1).rank(1, 0));
    }
}
