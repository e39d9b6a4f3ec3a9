//! Random exchanges about the opening and the end of a connection.

use fairport_units::Duration;

use super::dice::Dice;
use super::draw::{Draw, Write};

impl Draw {
    /// Draws who opens, how lossy the handshake is, a little data, and when both ends close.
    pub(super) fn opens_and_closes(&mut self, dice: &mut Dice) {
        let ms = Duration::from_ms;
        self.active = dice.chance(50);
        self.path.opening_loss_percent = dice.one_of(&[0, 30, 60]);
        self.peer_rto = ms(dice.one_of(&[300, 700, 1_500]));
        self.lasts = Duration::from_secs(8);
        if dice.chance(25) {
            self.ecn = true;
            self.path.mark_percent = dice.one_of(&[0, 20]);
        }
        self.path.loss_percent = dice.one_of(&[0, 10, 30]);
        let most = self.payload() * dice.one_of(&[1, 3, 12]);
        let mut at = Duration::ZERO;
        self.writes.clear();
        for _ in 0..dice.between(0, 3) {
            let bytes = dice.between(1, most);
            self.writes.push(Write { at, bytes });
            at += ms(10 * dice.between(2, 30));
        }
        self.closes_at = Some(at);
        // before, with or after the other end
        let apart = ms(10 * dice.one_of(&[0, 1, 3, 10, 40]));
        self.reader_closes_at = dice.chance(75).then(|| {
            if dice.chance(30) {
                at.saturating_sub(apart)
            } else {
                at + apart
            }
        });
    }
}
