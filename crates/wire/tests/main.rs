//! The tests of the crate in one program, which is linked in less time than one for each file.

mod fragments;
mod properties;
mod second_reader;
mod strategies;
mod tcp;
