//! How much of a port's time and memory was used until an instant.

use fairport_units::{Duration, Instant};

use super::OutputPort;
use crate::buffer::Place;
use crate::queue::BufferRelease;

impl<S> OutputPort<S> {
    /// How long it was busy until `now`: how long it sent, or a packet waited for the shaper's
    /// tokens. The line was given `packets` with `bytes` in total, and a gap of `gap_bytes` after each.
    /// Those `on_the_way` may not have been sent yet.
    pub(crate) fn busy(
        &self,
        now: Instant,
        [packets, bytes]: [u64; 2],
        gap_bytes: u32,
        on_the_way: impl Iterator<Item = Place>,
    ) -> Duration {
        if let Some(extras) = &self.extras
            && extras.shaper.is_some()
        {
            return extras.busy.until(now);
        }
        let gaps = packets * u64::from(gap_bytes);
        let ahead = on_the_way.map(|packet| self.line_time_after(now, packet, gap_bytes));
        // each part is rounded, so their sum may exceed the whole
        self.serializer
            .time_of(bytes + gaps)
            .saturating_sub(ahead.sum())
    }

    /// The part of a packet's transmission time that comes after `now`.
    fn line_time_after(&self, now: Instant, packet: Place, gap_bytes: u32) -> Duration {
        let wire_bytes = u64::from(packet.frame_bytes + gap_bytes);
        let sending = self.serializer.time_of(wire_bytes);
        let end = match self.release {
            BufferRelease::EndOfService => packet.leaves,
            BufferRelease::StartOfService => packet.leaves + sending,
        };
        end.saturating_sub(now).min(sending)
    }

    /// Forgets the details before `now`; [`OutputPort::busy`] is not called for an earlier instant.
    #[inline]
    pub(crate) fn forget_busy(&mut self, now: Instant) {
        if let Some(extras) = &mut self.extras {
            extras.busy.forget(now);
        }
    }
}
