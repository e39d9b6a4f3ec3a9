//! The order of what the event queue pops, within the horizon of the wheel and beyond it.

use super::*;
use crate::stream::Stream;

/// Compares the queue with a sorted list over `steps` random inserts and pops.
fn agrees_with_a_sorted_list(typical_span: Duration, largest_gap_ps: u64, steps: u32) {
    const IDS: u32 = 200;
    let mut stream = Stream::new(1, "test", largest_gap_ps);
    let mut queue = EventQueue::new(IDS as usize, typical_span);
    let mut reference: Vec<(Instant, u32)> = Vec::new();
    let mut idle: Vec<u32> = (0..IDS).collect();
    let mut now = Instant::ZERO;
    for step in 0..steps {
        if step % 1000 == 0 {
            queue.fit(step / 1000 % 2 * 200);
        }
        if !idle.is_empty() && stream.up_to(2) > 0 {
            let id = idle.swap_remove(stream.up_to(idle.len() as u64 - 1) as usize);
            // squared, so that near and far entries both occur
            let gap = stream
                .up_to(largest_gap_ps)
                .min(stream.up_to(largest_gap_ps));
            queue.insert(now + Duration::from_ps(gap), id, id);
            reference.push((now + Duration::from_ps(gap), id));
        } else if let Some((time, id)) = queue.pop_before(Instant::NEVER) {
            assert!(time >= now, "time went back");
            now = time;
            let earliest = reference.iter().map(|entry| entry.0).min();
            assert_eq!(Some(time), earliest);
            reference.retain(|entry| *entry != (time, id));
            idle.push(id);
        }
        let earliest = reference
            .iter()
            .map(|entry| entry.0)
            .min()
            .unwrap_or(Instant::NEVER);
        assert_eq!(queue.next_time(), earliest);
    }
}

#[test]
fn it_pops_in_order_of_time() {
    let span = Duration::from_us(200);
    agrees_with_a_sorted_list(span, Duration::from_us(100).as_ps(), 20_000); // in the wheel
    agrees_with_a_sorted_list(span, Duration::from_ms(100).as_ps(), 20_000); // mostly beyond it
    agrees_with_a_sorted_list(span, 50, 20_000); // one slot, many ties
    agrees_with_a_sorted_list(
        Duration::from_secs(4000),
        Duration::from_secs(4000).as_ps(),
        20_000,
    );
}

#[test]
fn what_was_beyond_the_horizon_comes_before_what_is_put_behind_it_within() {
    let mut queue = EventQueue::new(5, Duration::ZERO); // slots of 1024 ps
    let at = |slot: u64, ps| Instant::from_ps(1024 * slot + ps);
    let end = SLOTS as u64;
    queue.insert(at(0, 0), 0, 0);
    queue.insert(at(1, 0), 1, 0);
    queue.insert(at(1, 1), 2, 0);
    queue.insert(at(end, 0), 3, 0); // beyond
    let mut next = || queue.pop_before(Instant::NEVER);
    assert_eq!([next(), next()], [Some((at(0, 0), 0)), Some((at(1, 0), 1))]);
    queue.insert(at(end, 1), 4, 0); // within: the horizon has moved by a slot
    let rest = std::iter::from_fn(|| queue.pop_before(Instant::NEVER));
    assert!(rest.map(|(_, id)| id).eq([2, 3, 4]));
}

#[test]
fn no_entry_is_lost_of_two_that_are_due_at_once_beyond_the_horizon() {
    let mut queue = EventQueue::new(2, Duration::ZERO);
    let far = Instant::from_secs(1);
    queue.insert(far, 1, 0);
    queue.insert(far, 0, 0);
    let mut popped: Vec<_> = std::iter::from_fn(|| queue.pop_before(Instant::NEVER)).collect();
    popped.sort_unstable();
    assert_eq!(popped, [(far, 0), (far, 1)]);
}

#[test]
fn the_hint_is_the_second_earliest_within_the_horizon() {
    let span = Duration::from_us(200);
    let mut stream = Stream::new(1, "test", 0);
    let mut queue = EventQueue::new(100, span);
    assert_eq!(queue.second(), None);
    for id in 0..100 {
        let at = Instant::from_us(1) + Duration::from_ps(stream.up_to(span.as_ps()));
        queue.insert(at, id, 1000 + id);
    }
    for _ in 0..99 {
        let second = queue.second();
        queue.pop_before(Instant::NEVER);
        assert_eq!(queue.next(), second);
    }
}

#[test]
fn an_empty_queue_has_no_next_time() {
    let mut queue = EventQueue::new(1, Duration::from_us(1));
    assert_eq!(queue.next_time(), Instant::NEVER);
    assert_eq!(queue.pop_before(Instant::NEVER), None);
    queue.insert(Instant::from_secs(4000), 0, 0);
    assert_eq!(
        queue.pop_before(Instant::NEVER),
        Some((Instant::from_secs(4000), 0))
    );
    assert_eq!(queue.pop_before(Instant::NEVER), None);
}

#[test]
fn what_comes_a_whole_turn_of_the_wheel_later_comes_later() {
    // slots of 1024 ps
    let mut queue = EventQueue::new(4, Duration::ZERO);
    for (id, slot) in [0, SLOTS as u64, 1, SLOTS as u64 - 1]
        .into_iter()
        .enumerate()
    {
        queue.insert(Instant::from_ps(slot << 10), id as u32, 0);
    }
    let order = std::iter::from_fn(|| queue.pop_before(Instant::NEVER));
    assert!(order.map(|(_, id)| id).eq([0, 2, 3, 1]));
}
