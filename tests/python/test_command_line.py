"""Mistakes on the command line are reported like all others: an error and a hint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENTRY, Command
from fairport.errors import nearest
from fairport.scenario.load import builtin_names


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["rnu"], '"rnu" is not a command of fairport', "did you mean `run`?"),
        (["scenario", "shwo"], '"shwo" is not a command of fairport scen', "did you mean `show`?"),
        (["run", "outcast", "--repaet"], "--repaet: is not an option", "did you mean `--repeat`?"),
        (["run"], "NAME|FILE: is missing", "see `fairport run --help`"),
        (["run", "outcast", "--repeat", "0"], "--repeat: 0 is too small", "give 1 or more"),
        (["run", "outcast", "--repeat", "9" * 20], "--repeat: 99", "give 100000 or less"),
        (["run", "outcast", "--seed", "9" * 5000], '--seed: "99', "give a smaller number"),
        (["run", "outcast", "--seed", "-1"], "--seed: -1 is too small", "give 0 or more"),
        (["run", "outcast", "--snaplen", "70000"], "--snaplen: 70000 is too l", "give 65535 or l"),
        (["run", "outcast", "--jobs", "0"], "--jobs: 0 is too small", "give 1 or more"),
        (["run", "outcast", "--jobs", "all"], '--jobs: "all" is not a whole number', "write digit"),
        (["analyze", "a.pcap", "--from", "x"], '--from: "x" is not a number', "write digits"),
        (["run", "outcast", "--seed"], "--seed: needs a value", "see `fairport --help`"),
        (["run", "outcast", "--json=3"], "--json: takes no value", "see `fairport --help`"),
        (["run", "outcast", "more"], '"more" is one argument too many', "see `fairport run"),
        # an option of `compare`; no option of `run` is similar
        (["run", "outcast", "--metric", "a"], "--metric: is not an option of", "see `fairport run"),
        (["run", "outcast", "--no-output", "--out", "x"], "--out: cannot go with --", "leave "),
        (["compare", "outcast", "--no-output", "--out", "x"], "--out: cannot go with ", "leave "),
        (["reproduce", "prakash2012", "--all"], "--all: cannot go with experiments", "leave one "),
        (["run", "outcast", "--packets", ""], '--packets: "" names no port', "such as --packets"),
        (["analyze", "--ingress", "A="], '--ingress: "A=" names no file', "give [PORT=]FILE"),
        (["analyze", "--egress", ""], '--egress: "" names no file', "give [PORT=]FILE"),
        (["paths", "two-switch", "--width", "3in"], '--width: "3in" is the width', "leave it"),
        (["query", "x", "select 1", "--json", "--csv"], "--json: cannot go with", "leave "),
        (["--bogus"], "--bogus: is not an option of fairport", "give the options of a command af"),
        (["-q", "run", "outcast"], "-q: is not an option of fairport", "give the options of a c"),
        (["stack", "ns2"], '"ns2" is not a command', "did you mean `fairport stack show ns2`?"),
        (["outcast"], '"outcast" is not a command', "did you mean `fairport run outcast`?"),
    ],
)  # fmt: skip
def test_a_mistake_is_an_error_and_a_hint(
    fairport: Command, arguments: list[str], error: str, hint: str
) -> None:
    outcome = fairport(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"error: {error}")
    assert lines[1].startswith(f"hint: {hint}")


@pytest.mark.parametrize("wrong", ["cubik", "Cubic"])
def test_a_wrong_name_of_a_list_asks_for_the_nearest(fairport: Command, wrong: str) -> None:
    outcome = fairport("run", "outcast", "--set", f"tcp.congestion_control={wrong}", "--no-output")
    assert outcome.status == 2
    assert outcome.err.splitlines()[1] == "hint: did you mean `cubic`?"


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("min_rto", ["rto_min", "rto_max"], "rto_min"),
        ("jain", ["jain_index", "drops"], "jain_index"),
        ("rtt", ["rtt_mean_s", "rtt_p99_s"], ""),
    ],
)
def test_a_name_is_known_by_its_parts(word: str, known: list[str], found: str) -> None:
    assert nearest(word, known) == found


@pytest.mark.usefixtures("narrow_terminal")
def test_a_narrow_terminal_shows_whole_names(fairport: Command) -> None:
    shown = fairport("list").out
    assert all(name in shown for name in builtin_names())


def test_a_file_that_does_not_end_in_toml_is_to_be_renamed(
    fairport: Command, tmp_path: Path
) -> None:
    (tmp_path / "my.toml.txt").write_text("")
    outcome = fairport("run", "my.toml.txt")
    assert outcome.status == 2
    assert outcome.err.splitlines()[1] == "hint: rename the file: its name must end in .toml"


def test_paths_begin_with_a_summary_and_can_be_cut(fairport: Command) -> None:
    lines = fairport("paths", "outcast", "--top", "2").out.splitlines()
    # a k = 4 fat-tree: one sender at the receiver's switch, two in its pod, twelve elsewhere
    assert lines[0] == "15 flows from 15 hosts to 1 host: 1 of 2 hops, 2 of 4 hops, 12 of 6 hops"
    assert "bottleneck edge0.0:0: 15 flows share 1 Gbit/s, 66.67 Mbit/s each" in lines[1]
    assert lines[6] == "... and 13 more; `--top 0` prints all"


_TYPED = "fairport run outc"
_COMPLETE = {
    "bash": {"COMP_WORDS": _TYPED, "COMP_CWORD": "2"},
    "zsh": {"_TYPER_COMPLETE_ARGS": _TYPED},
    "fish": {"_TYPER_COMPLETE_ARGS": _TYPED, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", _COMPLETE)
def test_a_shell_completes_the_names_of_scenarios(shell: str) -> None:
    asked = {"_FAIRPORT_COMPLETE": f"complete_{shell}", **_COMPLETE[shell]}
    program = "import sys; sys.argv = ['fairport']; from fairport.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in builtin_names() if name.startswith("outc")]
    assert len(names) > 1
    assert re.findall(r"outc[\w-]*", done.stdout) == names


@pytest.mark.skipif(sys.platform == "win32", reason="pipes as POSIX has them")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    ("arguments", "to"),
    [
        (["--version"], "stdout"),
        (["run", "--help"], "stdout"),
        (["run", "two-switch", "--duration", "20ms", "--no-output"], "stdout"),
        (["run", "two-switch", "--duration", "20ms", "--no-output", "--json"], "stdout"),
        (["paths", "two-switch"], "stdout"),
        (["list"], "stdout"),
        ([], "stderr"),
        (["run"], "stderr"),
        (["run", "outcats"], "stderr"),
    ],
)
def test_who_writes_to_a_pipe_without_reader_ends_as_if_by_sigpipe(
    arguments: list[str], to: str, stream: str
) -> None:
    """Silently, and not with the status of a command that is done or of a check that failed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*ENTRY, *arguments],
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
            stdout=writer if stream == "stdout" else subprocess.PIPE,
            stderr=writer if stream == "stderr" else subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    if stream == to:
        assert (done.returncode, done.stdout or b"", done.stderr or b"") == (141, b"", b"")
    else:
        assert done.returncode == (0 if to == "stdout" else 2)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes it")
@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_the_caller_closed_does_not_change_the_exit_status(closed: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}>&-', "-", *ENTRY, "--version"]
    done = subprocess.run(shell, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="removes no folder that is in use")
def test_a_working_folder_that_was_removed_is_named(
    fairport: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = fairport("run", "outcast", "--out", str(tmp_path / "out"))
    assert done.status == 2
    assert done.err.startswith("error: working folder: does not exist any more")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_message_that_finds_no_room_does_not_change_the_exit_status() -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = subprocess.run([*ENTRY, "run", "outcats"], stderr=full, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["run", "--set", "traffic.0.to=h99"], "traffic.0.to"),
        (["run", "--pcap", "edge9.9:9"], "--pcap"),
        (["compare", "--set", "traffic.0.to=h99"], "traffic.0.to"),
        (["compare", "--fix", "ecm"], "ecm"),
        (["compare", "--metric", "jane"], "jane"),
        (["validate", "--set", "traffic.0.to=h99"], "traffic.0.to"),
    ],
)
def test_bad_input_is_refused_before_a_folder_that_exists(
    fairport: Command, tmp_path: Path, arguments: list[str], field: str
) -> None:
    (tmp_path / "kept").mkdir()
    command, *more = arguments
    done = fairport(command, "outcast", *more, "--out", str(tmp_path / "kept"))
    assert field in done.err.splitlines()[0]
    assert "exists" not in done.err
    done = fairport(command, "outcast", "--out", str(tmp_path / "kept"))
    assert "kept: exists" in done.err.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("paths", "two-switch"), "--figure"),
        (("topology", "export", "two-switch", "--format", "dot"), "--out"),
        (("analyze", "absent.pcap"), "--to-scenario"),
    ],
)
def test_a_file_of_the_user_is_kept_unless_forced(
    fairport: Command, tmp_path: Path, command: tuple[str, ...], option: str
) -> None:
    mine = tmp_path / "mine.svg"
    mine.write_text("mine", encoding="utf-8")
    outcome = fairport(*command, option, str(mine))
    assert outcome.status == 2
    # of a long name, the message has the ends
    error, hint = outcome.err.splitlines()
    assert error.startswith(f'error: {option}: "')
    assert error.endswith('mine.svg" exists')
    assert hint == "hint: name another file, or replace this one with --force"
    assert mine.read_text(encoding="utf-8") == "mine"
    if command[0] in ("paths", "topology"):
        assert fairport(*command, option, str(mine), "--force").status == 0
        assert mine.read_text(encoding="utf-8") != "mine"
