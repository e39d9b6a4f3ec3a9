//! The table of ports, computed from a network at the end of its run.

use fairport_net::{Network, Observer, PortId};
use fairport_units::{Duration, Instant};

use crate::column::Table;
use crate::tables::{PortRow, PortRows};

/// One row per port, at the end of a run of length `run`. `of` gives, for a port, the network that it belongs to, which
/// has settled. The other lists have one entry per port: the number of flows whose
/// data passes it, and the error of its clock in parts of 10^9.
pub fn ports<'a, P: Copy + 'a, O: Observer<P> + 'a>(
    of: impl Fn(PortId) -> &'a Network<P, O>,
    run: Duration,
    flows_through: &[u32],
    clock_errors_ppb: &[i32],
) -> Table {
    let (run_ps, end) = (run.as_ps() as f64, Instant::ZERO + run);
    let mut table = PortRows::with_capacity(flows_through.len());
    for (port, (flows, clock_error_ppb)) in (0..).zip(flows_through.iter().zip(clock_errors_ppb)) {
        let id = PortId(port);
        let network = of(id);
        let totals = network.totals(id);
        table.push(PortRow {
            port,
            packets: totals.accepted,
            bytes: totals.accepted_bytes,
            drops: network.drops(id),
            marks: totals.marked,
            queue_mean_bytes: network.backlog_integral(id, end) as f64 / run_ps,
            queue_max_bytes: u64::from(totals.backlog_max_bytes),
            busy_share: network.busy(id, end).as_ps() as f64 / run_ps,
            flows: *flows,
            clock_error_ppm: f64::from(*clock_error_ppb) / 1e3,
            arrivals: totals.arrivals,
        });
    }
    table.into_table()
}
