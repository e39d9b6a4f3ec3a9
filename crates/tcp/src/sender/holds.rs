//! What holds a segment back that both windows allow: the pacer, and the host's own queue.

use fairport_units::Time;

use super::Sender;
use crate::pacing::Load;
use crate::recovery::State;

/// IP and TCP headers without options.
const HEADERS_BYTES: u64 = 40;

impl Sender {
    /// Whether the pacer holds back what is to be sent.
    #[inline(never)]
    pub(super) fn waits_for_pace(&mut self, now: Time) -> bool {
        let cwnd_bytes = self.octets(self.congestion.window().cwnd);
        let has_unsent = self.has_unsent();
        let Some(pacer) = &mut self.pacer else {
            return false;
        };
        let waits = !pacer.allows(now);
        if waits {
            let uses = has_unsent && pacer.uses(cwnd_bytes);
            self.note_paced(now, uses);
        }
        waits
    }

    /// Whether enough of this flow waits in the host.
    #[inline(never)]
    pub(super) fn waits_for_host(&mut self, now: Time) -> bool {
        let load = self.load();
        let recovers = self.recovery.state() != State::Open;
        let segment_bytes = u64::from(self.payload) + HEADERS_BYTES;
        let Some(queue) = &mut self.small_queue else {
            return false;
        };
        let waits = self.board.segments() > 1 && !queue.allows(now, segment_bytes, &load, recovers);
        if waits {
            let window = self.congestion.window();
            let open = self.recovery.pipe(&self.board) + window.unit() <= window.cwnd;
            self.note_use(now, open);
        }
        waits
    }

    /// A segment with `payload` octets left.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: Time, payload: u16) {
        if self.before_ack.is_some() {
            self.note_restart(now);
        }
        let load = self.load();
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(now, u64::from(payload), &load);
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
    pub(crate) fn queued(&mut self, departs: Time, bytes: u32) {
        if let Some(queue) = &mut self.small_queue {
            queue.queued(departs, bytes);
        }
    }
}
