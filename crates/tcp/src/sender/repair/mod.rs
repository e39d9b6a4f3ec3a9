//! Loss recovery as in today's Linux, joined: RACK, tail loss probes, PRR, undo, F-RTO. What each
//! of them decides is in [`crate::recovery`]; here is when they are asked (`tcp_ack`,
//! `tcp_fastretrans_alert`, `tcp_process_loss`), and in `episode` what a loss or a mark begins.
//!
//! All of it needs SACK: without, the plain recovery stands in.

mod episode;
mod timers;

use fairport_units::Time;

use super::Sender;
use crate::recovery::State;
use crate::recovery::frto::{self, Frto};
use crate::recovery::rack::Rack;
use crate::recovery::reduction::Reduction;
use crate::recovery::tlp::{self, TailProbe, Verdict};
use crate::recovery::undo::{Before, Undo};
use crate::report::Events;
use crate::scoreboard::{Arrived, Chunk};
use crate::segment::{Flags, SackBlock, Segment};
use crate::seq;
use crate::settings::Settings;
use crate::timers::{Timer, Timers};

/// What a sender has that repairs losses so.
#[derive(Debug)]
pub(super) struct Repair {
    rack: Rack,
    /// RACK, and not three SACKed segments, says what is lost
    by_time: bool,
    /// or else what lies three below the highest SACKed segment is lost; until anything came late
    /// (`tcp_disable_fack`)
    fack: bool,
    probe: Option<TailProbe>,
    reduction: Option<Reduction>,
    undo: Undo,
    frto: Option<Frto>,
    /// segments that duplicate SACKs told of: more than were sent again are not believed
    told: u64,
}

impl Repair {
    /// See [`crate::Info::reordering`].
    pub(super) fn reordering(&self) -> u64 {
        self.rack.reordering()
    }

    /// See [`crate::Info::reord_seen`].
    pub(super) fn reordering_seen(&self) -> u64 {
        self.rack.reordering_seen()
    }

    /// Segments that came twice, as duplicate SACKs told.
    pub(super) fn copies_told(&self) -> u64 {
        self.told
    }

    /// The smallest round-trip time, once there is one.
    pub(super) fn min_rtt(&self) -> Option<Time> {
        Some(self.rack.min_rtt()).filter(|it| *it < Time::NEVER)
    }

    /// For a connection that uses SACK, where any part of it is on. `rtt` is the handshake's.
    pub(super) fn new(settings: &Settings, rtt: Option<Time>) -> Option<Box<Self>> {
        let s = settings;
        let reduction = Reduction::new(s.window_reduction);
        let any = s.rack || s.fack || s.tail_loss_probe || reduction.is_some() || s.undo || s.frto;
        any.then(|| {
            Box::new(Self {
                rack: Rack::new(rtt),
                by_time: s.rack,
                fack: s.fack,
                probe: s.tail_loss_probe.then(|| {
                    TailProbe::new(Time::from_ps(s.timer_slack_ps), Time::from_ps(s.rto_min_ps))
                }),
                reduction,
                undo: Undo::new(s.undo),
                frto: s.frto.then(Frto::default),
                told: 0,
            })
        })
    }

    /// Whether the window comes down by and by.
    pub(super) fn comes_down_slowly(&self) -> bool {
        self.reduction.is_some()
    }

    /// Whether losses are found by time.
    pub(super) fn is_by_time(&self) -> bool {
        self.by_time
    }
}

/// What an ACK says, once the scoreboard has taken it in.
struct Facts {
    ack: u64,
    advances: bool,
    /// newly SACKed or acknowledged, in the window's unit
    delivered: u64,
    arrived: Arrived,
    /// it SACKs something new
    news: bool,
    /// it neither moved nor carried anything, and changed no window
    is_pure: bool,
    /// it carries ECE
    marked: bool,
    /// a duplicate SACK, and the segments that it tells of
    duplicate: Option<(u64, u32)>,
    echoed: Option<u32>,
}

impl Sender {
    /// Takes in the acknowledgement up to `ack` and the SACK blocks of a segment. Of one below `SND.UNA`
    /// the blocks alone count, and the window stays (`old_ack` of `tcp_ack`).
    #[inline(never)]
    pub(super) fn on_ack_repaired(
        &mut self,
        timers: &mut Timers,
        repair: &mut Repair,
        now: Time,
        (ack, segment): (u64, &Segment),
        window_changed: bool,
        events: &mut impl Events,
    ) {
        let una = self.board.una();
        let advances = ack > una;
        let left = self.board.outstanding() - self.board.sacked();
        let trusted = now.saturating_sub(repair.rack.min_rtt());
        // RFC 8985 6.2 step 2 looks at the echo as well, which the kernel does not; that of an ACK
        // above a gap is older than what is SACKed
        let echo = segment.options.timestamps().map_or(0, |it| it.ecr);
        let echoed = self
            .clock
            .since(now, echo)
            .map(|since| now.saturating_sub(since));
        let highest = self
            .board
            .begin_ack(echoed.map_or(trusted, |at| trusted.min(at + self.clock.tick())));
        let taken = if advances {
            let (acked, rtt) = self.take_ack(now, ack, segment, events);
            Some((acked.segments, rtt))
        } else {
            None
        };
        self.board.trust(trusted);
        let mut news = false;
        for block in segment.options.sacks() {
            news |= self.board.sack(block);
        }
        let arrived = self.board.arrived(highest);
        let since = |sent: Option<Time>| sent.map(|sent| now - sent);
        repair
            .rack
            .on_delivery(now, since(arrived.sent), since(arrived.sent_once));
        if arrived.late_by > 0 && self.recovery.state() != State::Loss {
            repair.rack.on_reordering(arrived.late_by);
            repair.fack = false;
        }
        let facts = Facts {
            ack,
            advances,
            delivered: left - (self.board.outstanding() - self.board.sacked()),
            arrived,
            news,
            is_pure: !advances && !news && !window_changed && segment.sequence_length() == 0,
            marked: self.ecn.is_some() && segment.flags.contains(Flags::ECE),
            duplicate: self.take_duplicate(repair, ack, segment),
            echoed: segment.options.timestamps().map(|it| it.ecr),
        };
        self.judge_probe(repair, &facts);
        self.move_state(repair, &facts);
        let (lost, wait) = self.find_losses(repair, now, facts.marked);
        if ack < una {
            if let Some(wait) = wait {
                self.await_reordering(timers, now, wait);
            }
            return;
        }
        if facts.marked {
            self.count_marked(facts.delivered);
            if self.recovery.state() == State::Open {
                self.enter_cwr(repair);
            }
        }
        self.grow_repaired(repair, now, &facts, taken);
        self.reduce_by(repair, facts.delivered, advances && lost == 0);
        if let Some(wait) = wait {
            self.await_reordering(timers, now, wait);
        } else if self.board.is_empty() {
            timers.stop_retransmission();
        } else if advances && !self.await_tail(timers, repair, now, now) {
            self.restart_timer(timers, now);
        }
    }

    /// The window may grow for what was delivered: where `taken` says that `SND.UNA` moved, and where
    /// things come late as a rule, for SACKs as well (`tcp_may_raise_cwnd`).
    #[inline]
    fn grow_repaired(
        &mut self,
        repair: &Repair,
        now: Time,
        facts: &Facts,
        taken: Option<(u32, Option<Time>)>,
    ) {
        let unit = self.board.unit();
        let (segments, rtt) = match taken {
            // as the kernel counts: what was SACKed before is not delivered again
            Some((_, rtt)) if unit == 1 => (facts.delivered as u32, rtt),
            Some(taken) => taken,
            None if facts.news && repair.rack.raises_on_sack() => {
                (facts.delivered.div_ceil(unit) as u32, None)
            }
            None => return,
        };
        self.grow(now, facts.delivered, segments, rtt, self.recovery.state());
    }

    /// The first block tells of a duplicate if it lies below the ACK or within the second (RFC 2883
    /// 4.1, 4.2; `tcp_check_dsack`).
    fn take_duplicate(
        &mut self,
        repair: &mut Repair,
        ack: u64,
        segment: &Segment,
    ) -> Option<(u64, u32)> {
        let mut blocks = segment.options.sacks();
        let position = |block: SackBlock| {
            let start = seq::unwrap(ack, block.start);
            (start, seq::unwrap(ack, block.end))
        };
        let (start, end) = position(blocks.next()?);
        let told = start < ack
            || blocks
                .next()
                .map(position)
                .is_some_and(|(from, to)| from <= start && end <= to);
        if !told || start >= end || start < self.start || end > self.board.nxt() {
            return None;
        }
        let segments = (end - start).div_ceil(u64::from(self.payload));
        if repair.told + segments > self.counters.retransmits {
            return None;
        }
        repair.told += segments;
        let segments = segments.min(u64::from(u32::MAX)) as u32;
        repair.undo.on_duplicate(end, segments);
        let of_probe = repair.probe.as_ref().is_some_and(|it| it.is_answer(end));
        if !of_probe {
            repair.rack.on_needless(ack, self.board.nxt());
        }
        Some((end, segments))
    }

    fn judge_probe(&mut self, repair: &mut Repair, facts: &Facts) {
        let Some(probe) = &mut repair.probe else {
            return;
        };
        let verdict = probe.on_ack(&tlp::AckFacts {
            ack: facts.ack,
            advances: facts.advances,
            duplicate_end: facts.duplicate.and_then(|(end, n)| (n == 1).then_some(end)),
            is_pure_duplicate: facts.is_pure,
        });
        if verdict == Verdict::Repaired && self.recovery.state() == State::Open {
            self.end_cwr();
            self.reduce_window();
        }
    }

    /// What the ACK means for the episode under way, before losses are looked for.
    fn move_state(&mut self, repair: &mut Repair, facts: &Facts) {
        if facts.marked {
            repair.undo.prove();
        }
        let complete = self.board.una() >= self.recovery.point();
        match self.recovery.state() {
            State::Open => {
                self.leave_cwr(repair);
                if repair.undo.all_duplicates() {
                    self.take_back(repair, false);
                }
            }
            State::Fast if complete => {
                let needless = repair.undo.is_needless(facts.echoed);
                repair.rack.on_recovered(!needless);
                if needless {
                    self.take_back(repair, false);
                } else {
                    self.end_reduction(repair);
                }
                self.recovery.reopen();
            }
            State::Fast => {
                let original = facts.advances && repair.undo.is_original(facts.echoed);
                if original && self.board.retransmitted() == 0 {
                    // `tcp_try_undo_partial`
                    self.take_back(repair, true);
                    self.recovery.reopen();
                } else if repair.undo.all_duplicates() {
                    repair.rack.on_recovered(false);
                    self.take_back(repair, false);
                    self.recovery.reopen();
                }
            }
            State::Loss => self.repair_timeout(repair, facts, complete),
        }
    }

    /// `tcp_process_loss`
    fn repair_timeout(&mut self, repair: &mut Repair, facts: &Facts, complete: bool) {
        let mut needless = facts.advances && repair.undo.is_needless(facts.echoed);
        if !needless && let Some(frto) = &mut repair.frto {
            let point = self.recovery.point();
            let (nxt, sent_new) = (self.board.nxt(), self.board.nxt() > point);
            needless = frto.on_ack(frto::AckFacts {
                advances: facts.advances,
                complete,
                delivers_original: facts.arrived.first_once_end <= point,
                shows_gap: facts.news || facts.is_pure,
                sent_new,
                has_new: self.has_unsent() && self.peer.room(nxt) > 0,
            });
            if frto.prefers_new() {
                self.recovery.extend(&self.board);
            }
        }
        if needless {
            self.take_back(repair, true);
            self.recovery.reopen();
        } else if complete {
            if repair.undo.is_needless(facts.echoed) {
                self.take_back(repair, false);
            }
            self.recovery.reopen();
        }
    }

    /// The window is again what it was before the episode; `nothing_lost`, what was marked is not.
    fn take_back(&mut self, repair: &mut Repair, nothing_lost: bool) {
        if nothing_lost {
            self.board.unmark_lost();
        }
        if let Some(Before { cwnd, ssthresh }) = repair.undo.take_back() {
            self.congestion.take_back(cwnd, ssthresh);
        }
        if let Some(frto) = &mut repair.frto {
            frto.give_up();
        }
        self.board.look_again();
    }

    /// Marks what is lost, and starts fast recovery if that is called for. Returns how much was newly
    /// lost, and how long segments are waited for that may be late.
    #[inline]
    fn find_losses(&mut self, repair: &mut Repair, now: Time, marked: bool) -> (u64, Option<Time>) {
        if self.recovery.state() == State::Open && self.board.is_in_order() {
            return (0, None);
        }
        self.look_for_losses(repair, now, marked)
    }

    fn look_for_losses(
        &mut self,
        repair: &mut Repair,
        now: Time,
        marked: bool,
    ) -> (u64, Option<Time>) {
        let (lost_before, again_before) = (self.board.lost(), self.board.retransmitted());
        let found = if !repair.by_time {
            let again = self.find_losses_by_sack(repair.fack);
            (self.board.lost().saturating_sub(lost_before) + again, None)
        } else if self.board.has_news() {
            let sacked = self.board.sacked() / self.board.unit();
            let recovering = self.recovery.state() != State::Open;
            let span = repair.rack.span(recovering, sacked, self.rtt.srtt());
            self.board.mark_lost_by_time(now, span)
        } else {
            (0, None)
        };
        let due = match self.recovery.state() {
            State::Open => self.board.has_lost(),
            // a retransmission after the timeout was lost as well
            State::Loss => self.board.retransmitted() < again_before && found.0 > 0,
            State::Fast => false,
        };
        if due {
            self.enter_fast(repair, marked);
        }
        found
    }

    /// Marks what is lost by what was SACKed; returns how much of it was a retransmission.
    fn find_losses_by_sack(&mut self, fack: bool) -> u64 {
        if !fack {
            self.board.mark_lost_by_sack();
            return 0;
        }
        self.board.mark_lost_by_fack();
        match self.recovery.state() {
            State::Fast => self.board.mark_overtaken(),
            _ => 0,
        }
    }

    /// A segment went out, `again` or for the first time.
    pub(super) fn on_sent_repaired(
        &mut self,
        timers: &mut Timers,
        now: Time,
        chunk: Chunk,
        again: bool,
    ) {
        let Some(mut repair) = self.repair.take() else {
            return;
        };
        if again {
            repair.undo.on_retransmit(self.clock.value(now));
        } else {
            let runs = [Timer::Retransmission, Timer::TailProbe, Timer::Reordering]
                .iter()
                .any(|wait| timers.is_running(*wait));
            if !runs {
                timers.start(Timer::Retransmission, now, self.rtt.rto());
            }
            let head_sent = self.board.head_sent().unwrap_or(now);
            self.await_tail(timers, &repair, now, head_sent);
        }
        if (self.recovery.state() == State::Fast || self.is_in_cwr())
            && let Some(reduction) = &mut repair.reduction
        {
            let unit = self.board.unit();
            let octets = u64::from(chunk.payload).max(1);
            reduction.on_sent(if unit == 1 { 1 } else { octets });
        }
        self.repair = Some(repair);
    }

    /// Whether new data goes before what counts as lost (F-RTO).
    #[inline]
    pub(super) fn prefers_new(&self) -> bool {
        self.repair
            .as_ref()
            .and_then(|it| it.frto.as_ref())
            .is_some_and(Frto::prefers_new)
    }

    /// F-RTO's new data, if the window is `open`; if none could be sent, lost segments go on.
    pub(super) fn poll_new_first(
        &mut self,
        timers: &mut Timers,
        now: Time,
        open: bool,
    ) -> Option<Chunk> {
        if open && let Some(chunk) = self.next_whatever_nagle() {
            self.send_new(timers, now, chunk);
            return Some(chunk);
        }
        if self.board.nxt() == self.recovery.point()
            && let Some(frto) = self.repair.as_mut().and_then(|it| it.frto.as_mut())
        {
            frto.give_up();
        }
        None
    }

    fn next_whatever_nagle(&mut self) -> Option<Chunk> {
        let nagle = std::mem::replace(&mut self.nagle, false);
        let chunk = self.next_new();
        self.nagle = nagle;
        chunk
    }
}
