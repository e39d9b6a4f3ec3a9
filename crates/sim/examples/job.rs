//! Runs a job and prints the time per packet-hop, without a Python interpreter that profilers would see.
//! `cargo run --release -p fairport-sim --example job JOB.json [REGIONS [at-once|alone]]`

use std::time::Instant;

use fairport_plan::{Job, Plan};
use fairport_sim::Simulation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("usage: job JOB.json [REGIONS [at-once|alone]]")?;
    let job: Job = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let regions = std::env::args().nth(2).map_or(Ok(1), |it| it.parse())?;
    let mut simulation = Simulation::in_regions(Plan::new(job)?, regions);
    if let Some(at_once) = std::env::args().nth(3) {
        simulation = simulation.at_once(at_once == "at-once");
    }
    let start = Instant::now();
    while !simulation.advance(simulation.slice()) {}
    let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
    let results = simulation.into_recorded();
    let hops = results.packet_hops;
    println!(
        "{:.1} ns per packet-hop, {hops} of them, fingerprint {:016x}",
        nanoseconds / hops as f64,
        results.fingerprint
    );
    Ok(())
}
