//! Weighted tail-drop: one buffer, with one threshold per traffic class above which packets of that class are dropped.
//!
//! As in Cisco's Catalyst 3750-E (its software configuration guide, "Weighted Tail Drop"): a packet is dropped when the
//! whole queue, not only its class, has passed the threshold of its class.

use serde::{Deserialize, Serialize};

use super::{Admission, DropTail, PacketView, QueueDiscipline, QueueView, Reason};
use crate::BuildError;
use crate::context::PortContext;
use crate::limit::Limit;

/// Number of classes with a threshold of their own. The last threshold also applies to higher classes.
pub const WTD_CLASSES: usize = 4;

/// A weighted tail-drop queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// the share of `limit` that packets of class 0, 1, .. may fill, in parts of 10^9; the last one also applies to
    /// higher classes
    pub thresholds_ppb: Vec<u32>,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<WeightedTailDrop, BuildError> {
        let buffer = port.buffer(self.limit)?;
        let given = self.thresholds_ppb.len();
        if given == 0 || given > WTD_CLASSES {
            let remedy = format!("give 1 to {WTD_CLASSES} shares");
            let problem = "is not a valid number of thresholds";
            return Err(BuildError::new("queue.thresholds", given, problem, remedy));
        }
        for class in 0..given {
            self.check(class, port)?;
        }
        let threshold = |class: usize| DropTail::new(self.threshold(class.min(given - 1), port));
        Ok(WeightedTailDrop::new(
            buffer,
            std::array::from_fn(threshold),
        ))
    }

    fn threshold(&self, class: usize, port: &PortContext<'_>) -> Limit {
        port.limit(self.limit).share(self.thresholds_ppb[class])
    }

    /// The threshold of a class must have room for a packet of the MTU.
    fn check(&self, class: usize, port: &PortContext<'_>) -> Result<(), BuildError> {
        let threshold = self.threshold(class, port);
        match threshold {
            Limit::Bytes(bytes) if bytes >= port.full_frame_bytes() => Ok(()),
            Limit::Packets(packets) if packets > 0 => Ok(()),
            _ => Err(BuildError::new(
                format!("queue.thresholds.{class}"),
                threshold,
                "leaves no room for one packet",
                "give a larger share, or a larger queue.limit",
            )),
        }
    }
}

/// A drop-tail buffer with one threshold per class.
#[derive(Clone, Debug)]
pub struct WeightedTailDrop {
    buffer: DropTail,
    thresholds: [DropTail; WTD_CLASSES],
}

impl WeightedTailDrop {
    /// A buffer that packets of class `i` may fill up to `thresholds[i]`.
    pub fn new(buffer: DropTail, thresholds: [DropTail; WTD_CLASSES]) -> Self {
        Self { buffer, thresholds }
    }
}

impl QueueDiscipline for WeightedTailDrop {
    #[inline(never)] // so that the dispatcher is a jump
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        let class = usize::from(packet.class).min(WTD_CLASSES - 1);
        let fits = |room: &DropTail| room.fits(queue.backlog, packet.frame_bytes);
        if !fits(&self.buffer) {
            Admission::Dropped(Reason::Full)
        } else if fits(&self.thresholds[class]) {
            Admission::Accepted
        } else {
            Admission::Dropped(Reason::Share)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortId;
    use crate::context::NetworkContext;
    use crate::discipline::fixtures::{frame, full_frames};
    use crate::topology::star;
    use fairport_units::Rate;

    #[test]
    fn the_lower_class_is_dropped_while_the_higher_one_still_gets_in() {
        let thresholds = [40, 60, 100, 100].map(DropTail::packets);
        let mut queue = WeightedTailDrop::new(DropTail::packets(100), thresholds);
        let mut admission = |class, waiting| {
            let packet = PacketView {
                class,
                ..frame(1518)
            };
            queue.admit(&full_frames(waiting), &packet)
        };
        assert_eq!(admission(0, 39), Admission::Accepted);
        assert_eq!(admission(0, 40), Admission::Dropped(Reason::Share));
        assert_eq!(admission(1, 40), Admission::Accepted);
        assert_eq!(admission(1, 60), Admission::Dropped(Reason::Share));
        assert_eq!(admission(7, 99), Admission::Accepted);
        assert_eq!(admission(7, 100), Admission::Dropped(Reason::Full));
    }

    #[test]
    fn there_are_one_to_four_thresholds() {
        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let port = network.port(PortId(0), Rate::from_bps(1_000_000_000));
        let refusal = |count| {
            let config = Config {
                limit: Limit::Packets(100),
                count_in_service: false,
                thresholds_ppb: vec![500_000_000; count],
            };
            config.build(&port).err().map(|error| error.to_string())
        };
        for count in 1..=4 {
            assert_eq!(refusal(count), None);
        }
        for count in [0, 5] {
            let text = refusal(count).expect("an error");
            assert!(text.contains("queue.thresholds"), "{text}");
        }
    }

    #[test]
    fn a_threshold_has_room_for_one_packet_of_the_mtu() {
        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let port = network.port(PortId(0), Rate::from_bps(1_000_000_000));
        let is_refused = |limit| {
            let config = Config {
                limit,
                count_in_service: false,
                thresholds_ppb: vec![500_000_000],
            };
            config.build(&port).is_err()
        };
        assert!(!is_refused(Limit::Bytes(2 * port.full_frame_bytes())));
        assert!(is_refused(Limit::Bytes(2 * port.full_frame_bytes() - 2)));
        assert!(!is_refused(Limit::Packets(2)));
        // half of one packet is none
        assert!(is_refused(Limit::Packets(1)));
    }
}
