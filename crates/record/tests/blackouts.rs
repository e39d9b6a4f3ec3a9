//! The traced blackouts, compared with a model that knows all packets.

use std::cmp::Reverse;

use crate::common::{ACCEPTED, END, FULL, Watched, numbers};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn of_more_than_64_ingress_ports_those_with_the_longest_blackouts_are_traced() {
    let mut port = Watched::among(70);
    // hosts 2 to 67 have a blackout of two drops each, and the last two then one of three
    for host in 2..68 {
        port.all(&[(host, FULL), (1, ACCEPTED), (host, FULL), (host, ACCEPTED)]);
    }
    for host in [66, 67] {
        let one = [(host, FULL), (1, ACCEPTED)];
        port.all(&[one, one, one].concat());
    }
    let long = [66, 67].map(|host: usize| u64::from(port.ingress[host].0));
    let mut of = numbers(&port.trace(), "blackout_of");
    of.dedup();
    assert_eq!(of.len(), 64);
    assert_eq!(of[..2], long);
}

#[test]
fn an_arrival_that_was_counted_and_not_seen_has_no_row() {
    let mut port = Watched::new();
    let blackout = [(2, FULL), (1, ACCEPTED)];
    port.all(&blackout);
    // captures of a switch count a packet that left, and that the ingress capture lacks
    port.arrivals += 1;
    port.all(&[blackout, blackout].concat());
    port.arrivals += 2;
    port.all(&[(1, ACCEPTED)]);
    let seen = [1, 2, 4, 5, 6, 7, 10].map(|n| n + 1000);
    assert_eq!(numbers(&port.trace(), "seq"), seen);
}

/// Arrivals that the ring of newest packets holds, and those that are shown before and after a blackout.
const KEPT: usize = 64;
const AROUND: usize = 8;

/// The longest blackout of one host, when all packets are known: its length, and its first and last drop by
/// number, of which one must still be kept when the other comes.
fn longest_blackout(packets: &[(usize, bool)], host: usize) -> Option<(usize, usize, usize)> {
    let mut longest: Option<(usize, usize, usize)> = None;
    for last in 0..packets.len() {
        let own = |n: &usize| packets[*n].0 == host;
        let ended_before = (0..=last).rev().filter(own).find(|n| !packets[*n].1);
        let run: Vec<usize> = (ended_before.map_or(0, |n| n + 1)..=last)
            .filter(own)
            .collect();
        if run.len() < 2 || run.last() != Some(&last) || last - run[0] >= KEPT {
            continue;
        }
        let got_in = packets[run[0]..last]
            .iter()
            .filter(|packet| !packet.1)
            .count();
        if got_in + 1 >= run.len() && longest.is_none_or(|(length, ..)| run.len() > length) {
            longest = Some((run.len(), run[0], last));
        }
    }
    longest
}

proptest! {
    /// The trace, which keeps the newest packets only, has what one finds who knows them all.
    #[test]
    fn the_trace_has_the_longest_blackouts_of_any_arrivals(
        drops_of_ten in [0..=10_u32, 0..=10_u32, 0..=10_u32],
        drawn in vec((1..=3_usize, 0..10_u32, 0..40_usize), 1..250),
    ) {
        let mut port = Watched::new();
        let mut packets: Vec<(usize, bool)> = Vec::new();
        let mut is_dropped: Vec<bool> = Vec::new();
        for (host, number, pushed_out) in drawn {
            let drops = number < drops_of_ten[host - 1];
            packets.push((host, drops));
            is_dropped.push(drops);
            port.all(&[(host, if drops { FULL } else { ACCEPTED })]);
            // some packets are pushed out by a later one
            if let Some(n) = packets.len().checked_sub(pushed_out + 1).filter(|n| !is_dropped[*n]) {
                is_dropped[n] = true;
                port.report(packets[n].0, FULL, END, n as u64 + 1, true);
            }
        }
        let mut found: Vec<(usize, usize, usize, usize)> = (1..=3)
            .filter_map(|host| longest_blackout(&packets, host).map(|(length, first, last)| (length, host, first, last)))
            .collect();
        found.sort_by_key(|(length, host, ..)| (Reverse(*length), *host));
        let mut wanted = Vec::new();
        for (_, host, first, last) in found {
            // what had left the ring when the last drop came is not shown
            let from = first.saturating_sub(AROUND).max((last + 1).saturating_sub(KEPT));
            let of = u64::from(port.ingress[host].0);
            let shown = from..=(last + AROUND).min(packets.len() - 1);
            wanted.extend(shown.map(|n| [of, n as u64 + 1001, u64::from(is_dropped[n])]));
        }
        let trace = port.trace();
        let columns = ["blackout_of", "seq", "fate"].map(|name| numbers(&trace, name));
        let rows: Vec<[u64; 3]> = (0..trace.rows())
            .map(|row| columns.each_ref().map(|column| column[row]))
            .collect();
        prop_assert_eq!(rows, wanted);
    }
}
