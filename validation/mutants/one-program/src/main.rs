//! Writes many mutants of a crate into its sources at once. Each is chosen when a program runs, so all of them need one build.
//!
//!     one-program MUTANTS.json SOURCE COPY
//!
//! The mutants are those of `cargo mutants --list --json`, each with a `number` from 1 on. Their files are read below the folder
//! `SOURCE`, and written below `COPY`. There `a < b` with the mutants 7 and 8 becomes
//!
//!     if chosen() != 7 && chosen() != 8 { a < b } else if is(7) { a == b } else if is(8) { a > b } else { end() }
//!
//! What was written comes first, so it decides the types. The environment variable `FAIRPORT_MUTANT` holds the number of the
//! chosen mutant. Without it the program does what it did before.
//!
//! The numbers of the mutants that cannot be chosen at run time are printed, one per line: those in constants and in `const
//! fn`, in conditions with `let`, arms of a `match` without `_`, and values of functions that return `impl Trait`.

mod rewriting;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use rewriting::{Mutant, rewritten};

/// What the changed files use. It comes at the end of the crate's `lib.rs`.
const CHOICE: &str = r#"
#[doc(hidden)]
pub mod mutating {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();

    #[inline]
    pub fn chosen() -> u32 {
        *CHOSEN.get_or_init(|| std::env::var("FAIRPORT_MUTANT").map_or(0, |number| number.parse().unwrap()))
    }

    #[inline]
    pub fn is(number: u32) -> bool {
        chosen() == number
    }

    pub fn end() -> ! {
        unreachable!("one of the mutants before is chosen")
    }
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [list, source, copy] = arguments.as_slice() else {
        return Err("usage: one-program MUTANTS.json SOURCE COPY".into());
    };
    let mut files: BTreeMap<String, Vec<Mutant>> = BTreeMap::new();
    for mutant in serde_json::from_str::<Vec<Mutant>>(&fs::read_to_string(list)?)? {
        files.entry(mutant.file.clone()).or_default().push(mutant);
    }
    let Some((package, _)) = files
        .keys()
        .next()
        .and_then(|file| file.split_once("/src/"))
    else {
        return Ok(());
    };
    let root = format!("{package}/src/lib.rs");
    files.entry(root.clone()).or_default();
    for (file, mutants) in &files {
        let (mut text, left) =
            rewritten(&fs::read_to_string(Path::new(source).join(file))?, mutants)?;
        if *file == root {
            text.push_str(CHOICE);
        }
        fs::write(Path::new(copy).join(file), text)?;
        for number in left {
            println!("{number}");
        }
    }
    Ok(())
}
