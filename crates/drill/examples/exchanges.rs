//! Writes random exchanges as packetdrill scripts: `exchanges HZ FIRST COUNT FOLDER`, where HZ is the
//! tick of the kernel that they are for. One file per seed; prints how many draws were refused.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use fairport_drill::{Machine, exchange};
use fairport_units::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: exchanges HZ FIRST COUNT FOLDER";
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [hz, first, count, folder] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let (hz, first, count): (u32, u64, u64) = (hz.parse()?, first.parse()?, count.parse()?);
    let machine = Machine {
        hz,
        within_write: Duration::from_us(10),
    };
    let folder = PathBuf::from(folder);
    let mut refused = 0;
    for seed in first..first + count {
        let (script, draws) = exchange(seed, machine);
        refused += draws;
        fs::write(folder.join(format!("{seed}.pkt")), script)?;
    }
    println!("{refused}");
    Ok(())
}
