//! The fields of `TCP_INFO` that payload sizing needs from the kernel.
#![expect(unsafe_code, reason = "a system call")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// The state of a connection when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info {
    /// congestion window, in segments
    pub(crate) cwnd: u32,
    /// slow-start threshold, in segments; very large if it was never set
    pub(crate) ssthresh: u32,
    /// payload of a full segment, in bytes
    pub(crate) mss: u16,
    /// whether the connection is in a state that may send data
    pub(crate) is_connected: bool,
}

/// The kernel's numbers of the states that may send data: `TCP_ESTABLISHED` and `TCP_CLOSE_WAIT`.
const SENDING_STATES: [u8; 2] = [1, 8];

/// Reads `TCP_INFO` of a socket.
pub(crate) fn read(socket: BorrowedFd<'_>) -> io::Result<Info> {
    // SAFETY: `tcp_info` is a struct of integers, for which zeros are valid
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Info {
        cwnd: info.tcpi_snd_cwnd,
        ssthresh: info.tcpi_snd_ssthresh,
        mss: info.tcpi_snd_mss.min(u32::from(u16::MAX)) as u16,
        is_connected: SENDING_STATES.contains(&info.tcpi_state),
    })
}

/// Sets an option of the level `IPPROTO_TCP`.
pub(crate) fn set(
    socket: BorrowedFd<'_>,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the kernel reads one integer, which outlives the call
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
