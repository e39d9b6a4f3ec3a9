//! A transfer from its first segment to its last, with what the pipe does to it.

use fairport_tcp::Settings;
use fairport_units::Duration;

use super::{Fate, Pair, Sent};

pub(crate) const ONE_WAY: Duration = Duration::from_ms(10);
pub(crate) const RTT: Duration = Duration::from_ms(20);
pub(crate) const PAYLOAD: u32 = 1448;

/// The pair after a transfer of so many segments, all delivered, 100 us apart on the way.
pub(crate) fn sends(
    settings: &Settings,
    segments: u64,
    path: impl FnMut(&Sent) -> Fate + 'static,
) -> Pair {
    let mut pair = Pair::same(settings, ONE_WAY)
        .spaced(Duration::from_us(100))
        .connected()
        .through(path);
    pair.client.write(segments * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), segments * u64::from(PAYLOAD));
    assert_eq!(pair.client.gauges().in_flight_bytes, 0);
    pair
}

/// Loses the data segments of these numbers, retransmissions counted.
pub(crate) fn losing(lost: &'static [usize]) -> impl FnMut(&Sent) -> Fate {
    move |sent| match sent.data {
        Some(number) if lost.contains(&number) => Fate::Lose,
        _ => Fate::Arrive,
    }
}

/// Loses the data segment of this number, and its first retransmission.
pub(crate) fn losing_twice(number: u32) -> impl FnMut(&Sent) -> Fate {
    let mut seen = 0;
    move |sent| {
        let is_it = sent.data.is_some() && sent.segment.seq == 1 + number * PAYLOAD;
        seen += u32::from(is_it);
        if is_it && seen <= 2 {
            Fate::Lose
        } else {
            Fate::Arrive
        }
    }
}
