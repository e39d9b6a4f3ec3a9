//! Any text as a packetdrill script: the reader gives a script or an error with its place, and
//! what it gives can be run against any stack. Neither panics.

#![no_main]

use fairport_drill::{Options, parse, run};
use libfuzzer_sys::fuzz_target;

/// A script can ask for more than a run can give: the longest text that is tried.
const TEXT_MAX: usize = 4096;

fuzz_target!(|input: (u8, &str)| {
    let (stack, text) = input;
    if text.len() > TEXT_MAX {
        return;
    }
    match parse(text) {
        Err(error) => {
            let lines = text.lines().count().max(1) as u32;
            assert!((1..=lines + 1).contains(&error.line), "{error}");
        }
        Ok(script) => {
            let stacks = fairport_tcp::Settings::PRESETS;
            let options = Options {
                stack: stacks.get(usize::from(stack)).map(ToString::to_string),
                isn: u32::from(stack).wrapping_mul(0x0101_0101),
                tolerance: None,
            };
            let _ = run(&script, &options);
        }
    }
});
