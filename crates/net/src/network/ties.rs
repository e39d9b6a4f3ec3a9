//! Arrivals in the same picosecond: they are gathered, and those to the same output port are served in the
//! order of the arbitration rule.

use fairport_units::Duration;

use super::region::{Taken, Tied};
use super::{Fabric, Hosts, Region};
use crate::observer::Observer;
use crate::pool::Handle;
use crate::routing::Routes;
use crate::topology::PortId;

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Several packets arrive in this picosecond: gathers them all, then serves those to the same output
    /// port in the order of the arbitration rule.
    #[cold]
    pub(super) fn resolve_tie(
        &mut self,
        fabric: &Fabric,
        from: PortId,
        first: Handle,
        hosts: &mut impl Hosts<P, O>,
    ) {
        let mut tied = std::mem::take(&mut self.tied);
        let location = &self.ports[from.0 as usize].location;
        let mut taken = Taken::new(from, first, location, &self.packets.transits);
        loop {
            tied.push(Tied { rank: 0, taken });
            match self.next_of_this_instant() {
                Some(from) => taken = self.take(fabric, from),
                None => break,
            }
        }
        // Sorted by link first, so that a random rule does not draw in the order of the event queue. Packets of one link
        // have one rank, and both sorts keep their order.
        tied.sort_by_key(|Tied { taken, .. }| (taken.contest(), taken.from));
        for contenders in tied.chunk_by_mut(|one, next| one.taken.output == next.taken.output) {
            self.rank(contenders);
        }
        tied.sort_by_key(|Tied { rank, taken }| (taken.contest(), *rank, taken.from));
        let mut previous = None;
        for (i, Tied { taken, .. }) in tied.iter().enumerate() {
            let output = taken.output;
            if output == Routes::END {
                self.deliver(fabric, taken.from, taken.handle, hosts);
                continue;
            }
            let contested = tied
                .get(i + 1)
                .is_some_and(|next| next.taken.output == output);
            if previous != Some(output) && contested {
                self.arbiter.went_first(output.0, taken.ingress_number);
            }
            previous = Some(output);
            self.enqueue(fabric, self.now, output, taken.ingress_number, taken.handle);
        }
        tied.clear();
        self.tied = tied;
    }

    /// Ranks packets to one output port, sorted by link. Where all are of one link nothing is drawn: what the port draws
    /// must not depend on ties elsewhere, which may be in another region.
    fn rank(&mut self, contenders: &mut [Tied]) {
        let Taken { output, from, .. } = contenders[0].taken;
        if output == Routes::END || contenders.iter().all(|one| one.taken.from == from) {
            return;
        }
        for of_link in contenders.chunk_by_mut(|one, next| one.taken.from == next.taken.from) {
            let rank = self.arbiter.rank(output.0, of_link[0].taken.ingress_number);
            for tied in of_link {
                tied.rank = rank;
            }
        }
    }

    /// The next link whose head arrives in this picosecond.
    fn next_of_this_instant(&mut self) -> Option<PortId> {
        let later = self.now + Duration::from_ps(1);
        self.events.pop_before(later).map(|(_, from)| PortId(from))
    }
}
