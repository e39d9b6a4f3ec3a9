//! How likely a packet finds room behind a drop: the experiment by which Lee et al. (Computer
//! Networks 129, 2017, Fig. 5) explain `TCPRand`, without a network and without TCP.
//!
//! Two inputs X and Y of one rate send packets without end and without a pause to one output of the
//! same rate, whose buffer has room for one packet more. Y1 takes it; X1 comes a moment later and is
//! dropped. With packets of one length the rhythm stays: each place that falls free is taken by Y,
//! and X2 has no chance. Payloads drawn from U{rMin..MSS} break it. Asked is whether X2 and Y2, the
//! next packet of each input, find room.
//!
//! What the text leaves open is decided so that the published numbers come out: the packet that the
//! output is sending has a uniformly distributed part of itself left, and X1 is 100 octets behind Y1.
//! Times are counted in octets on the wire, so the rate (1 Gbit/s in the paper) does not matter.

use fairport_net::stream::Stream;

/// Ethernet 14 + 4, preamble 8, IP and TCP 40: on the wire around each payload.
const HEADER_OCTETS: u64 = 66;
/// The gap between two frames: 0.096 us at 1 Gbit/s.
const GAP_OCTETS: u64 = 12;
/// X1 comes so much later than Y1.
const BEHIND_OCTETS: u64 = 100;

/// Shares of the trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnqueueProbability {
    /// X2, the next packet of the input that lost one, finds room.
    pub x2: f64,
    /// Y2 finds room.
    pub y2: f64,
    /// Both do.
    pub both: f64,
    /// Neither does.
    pub neither: f64,
}

/// The experiment with payloads of `r_min_bytes` to `mss_bytes` octets, `trials` times.
///
/// # Panics
/// Unless `1 <= r_min_bytes <= mss_bytes`, and a full packet is longer than the 100 octets between
/// X1 and Y1.
pub fn enqueue_probability(
    mss_bytes: u16,
    r_min_bytes: u16,
    trials: u32,
    seed: u64,
) -> EnqueueProbability {
    assert!((1..=mss_bytes).contains(&r_min_bytes), "rMin is 1 to MSS");
    assert!(
        u64::from(mss_bytes) + HEADER_OCTETS + GAP_OCTETS > BEHIND_OCTETS,
        "X1 can be dropped"
    );
    let mut stream = Stream::new(seed, "enqueue", u64::from(r_min_bytes));
    let mut counts = [0_u32; 4];
    for _ in 0..trials {
        let (x2, y2) = trial(&mut stream, mss_bytes, r_min_bytes);
        counts[usize::from(x2) + 2 * usize::from(y2)] += 1;
    }
    let share = |count: u32| f64::from(count) / f64::from(trials.max(1));
    let [neither, x2_alone, y2_alone, both] = counts;
    EnqueueProbability {
        x2: share(x2_alone + both),
        y2: share(y2_alone + both),
        both: share(both),
        neither: share(neither),
    }
}

/// Whether X2 finds room, and whether Y2 does.
fn trial(stream: &mut Stream, mss: u16, r_min: u16) -> (bool, bool) {
    let packet = |stream: &mut Stream| {
        let payload = u64::from(r_min) + stream.up_to(u64::from(mss - r_min));
        payload + HEADER_OCTETS + GAP_OCTETS
    };
    // Y1 came at 0. X1 found no room, so nothing had left by then.
    let mut leaves = loop {
        let size = packet(stream);
        let left = stream.up_to(size);
        if left > BEHIND_OCTETS {
            break left;
        }
    };
    let x2_at = BEHIND_OCTETS + packet(stream);
    let y2_at = packet(stream);
    let mut free = 0_u32;
    let mut finds_room = |at: u64| {
        while leaves <= at {
            free += 1;
            leaves += packet(stream);
        }
        let found = free > 0;
        free -= u32::from(found);
        found
    };
    if y2_at <= x2_at {
        let y2 = finds_room(y2_at);
        (finds_room(x2_at), y2)
    } else {
        let x2 = finds_room(x2_at);
        (x2, finds_room(y2_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_one_length_shut_the_loser_out_for_good() {
        let found = enqueue_probability(1448, 1448, 1000, 1);
        assert_eq!((found.x2, found.y2), (0.0, 1.0));
    }

    #[test]
    fn lengths_from_one_octet_up_make_both_inputs_about_equal() {
        let found = enqueue_probability(1448, 1, 100_000, 1);
        for (share, published) in [(found.x2, 0.63), (found.y2, 0.58), (found.neither, 0.11)] {
            assert!((share - published).abs() < 0.03, "{share} for {published}");
        }
    }

    #[test]
    fn a_smaller_minimum_helps_the_loser_less_and_less() {
        let x2 = |r_min| enqueue_probability(1448, r_min, 100_000, 1).x2;
        let at = [1448, 1086, 724, 362, 1].map(x2);
        let gains: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gains.windows(2).all(|pair| pair[1] < pair[0]), "{gains:?}");
        assert!(gains.iter().all(|gain| *gain > 0.0), "{gains:?}");
    }
}
