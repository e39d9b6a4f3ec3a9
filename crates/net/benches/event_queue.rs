//! The event queue compared with its alternatives. Each is as large as the number of busy links, and each
//! is used in its fastest way: std's binary heap and a 4-ary heap replace their first entry in place, a
//! winner tree with one slot per link replays one path, the timing wheel pops and inserts.
//!
//! The pattern is the engine's: the earliest link's head arrives, and that link's next head is
//! due a frame's time or an idle span later. All must give the same events in the same order,
//! which is checked before anything is measured.
//!
//! Run with `cargo bench -p fairport-net`. This is a benchmark, not a test.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time;

use fairport_net::event_queue::EventQueue;
use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant};

const EVENTS: u64 = 5_000_000;
const CHECKED_EVENTS: usize = 200_000;
const REPEATS: usize = 5;

/// A queue of (time, id). The earliest entry is read and then replaced by a later one.
trait PendingEvents {
    /// A queue that holds id `i` at `starts[i]`.
    fn new(starts: &[Instant], typical_span: Duration) -> Self;
    fn first(&self) -> (Instant, u32);
    fn replace_first(&mut self, time: Instant);
}

struct Wheel {
    queue: EventQueue,
    first: (Instant, u32),
}

impl PendingEvents for Wheel {
    fn new(starts: &[Instant], typical_span: Duration) -> Self {
        let mut queue = EventQueue::new(starts.len(), typical_span);
        queue.fit(starts.len() as u32);
        for (id, &time) in (0..).zip(starts) {
            queue.insert(time, id, 0);
        }
        let first = queue.pop_before(Instant::NEVER).expect("it holds every id");
        Self { queue, first }
    }

    fn first(&self) -> (Instant, u32) {
        self.first
    }

    fn replace_first(&mut self, time: Instant) {
        self.queue.insert(time, self.first.1, 0);
        self.first = self
            .queue
            .pop_before(Instant::NEVER)
            .expect("it holds every id");
    }
}

struct BinaryHeapOfStd(BinaryHeap<Reverse<(Instant, u32)>>);

impl PendingEvents for BinaryHeapOfStd {
    fn new(starts: &[Instant], _: Duration) -> Self {
        Self(
            (0..)
                .zip(starts)
                .map(|(id, &time)| Reverse((time, id)))
                .collect(),
        )
    }

    fn first(&self) -> (Instant, u32) {
        self.0.peek().expect("it holds every id").0
    }

    fn replace_first(&mut self, time: Instant) {
        let mut first = self.0.peek_mut().expect("it holds every id");
        first.0.0 = time; // sifted down when `first` goes out of scope
    }
}

struct HeapOf4(Vec<(Instant, u32)>);

impl PendingEvents for HeapOf4 {
    fn new(starts: &[Instant], _: Duration) -> Self {
        let mut entries: Vec<(Instant, u32)> = starts.iter().copied().zip(0..).collect();
        entries.sort_unstable(); // a sorted list is a heap
        Self(entries)
    }

    fn first(&self) -> (Instant, u32) {
        self.0[0]
    }

    fn replace_first(&mut self, time: Instant) {
        let entries = &mut self.0;
        let entry = (time, entries[0].1);
        let mut hole = 0;
        loop {
            let children = (4 * hole + 1).min(entries.len())..(4 * hole + 5).min(entries.len());
            let Some(least) = children.min_by_key(|&child| entries[child].0) else {
                break;
            };
            if time <= entries[least].0 {
                break;
            }
            entries[hole] = entries[least];
            hole = least;
        }
        entries[hole] = entry;
    }
}

/// A tournament: leaf `i` is link `i`, an inner node is the earlier of its two children.
struct WinnerTree {
    leaves: usize,
    nodes: Vec<(Instant, u32)>,
}

fn earlier(a: (Instant, u32), b: (Instant, u32)) -> (Instant, u32) {
    if b.0 < a.0 { b } else { a }
}

impl PendingEvents for WinnerTree {
    fn new(starts: &[Instant], _: Duration) -> Self {
        let leaves = starts.len().next_power_of_two();
        let mut nodes = vec![(Instant::NEVER, u32::MAX); 2 * leaves];
        for (id, &time) in (0..).zip(starts) {
            nodes[leaves + id as usize] = (time, id);
        }
        for node in (1..leaves).rev() {
            nodes[node] = earlier(nodes[2 * node], nodes[2 * node + 1]);
        }
        Self { leaves, nodes }
    }

    fn first(&self) -> (Instant, u32) {
        self.nodes[1]
    }

    fn replace_first(&mut self, time: Instant) {
        let id = self.nodes[1].1;
        let mut node = self.leaves + id as usize;
        self.nodes[node].0 = time;
        while node > 1 {
            self.nodes[node / 2] = earlier(self.nodes[node], self.nodes[node ^ 1]);
            node /= 2;
        }
    }
}

/// The gaps between the heads of each link, drawn before the measurement.
struct Pattern {
    starts: Vec<Instant>,
    gaps: Vec<Duration>,
    typical_span: Duration,
}

impl Pattern {
    const GAPS: usize = 1 << 16;

    /// Of four gaps, two are the time of a full frame at line rate (1538 B), one is that of an ACK
    /// (84 B), and one is an idle time of up to `idle`. Each varies a little, because clocks differ.
    fn new(links: usize, rate_bps: u64, idle: Duration) -> Self {
        let mut stream = Stream::new(1, "bench", links as u64);
        let bit_ps = 1_000_000_000_000 / rate_bps;
        let mut gap = |_| {
            let busy = match stream.up_to(3) {
                0 => stream.up_to(idle.as_ps()),
                1 => 8 * 84 * bit_ps,
                _ => 8 * 1538 * bit_ps,
            };
            Duration::from_ps(busy + stream.up_to(bit_ps))
        };
        let gaps: Vec<Duration> = (0..Self::GAPS).map(&mut gap).collect();
        let starts = (0..links).map(|link| Instant::ZERO + gap(link)).collect();
        let typical_span = idle + Duration::from_ps(4 * 8 * 1538 * bit_ps);
        Self {
            starts,
            gaps,
            typical_span,
        }
    }

    /// The gap after a link's `turn`-th head. It does not depend on the order in which ties are served.
    fn gap(&self, id: u32, turn: u32) -> Duration {
        self.gaps[(id.wrapping_mul(7919).wrapping_add(turn)) as usize % Self::GAPS]
    }

    fn run<Q: PendingEvents>(&self, events: u64, mut each: impl FnMut(Instant, u32)) {
        let mut queue = Q::new(&self.starts, self.typical_span);
        let mut turns = vec![0u32; self.starts.len()];
        for _ in 0..events {
            let (time, id) = queue.first();
            each(time, id);
            let turn = &mut turns[id as usize];
            queue.replace_first(time + self.gap(id, *turn));
            *turn += 1;
        }
    }

    /// The first events. Those of one picosecond are sorted by id, because a queue need not order them.
    fn order<Q: PendingEvents>(&self) -> Vec<(Instant, u32)> {
        let mut order = Vec::with_capacity(CHECKED_EVENTS);
        self.run::<Q>(CHECKED_EVENTS as u64, |time, id| order.push((time, id)));
        assert!(order.is_sorted_by_key(|event| event.0), "time went back");
        order.sort_unstable();
        order
    }

    /// Nanoseconds per event, as the median of [`REPEATS`] runs.
    fn measure<Q: PendingEvents>(&self) -> f64 {
        let mut runs: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = time::Instant::now();
                self.run::<Q>(EVENTS, |time, id| {
                    black_box((time, id));
                });
                start.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
            })
            .collect();
        runs.sort_unstable_by(f64::total_cmp);
        runs[REPEATS / 2]
    }
}

fn main() {
    let patterns = [
        (
            "100 links of 1 Gbit/s",
            Pattern::new(100, 1_000_000_000, Duration::from_us(100)),
        ),
        (
            "2000 links of 1 Gbit/s",
            Pattern::new(2000, 1_000_000_000, Duration::from_us(100)),
        ),
        (
            "100 links of 1.25 Mbit/s",
            Pattern::new(100, 1_250_000, Duration::from_ms(100)),
        ),
    ];
    println!("| ns per pop and push | timing wheel | winner tree | 4-ary heap | binary heap |");
    println!("|---|---|---|---|---|");
    for (name, pattern) in &patterns {
        let order = pattern.order::<Wheel>();
        assert!(
            order == pattern.order::<WinnerTree>(),
            "{name}: the winner tree differs"
        );
        assert!(
            order == pattern.order::<HeapOf4>(),
            "{name}: the 4-ary heap differs"
        );
        assert!(
            order == pattern.order::<BinaryHeapOfStd>(),
            "{name}: the binary heap differs"
        );
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.1} |",
            pattern.measure::<Wheel>(),
            pattern.measure::<WinnerTree>(),
            pattern.measure::<HeapOf4>(),
            pattern.measure::<BinaryHeapOfStd>(),
        );
    }
}
