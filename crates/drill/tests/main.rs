//! The tests of the crate in one program, which is linked in less time than one for each file.

mod exchanges;
mod reader;
mod runner;
mod scripts;
