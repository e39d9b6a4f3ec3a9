//! Scripted exchanges: a reader of the packetdrill language, and a layer of socket calls that runs scripts against
//! [`fairport_tcp::Connection`] in virtual time.
//!
//! ```
//! use fairport_drill::{Options, parse, run};
//!
//! let script = parse(
//!     "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!      +0 listen(3, 1) = 0
//!      +0 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
//!      +0 > S. 0:0(0) ack 1 <...>
//!      +.1 < . 1:1(0) ack 1 win 257
//!      +0 accept(3, ..., ...) = 4
//!      +0 write(4, ..., 2500) = 2500
//!      +0 > . 1:2001(2000) ack 1",
//! )?;
//! let outcome = run(&script, &Options::default())?;
//! assert_eq!(outcome.failure, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not supported: more than one connection, segments of other protocols, socket calls that one connection does not need
//! (`poll`, `ioctl`, ..), a send buffer or a receive buffer that fills up. If a script needs any of these, it fails
//! with that reason; what cannot change the exchange is only listed as a note.

pub mod ast;
pub mod code;
mod error;
mod lexer;
mod outcome;
mod parser;
mod runner;
mod scanner;
mod sysctl;
mod text;

pub use error::ScriptError;
pub use outcome::{Failure, FailureKind, Note, Outcome};
pub use parser::parse;
pub use runner::{DEFAULT_STACK, Options, SetupError, run};
