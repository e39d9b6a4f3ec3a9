//! A region's memory does not grow with the packets that have left it.

#![allow(unsafe_code)] // an allocator that counts needs it

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::common::bench::{GIGABIT, bench_of_ports, drop_tail_port};
use fairport_net::arbitration::Rule;
use fairport_net::discipline::DropTail;
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::queue::{Queueing, Scheduler};
use fairport_net::scheduler::PortFair;
use fairport_net::topology::dumbbell;
use fairport_net::{CutRules, Partition, PortId};
use fairport_units::{Duration, Instant};

/// The system's allocator, with a count per thread of the bytes that it has allocated. All tests of this program have
/// it.
struct Counting;

thread_local! {
    // one count per thread, because tests on other threads allocate meanwhile
    static NOW: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.set(NOW.get() + layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.set(NOW.get() - layout.size().cast_signed());
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The growth of the allocated memory between the hundredth and the ten-thousandth packet to the other region.
fn growth(is_scheduled: bool) -> isize {
    let topology = dumbbell(1, 1).unwrap();
    let port = |id: PortId| {
        let mut port = drop_tail_port(id, 10, GIGABIT, Duration::from_us(1));
        if is_scheduled && !topology.node(topology.port(id).node).is_host {
            let fair = PortFair::new(DropTail::packets(10));
            port.queueing = Queueing::Scheduled(Box::new(Scheduler::PortFair(fair)));
        }
        port
    };
    let mut bench = bench_of_ports(&topology, Rule::Fixed, port);
    bench.network.observer_mut().drops_only = true;
    let ports: Vec<PortConfig> = topology.port_ids().map(port).collect();
    let rules = CutRules::new(&ports, Framing::ETHERNET);
    let partition = Partition::new(&topology, &rules, 2);
    assert_eq!(partition.regions(), 2);
    let own = partition.region(topology.hosts()[1]);
    bench.network.confine(&topology, &partition, own);

    let (mut crossed, mut gone) = (Vec::new(), 0);
    let mut after_a_hundred = 0;
    for number in 0..10_000 {
        let at = Instant::from_us(20 * number);
        bench.network.advance(at, u64::MAX, &mut bench.sinks);
        bench.network.catch_up_crossings(at);
        bench.send(at, 0, 1500, number);
        bench.network.drain_outbox(1 - own, &mut crossed);
        gone += crossed.len();
        crossed.clear();
        if number == 100 {
            after_a_hundred = NOW.get();
        }
    }
    assert!(gone > 9_900, "{gone}");
    NOW.get() - after_a_hundred
}

#[test]
fn packets_that_have_crossed_into_another_region_take_no_memory() {
    for is_scheduled in [false, true] {
        assert_eq!(growth(is_scheduled), 0, "scheduled: {is_scheduled}");
    }
}
