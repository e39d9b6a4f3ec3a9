"""benches/ and validation/: each case starts, and the table that it renews has a place in docs/."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# modules that are not cases, but are used by cases
SHARED = {"__init__", "__main__", "case", "markdown"}
PLACE = ROOT / "validation"
# a case is a file, or a folder of them
SOURCES = {
    file.stem.replace("_", "-"): file for file in PLACE.glob("*.py") if file.stem not in SHARED
} | {file.parent.name: file for file in PLACE.glob("*/__init__.py") if file.parent.name != "peers"}
CASES = sorted(SOURCES)
ON_NS3 = [name for name, file in SOURCES.items() if "ns3.program(" in file.read_text("utf-8")]


def run(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """`python -m ..` in the repository; `path` replaces the environment's PATH."""
    environment = os.environ if path is None else os.environ | {"PATH": path}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_case_is_listed() -> None:
    listed = re.findall(r"^  ([\w-]+)", run("validation").stdout, re.MULTILINE)
    assert sorted(listed) == CASES


HELPED = """
import contextlib, io, json, sys
from validation.__main__ import main
found = {}
for case in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            status = main([case, "--help"])
        except SystemExit as ended:
            status = ended.code
    found[case] = status, said.getvalue()
print(json.dumps(found))
"""


def test_every_case_starts() -> None:
    """In one process, because to import Fairport takes most of the time."""
    command = [sys.executable, "-c", HELPED, *CASES]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert {case: status for case, (status, _) in found.items()} == dict.fromkeys(CASES, 0)
    assert [case for case, (_, said) in found.items() if case not in said] == []


@pytest.mark.parametrize("case", ON_NS3)
def test_a_case_on_ns3_says_why_it_does_not_run_without_a_compiler(
    case: str, tmp_path: Path
) -> None:
    done = run("validation", case, "--print-only", path=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "ns-3 is not available: there is no g++\n")


def test_an_unknown_case_is_refused_with_the_list() -> None:
    done = run("validation", "mise")
    assert done.returncode == 2
    assert "mice" in done.stderr


def test_every_table_that_a_case_renews_has_its_place() -> None:
    published = [
        match
        for file in SOURCES.values()
        for match in re.findall(
            r'(?:\.publish\(|between_markers\(DOCS / )"([\w/.-]+)", "([\w-]+)"',
            file.read_text("utf-8"),
        )
    ]
    # the models of threads only pass or fail, so they have no table
    assert len(published) == len(set(CASES) - {"threads"})
    for page, marker in published:
        assert f"<!-- {marker}: begin -->" in (ROOT / "docs" / page).read_text("utf-8"), page


def test_the_benchmarks_start() -> None:
    assert run("benches", "million-flows", "--help").returncode == 0
    assert run("benches", "study", "--help").returncode == 0
    assert run("benches", "--help").returncode == 0
    assert run("benches", "nonsense").returncode == 2


# the name in the code -> the only files that may contain it: its own file, the list of all, and its
# class in Python, as docs/extending.md promises
FILES_OF = {
    r"step_marking|StepMarking": {
        "crates/net/src/discipline/step_marking.rs",
        "crates/net/src/queue.rs",
        "python/fairport/scenario/queues/fifo.py",
    },
    r"strict_priority|StrictPriority": {
        "crates/net/src/scheduler/strict_priority.rs",
        "crates/net/src/queue.rs",
        "python/fairport/scenario/queues/scheduled.py",
    },
    r"\bdctcp::|\bDctcp\b": {
        "crates/tcp/src/congestion/dctcp.rs",
        "crates/tcp/src/congestion/algorithm.rs",
    },
}


def without_tests_and_reexports(text: str) -> str:
    """A source without its unit tests and its lines `mod NAME;` and `use PATH;`."""
    return re.sub(r"\b(mod|use) [\w:]+;", "", text.split("#[cfg(test)]\nmod tests {")[0])


@pytest.mark.parametrize("names", FILES_OF)
def test_an_algorithm_is_three_files_of_code_at_most(names: str) -> None:
    sources = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/fairport/**/*.py")]
    naming = {
        source.relative_to(ROOT).as_posix()
        for source in sources
        if re.search(names, without_tests_and_reexports(source.read_text(encoding="utf-8")))
    }
    assert naming == FILES_OF[names]


def test_make_targets_are_few_and_help_lists_them() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(targets) <= 12
    assert re.findall(r"make ([a-z-]+)", listed) == targets


def test_make_test_runs_every_test_once() -> None:
    """Two calls of pytest with the same files: each has the tests that the other leaves out."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    calls = re.findall(r"^\t\$\(BIN\)/python -m pytest (.+)$", makefile, re.MULTILINE)
    selections = [shlex.split(call)[:2] for call in calls]
    assert selections == [["-m", "not alone"], ["-m", "alone"]]
    for call in calls:
        folders = {word for word in shlex.split(call) if word.startswith("tests/")}
        assert folders == {f"tests/{file.parent.name}" for file in ROOT.glob("tests/*/test_*.py")}


def test_what_make_starts_keeps_the_bytecode_of_its_imports() -> None:
    """Otherwise each of the tests' many processes compiles every module that it imports."""
    shown = subprocess.run(
        ["make", "--no-print-directory", "--eval", "environment: ; @env", "environment"],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "PATH=" in shown
    assert "PYTHONDONTWRITEBYTECODE" not in shown
