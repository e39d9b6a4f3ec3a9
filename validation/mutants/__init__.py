"""Mutation testing: does a test fail when a line of the code is changed?

    make mutants
    make mutants ARGS="--rust 60 --python 10 --seed 2"
    make mutants ARGS="--python 0 --rust 1000 --crates net --file 'crates/net/src/port.rs'"

cargo-mutants changes `crates/net`, `tcp`, `sim` and `record`, cosmic-ray the Python files that
decide results. All mutants take days, so a sample of each crate and file is drawn by a seed. What
is not installed is skipped with its reason. The work is done in a copy of the last commit. A
mutant that no test can notice is named with its reason: for Rust in `.cargo/mutants.toml`, for
Python in `python.ACCEPTED`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from validation.case import DOCS
from validation.markdown import between_markers, table
from validation.mutants import python, rust

ROOT = Path(__file__).parents[2]
OF_A_CRATE = 60
OF_A_FILE = 10


def main(arguments: Sequence[str]) -> int:
    """Draws the samples, tests them and prints what survived; that some did is no failure."""
    given = _options(arguments)
    if given.folder is not None:
        return _test(given.folder.absolute(), given)
    with tempfile.TemporaryDirectory(prefix="fairport-mutants-") as folder:
        return _test(Path(folder), given)


def _test(folder: Path, given: argparse.Namespace) -> int:
    copy = folder / "source"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    subprocess.run(f"git archive HEAD | tar -x -C {copy}", shell=True, cwd=ROOT, check=True)
    for library in (ROOT / "python/fairport").glob("_core*.so"):
        shutil.copy(library, copy / "python/fairport")
    rows: list[list[str]] = []
    survivors: list[str] = []
    for row, lived in chain(python.tested(copy, given), rust.tested(folder, given)):
        rows.append(row)
        survivors += lived
        print(" ".join(row), *lived, sep="\n", flush=True)
    rows.append(["all", *(str(sum(int(row[i]) for row in rows)) for i in (1, 2, 3))])
    text = f"Samples of seed {given.seed}.\n\n"
    text += table(["file or crate", "mutants", "tested", "killed"], rows)
    text += "\n\nSurvivors:\n\n" + ("\n".join(f"- `{one}`" for one in survivors) or "none")
    print(text)
    if given.publish:
        between_markers(DOCS / "validation/reliability.md", "mutants", text)
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m validation mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--python", type=int, default=OF_A_FILE, help=f"so many per file ({OF_A_FILE}); 0: none"
    )
    parser.add_argument(
        "--rust", type=int, default=OF_A_CRATE, help=f"so many per crate ({OF_A_CRATE}); 0: none"
    )
    parser.add_argument("--crates", nargs="+", choices=list(rust.CRATES), help="of these only")
    parser.add_argument("--file", action="append", default=[], help="of this file of Rust only")
    parser.add_argument(
        "--own-tests", action="store_true", help="those of a crate only, which is quicker"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the samples (1)")
    parser.add_argument("--folder", type=Path, help="keep the copy and its builds here")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    return parser.parse_args(arguments)
