//! The tests of the crate in one program, which is linked in less time than one for each file.

mod common;
mod flows_and_hosts;
mod limits;
mod offered_load;
mod plans;
mod properties;
mod workloads;
