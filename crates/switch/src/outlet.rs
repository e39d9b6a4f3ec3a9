//! Sends frames to interfaces, bypassing their queueing disciplines (`PACKET_QDISC_BYPASS`).
//!
//! There is one system call per frame. With veth pairs the receiver's TCP runs inside the call. A call for several
//! frames would hide when each frame was delivered ([`crate::answers`]), and a frame that waits for the work of other
//! frames' hosts would not count as late.
#![expect(unsafe_code, reason = "libc's calls are unsafe")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, sockaddr_ll};

use crate::ring::{check, set};

/// Room for the bytes that a host on another processor has not taken yet. It exceeds what the host's end of the veth
/// pair holds (`VETH_RING_SIZE`, 256 frames). A frame that finds no room is an error.
const UNTAKEN_BYTES: c_int = 4 << 20;

/// Sockets to the interfaces of a network namespace. Each is bound to one interface, so that the kernel need not look
/// up the interface of each frame.
pub(crate) struct Outlet {
    /// by number of the interface
    sockets: Vec<Option<OwnedFd>>,
}

impl Outlet {
    /// Opens sockets to these interfaces of the present network namespace.
    ///
    /// # Errors
    /// Without the privilege `CAP_NET_RAW` in the namespace.
    pub(crate) fn open(interfaces: impl IntoIterator<Item = u32>) -> io::Result<Self> {
        let mut sockets = Vec::new();
        for interface in interfaces {
            let at = interface as usize;
            if sockets.len() <= at {
                sockets.resize_with(at + 1, || None);
            }
            sockets[at] = Some(socket_to(interface)?);
        }
        Ok(Self { sockets })
    }

    /// Sends a frame to an interface.
    ///
    /// # Errors
    /// If the kernel refuses the frame, or the interface is not one of those that were opened.
    #[inline]
    pub(crate) fn send(&self, interface: u32, frame: &[u8]) -> io::Result<()> {
        let socket = self
            .sockets
            .get(interface as usize)
            .and_then(Option::as_ref);
        let socket = socket.ok_or(io::ErrorKind::NotFound)?;
        loop {
            // SAFETY: the frame is alive until the call returns; the kernel only reads it.
            let sent = unsafe {
                libc::send(
                    socket.as_raw_fd(),
                    frame.as_ptr().cast(),
                    frame.len(),
                    libc::MSG_DONTWAIT,
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

fn socket_to(interface: u32) -> io::Result<OwnedFd> {
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
    let room = UNTAKEN_BYTES;
    // Refused in a user namespace, where hosts take each frame within the call.
    // SAFETY: a plain number, alive during the call, with its size.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            (&raw const room).cast(),
            size_of::<c_int>() as u32,
        )
    };
    // SAFETY: an all-zero value of this plain structure is valid, and it is alive during the call.
    check(unsafe {
        let mut address = zeroed::<sockaddr_ll>();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface.cast_signed();
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<sockaddr_ll>() as u32,
        )
    })?;
    Ok(socket)
}
