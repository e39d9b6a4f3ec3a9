//! Every script of `scripts/` and `kernel/` holds, wherever the stack's sequence numbers begin.

use std::fs;
use std::path::{Path, PathBuf};

use fairport_drill::{Options, parse, run};

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

/// Holds every script of a folder of this crate against the stack that it is for.
fn hold(folder: &str, at_least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    scripts(&folder, &mut found);
    found.sort();
    assert!(found.len() >= at_least, "{} scripts", found.len());
    let mut failed = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).expect("it is text");
        let name = path.strip_prefix(&folder).expect("below it").display();
        let script = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // the second wraps after some segments
        for isn in [0, u32::MAX - 2500] {
            let options = Options {
                isn,
                ..Options::default()
            };
            let outcome = run(&script, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            if let Some(failure) = outcome.failure {
                failed.push(format!("{name}, sequence numbers from {isn}: {failure}"));
            }
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

#[test]
fn every_script_of_the_folder_holds() {
    hold("scripts", 125);
}

/// Exchanges that nobody chose, in which Linux 6.18 sent the same packets, as sender and as receiver: losses in
/// runs, reordering, lost ACKs, marks, Reno and CUBIC, with and without SACK. `make kernel-diff ARGS="--keep 80"` renews
/// them.
#[test]
fn the_stack_sends_what_the_kernel_sent() {
    hold("kernel", 400);
}

#[test]
fn every_script_states_its_fact_and_its_source_first() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut found = Vec::new();
    scripts(&folder, &mut found);
    for path in found {
        let text = fs::read_to_string(&path).expect("it is text");
        let comment: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with("//"))
            .collect();
        let source = ["RFC", "Linux", "tcp", "send(2)", "ip-sysctl"];
        let has_source = |line: &&str| source.iter().any(|name| line.contains(name));
        assert!(
            comment.len() >= 2 && comment[1..].iter().any(has_source),
            "{}: begin with what it shows and where that is said",
            path.display()
        );
    }
}

#[test]
fn the_script_in_the_documentation_holds() {
    let page = include_str!("../../../docs/guide/scripts.md");
    let script = page
        .split("```text\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let outcome = run(&parse(script.unwrap()).unwrap(), &Options::default()).unwrap();
    assert_eq!(outcome.failure, None);
}
