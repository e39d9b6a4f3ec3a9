//! How much of a port's time and memory was used until an instant.

use fairport_units::{Duration, Instant};

use super::OutputPort;
use crate::pool::{Handle, LinkEntry, Transit};
use crate::queue::BufferRelease;

impl<S> OutputPort<S> {
    /// How long it was busy until `now`: how long it sent, or a packet waited for the shaper's
    /// tokens. So many packets of so many bytes in all, with gaps of `gap_bytes`, were given to the
    /// line.
    pub(crate) fn busy(
        &self,
        now: Instant,
        [packets, bytes]: [u64; 2],
        gap_bytes: u32,
        transits: &[Transit],
    ) -> Duration {
        if let Some(extras) = &self.extras
            && extras.shaper.is_some()
        {
            return extras.busy.until(now);
        }
        let gaps = packets * u64::from(gap_bytes);
        let entry = |packet: Handle| &transits[packet.index()].entry;
        let ahead = |packet| self.line_time_after(now, entry(packet), gap_bytes);
        let ahead = self.link.iter(transits).map(ahead);
        let ahead = ahead.fold(Duration::ZERO, |sum, part| sum + part);
        // the parts are rounded one by one, the whole is not
        self.serializer.time_of(bytes + gaps).saturating_sub(ahead)
    }

    /// How much of the time in which a packet is sent comes after `now`.
    fn line_time_after(&self, now: Instant, packet: &LinkEntry, gap_bytes: u32) -> Duration {
        let wire_bytes = u64::from(packet.frame_bytes + gap_bytes);
        let sending = self.serializer.time_of(wire_bytes);
        let end = match self.release {
            BufferRelease::EndOfService => packet.leaves,
            BufferRelease::StartOfService => packet.leaves + sending,
        };
        end.saturating_sub(now).min(sending)
    }

    /// Nobody will ask for [`OutputPort::busy`] before `now`.
    #[inline]
    pub(crate) fn forget_busy(&mut self, now: Instant) {
        if let Some(extras) = &mut self.extras {
            extras.busy.forget(now);
        }
    }

    /// The backlog's integral until `now`, where it serves first in, first out: what was counted
    /// ahead when packets were accepted, less what comes after `now`.
    pub(crate) fn backlog_integral_until(&self, now: Instant, transits: &[Transit]) -> u128 {
        let ahead = self.link.iter(transits).map(|packet| {
            let entry = &transits[packet.index()].entry;
            let span = entry.leaves.saturating_sub(now).as_ps();
            u128::from(span) * u128::from(entry.frame_bytes)
        });
        self.backlog_integral.saturating_sub(ahead.sum())
    }
}
