//! The schedule: at set times, flows start, write or stop, and workloads wake.

use std::collections::BTreeMap;

use fairport_units::Instant;

use crate::flow::{FlowSpec, Side};

/// An action at a set time.
#[derive(Debug)]
pub enum Action {
    /// a flow that the job lists opens its connection
    Open(u32),
    /// a flow that has no number yet starts
    Start(FlowSpec),
    /// a flow's application on this side has this many more bytes to send
    Write(u32, Side, u64),
    /// a flow's application stops: data that was not sent yet is discarded
    Stop(u32),
    /// a workload is woken, with a token of its own
    Wake(u32, u64),
}

/// Actions in order of time.
#[derive(Debug, Default)]
pub struct Schedule {
    /// by time, and within an instant in the order in which they were added
    actions: BTreeMap<(Instant, u64), Action>,
    /// number of actions added so far
    added: u64,
}

impl Schedule {
    /// Adds an action.
    pub fn add(&mut self, time: Instant, action: Action) {
        self.actions.insert((time, self.added), action);
        self.added += 1;
    }

    /// When the next action is due; [`Instant::NEVER`] if there is none.
    pub fn next_at(&self) -> Instant {
        let first = self.actions.first_key_value();
        first.map_or(Instant::NEVER, |((time, _), _)| *time)
    }

    /// Removes the next action and returns it.
    pub fn pop(&mut self) -> Option<Action> {
        self.actions.pop_first().map(|(_, action)| action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_of_one_instant_come_in_the_order_in_which_they_were_added() {
        let mut schedule = Schedule::default();
        for (us, flow) in [(2, 0), (1, 1), (2, 2), (1, 3)] {
            schedule.add(Instant::from_us(us), Action::Open(flow));
        }
        assert_eq!(schedule.next_at(), Instant::from_us(1));
        let flows = std::iter::from_fn(|| match schedule.pop()? {
            Action::Open(flow) => Some(flow),
            _ => None,
        });
        assert_eq!(flows.collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(schedule.next_at(), Instant::NEVER);
    }
}
