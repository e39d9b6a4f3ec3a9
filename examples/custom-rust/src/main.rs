//! Runs a scenario with a queue discipline, a scheduler and a congestion control of this program.
//!
//! ```sh
//! fairport scenario show outcast --set queue.kind=custom --set queue.name=round-robin --job > job.json
//! cargo run --release -p fairport-custom-example -- job.json
//! ```

mod congestion_control;
mod discipline;
mod scheduler;

use std::error::Error;
use std::process::ExitCode;

use fairport_plan::{BuildError, Customs, Job, Plan};
use fairport_sim::{Column, Recorded, Simulation};

/// The algorithms of this program, by the names that scenarios call them.
fn customs() -> Customs {
    let mut customs = Customs::default();
    customs.queues.add("per-ingress", discipline::build);
    customs.queues.add("round-robin", scheduler::build);
    customs.controllers.add("gentle", congestion_control::build);
    customs
}

fn run(job: Job) -> Result<Recorded, BuildError> {
    let mut simulation = Simulation::new(Plan::with_customs(job, customs())?);
    while !simulation.advance(1_000_000) {}
    Ok(simulation.into_recorded())
}

/// The goodput of each flow in bit/s.
fn goodput_bps(recorded: &Recorded) -> &[f64] {
    let flows = recorded.table("flows");
    match flows.and_then(|flows| flows.column("goodput_bps")) {
        Some(Column::F64(goodput)) => goodput,
        _ => unreachable!("every run has a table of flows"),
    }
}

fn main() -> ExitCode {
    match print_goodput() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the job in the file that the first argument names.
fn print_goodput() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: JOB.json")?;
    let job: Job = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let recorded = run(job)?;
    for (flow, goodput) in goodput_bps(&recorded).iter().enumerate() {
        println!("flow {flow:2} {:8.1} Mbit/s", goodput / 1e6);
    }
    println!("fingerprint {:016x}", recorded.fingerprint);
    Ok(())
}

#[cfg(test)]
mod tests;
