//! Lengths of a queue: a backlog, a buffer's limit, or a threshold below it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::BuildError;

/// The packets that wait in a port's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// bytes, including the headers of frames
    pub bytes: u32,
    /// number of packets
    pub packets: u32,
}

/// The backlog of an empty buffer.
pub(crate) const NOTHING: Backlog = Backlog {
    bytes: 0,
    packets: 0,
};

/// A length of a queue, in bytes or in packets: `{"bytes": 16384}` or `{"packets": 100}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// bytes, including the headers of frames
    Bytes(u32),
    /// packets
    Packets(u32),
}

impl Limit {
    /// Whether `backlog` is at least this long.
    #[inline]
    pub fn is_reached(self, backlog: Backlog) -> bool {
        match self {
            Self::Bytes(bytes) => backlog.bytes >= bytes,
            Self::Packets(packets) => backlog.packets >= packets,
        }
    }

    /// This limit, if a backlog that reaches it and one more packet can be counted in the 32 bits of [`Backlog`].
    ///
    /// # Errors
    /// If packets of `full_frame_bytes` may take more bytes; the error names `field`.
    pub fn countable(self, field: &str, full_frame_bytes: u32) -> Result<Self, BuildError> {
        let frame_bytes = full_frame_bytes.max(1);
        let most = match self {
            Self::Bytes(_) => Self::Bytes(u32::MAX - frame_bytes),
            Self::Packets(_) => Self::Packets(u32::MAX / frame_bytes - 1),
        };
        let (Self::Bytes(given) | Self::Packets(given), Self::Bytes(limit) | Self::Packets(limit)) =
            (self, most);
        if given <= limit {
            return Ok(self);
        }
        let problem = format!("allows a queue of 4 GiB or more, with packets of {frame_bytes} B");
        let remedy = format!("give at most \"{most}\"");
        Err(BuildError::new(field, self, problem, remedy))
    }

    /// A share of this limit in parts of 10^9, at most all of it, rounded down. A share such as 1/3 is not a whole
    /// number of parts; half a part is added, so that a third of 30 is 10.
    #[must_use]
    pub fn share(self, ppb: u32) -> Self {
        let part = |length: u32| {
            let length = u64::from(length);
            let half_parts = 2 * u64::from(ppb) + 1;
            (half_parts * length / 2_000_000_000).min(length) as u32
        };
        match self {
            Self::Bytes(bytes) => Self::Bytes(part(bytes)),
            Self::Packets(packets) => Self::Packets(part(packets)),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

/// Parts of 10^9 as a fraction of 1.
pub(crate) fn share(ppb: u32) -> f64 {
    f64::from(ppb) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_room_to_count_one_more_packet_in_32_bits() {
        for frame_bytes in [64, 1518, 9018] {
            let most = u32::MAX / frame_bytes - 1;
            assert!(u64::from(most + 1) * u64::from(frame_bytes) < 1 << 32);
            let counted = |limit: Limit| limit.countable("queue.limit", frame_bytes).is_ok();
            assert!(counted(Limit::Packets(most)));
            assert!(!counted(Limit::Packets(most + 1)));
            assert!(counted(Limit::Bytes(u32::MAX - frame_bytes)));
            assert!(!counted(Limit::Bytes(u32::MAX - frame_bytes + 1)));
        }
        let refused = Limit::Packets(3_000_000).countable("queue.limit", 1518);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("give at most \"2829358 packets\""), "{text}");
    }

    #[test]
    fn a_share_of_a_limit_has_its_unit_and_is_rounded_down() {
        assert_eq!(
            Limit::Packets(11).share(500_000_000),
            Limit::Packets(5),
            "half of 11"
        );
        assert_eq!(Limit::Packets(30).share(333_333_333), Limit::Packets(10));
        assert_eq!(Limit::Bytes(20_000).share(150_000_000), Limit::Bytes(3000));
        assert_eq!(
            Limit::Bytes(u32::MAX).share(1_000_000_000),
            Limit::Bytes(u32::MAX)
        );
    }
}
