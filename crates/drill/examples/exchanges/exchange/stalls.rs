//! Random exchanges over a path that holds segments back, or delivers them twice, and exchanges of many kinds at once.

use fairport_units::Duration;

use super::dice::Dice;
use super::draw::Draw;

impl Draw {
    /// Draws when the path delivers nothing, and how often it delivers twice.
    pub(super) fn stalls(&mut self, dice: &mut Dice) {
        let ms = Duration::from_ms;
        let mut at = Duration::ZERO;
        for _ in 0..dice.between(1, 3) {
            at += ms(10 * dice.between(1, 60));
            let end = at + ms(10 * dice.between(5, 100));
            self.path.stalls.push((at, end));
            at = end;
        }
        self.path.loss_percent = dice.one_of(&[0, 0, 2, 5]);
        self.path.copy_percent = dice.one_of(&[0, 0, 3, 10, 30]);
        if dice.chance(25) {
            self.ecn = true;
            self.path.mark_percent = dice.one_of(&[2, 20]);
        }
    }

    /// Draws an application that pauses, on a path with losses, marks, outages, stalls and much reordering.
    pub(super) fn mixes(&mut self, dice: &mut Dice) {
        self.ecn = dice.chance(60);
        self.path.mark_percent = dice.one_of(&[2, 5, 20, 50]);
        if dice.chance(60) {
            self.pauses(dice);
        }
        if dice.chance(40) {
            self.breaks(dice);
        }
        if dice.chance(40) {
            self.stalls(dice);
        }
        self.path.reorder_percent = dice.one_of(&[0, 3, 10, 30, 60]);
        self.path.loss_percent = dice.one_of(&[0, 2, 5, 20]);
        self.path.copy_percent = dice.one_of(&[0, 0, 3, 10]);
        self.lasts = Duration::from_secs(6);
    }
}
