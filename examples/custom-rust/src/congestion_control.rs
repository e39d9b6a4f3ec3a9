//! A congestion control: a loss takes 30 % of the window, not half of it. The rest is `NewReno`.

use fairport_tcp::{Controller, Setup, Window};

/// Makes the congestion control of one connection.
pub(crate) fn build(_: &Setup<'_>) -> Box<dyn Controller> {
    Box::new(Gentle)
}

#[derive(Debug)]
struct Gentle;

impl Controller for Gentle {
    fn on_loss(&mut self, window: &mut Window) {
        window.lower_threshold(window.cwnd * 7 / 10);
    }
}
