//! The peer of the stack: it answers through the path, and may announce a smaller window than it has.

use fairport_tcp::{Connection, Ecn, Segment};
use fairport_units::Instant;

use super::WINDOW_SCALE;
use super::dice::Dice;
use super::path::Path;

/// The stack's peer.
pub(super) struct Peer {
    pub(super) connection: Connection,
    /// window that it announces; none: its whole buffer
    window_bytes: Option<u64>,
    /// its last ACK, which announces a new window
    last_ack: Option<Segment>,
}

impl Peer {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            window_bytes: None,
            last_ack: None,
        }
    }

    /// Sends what it has to send.
    pub(super) fn answers(&mut self, now: Instant, path: &mut Path, dice: &mut Dice) {
        while let Some(mut segment) = self.connection.poll_transmit(now) {
            if let Some(bytes) = self.window_bytes {
                segment.window = (bytes >> WINDOW_SCALE) as u16;
            }
            self.last_ack = Some(segment);
            path.back(now, segment, self.connection.codepoint(), dice);
        }
    }

    /// Announces a window of this number of bytes, now and from now on.
    pub(super) fn announces(&mut self, now: Instant, bytes: u64, path: &mut Path, dice: &mut Dice) {
        self.window_bytes = Some(bytes);
        if let Some(mut update) = self.last_ack {
            update.window = (bytes >> WINDOW_SCALE) as u16;
            path.back(now, update, Ecn::NotEct, dice);
        }
    }
}
