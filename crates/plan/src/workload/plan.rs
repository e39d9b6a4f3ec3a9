//! What is to happen at set times: flows that start, write more, stop; workloads that wake.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairport_units::Time;

use crate::flow::{Side, Start};

/// Something to be done.
pub enum Action {
    /// a flow that the job lists opens its connection
    Open(u32),
    /// a flow that nobody has numbered yet starts
    Start(Start),
    /// a flow's application on that side has so many octets more to send
    Write(u32, Side, u64),
    /// a flow's application stops: what it has not sent yet, it never will
    Stop(u32),
    /// a workload is woken, with a number of its own
    Wake(u32, u64),
}

struct Entry {
    time: Time,
    /// entries of one instant come in the order in which they were made
    serial: u64,
    action: Action,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // the heap gives the largest first
        (other.time, other.serial).cmp(&(self.time, self.serial))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Actions in order of time.
#[derive(Default)]
pub struct Plan {
    heap: BinaryHeap<Entry>,
    serial: u64,
}

impl Plan {
    pub fn at(&mut self, time: Time, action: Action) {
        let serial = self.serial;
        self.serial += 1;
        self.heap.push(Entry {
            time,
            serial,
            action,
        });
    }

    /// When there is something to be done next, if ever.
    pub fn next_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.time)
    }

    /// Takes what is to be done next.
    pub fn pop(&mut self) -> Option<Action> {
        self.heap.pop().map(|entry| entry.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_time_is_done_in_the_order_in_which_it_was_planned() {
        let mut plan = Plan::default();
        for (us, flow) in [(2, 0), (1, 1), (2, 2), (1, 3)] {
            plan.at(Time::from_us(us), Action::Open(flow));
        }
        assert_eq!(plan.next_at(), Time::from_us(1));
        let flows = std::iter::from_fn(|| match plan.pop()? {
            Action::Open(flow) => Some(flow),
            _ => None,
        });
        assert_eq!(flows.collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(plan.next_at(), Time::NEVER);
    }
}
