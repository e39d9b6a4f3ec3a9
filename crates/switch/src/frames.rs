//! Frames on their way through the network. Each has a numbered buffer, so that a packet carries only four bytes.

use fairport_units::Instant;

/// The longest frame: 1500 bytes of IP, Ethernet's header and two VLAN tags.
pub(crate) const LONGEST_BYTES: usize = 1522;

/// The number of a frame's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

struct Buffer {
    left_at: Instant,
    length: u16,
    bytes: [u8; LONGEST_BYTES],
}

/// All frames. Buffers are reused and never released.
#[derive(Default)]
pub(crate) struct Frames {
    buffers: Vec<Buffer>,
    free: Vec<FrameId>,
}

impl Frames {
    /// Room for `frames` frames without further allocation.
    pub(crate) fn with_capacity(frames: usize) -> Self {
        let mut store = Self::default();
        for _ in 0..frames {
            let id = store.grow();
            store.free.push(id);
        }
        store
    }

    /// Copies a frame that left its host at `left_at` into a buffer. None if it is longer than [`LONGEST_BYTES`] or
    /// shorter than two addresses.
    #[inline]
    pub(crate) fn put(&mut self, frame: &[u8], left_at: Instant) -> Option<FrameId> {
        if !(12..=LONGEST_BYTES).contains(&frame.len()) {
            return None;
        }
        let id = match self.free.pop() {
            Some(id) => id,
            None => self.grow(),
        };
        let buffer = &mut self.buffers[id.0 as usize];
        buffer.left_at = left_at;
        buffer.length = frame.len() as u16;
        buffer.bytes[..frame.len()].copy_from_slice(frame);
        Some(id)
    }

    #[cold]
    fn grow(&mut self) -> FrameId {
        let id = FrameId(self.buffers.len() as u32);
        self.buffers.push(Buffer {
            left_at: Instant::ZERO,
            length: 0,
            bytes: [0; LONGEST_BYTES],
        });
        id
    }

    /// A frame's bytes.
    #[inline]
    pub(crate) fn bytes(&self, id: FrameId) -> &[u8] {
        let buffer = &self.buffers[id.0 as usize];
        &buffer.bytes[..usize::from(buffer.length)]
    }

    /// When a frame left its host.
    #[inline]
    pub(crate) fn left_at(&self, id: FrameId) -> Instant {
        self.buffers[id.0 as usize].left_at
    }

    /// A frame's bytes, to be changed.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, id: FrameId) -> &mut [u8] {
        let buffer = &mut self.buffers[id.0 as usize];
        &mut buffer.bytes[..usize::from(buffer.length)]
    }

    /// Frees the buffer of a frame that has left.
    #[inline]
    pub(crate) fn free(&mut self, id: FrameId) {
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_free_is_used_again() {
        let mut store = Frames::with_capacity(1);
        let first = store.put(&[1; 60], Instant::ZERO).expect("it fits");
        store.free(first);
        let second = store.put(&[2; 61], Instant::ZERO).expect("it fits");
        assert_eq!(first, second);
        assert_eq!(store.bytes(second), [2; 61]);
    }

    #[test]
    fn a_frame_that_no_ethernet_has_is_refused() {
        let mut store = Frames::default();
        assert_eq!(store.put(&[0; LONGEST_BYTES + 1], Instant::ZERO), None);
        assert_eq!(store.put(&[0; 11], Instant::ZERO), None);
    }
}
