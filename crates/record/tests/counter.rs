//! The counts of [`Counter`] are those that the forwarding core keeps itself, whatever is sent.

use fairport_net::topology::{fat_tree, two_switch};
use fairport_net::{Arrival, Counts, Observer, Packet, PortId};
use fairport_record::Counter;
use fairport_units::{Duration, Instant};
use proptest::prelude::*;

use crate::common::{Sinks, header, network};

/// Counts every packet at every port a second time.
#[derive(Default)]
struct Twice {
    counter: Counter,
    /// what each says of the same packet
    counts: Vec<(Counts, Counts)>,
}

impl Observer<()> for Twice {
    type PortState = ();

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, ()>) {
        let flow = u64::from(arrival.header.flow);
        let own = self.counter.arrive(arrival.port, arrival.ingress, flow);
        if arrival.admission.is_accepted() {
            self.counter.accept(arrival.port);
        }
        self.counts.push((own, (arrival.counts)()));
    }
}

proptest! {
    #[test]
    fn a_counter_counts_as_the_forwarding_core_does(
        is_fat_tree in any::<bool>(),
        limit_packets in 1..20_u32,
        sends in prop::collection::vec((0..15_usize, 0..30_u64), 1..300),
    ) {
        let topology = if is_fat_tree { fat_tree(4).expect("k = 4") } else { two_switch(4).expect("a topology") };
        let (mut network, routes) = network(&topology, limit_packets, Twice::default());
        let mut now = Instant::ZERO;
        for (source, gap_us) in sends {
            now += Duration::from_us(gap_us);
            network.advance(now, u64::from(u32::MAX), &mut Sinks);
            let source = source % routes.len();
            let header = header(source as u32, routes[source], PortId(0));
            network.inject(now, Packet { header, content: () });
        }
        network.advance(Instant::NEVER, u64::from(u32::MAX), &mut Sinks);
        let counts = &network.observer().counts;
        prop_assert!(!counts.is_empty());
        for (own, core) in counts {
            prop_assert_eq!(own, core);
        }
    }
}
