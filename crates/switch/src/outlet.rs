//! Frames to interfaces, past the interfaces' queueing disciplines (`PACKET_QDISC_BYPASS`).
//!
//! One system call per frame, and not one for many: with veth pairs the receiver's TCP runs inside the
//! call, so only so is it known when each frame was delivered ([`crate::answers`]), and no frame waits
//! for what the hosts of other frames do without its lag being counted.
#![expect(unsafe_code, reason = "libc's calls are unsafe")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::sockaddr_ll;

use crate::ring::{check, set};

/// The way out to all interfaces of a network namespace.
pub(crate) struct Outlet {
    socket: OwnedFd,
}

impl Outlet {
    /// For the interfaces of the present network namespace.
    ///
    /// # Errors
    /// Without the privilege `CAP_NET_RAW` in the namespace.
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: a call without pointers; the descriptor is checked and owned at once.
        // Protocol 0: this socket receives nothing.
        let socket = unsafe {
            let raw = check(libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                0,
            ))?;
            OwnedFd::from_raw_fd(raw)
        };
        set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        Ok(Self { socket })
    }

    /// Sends a frame to an interface.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(crate) fn send(&self, interface: u32, frame: &[u8]) -> io::Result<()> {
        // SAFETY: an all-zero value of this plain structure is valid.
        let mut address = unsafe { zeroed::<sockaddr_ll>() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface.cast_signed();
        address.sll_halen = 6;
        address.sll_addr[..6].copy_from_slice(&frame[..6]);
        loop {
            // SAFETY: frame and address are alive until the call returns; the kernel only reads them.
            let sent = unsafe {
                libc::sendto(
                    self.socket.as_raw_fd(),
                    frame.as_ptr().cast(),
                    frame.len(),
                    libc::MSG_DONTWAIT,
                    (&raw const address).cast(),
                    size_of::<sockaddr_ll>() as u32,
                )
            };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}
