//! The tests of the crate in one program, which is linked in less time than one for each file.

mod bad_jobs;
mod bbr;
mod common;
mod determinism;
mod directions;
mod early_drop;
mod host_queue;
mod laws;
mod losses;
mod measurement;
mod offered_load;
mod offload;
mod queues;
mod records;
mod regions;
mod request_response;
mod routing;
mod single_flow;
mod slices;
mod small_queue;
mod workloads;
