//! Random payload sizes (`TCPRand`) for programs on an unmodified Linux kernel.
//!
//! A kernel fills segments. But it keeps the end of a record: what one `sendmsg` with `MSG_EOR` has
//! written shares no segment with what comes after it, also when it is sent again. So a program
//! that writes pieces of random sizes, none longer than the MSS, sends segments of these sizes.
//!
//! ```no_run
//! use std::net::TcpStream;
//!
//! use fairport_payload::{Options, RandomizedSender};
//!
//! let stream = TcpStream::connect("192.0.2.1:5001")?;
//! let mut sender = RandomizedSender::new(&stream, &Options::default())?;
//! sender.send_all(&[0; 1 << 20])?;
//! # std::io::Result::Ok(())
//! ```
//!
//! It helps a flow that loses whole windows at a switch port because equal packets arrive there in a
//! fixed rhythm: few flows by one input against many by another, shallow buffers, drop-tail. It costs
//! processor time, because every segment is an entry of its own in the socket's queue and segmentation
//! offload has nothing to do, and some per cent of goodput for headers.
#![cfg(target_os = "linux")]

mod info;
mod sender;

pub use fairport_tcp::TcpRand;
pub use sender::{Options, RandomizedSender};
