//! The tests of the crate in one program, which is linked in less time than one for each file.

mod accounts;
mod ahead;
mod common;
mod custom;
mod disciplines;
mod expected_load;
mod forwarding;
mod hosts;
mod region_memory;
mod regions;
mod routing;
mod scheduled;
