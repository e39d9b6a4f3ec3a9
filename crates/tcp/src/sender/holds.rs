//! What holds a segment back that both windows allow: the pacer, the host's own queue, and the wait for
//! a whole burst.

use fairport_units::Instant;

use super::Sender;
use crate::offload::Offer;
use crate::pacing::Load;
use crate::recovery::State;
use crate::small_queue::SmallQueue;
use crate::timers::Timers;

/// IP and TCP headers without options.
const HEADERS_BYTES: u64 = 40;

impl Sender {
    /// Whether the pacer or the host holds back what is to be sent.
    #[inline]
    pub(super) fn is_held(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let amid_burst = self.offload.as_ref().is_some_and(|it| it.is_amid());
        (self.pacer.is_some() && !amid_burst && self.waits_for_pace(timers, now))
            || (self.small_queue.is_some() && !amid_burst && self.waits_for_host(timers, now))
    }

    /// Whether new data waits for more to go with it.
    #[inline(never)]
    pub(super) fn waits_for_burst(&mut self, now: Instant) -> bool {
        let offer = self.offer();
        let sends = self.offload.as_mut().is_none_or(|it| it.sends(now, &offer));
        if !sends {
            // what waits would fill the window
            self.note_use(now, false);
        }
        !sends
    }

    fn offer(&self) -> Offer {
        let cwnd = self.congestion.window().cwnd;
        let nxt = self.board.nxt();
        let open = cwnd.saturating_sub(self.recovery.pipe(&self.board));
        let load = self.load();
        Offer {
            room: self.octets(open).min(self.peer.room(nxt)),
            window: load.cwnd_bytes.min(self.peer.size()),
            unsent: self.write_end - nxt.min(self.write_end),
            segment: u64::from(self.payload.max(1)),
            paced: load.linux_bytes_in(SmallQueue::SPAN),
            rtt_min: self.rtt.least(),
            srtt: self.rtt.srtt(),
            head_sent: self.board.head_sent(),
            recovers: self.recovery.state() != State::Open,
        }
    }

    /// Whether the segment that left last goes on with a burst.
    #[inline]
    pub(crate) fn continues_burst(&self) -> bool {
        self.offload.as_ref().is_some_and(|it| it.follows())
    }

    /// Whether the pacer holds back what is to be sent.
    #[inline(never)]
    fn waits_for_pace(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let cwnd_bytes = self.octets(self.congestion.window().cwnd);
        let has_unsent = self.has_unsent();
        let Some(pacer) = &mut self.pacer else {
            return false;
        };
        let waits = !pacer.allows(timers, now);
        if waits {
            let uses = has_unsent && pacer.uses(cwnd_bytes);
            self.note_paced(now, uses);
        }
        waits
    }

    /// Whether enough of this flow waits in the host.
    #[inline]
    fn waits_for_host(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let cwnd_bytes = self.octets(self.congestion.window().cwnd);
        let Some(queue) = &mut self.small_queue else {
            return false;
        };
        let segment_bytes = u64::from(self.payload) + HEADERS_BYTES;
        if self.offload.is_none()
            && (queue.is_short(timers, now, segment_bytes)
                || queue.is_within_window(cwnd_bytes, self.rtt.srtt()))
        {
            return false;
        }
        self.board.segments() > 1 && self.is_over_the_limit(timers, now, segment_bytes)
    }

    #[inline(never)]
    fn is_over_the_limit(&mut self, timers: &mut Timers, now: Instant, segment_bytes: u64) -> bool {
        let load = self.load();
        let recovers = self.recovery.state() != State::Open;
        let burst_bytes = match &self.offload {
            None => segment_bytes,
            Some(_) => self.offer().burst(),
        };
        let Some(queue) = &mut self.small_queue else {
            return false;
        };
        let waits = !queue.allows(timers, now, burst_bytes, &load, recovers);
        if waits {
            let window = self.congestion.window();
            let open = self.recovery.pipe(&self.board) + window.unit() <= window.cwnd;
            self.note_use(now, open);
        }
        waits
    }

    /// A segment with `payload` octets left.
    #[inline(never)]
    pub(super) fn pace(&mut self, timers: &mut Timers, now: Instant, payload: u16) {
        if self.before_ack.is_some() {
            self.note_restart(now);
        }
        let load = self.load();
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(timers, now, u64::from(payload), &load);
        }
    }

    /// What decides the pacing rate.
    fn load(&self) -> Load {
        let window = self.congestion.window();
        Load {
            cwnd_bytes: self.octets(window.cwnd),
            out_bytes: self.octets(self.board.outstanding()),
            ssthresh_bytes: self.octets(window.ssthresh),
            srtt: self.rtt.srtt(),
            rate: self.congestion.pacing_rate(),
            sent: self.counters.segments_sent,
            una: self.board.una(),
            nxt: self.board.nxt(),
        }
    }

    /// A packet with data will have left the host at `departs`.
    #[inline]
    pub(crate) fn queued(&mut self, departs: Instant, bytes: u32) {
        if let Some(queue) = &mut self.small_queue {
            queue.queued(departs, bytes);
        }
    }
}
