//! What is drawn for a sender that paces. A gap between segments is long compared with the delays of a machine.

use fairport_tcp::{Decision, DecisionCause, DecisionKind, Events};
use fairport_units::{Duration, Instant};

use super::dice::Dice;
use super::draw::{Draw, MSS_BYTES, Theme, Write};

impl Draw {
    /// Draws a slow path, and what the application writes.
    pub(super) fn paces(&mut self, dice: &mut Dice) {
        let ms = Duration::from_ms;
        self.paced = true;
        self.tolerance = match self.theme {
            // a rate that is known within a thousandth moves what is sent by some milliseconds in this time
            Theme::Cycles => ms(12),
            _ => ms(4),
        };
        self.congestion_control = match self.theme {
            Theme::Paced => dice.one_of(&["bbr", "bbr", "reno", "cubic"]),
            _ => "bbr",
        };
        self.path.round_trip = ms(dice.one_of(&[100, 200, 300]));
        self.path.spacing = ms(dice.one_of(&[5, 8, 10, 15, 20]));
        self.path.clump = ms(dice.one_of(&[1, 1, 5, 20]));
        self.path.loss_percent = dice.one_of(&[0, 0, 1, 2, 5, 10]);
        self.path.reorder_percent = dice.one_of(&[0, 0, 0, 3]);
        self.path.ack_loss_percent = dice.one_of(&[0, 0, 0, 5, 20]);
        self.ecn = dice.chance(20);
        self.timestamps &= self.theme == Theme::Paced;
        self.path.mark_percent = dice.one_of(&[5, 20, 50]);
        let payload = self.payload();
        let first = dice.between(50, 400) * payload;
        match self.theme {
            Theme::Cycles => self.fills(dice),
            Theme::Rests => self.rests(dice),
            _ if dice.chance(40) => {
                self.pauses(dice);
                // a kernel joins short segments when it sends them again
                self.mss_bytes = MSS_BYTES;
                for write in &mut self.writes {
                    write.bytes = write.bytes.next_multiple_of(payload);
                }
                self.closes_at = None;
            }
            _ => {
                self.writes.truncate(1);
                self.writes[0].bytes = first;
            }
        }
    }

    /// Draws enough data to leave startup. A third of the paths have a policer, the others become longer, so that the
    /// smallest round-trip time expires.
    fn fills(&mut self, dice: &mut Dice) {
        let ms = Duration::from_ms;
        // no round trip is a multiple of a spacing: the phases of the cycle compare the two
        self.path.round_trip = ms(dice.one_of(&[61, 103, 211]));
        self.path.spacing = ms(dice.one_of(&[7, 9, 13, 19]));
        self.path.clump = ms(1);
        self.path.loss_percent = dice.one_of(&[0, 0, 0, 1, 2]);
        self.lasts = Duration::from_secs(8);
        self.writes.truncate(1);
        self.writes[0].bytes = 2000 * self.payload();
        if dice.chance(33) {
            self.path.policer = Some((dice.between(10, 60), self.path.spacing * 3 / 2));
        } else if dice.chance(30) {
            self.lasts = Duration::from_secs(13);
            self.path.detour = Some((ms(700), ms(20)));
        }
    }

    /// Draws an application that writes a few segments again and again. The path becomes longer, so that the smallest
    /// round-trip time expires.
    fn rests(&mut self, dice: &mut Dice) {
        let ms = Duration::from_ms;
        self.lasts = Duration::from_secs(14);
        self.path.detour = Some((ms(1000), ms(15)));
        self.path.loss_percent = dice.one_of(&[0, 0, 0, 1, 3]);
        let longest = dice.one_of(&[5, 10, 20, 40]);
        let most = dice.one_of(&[3, 8, 20]);
        self.writes.clear();
        let mut at = Duration::ZERO;
        while at < Duration::from_secs(13) {
            let bytes = dice.between(1, most) * self.payload();
            self.writes.push(Write { at, bytes });
            at += ms(10 * dice.between(2, longest));
        }
    }
}

/// Counts how often BBR has taken a random phase of its cycle.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) phases: u32,
}

impl Events for Watch {
    fn decision(&mut self, _now: Instant, decision: Decision) {
        let begins = decision.what == DecisionKind::BbrProbeBandwidth
            || decision.cause == DecisionCause::PolicerExpired;
        self.phases += u32::from(begins);
    }
}
