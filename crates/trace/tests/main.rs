//! The tests of the crate in one program, which is linked in less time than one for each file.

mod decode;
mod flows;
mod join;
mod offloads;
mod passes;
mod read;
mod sent_again;
mod write;
