//! How long each stage of an analysis takes: reading, decoding, following the flows.
//!
//! `cargo run --release -p fairport-trace --example analysed -- FILE`

use std::hint::black_box;
use std::time::Instant;

use fairport_trace::{Capture, Options, Source, analyse, decode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in files.iter().filter(|file| *file != "-") {
        timed("read", || {
            let mut capture = Capture::open(file)?;
            let mut records = 0;
            while let Some(record) = capture.next_record() {
                records += 1;
                black_box(record.bytes.first());
            }
            Ok((records, capture.position()))
        })?;
        timed("decode", || {
            let mut capture = Capture::open(file)?;
            let mut records = 0;
            while let Some(record) = capture.next_record() {
                records += 1;
                let (bytes, length, link) = (record.bytes, record.length, record.link_type);
                black_box(decode(bytes, length, link, record.time_ns, false).is_ok());
            }
            Ok((records, capture.position()))
        })?;
    }
    let source = |file: &String| Source {
        file: file.clone(),
        ..Source::default()
    };
    let sources: Vec<Source> = files.iter().map(source).collect();
    timed("analyse", || {
        let outcome = analyse(&sources, &Options::default(), |_| true)?;
        let bytes = outcome.files.iter().map(|file| file.bytes).sum();
        Ok((outcome.packets, bytes))
    })
}

/// Prints how long it took, for so many packets and bytes.
fn timed(
    what: &str,
    stage: impl FnOnce() -> Result<(u64, u64), fairport_trace::Error>,
) -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let (packets, bytes) = stage()?;
    let seconds = begin.elapsed().as_secs_f64();
    let (millions, gigabytes) = (packets as f64 / 1e6, bytes as f64 / 1e9);
    println!(
        "{what:8} {seconds:.3} s  {:.2} million packets/s  {:.2} GB/s",
        millions / seconds,
        gigabytes / seconds
    );
    Ok(())
}
