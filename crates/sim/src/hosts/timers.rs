//! The hosts' timers: one armed entry per endpoint, re-armed lazily.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairport_units::Instant;

/// When each endpoint wants to be woken.
///
/// A retransmission timer moves later with every ACK. Moving it costs nothing here: the entry
/// stays where it is, fires early, and is armed anew for the deadline that then holds. Only a
/// deadline that moves earlier adds an entry; the one that it overtakes is passed over.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// by endpoint: the time of the entry that counts; [`Instant::NEVER`] if its timer is off
    armed: Vec<Instant>,
}

impl Timers {
    /// Adds a flow's two ends, with their timers off.
    pub(crate) fn add_flow(&mut self) {
        self.armed.extend([Instant::NEVER; 2]);
    }

    /// Turns an endpoint's timer off.
    pub(crate) fn disarm(&mut self, endpoint: u32) {
        self.armed[endpoint as usize] = Instant::NEVER;
    }

    /// The time of the earliest entry; nothing fires before it.
    #[inline]
    pub(crate) fn next_time(&self) -> Instant {
        self.heap
            .peek()
            .map_or(Instant::NEVER, |Reverse((time, _))| *time)
    }

    /// Makes sure that `endpoint` is woken by `deadline`.
    #[inline]
    pub(crate) fn arm(&mut self, endpoint: u32, deadline: Instant) {
        if deadline < self.armed[endpoint as usize] {
            self.armed[endpoint as usize] = deadline;
            self.heap.push(Reverse((deadline, endpoint)));
        }
    }

    /// Removes the earliest entry. Returns its time and the endpoint to wake; none if the entry no longer counts.
    pub(crate) fn fire(&mut self) -> Option<(Instant, u32)> {
        let Reverse((time, endpoint)) = self.heap.pop()?;
        let armed = &mut self.armed[endpoint as usize];
        if *armed != time {
            return None;
        }
        *armed = Instant::NEVER;
        Some((time, endpoint))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_deadline_that_moves_earlier_overtakes_and_fires_once() {
        let mut timers = Timers::default();
        timers.add_flow();
        timers.arm(0, Instant::from_ms(2));
        timers.arm(0, Instant::from_ms(3)); // later: the early entry will re-arm
        timers.arm(0, Instant::from_ms(1));
        assert_eq!(timers.fire(), Some((Instant::from_ms(1), 0)));
        assert_eq!(timers.fire(), None); // overtaken
        assert_eq!(timers.next_time(), Instant::NEVER);
    }

    #[test]
    fn a_deadline_that_is_set_twice_has_one_entry() {
        let mut timers = Timers::default();
        timers.add_flow();
        timers.arm(0, Instant::from_ms(2));
        timers.arm(0, Instant::from_ms(2));
        assert_eq!(timers.fire(), Some((Instant::from_ms(2), 0)));
        assert_eq!(timers.next_time(), Instant::NEVER);
    }

    #[test]
    fn a_timer_that_is_off_wakes_nobody() {
        let mut timers = Timers::default();
        timers.add_flow();
        timers.arm(1, Instant::from_ms(2));
        timers.disarm(1);
        assert_eq!(timers.fire(), None);
    }

    /// An operation on the timers of three flows' ends.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Arm(u32, u64),
        Disarm(u32),
        Fire,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..6_u32, 0..50_u64).prop_map(|(end, ms)| Step::Arm(end, ms)),
            1 => (0..6_u32).prop_map(Step::Disarm),
            3 => Just(Step::Fire),
        ]
    }

    proptest! {
        /// A search through all deadlines finds the same one first.
        #[test]
        fn the_earliest_deadline_of_all_fires(steps in vec(step(), 1..60)) {
            let mut timers = Timers::default();
            (0..3).for_each(|_| timers.add_flow());
            let mut deadlines: BTreeMap<u32, Instant> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Arm(end, ms) => {
                        let at = Instant::from_ms(ms);
                        timers.arm(end, at);
                        let earliest = deadlines.get(&end).map_or(at, |other| at.min(*other));
                        deadlines.insert(end, earliest);
                    }
                    Step::Disarm(end) => {
                        timers.disarm(end);
                        deadlines.remove(&end);
                    }
                    Step::Fire => {
                        let first = deadlines.iter().map(|(end, at)| (*at, *end)).min();
                        prop_assert!(timers.next_time() <= first.map_or(Instant::NEVER, |it| it.0));
                        let fired = std::iter::from_fn(|| {
                            (timers.next_time() != Instant::NEVER).then(|| timers.fire())
                        })
                        .find_map(|it| it);
                        prop_assert_eq!(fired, first);
                        if let Some((_, end)) = first {
                            deadlines.remove(&end);
                        }
                    }
                }
            }
        }
    }
}
