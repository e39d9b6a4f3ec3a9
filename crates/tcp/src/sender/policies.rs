//! What decides, in addition to the windows, when data is sent and in what pieces: payload sizing, the pacer, bursts,
//! and the limit on the host's own queue.

use fairport_units::Instant;

use super::Sender;
use super::offload::{Offer, Offload};
use super::pacing::{Load, Pacer};
use super::small_queue::SmallQueue;
use crate::congestion::Congestion;
use crate::recovery::State;
use crate::segment::Segment;
use crate::settings::Settings;
use crate::sizing::Sizing;
use crate::timers::{Timer, Timers};

/// IP and TCP headers without options.
const HEADERS_BYTES: u64 = 40;

/// The policies of one sender. A policy that is none does not apply.
#[derive(Debug)]
pub(super) struct Policies {
    /// draws payload sizes; none: payloads are as large as possible
    pub(super) sizing: Option<Box<Sizing>>,
    /// spaces segments; none: they are sent back to back
    pub(super) pacer: Option<Box<Pacer>>,
    /// each segment that is sent is noted: the pacer spaces it, or the delivery rate is measured
    pub(super) notes_sent: bool,
    /// sends bursts; none: single segments
    pub(super) offload: Option<Box<Offload>>,
    /// limits this flow's data in the host's queue; none: no limit
    pub(super) small_queue: Option<SmallQueue>,
    /// a full queue of the host makes the sender wait
    pushback: bool,
}

impl Policies {
    pub(super) fn new(settings: &Settings, congestion: &Congestion, seed: u64) -> Self {
        let has_rate = congestion.pacing_rate().is_some();
        let pacer = Pacer::new(settings, has_rate, seed);
        Self {
            sizing: Sizing::new(settings, seed),
            notes_sent: pacer.is_some() || congestion.wants_rate_samples(),
            pacer,
            offload: settings.segmentation_offload.then(Box::default),
            small_queue: SmallQueue::new(settings, has_rate),
            pushback: settings.host_queue_pushback,
        }
    }

    /// Whether a policy may delay what is to be sent.
    #[inline]
    pub(super) fn may_hold(&self) -> bool {
        self.pacer.is_some() || self.small_queue.is_some()
    }

    /// Tells the pacer that there is nothing to space.
    #[inline]
    pub(super) fn rest(&mut self, timers: &mut Timers) {
        if let Some(pacer) = &mut self.pacer {
            pacer.rest(timers);
        }
    }
}

impl Sender {
    /// Whether the pacer or the host delays what is to be sent.
    #[expect(clippy::inline_always, reason = "as [`Self::poll`]")]
    #[inline(always)]
    pub(super) fn is_held(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let amid_burst = self
            .policies
            .offload
            .as_ref()
            .is_some_and(|it| it.is_amid());
        (self.policies.pacer.is_some() && !amid_burst && self.waits_for_pace(timers, now))
            || (self.policies.small_queue.is_some()
                && !amid_burst
                && self.waits_for_host(timers, now))
    }

    /// Whether new data waits until more can be sent with it.
    #[inline(never)]
    pub(super) fn waits_for_burst(&mut self, now: Instant) -> bool {
        let offer = self.offer();
        let sends = self
            .policies
            .offload
            .as_mut()
            .is_none_or(|it| it.sends(now, &offer));
        if !sends {
            // the data that waits would fill the window
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
            room: self.bytes(open).min(self.peer.room(nxt)),
            window: load.cwnd_bytes.min(self.peer.size()),
            unsent: self.stream.unsent(nxt),
            segment: u64::from(self.stream.payload.max(1)),
            paced: load.linux_bytes_in(SmallQueue::SPAN),
            rtt_min: self.rtt.least(),
            srtt: self.rtt.srtt(),
            head_sent: self.board.head_sent(),
            recovers: self.recovery.state() != State::Open,
        }
    }

    /// Whether the segment sent last continues a burst.
    #[inline]
    pub(crate) fn continues_burst(&self) -> bool {
        self.policies
            .offload
            .as_ref()
            .is_some_and(|it| it.follows())
    }

    /// Whether the pacer delays what is to be sent.
    #[inline(never)]
    fn waits_for_pace(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let cwnd_bytes = self.bytes(self.congestion.window().cwnd);
        let has_unsent = self.has_unsent();
        let Some(pacer) = &mut self.policies.pacer else {
            return false;
        };
        let waits = !pacer.allows(timers, now);
        if waits {
            let uses = has_unsent && pacer.uses(cwnd_bytes);
            self.note_paced(now, uses);
            // without new data the kernel's pacer is not waited for (`tcp_write_xmit`)
            if has_unsent && self.recovery.prefers_new() {
                self.recovery.on_pace(self.board.nxt());
            }
        }
        waits
    }

    /// Whether as much of this flow waits in the host as is allowed.
    #[inline]
    fn waits_for_host(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let Some(queue) = &mut self.policies.small_queue else {
            return false;
        };
        timers.stop(Timer::SmallQueue);
        !queue.is_empty(now) && self.has_much_in_host(timers, now)
    }

    #[inline(never)]
    fn has_much_in_host(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let cwnd_bytes = self.bytes(self.congestion.window().cwnd);
        let Some(queue) = &mut self.policies.small_queue else {
            return false;
        };
        let segment_bytes = u64::from(self.stream.payload) + HEADERS_BYTES;
        if self.policies.offload.is_none()
            && (queue.is_short(now, segment_bytes)
                || queue.is_surely_within(cwnd_bytes, self.rtt.srtt()))
        {
            return false;
        }
        self.board.segments() > 1 && self.is_over_the_limit(timers, now, segment_bytes)
    }

    #[inline(never)]
    fn is_over_the_limit(&mut self, timers: &mut Timers, now: Instant, segment_bytes: u64) -> bool {
        let load = self.load();
        let recovers = self.recovery.state() != State::Open;
        let burst_bytes = match &self.policies.offload {
            None => segment_bytes,
            Some(_) => self.offer().burst(),
        };
        let Some(queue) = &mut self.policies.small_queue else {
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

    /// Outstanding data was acknowledged, or an ACK came in vain: the pacing rate follows.
    #[inline]
    pub(super) fn pace(&mut self) {
        let load = self.policies.pacer.is_some().then(|| self.load());
        if let (Some(pacer), Some(load)) = (&mut self.policies.pacer, load) {
            pacer.on_ack(&load);
        }
    }

    /// Notes a segment that was sent with `payload` bytes.
    #[inline(never)]
    pub(super) fn note_segment(&mut self, timers: &mut Timers, now: Instant, payload: u16) {
        if self.before_ack.is_some() {
            self.note_restart(now);
        }
        let load = self.load();
        if let Some(pacer) = &mut self.policies.pacer {
            pacer.on_sent(timers, now, u64::from(payload), &load);
        }
    }

    /// What the pacing rate depends on.
    fn load(&self) -> Load {
        let window = self.congestion.window();
        Load {
            cwnd_bytes: self.bytes(window.cwnd),
            out_bytes: self.bytes(self.board.outstanding()),
            rises: window.cwnd < window.ssthresh / 2,
            srtt: self.rtt.srtt(),
            rate: self.congestion.pacing_rate(),
            sent: self.counters.segments_sent + 1,
            una: self.board.una(),
            nxt: self.board.nxt(),
        }
    }

    /// The host's queue has no room for another packet. Returns whether the sender waits for its next ACK or timer. If
    /// it does, the segment stays unsent and is not lost, and the window is reduced gradually, at most once per window
    /// of data (`tcp_enter_cwr` in `__tcp_transmit_skb`; `tcp_write_xmit` keeps the segment). If nothing is
    /// outstanding, no ACK would come, so the sender tries again after an RTO (`tcp_check_probe_timer`).
    #[cold]
    pub(crate) fn yields_to_host(&mut self, timers: &mut Timers, now: Instant) -> bool {
        if !self.policies.pushback {
            return false;
        }
        if timers.deadline(Timer::Pacing) <= now
            && let Some(pacer) = &mut self.policies.pacer
        {
            pacer.rest(timers); // it would fire at this instant for ever
        }
        if self.has_room() && (self.has_unsent() || self.board.has_lost()) {
            if !self.is_in_episode() {
                self.enter_cwr();
            }
            if self.board.is_empty() && !timers.is_running(Timer::Persist) {
                self.await_window(timers, now);
            }
        }
        true
    }

    /// The packet of a data segment will have left the host at `departs`.
    #[inline]
    pub(crate) fn queued(&mut self, departs: Instant, segment: &Segment) {
        if let Some(queue) = &mut self.policies.small_queue {
            queue.queued(departs, segment.wire_bytes());
        }
    }
}
