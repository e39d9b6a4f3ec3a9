//! Any legal frame: what holds for it, for a part of it and for a changed one, and what a second reader says.

mod properties;
mod second_reader;
mod strategies;
