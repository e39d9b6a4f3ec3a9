//! Permutations: every host sends to exactly one other host and receives from exactly one.

use std::collections::BTreeMap;

use fairport_net::BuildError;
use fairport_net::stream::Stream;

use crate::flow::{End, ListedFlow};
use crate::job::Job;

/// Draws the receivers of the parts of the traffic that are permutations.
pub(crate) fn draw_receivers(job: &Job, flows: &mut [ListedFlow]) -> Result<(), BuildError> {
    for (i, traffic) in job.permutations.iter().enumerate() {
        let of_part: Vec<_> = flows
            .iter_mut()
            .filter(|flow| flow.spec.traffic == *traffic)
            .collect();
        let ends = of_part.iter().map(|flow| &flow.spec);
        // by host: its end as a receiver
        let receivers: BTreeMap<u32, End> = ends.clone().map(|it| (it.dst.host, it.dst)).collect();
        let mut senders: Vec<u32> = ends.map(|it| it.src.host).collect();
        senders.sort_unstable();
        senders.dedup();
        if senders.len() < 2 || !receivers.keys().eq(&senders) {
            return Err(BuildError::new(
                format!("permutations.{i}"),
                traffic,
                "is not a part of the traffic in which the hosts that send also receive",
                "list flows between two or more hosts, each as a sender and as a receiver",
            ));
        }
        let mut stream = Stream::new(job.seed, "permutation", u64::from(*traffic));
        let drawn = derangement(senders.len(), &mut stream);
        for flow in of_part {
            let place = senders.binary_search(&flow.spec.src.host);
            let place = place.expect("it is a sender");
            flow.spec.dst = receivers[&senders[drawn[place]]];
        }
    }
    Ok(())
}

/// A permutation of `0..count` in which no number stays at its place. All of these are equally likely.
///
/// A permutation has no fixed point with a probability of about 1/e, so this takes 2.7 attempts on average.
fn derangement(count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..count).collect();
    loop {
        // Durstenfeld's shuffle (1964)
        for place in (1..count).rev() {
            drawn.swap(place, stream.up_to(place as u64) as usize);
        }
        if drawn.iter().enumerate().all(|(place, one)| place != *one) {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_derangement_of_four_is_equally_likely() {
        let mut stream = Stream::new(1, "test", 0);
        let mut counts = BTreeMap::new();
        for _ in 0..9000 {
            *counts.entry(derangement(4, &mut stream)).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 9);
        // four standard deviations
        assert!(counts.values().all(|count| (count - 1000).abs() < 120));
    }
}
