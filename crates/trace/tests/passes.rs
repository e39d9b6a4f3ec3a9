//! Progress of an analysis, and its end before the end of the files, in captures with much that is neither TCP nor UDP.

use std::fs;
use std::path::PathBuf;

use fairport_trace::{Options, Progress, Role, Source, analyse};

/// Records between two reports of progress.
const SLICE: u64 = 200_000;

/// A capture of ARP requests, in a file that is removed with it.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str, requests: u64) -> Self {
        let path = std::env::temp_dir().join(format!("fairport-{}-{name}", std::process::id()));
        let mut content = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0];
        content.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0]);
        for number in 0..requests {
            let time_ns = number as u32 * 1000;
            for word in [1_700_000_000, time_ns, 14, 42] {
                content.extend(word.to_le_bytes());
            }
            content.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6]);
        }
        fs::write(&path, content).unwrap();
        Self(path)
    }

    fn source(&self, role: Role) -> Source {
        Source {
            file: self.0.to_str().unwrap().to_owned(),
            role,
            ..Source::default()
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// The reports of an analysis that finds no packet; `goes_on` is given their number so far.
fn reports(sources: &[Source], goes_on: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut reports = Vec::new();
    let outcome = analyse(sources, &Options::default(), |progress: Progress| {
        reports.push(progress.packets);
        goes_on(reports.len())
    });
    assert!(outcome.unwrap_err().to_string().contains("no TCP or UDP"));
    reports
}

#[test]
fn what_is_neither_tcp_nor_udp_is_progress_too() {
    let capture = Capture::new("progress.pcap", 2 * SLICE + 1);
    let found = reports(&[capture.source(Role::Auto)], |_| true);
    assert_eq!(found[..2], [SLICE, 2 * SLICE]);
}

#[test]
fn an_analysis_that_is_ended_ends_in_whatever_pass_and_file() {
    let captures = ["in.pcap", "out.pcap"].map(|name| Capture::new(name, 2 * SLICE + 1));
    let roles = [Role::Ingress, Role::Egress];
    let sources = [0, 1].map(|file| captures[file].source(roles[file]));
    let all = reports(&sources, |_| true);
    // each file twice: in the first pass alone, in the second together
    assert_eq!(all[..4], [SLICE, 2 * SLICE, SLICE, 2 * SLICE]);
    for last in 1..=4 {
        // whoever ends it is not asked again
        assert_eq!(reports(&sources, |reports| reports < last), all[..last]);
    }
    let alone = [captures[0].source(Role::Auto)];
    assert_eq!(reports(&alone, |_| false), [SLICE]);
}
