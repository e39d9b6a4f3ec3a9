//! Exchanges that nobody chose, in which Linux 6.18 sent the same packets: losses in runs, reordering,
//! lost ACKs, Reno and CUBIC, with and without SACK. `make kernel-diff ARGS="--keep 80"` renews them.

use std::fs;
use std::path::Path;

use fairport_drill::{Options, parse, run};

#[test]
fn the_stack_sends_what_the_kernel_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let mut exchanges = 0;
    let mut failed = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let text = fs::read_to_string(&path).expect("it is text");
        let script = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let outcome = run(&script, &Options::default()).expect("the stack exists");
        if let Some(failure) = outcome.failure {
            failed.push(format!("{}: {failure}", path.display()));
        }
        exchanges += 1;
    }
    assert!(exchanges >= 80, "{exchanges} exchanges");
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}
