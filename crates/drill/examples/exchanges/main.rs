//! Writes random exchanges as packetdrill scripts: `exchanges SIDE HZ FIRST COUNT FOLDER`, where SIDE is what the stack
//! is, `sender` or `receiver`, with its theme after a hyphen (`-ecn`, `-pauses` ..; see [`Theme`]), and HZ the tick of the
//! kernel that they are for. One file per seed, `SIDE-SEED.pkt`; prints how many draws were refused.

mod exchange;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use fairport_units::Duration;

use exchange::{Machine, Side, Theme, exchange};

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: exchanges sender|receiver[-THEME] HZ FIRST COUNT FOLDER";
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [side, hz, first, count, folder] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let (who, theme) = side.split_once('-').unwrap_or((side, ""));
    let stack = match who {
        "sender" => Side::Sender,
        "receiver" => Side::Receiver,
        _ => return Err(usage.into()),
    };
    let theme = match theme {
        "" => Theme::Bulk,
        "ecn" => Theme::Ecn,
        "pauses" => Theme::Pauses,
        "windows" => Theme::Windows,
        "outages" => Theme::Outages,
        "handshakes" => Theme::Handshakes,
        "stalls" => Theme::Stalls,
        "mixed" => Theme::Mixed,
        "paced" => Theme::Paced,
        "cycles" => Theme::Cycles,
        "rests" => Theme::Rests,
        _ => return Err(usage.into()),
    };
    let (hz, first, count): (u32, u64, u64) = (hz.parse()?, first.parse()?, count.parse()?);
    let machine = Machine {
        hz,
        within_write: Duration::from_us(10),
    };
    let folder = PathBuf::from(folder);
    let mut refused = 0;
    for seed in first..first + count {
        let (script, draws) = exchange(stack, theme, seed, machine);
        refused += draws;
        fs::write(folder.join(format!("{side}-{seed}.pkt")), script)?;
    }
    println!("{refused}");
    Ok(())
}
