//! Receives frames from all interfaces of a network namespace: one `AF_PACKET` socket that is not bound to an
//! interface, with a `TPACKET_V2` ring that is shared with the kernel (packet(7), the kernel's `packet_mmap`).
//!
//! Reading a frame takes no system call. Frames that the namespace itself sends are not received
//! (`PACKET_IGNORE_OUTGOING`). The kernel timestamps each frame on arrival.
#![expect(
    unsafe_code,
    reason = "the ring is memory that the kernel writes, and libc's calls are unsafe"
)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{c_int, c_void, sockaddr_ll, socklen_t, tpacket_req, tpacket_stats, tpacket2_hdr};

/// Size of a slot in bytes: a frame of 1518 bytes after the kernel's headers.
const SLOT_BYTES: usize = 2048;

/// A slot of the ring.
#[repr(C, align(16))]
struct Slot([u8; SLOT_BYTES]);

/// Size of a block in bytes. A block consists of slots.
const BLOCK_BYTES: usize = 1 << 20;
/// Offset of the sender's link-layer address in a slot (`TPACKET_ALIGN` of the header).
const ADDRESS_AT: usize = size_of::<tpacket2_hdr>().next_multiple_of(16);

/// A received frame. Its slot goes back to the kernel when this is dropped.
pub(crate) struct Received<'a> {
    /// Number of the interface through which it came.
    pub(crate) interface: u32,
    /// When it arrived, in ns of `CLOCK_REALTIME`.
    pub(crate) at_ns: u64,
    /// Its length on the wire, which is greater than that of `bytes` if the frame was cut off.
    pub(crate) wire_bytes: u32,
    /// The frame, from its Ethernet header on.
    pub(crate) bytes: &'a [u8],
    status: &'a AtomicU32,
}

impl Drop for Received<'_> {
    fn drop(&mut self) {
        self.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

/// A ring that receives frames.
pub(crate) struct Ring {
    socket: OwnedFd,
    memory: NonNull<Slot>,
    slots: usize,
    next: usize,
}

// SAFETY: the memory belongs to this ring alone, and is reached through it only.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens a ring of `mebibytes` MiB in the present network namespace.
    ///
    /// # Errors
    /// Without the privilege `CAP_NET_RAW` in the namespace, or without memory.
    pub(crate) fn open(mebibytes: usize) -> io::Result<Self> {
        let protocol = c_int::from((libc::ETH_P_ALL as u16).to_be());
        // SAFETY: a call without pointers; the descriptor is checked and owned at once.
        let socket = unsafe {
            let raw = check(libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                protocol,
            ))?;
            OwnedFd::from_raw_fd(raw)
        };
        let slots = mebibytes * BLOCK_BYTES / SLOT_BYTES;
        set(
            &socket,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as c_int),
        )?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: mebibytes as u32,
            tp_frame_size: SLOT_BYTES as u32,
            tp_frame_nr: slots as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the size that the kernel was asked for; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                slots * SLOT_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            socket,
            memory,
            slots,
            next: 0,
        })
    }

    /// The next frame, if one has arrived.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Received<'_>> {
        // SAFETY: `next` is below `slots`, so the slot lies in the mapping, which lives as long as
        // `self`. The status is read with acquire order before anything else of the slot; while it is
        // `TP_STATUS_USER` the kernel writes nothing there, and `Received` gives the slot back when it
        // is dropped. Offsets and lengths are the kernel's, and bounded by the slot.
        let received = unsafe {
            let slot = self.memory.as_ptr().add(self.next);
            let status = &*slot.cast::<AtomicU32>();
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let header = slot.cast::<tpacket2_hdr>().read();
            let address = slot.byte_add(ADDRESS_AT).cast::<sockaddr_ll>().read();
            let slot = slot.cast::<u8>();
            let at = usize::from(header.tp_mac).min(SLOT_BYTES);
            let length = (header.tp_snaplen as usize).min(SLOT_BYTES - at);
            Received {
                interface: address.sll_ifindex.cast_unsigned(),
                at_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
                wire_bytes: header.tp_len,
                bytes: std::slice::from_raw_parts(slot.add(at), length),
                status,
            }
        };
        self.next = (self.next + 1) % self.slots;
        Some(received)
    }

    /// Waits until a frame has arrived, but no longer than `timeout`.
    ///
    /// # Errors
    /// If the wait fails. An interruption by a signal is not a failure.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<()> {
        let mut events = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // SAFETY: one descriptor and one time, both alive during the call.
        let done = unsafe { libc::ppoll(&raw mut events, 1, &raw const timeout, std::ptr::null()) };
        match check(done) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Number of frames that the kernel has lost since the last call, because the ring was full.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub(crate) fn take_losses(&self) -> io::Result<u32> {
        // SAFETY: plain numbers, and a length that says how large they are.
        unsafe {
            let mut found: tpacket_stats = zeroed();
            let mut length = size_of::<tpacket_stats>() as socklen_t;
            check(libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut found).cast::<c_void>(),
                &raw mut length,
            ))?;
            Ok(found.tp_drops)
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that `open` made, with its size; nothing borrows from it any more.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.slots * SLOT_BYTES);
        }
    }
}

/// Sets an option of an `AF_PACKET` socket.
pub(crate) fn set<T>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is alive, and its size is given.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as socklen_t,
        )
    })
    .map(drop)
}

/// The result of a system call, or the error that it reported.
pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
