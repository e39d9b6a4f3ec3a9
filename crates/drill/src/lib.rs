//! Scripted exchanges: a reader of the packetdrill language, and a shim of the socket calls that
//! drives [`fairport_tcp::Connection`] in virtual time.
pub mod ast;
pub mod code;
mod error;
mod lexer;
mod parser;

pub use error::ScriptError;
pub use parser::parse;
