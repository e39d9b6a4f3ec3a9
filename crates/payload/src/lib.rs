//! Random payload sizes (`TCPRand`) for programs on an unmodified Linux kernel.
//!
//! The kernel fills each segment with as much data as it can. But it keeps the end of a record: data that one `sendmsg`
//! with `MSG_EOR` has written shares no segment with later data, in retransmissions either. A program that writes
//! pieces of random sizes up to the MSS therefore sends segments of these sizes.
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
//! Random sizes help a flow that loses whole windows at a switch port, where packets of equal size arrive in a fixed
//! rhythm. The typical case has few flows through one input port against many through another, shallow buffers and
//! drop-tail. They cost processor time, because every segment is an entry of its own in the socket's queue and
//! segmentation offload cannot combine them, and a few per cent of goodput for headers.
#![cfg(target_os = "linux")]

mod info;
mod sender;

pub use fairport_tcp::TcpRand;
pub use sender::{Options, RandomizedSender};
