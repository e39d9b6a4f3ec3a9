"""Mutation testing: does a test fail when a line of the code is changed?

    make mutants
    make mutants ARGS="--rust 60 --python 10 --seed 2"
    make mutants ARGS="--python 0 --rust all --crates net --file 'crates/net/src/port.rs'"

cargo-mutants lists the changes of `crates/net`, `tcp`, `plan`, `sim`, `record`, `wire` and `trace`,
and cosmic-ray makes those of the Python files that decide results. A seed draws a sample for each
crate and each file; `--rust all` tests every mutant of a crate.
`--publish` renews the rows of what was tested, and keeps the page's others. What is not installed
is skipped with its reason. The work is done in a copy of the last commit. A mutant that no test can
notice is named with its reason: for Rust in `.cargo/mutants.toml`, for Python in `python.ACCEPTED`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from validation import DOCS, ROOT
from validation.case import parser_of
from validation.markdown import between_markers, cells, part, table
from validation.mutants import python, rust

HEADS = ("file or crate", "mutants", "tested", "killed", "or by guarded runs", "seed")
OF_A_CRATE = 60
OF_A_FILE = 10


def main(arguments: Sequence[str]) -> int:
    """Draws the samples, tests them and prints the survivors, which are no failure."""
    given = _options(arguments)
    if given.folder is not None:
        return _test(given.folder.absolute(), given)
    with tempfile.TemporaryDirectory(prefix="fairport-mutants-") as folder:
        return _test(Path(folder), given)


def _test(folder: Path, given: argparse.Namespace) -> int:
    copy = folder / "source"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    # -m: with the present time. Files older than a kept build would count as built.
    subprocess.run(f"git archive HEAD | tar -xm -C {copy}", shell=True, cwd=ROOT, check=True)
    for library in (ROOT / "python/fairport").glob("_core*.so"):
        shutil.copy(library, copy / "python/fairport")
    found: list[list[str]] = []
    for counts, lived in chain(python.tested(copy, given), rust.tested(folder, given)):
        is_whole = given.rust is None and counts[0].startswith("crates/")
        found.append([*counts, "all" if is_whole else str(given.seed)])
        print(" ".join(found[-1]), *lived, sep="\n", flush=True)
    print(_report(found))
    if given.publish:
        page = (DOCS / "validation/reliability.md").read_text(encoding="utf-8")
        known = {row[0]: row for row in [*published(page), *found]}
        order = [*python.FILES, *(f"crates/{crate}" for crate in rust.CRATES)]
        text = _report([known[name] for name in order if name in known])
        between_markers(DOCS / "validation/reliability.md", "mutants", text)
    return 0


def _report(rows: Sequence[Sequence[str]]) -> str:
    sums = (str(sum(int(row[i]) for row in rows)) for i in (1, 2, 3))
    return table(HEADS, [*rows, ["all", *sums, "", ""]])


def published(page: str) -> list[list[str]]:
    """The rows that the page has."""
    return [
        row
        for row in cells(part(page, "mutants"))
        if len(row) == len(HEADS) and row[0].startswith((*python.FILES, "crates/"))
    ]


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("mutants", __doc__)
    parser.add_argument(
        "--python", type=int, default=OF_A_FILE, help=f"so many per file ({OF_A_FILE}); 0: none"
    )
    parser.add_argument(
        "--rust",
        type=lambda text: None if text == "all" else int(text),
        default=OF_A_CRATE,
        help=f"so many per crate ({OF_A_CRATE}), or `all`; 0: none",
    )
    parser.add_argument("--crates", nargs="+", choices=list(rust.CRATES), help="of these only")
    parser.add_argument("--file", action="append", default=[], help="of this file of Rust only")
    parser.add_argument(
        "--own-tests", action="store_true", help="those of a crate only, which is quicker"
    )
    parser.add_argument("--jobs", type=int, help="mutants tested at a time (as many as cores)")
    parser.add_argument("--seed", type=int, default=1, help="of the samples (1)")
    parser.add_argument("--folder", type=Path, help="keep the copy and its builds here")
    parser.add_argument(
        "--publish", action="store_true", help="renew these rows of the table in docs/"
    )
    return parser.parse_args(arguments)
