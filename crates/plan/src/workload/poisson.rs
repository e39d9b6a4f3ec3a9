//! Flows that arrive as a Poisson process between random pairs of hosts, with sizes from a CDF.
//!
//! The load is defined by the mean of the drawn sizes: load * capacity / (8 * mean) flows arrive per second, and only
//! payload counts. Both ends of a flow are uniformly distributed; the receiver is never the sender.

use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant};

use super::{Amount, Ends, Key, Transfer, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::PoissonJob;
use crate::sampling::Cdf;

/// A sequence of flows, endless or with a fixed number.
#[derive(Debug)]
pub(crate) struct Poisson {
    senders: Vec<End>,
    receivers: Vec<End>,
    sizes: Cdf,
    /// mean time between two arrivals
    mean_gap: Duration,
    left: u64,
    arrivals: Stream,
    pairs: Stream,
    draws: Stream,
    start: Instant,
}

impl Poisson {
    pub(crate) fn new(job: &PoissonJob, key: Key, ends: &Ends) -> Self {
        let sizes = job.sizes.distribution();
        let load = job.load_ppm as f64 / 1e6;
        let capacity_bps = job.capacity_bps.unwrap_or(ends.senders_bps);
        let gap_s = sizes.mean_bytes() * 8.0 / (load * capacity_bps as f64);
        Self {
            senders: ends.senders.clone(),
            receivers: ends.receivers.clone(),
            // at least a picosecond, so that time passes
            mean_gap: Duration::from_ps(((gap_s * 1e12) as u64).max(1)),
            sizes,
            left: job.flows.unwrap_or(u64::MAX),
            arrivals: Stream::new(key.seed, "poisson-arrivals", key.index),
            pairs: Stream::new(key.seed, "poisson-pairs", key.index),
            draws: Stream::new(key.seed, "poisson-sizes", key.index),
            start: key.start,
        }
    }

    fn pair(&mut self) -> (End, End) {
        let mut pick = |from: &[End]| from[self.pairs.up_to(from.len() as u64 - 1) as usize];
        let src = pick(&self.senders);
        loop {
            let dst = pick(&self.receivers);
            if dst.host != src.host {
                return (src, dst);
            }
        }
    }

    fn schedule_next(&mut self, after: Instant, context: &mut WorkloadContext<'_>) {
        if self.left > 0 {
            self.left -= 1;
            context.wake_at(after + self.arrivals.exponential(self.mean_gap), 0);
        }
    }
}

impl Workload for Poisson {
    fn expected(&self, span: Duration, _trip: &mut Trip<'_>) -> Amount {
        Amount::flows(self.left.min(span.as_ps() / self.mean_gap.as_ps()))
    }

    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        self.schedule_next(self.start, context);
    }

    fn on_wake(&mut self, now: Instant, _token: u64, context: &mut WorkloadContext<'_>) {
        let (src, dst) = self.pair();
        let transfer = Transfer {
            src,
            dst,
            bytes: self.sizes.draw(&mut self.draws),
            persistent: false,
            token: 0,
        };
        context.start(now, &transfer);
        self.schedule_next(now, context);
    }

    fn hears(&self) -> bool {
        false
    }
}
