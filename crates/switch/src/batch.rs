//! Frames to interfaces, many with one system call: `sendmmsg` on an `AF_PACKET` socket, past the
//! interfaces' queueing disciplines (`PACKET_QDISC_BYPASS`).
#![expect(unsafe_code, reason = "libc's calls are unsafe")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use fairport_units::Instant;
use libc::{iovec, mmsghdr, sockaddr_ll};

use crate::frames::{FrameId, Frames};
use crate::ring::{check, set};

/// Frames per system call.
const CAPACITY: usize = 64;

/// The frames that are due.
pub(crate) struct Batch {
    socket: OwnedFd,
    /// interface and frame
    frames: Vec<(u32, FrameId)>,
    /// when each frame was due
    due: Vec<Instant>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Frames that the kernel took.
    pub(crate) frames: u64,
    /// Frames that it refused.
    pub(crate) errors: u64,
}

impl Batch {
    /// An empty batch, for the interfaces of the present network namespace.
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
        Ok(Self {
            socket,
            frames: Vec::with_capacity(CAPACITY),
            due: Vec::with_capacity(CAPACITY),
        })
    }

    /// Whether nothing is due.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether it must be sent before another frame is added.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() == CAPACITY
    }

    /// Adds a frame for an interface, which was due at `due`.
    #[inline]
    pub(crate) fn push(&mut self, interface: u32, frame: FrameId, due: Instant) {
        debug_assert!(!self.is_full());
        self.frames.push((interface, frame));
        self.due.push(due);
    }

    /// When each frame of the batch was due.
    pub(crate) fn due(&self) -> &[Instant] {
        &self.due
    }

    /// Sends all frames in order, and frees them.
    pub(crate) fn send(&mut self, store: &mut Frames) -> Sent {
        let mut sent = Sent::default();
        let mut first = 0;
        while first < self.frames.len() {
            match self.send_from(first, store) {
                Ok(count) => {
                    sent.frames += count as u64;
                    first += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    // the kernel refused the first of these
                    sent.errors += 1;
                    first += 1;
                }
            }
        }
        for (_, frame) in self.frames.drain(..) {
            store.free(frame);
        }
        self.due.clear();
        sent
    }

    /// Sends the frames from `first` on; says how many the kernel took, at least one.
    fn send_from(&self, first: usize, store: &Frames) -> io::Result<usize> {
        // SAFETY: all-zero values of these plain structures are valid.
        let (mut addresses, mut parts, mut messages) = unsafe {
            (
                [zeroed::<sockaddr_ll>(); CAPACITY],
                [zeroed::<iovec>(); CAPACITY],
                [zeroed::<mmsghdr>(); CAPACITY],
            )
        };
        let count = self.frames.len() - first;
        for (i, (interface, frame)) in self.frames[first..].iter().enumerate() {
            let bytes = store.bytes(*frame);
            addresses[i].sll_family = libc::AF_PACKET as u16;
            addresses[i].sll_ifindex = interface.cast_signed();
            addresses[i].sll_halen = 6;
            addresses[i].sll_addr[..6].copy_from_slice(&bytes[..6]);
            parts[i].iov_base = bytes.as_ptr().cast_mut().cast();
            parts[i].iov_len = bytes.len();
            let message = &mut messages[i].msg_hdr;
            message.msg_name = (&raw mut addresses[i]).cast();
            message.msg_namelen = size_of::<sockaddr_ll>() as u32;
            message.msg_iov = &raw mut parts[i];
            message.msg_iovlen = 1;
        }
        // SAFETY: the first `count` messages point at addresses, parts and frames that live until the
        // call returns; the kernel only reads the frames.
        let done = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT,
            )
        };
        check(done).map(|done| done as usize)
    }
}
