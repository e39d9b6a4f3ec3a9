//! The sender: cuts the data into pieces of random sizes, which become one segment each.
//!
//! The adaptive form needs the congestion window, and to know when it was reduced. It reads both from the kernel every
//! 64 pieces, and takes a new slow-start threshold as a reduction of the window that it read before. It also lets only
//! little data wait in the socket, because the sizes of waiting pieces are already fixed.
#![expect(unsafe_code, reason = "system calls")]

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{SystemTime, UNIX_EPOCH};

use fairport_tcp::{Sizing, TcpRand};

use crate::info::{self, Info};

/// The largest number of pieces in one system call.
const BATCH: usize = 32;
/// The number of pieces from one reading of the congestion window to the next.
const ASK_EVERY: u32 = 64;
/// The unsent data that may wait in the socket of an adaptive sender: this many bytes, or [`UNSENT_WINDOWS`] congestion
/// windows if that is more.
const UNSENT_BYTES: u32 = 32 << 10;
const UNSENT_WINDOWS: u32 = 4;

/// The settings of the random sizes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The smallest payload, in bytes.
    pub r_min: u16,
    /// If set, the smallest payload follows the congestion window and is at least `r_min`.
    pub adaptive: Option<TcpRand>,
    /// The seed: senders with equal seeds draw equal sizes. Without a seed, each sender has its own.
    pub seed: Option<u64>,
}

impl Default for Options {
    /// Sizes from half of an Ethernet segment upwards, whatever the congestion window is.
    fn default() -> Self {
        Self {
            r_min: 724,
            adaptive: None,
            seed: None,
        }
    }
}

/// Sends over a connected TCP socket in segments of random sizes. Sets `TCP_NODELAY`, so that short segments do not
/// wait.
#[derive(Debug)]
pub struct RandomizedSender<S> {
    socket: S,
    sizing: Sizing,
    is_adaptive: bool,
    info: Info,
    /// number of pieces until the window is read again
    left_until_asked: u32,
    /// bytes of the last piece that the socket had no room for
    left_of_piece: usize,
    pieces: u64,
    bytes: u64,
}

impl<S: AsFd> RandomizedSender<S> {
    /// Sends over this connection. With an `r_min` above the MSS of the connection, all segments are full.
    ///
    /// # Errors
    /// [`io::Error`] if `socket` is not a connected TCP socket.
    pub fn new(socket: S, options: &Options) -> io::Result<Self> {
        let info = info::read(socket.as_fd())?;
        if !info.is_connected {
            return Err(io::ErrorKind::NotConnected.into());
        }
        info::set(socket.as_fd(), libc::TCP_NODELAY, 1)?;
        if options.adaptive.is_some() {
            limit_unsent(socket.as_fd(), &info)?;
        }
        let seed = options
            .seed
            .unwrap_or_else(|| seed_of(socket.as_fd().as_raw_fd()));
        Ok(Self {
            sizing: Sizing::from_parts(options.r_min.max(1), options.adaptive, seed),
            is_adaptive: options.adaptive.is_some(),
            socket,
            info,
            left_until_asked: ASK_EVERY,
            left_of_piece: 0,
            pieces: 0,
            bytes: 0,
        })
    }

    /// Sends as much as the socket has room for; returns the number of bytes of `data` that were sent.
    ///
    /// # Errors
    /// The errors of `sendmmsg`, among them [`io::ErrorKind::WouldBlock`] if a non-blocking socket has no room at all.
    pub fn send(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < data.len() {
            match self.send_batch(&data[sent..]) {
                Ok((bytes, is_full)) => {
                    sent += bytes;
                    if is_full {
                        break;
                    }
                }
                Err(error) if sent == 0 => return Err(error),
                // report what was sent; the next call returns the error
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Sends all of `data` over a blocking socket.
    ///
    /// # Errors
    /// The errors of [`RandomizedSender::send`], except that interrupted calls are repeated.
    pub fn send_all(&mut self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            match self.send(data) {
                Ok(bytes) => data = &data[bytes..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The number of pieces written so far. Each is one segment.
    pub fn pieces(&self) -> u64 {
        self.pieces
    }

    /// The payload of a full segment, in bytes, as last read from the kernel.
    pub fn mss(&self) -> u16 {
        self.info.mss
    }

    /// Sends up to [`BATCH`] pieces in one system call; returns the number of bytes sent, and whether the socket is
    /// full now.
    fn send_batch(&mut self, data: &[u8]) -> io::Result<(usize, bool)> {
        let mut sizes = [0; BATCH];
        let count = self.draw(data.len(), &mut sizes);
        // SAFETY: the structs hold only pointers and integers, for which zeros are valid
        let mut parts: [libc::iovec; BATCH] = unsafe { zeroed() };
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let mut rest = data;
        for ((part, message), size) in parts.iter_mut().zip(&mut messages).zip(&sizes[..count]) {
            let (piece, after) = rest.split_at(*size);
            rest = after;
            *part = libc::iovec {
                iov_base: piece.as_ptr().cast_mut().cast(),
                iov_len: piece.len(),
            };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        let flags = libc::MSG_EOR | libc::MSG_NOSIGNAL;
        // SAFETY: `messages` holds at least `count` messages, whose parts lie in `data`
        let taken = unsafe {
            libc::sendmmsg(
                self.socket.as_fd().as_raw_fd(),
                messages.as_mut_ptr(),
                count as libc::c_uint,
                flags,
            )
        };
        let Ok(whole) = usize::try_from(taken) else {
            // the first piece keeps its size for the next call
            self.left_of_piece = sizes[0];
            return Err(io::Error::last_os_error());
        };
        let lengths = messages[..whole].iter().map(|one| one.msg_len as usize);
        let bytes: usize = lengths.sum();
        let asked: usize = sizes[..whole].iter().sum();
        self.bytes += bytes as u64;
        // the socket may have taken the last piece in part; its rest is the next piece
        self.left_of_piece = if bytes < asked {
            asked - bytes
        } else {
            sizes
                .get(whole)
                .copied()
                .filter(|_| whole < count)
                .unwrap_or(0)
        };
        self.pieces += whole as u64 - u64::from(bytes < asked);
        Ok((bytes, whole < count || bytes < asked))
    }

    /// Draws the sizes of the next pieces of `length` bytes; returns the number of pieces.
    fn draw(&mut self, length: usize, sizes: &mut [usize; BATCH]) -> usize {
        let mut at = 0;
        for (number, size) in sizes.iter_mut().enumerate() {
            if at == length {
                return number;
            }
            let drawn = match std::mem::take(&mut self.left_of_piece) {
                0 => usize::from(self.next_size(self.bytes + at as u64)),
                left => left,
            };
            *size = drawn.min(length - at);
            at += *size;
        }
        sizes.len()
    }

    fn next_size(&mut self, start: u64) -> u16 {
        if self.is_adaptive {
            self.left_until_asked -= 1;
            if self.left_until_asked == 0 {
                self.left_until_asked = ASK_EVERY;
                self.look();
            }
        }
        self.sizing
            .payload(start, self.info.mss, u64::from(self.info.cwnd))
    }

    /// Reads the congestion window from the kernel. If that fails, the values of the last reading stay.
    fn look(&mut self) {
        let Ok(now) = info::read(self.socket.as_fd()) else {
            return;
        };
        if now.ssthresh != self.info.ssthresh {
            let after = now.cwnd.min(now.ssthresh);
            self.sizing
                .on_loss(u64::from(self.info.cwnd), u64::from(after));
        }
        if now.cwnd != self.info.cwnd {
            // the option was set when the sender was made, so it cannot fail on a working socket
            let _ = limit_unsent(self.socket.as_fd(), &now);
        }
        self.info = now;
    }
}

fn limit_unsent(socket: BorrowedFd<'_>, info: &Info) -> io::Result<()> {
    let windows = info
        .cwnd
        .saturating_mul(UNSENT_WINDOWS * u32::from(info.mss));
    let bytes = windows.clamp(UNSENT_BYTES, 1 << 30);
    info::set(socket, libc::TCP_NOTSENT_LOWAT, bytes.cast_signed())
}

/// A seed that no other sender has: from the time, the process and the socket's descriptor.
fn seed_of(descriptor: RawFd) -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let process = u64::from(std::process::id()) << 32 | u64::from(descriptor.unsigned_abs());
    now.as_nanos() as u64 ^ process.rotate_left(17)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn pattern(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn what_is_sent_arrives_in_order_and_whole() {
        let (client, mut server) = pair();
        let data = pattern(3_000_000);
        let expected = data.clone();
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            server.read_to_end(&mut got).unwrap();
            got
        });
        let options = Options {
            r_min: 100,
            seed: Some(1),
            ..Options::default()
        };
        let mut sender = RandomizedSender::new(client, &options).unwrap();
        sender.send_all(&data).unwrap();
        let (pieces, mss) = (sender.pieces(), u64::from(sender.mss()));
        drop(sender);
        assert!(reader.join().unwrap() == expected);
        // the mean piece is half of r_min + MSS
        let expected = 2 * 3_000_000 / (100 + mss);
        assert!(
            (expected * 8 / 10..=expected * 12 / 10 + 2).contains(&pieces),
            "{pieces}"
        );
    }

    #[test]
    fn a_full_socket_takes_a_part_and_the_rest_follows() {
        let (client, mut server) = pair();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let data = pattern(8_000_000);
        let mut sender = RandomizedSender::new(&client, &Options::default()).unwrap();
        let (mut sent, mut got, mut full) = (0, Vec::new(), 0);
        let mut room = vec![0; 1 << 16];
        while got.len() < data.len() {
            if sent < data.len() {
                match sender.send(&data[sent..]) {
                    Ok(bytes) => sent += bytes,
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                        full += 1;
                    }
                }
            }
            if let Ok(bytes) = server.read(&mut room) {
                got.extend_from_slice(&room[..bytes]);
            }
        }
        assert!(got == data);
        assert!(full > 0);
    }

    #[test]
    fn a_socket_that_is_not_connected_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(RandomizedSender::new(&listener, &Options::default()).is_err());
    }
}
