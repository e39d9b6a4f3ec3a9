//! Undo where SACK is not used: after a retransmission, an ACK that echoes an earlier timestamp was caused
//! by the original, so nothing was lost (Eifel: RFC 3522, with the response of RFC 4015; Linux's
//! `tcp_packet_delayed` for connections without SACK).

use super::Sender;
use crate::recovery::State;
use crate::recovery::undo::Before;
use crate::segment::{Flags, Segment};

impl Sender {
    /// The window as it is.
    pub(super) fn present_window(&self) -> Before {
        let window = self.congestion.window();
        Before {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
        }
    }

    /// An episode of recovery begins, with the window as it was `before` it fell.
    pub(super) fn note_episode(&mut self, before: Before) {
        let una = self.board.una();
        if let Some(undo) = &mut self.eifel {
            undo.begin(una, 0, before);
        }
    }

    /// An ACK moved `SND.UNA` in an episode, which it may show to have been needless: then the window
    /// is what it was, and nothing counts as lost.
    #[cold]
    pub(super) fn heed_echo(&mut self, segment: &Segment) {
        let echoed = segment.options.timestamps().map(|it| it.ecr);
        let complete = self.board.una() >= self.recovery.point();
        // while a retransmission is out, more may have been late (`tcp_try_undo_partial`)
        let certain =
            complete || self.recovery.state() == State::Loss || self.board.retransmitted() == 0;
        let Some(undo) = &mut self.eifel else { return };
        if segment.flags.contains(Flags::ECE) {
            undo.prove();
        }
        if certain && undo.is_original(echoed) {
            let before = undo.take_back();
            self.board.unmark_lost();
            self.recovery.reopen();
            if let Some(Before { cwnd, ssthresh }) = before {
                self.congestion.take_back(cwnd, ssthresh);
            }
        }
    }
}
