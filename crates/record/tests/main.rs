//! The tests of the crate in one program, which is linked in less time than one for each file.

mod blackouts;
mod common;
mod counter;
mod decisions;
mod ends;
mod laws;
mod packets;
mod parts;
