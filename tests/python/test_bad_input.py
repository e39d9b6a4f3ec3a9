"""Each mistake gets one clear error: file, field, value, remedy; status 2; nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport.backends import memory

SCENARIO = """\
name = "mine"
duration = "1ms"
[topology]
kind = "fat-tree"
k = 4
[link]
rate = "1Gbps"
[queue]
limit = "16KiB"
[[traffic]]
from = "all"
to = "h0"
start_jitter = "0s"
"""

GRAPH = """\
name = "islands"
duration = "1ms"
[topology]
kind = "graph"
hosts = ["a", "b", "c"]
switches = ["s", "t"]
links = [{ ends = ["a", "s"] }, { ends = ["b", "s"] }, { ends = ["c", "t"] }]
[[traffic]]
from = "c"
to = "a"
"""


def refused(fairport: Command, file: Path, *arguments: str) -> tuple[str, str]:
    """Runs it, checks the parts of every refusal, and returns the error and the hint."""
    before = sorted(file.parent.rglob("*"))
    outcome = fairport("run", file.name, *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert sorted(file.parent.rglob("*")) == before
    error, hint = outcome.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


@pytest.mark.parametrize(
    ("line", "instead", "error", "hint"),
    [
        pytest.param(
            'limit = "16KiB"',
            'limt = "16KiB"',
            'queue.limt: is not a field of kind "drop-tail"',
            "did you mean `limit`?",
            id="an unknown field",
        ),
        pytest.param(
            'limit = "16KiB"',
            'limit = "16XB"',
            'queue.limit: "16XB" has an unknown unit `XB`',
            "units: B, kB",
            id="an unknown unit",
        ),
        pytest.param(
            'limit = "16KiB"',
            "limit = 16384",
            "queue.limit: 16384 has no unit",
            '"16KiB"',
            id="a number without a unit",
        ),
        pytest.param("k = 4", "k = 3", "topology.k: 3 is not an even", "k = 4", id="k odd"),
        pytest.param("k = 4", "k = 0", "topology.k: 0 is not an even", "k = 4", id="k zero"),
        pytest.param(
            "k = 4", "k = 1000", "topology.k: 1000 is not an even number", "k = 4", id="k too large"
        ),
        pytest.param(
            'rate = "1Gbps"',
            'rate = "0bps"',
            'link.rate: "0bps" is zero',
            "1Gbps",
            id="a rate of 0",
        ),
        pytest.param(
            'limit = "16KiB"',
            'limit = "0B"',
            'queue.limit: "0B" is zero',
            "16KiB",
            id="a buffer of 0",
        ),
        pytest.param(
            'limit = "16KiB"',
            'limit = "1500B"',
            'queue.limit: "1500B" is smaller than one packet of 1518 B',
            "at least",
            id="a buffer smaller than a packet",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "step-marking"\nlimit = "20 packets"',
            "queue.mark_above: 20 packets is not below `limit` = 20 packets",
            "give less than 20 packets",
            id="thresholds in the wrong order",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "red-ish"',
            'queue.kind: "red-ish" is not one of drop-tail, ',
            "did you mean `red`?",
            id="a queue discipline that there is not",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "red"\nmin = "15 packets"\nmax = "15 packets"',
            "queue.min: 15 packets is not below `max` = 15 packets",
            "give less than 15 packets",
            id="RED's thresholds in the wrong order",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "red"\nmin = "7500B"',
            "queue.min: 7500B is not in the unit of `max` = 15 packets",
            "all in packets",
            id="thresholds in two units",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "red"\nmax_p = 1.5',
            "queue.max_p: 1.5 is not above 0 and at most 1",
            "such as 0.1",
            id="a probability above 1",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "red"\nvariant = "linux"',
            "queue.min: 5 packets is in packets, and Linux's RED counts bytes",
            "give min and max in bytes",
            id="Linux's RED in packets",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "rio-ps"\nlimit = "100 packets"',
            'queue.kind: "rio-ps" needs a [classifier]',
            "threshold",
            id="RIO-PS without a classifier",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "weighted-tail-drop"\nthresholds = [0.0, 1.0]',
            "queue.thresholds.0: 0.0 is not above 0 and at most 1",
            "such as 0.1",
            id="a class without a share",
        ),
        pytest.param(
            "[queue]",
            '[shaper]\nkind = "tbf"\nrate = "100Mbps"\nburst = "1KB"\n\n[queue]',
            "shaper.burst: 1KB is smaller than one packet of 1518 B",
            "1518B",
            id="a burst smaller than a packet",
        ),
        pytest.param(
            "[queue]",
            '[shaper]\nkind = "tbf"\nrate = "100Mbps"\nlatency = "10ms"\n\n[queue]',
            'shaper.latency: "10ms" sets the buffer size, and so does queue.limit',
            "leave one of the two out",
            id="two sizes for one buffer",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "sfq"\nlimit = "16KiB"',
            'queue.limit: "16KiB" is counted in bytes',
            "packets",
            id="bytes where a discipline counts packets",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "sfq"\nplaced = [["h1"], ["h99"]]',
            'queue.placed.1.0: "h99" is not a host of the topology',
            "16 hosts",
            id="a host in a bucket that there is not",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "sfq"\nbuckets = 2\nplaced = [["h1"], ["h2"], ["h3"]]',
            "queue.placed: has 3 lists for 2 buckets",
            "one list per bucket",
            id="more lists than buckets",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "sfq"\nplaced = [["h1"], ["h1"]]',
            'queue.placed.1.0: "h1" is placed already',
            "once",
            id="a host in two buckets",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "codel"\ntarget = "100ms"',
            "queue.target: 100ms is not below `interval` = 100ms",
            "RFC 8289",
            id="CoDel's times in the wrong order",
        ),
        pytest.param(
            'limit = "16KiB"',
            'kind = "shared-buffer"\nalpha = 0.0',
            "queue.alpha: 0.0 is too small",
            "give 0.001 or more",
            id="an alpha that lets nothing in",
        ),
        pytest.param(
            'from = "all"',
            'from = "h0"',
            'traffic.0.from: "h0" includes the receiver `h0`',
            "all",
            id="a sender that is the receiver",
        ),
        pytest.param(
            'to = "h0"',
            'to = "h77"',
            'traffic.0.to: "h77" names `h77`, which is not a host of the topology',
            "h0 .. h15",
            id="a host that is not there",
        ),
        pytest.param(
            'start_jitter = "0s"',
            'start_jitter = "-1ms"',
            'traffic.0.start_jitter: "-1ms" is negative',
            "0 or more",
            id="a negative time",
        ),
        pytest.param(
            'duration = "1ms"',
            'duration = "0s"',
            'duration: "0s" is zero',
            "above 0",
            id="no time at all",
        ),
        pytest.param(
            "k = 4",
            "k = ",
            "is not TOML: invalid value at column 5",
            "toml.io",
            id="not TOML",
        ),
        pytest.param(
            'kind = "fat-tree"',
            'kind = "fat-treee"',
            'topology.kind: "fat-treee" is not one of fat-tree, leaf-spine,',
            "did you mean `fat-tree`?",
            id="an unknown kind",
        ),
        pytest.param(
            'to = "h0"', "", "traffic.0.to: is missing", "add `to = ...`", id="a missing field"
        ),
        pytest.param(
            "k = 4\n",
            'k = 4\n[tcp]\ncongestion_control = "bik"\n',
            'tcp.congestion_control: "bik" ',
            "bic",
            id="an unknown congestion control",
        ),
        pytest.param(
            "k = 4\n",
            'k = 4\n[tcp]\nstack = "linux"\n',
            'tcp.stack: "linux" is not one of linux-2.6, linux-3.0, linux-6, ns2, ns3, rfc',
            "did you mean `linux-6`?",
            id="an unknown stack",
        ),
        pytest.param(
            "k = 4\n",
            'k = 4\n[tcp]\npayload_sizing = "static"\npayload_min = "2KB"\n',
            'tcp.payload_min: "2KB" ',
            "use 1 to 1460 bytes",
            id="an rMin above the MSS",
        ),
        pytest.param(
            "k = 4\n",
            'k = 4\n[tcp]\npayload_sizing = "static"\npayload_min = "0B"\n',
            'tcp.payload_min: "0B" is zero',
            "above 0",
            id="an rMin of nothing",
        ),
        pytest.param(
            "k = 4\n",
            'k = 4\n[tcp]\npayload_sizing = "adaptive"\ntcprand = [0, 1, 1, 1]\n',
            "tcp.tcprand: [0, 1, 1, 1] is not a set of TCPRand's parameters",
            "conservative",
            id="a normal distribution without variance",
        ),
        pytest.param(
            'name = "mine"',
            'name = "mine"\npaper = "prakash2012/p99"',
            'paper: "prakash2012/p99" has no published figures',
            "prakash2012/",
            id="an unknown paper",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(
    fairport: Command, tmp_path: Path, line: str, instead: str, error: str, hint: str
) -> None:
    file = tmp_path / "mine.toml"
    assert line in SCENARIO
    file.write_text(SCENARIO.replace(line, instead), encoding="utf-8")
    message, remedy = refused(fairport, file)
    place, _, said = message.partition(": ")
    assert said.startswith(error)
    assert hint in remedy
    # the line that sets the field, or the heading of the table in which it is missing
    number = int(place.removeprefix("mine.toml:"))
    path = error.partition(":")[0].split(".")
    names = [part for part in path if not part.isdigit()]
    wrong = file.read_text("utf-8").splitlines()[number - 1]
    assert "not TOML" in error or any(name in wrong for name in names), f"{place}: {wrong}"


def test_all_mistakes_of_a_file_are_named_at_once_with_their_lines(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    mistakes = {
        'name = "mine"\n': "",
        "k = 4\n": 'k = 4\nname = "mine"\n',
        'rate = "1Gbps"\n': 'rate = "1Gps"\nmtu = "1500B"\ndealy = "1us"\n',
        'limit = "16KiB"\n': 'kind = "red-ish"\nlimit = "16KiB"\n',
        'start_jitter = "0s"\n': 'start_jitter = "0s"\nstart = 3\n',
    }
    text = SCENARIO
    for line, instead in mistakes.items():
        text = text.replace(line, instead)
    file.write_text(text, encoding="utf-8")
    outcome = fairport("run", file.name)
    assert outcome.status == 2
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    hints = [line for line in outcome.err.splitlines() if line.startswith("hint: ")]
    assert [error.split(" ")[1] + " " + error.split(" ")[2] for error in errors] == [
        "mine.toml:5: topology.name:",
        "mine.toml:7: link.rate:",
        "mine.toml:9: link.dealy:",
        "mine.toml:11: queue.kind:",
        "mine.toml:17: traffic.0.start:",
    ]
    assert hints[0] == "hint: put `name` above the first [section]: it belongs to the whole file"
    assert "did you mean `delay`?" in hints[2]
    assert "did you mean `red`?" in hints[3]


def test_the_name_of_a_section_is_not_moved_onto_that_of_the_file(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO.replace("k = 4\n", 'k = 4\nname = "fabric"\n'), encoding="utf-8")
    outcome = fairport("run", file.name)
    assert "mine.toml:6: topology.name: is not a field" in outcome.err
    assert "hint: choose one of kind, " in outcome.err


def test_a_host_that_cannot_be_reached_is_named(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "islands.toml"
    file.write_text(GRAPH, encoding="utf-8")
    error, hint = refused(fairport, file)
    assert error.startswith('islands.toml:5: topology.hosts.2: "c" is not connected with `a`')
    assert "links" in hint


def test_a_file_that_is_not_there(fairport: Command, tmp_path: Path) -> None:
    error, hint = refused(fairport, tmp_path / "none.toml")
    assert error == "none.toml: does not exist"
    assert "fairport scenario show" in hint


def test_a_file_that_is_not_text(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"\xff\xfe\x00")
    assert refused(fairport, file)[0] == "binary.toml: is not UTF-8 text"


def test_a_name_that_is_not_built_in(fairport: Command, tmp_path: Path) -> None:
    error, hint = refused(fairport, tmp_path / "outcst")
    assert error == '"outcst" is not a built-in scenario'
    assert hint.startswith("did you mean `outcast`?")
    (tmp_path / "outcst.toml").touch()
    assert refused(fairport, tmp_path / "outcst")[1] == "did you mean `outcst.toml`?"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["--set", "queue.limit=16XB"],
            'command line: queue.limit: "16XB" has an unknown unit `XB`',
        ),
        (["--set", "queue.limt=16KB"], "command line: queue.limt: is not a field of kind "),
        (["--set", "traffic.3.start=1s"], "command line: traffic.3.start: does not exist"),
        (["--set", "traffic.x.start=1s"], "command line: traffic.x.start: does not exist"),
        (["--set", "queue.limit.x=1"], "command line: queue.limit.x: does not exist"),
        (["--set", "queue=5"], "command line: queue: 5 must be a table"),
        (["--set", "queue"], '--set: "queue" is not PATH=VALUE'),
        (["--duration", "10"], 'command line: duration: "10" has no unit'),
        (["--duration", "ten"], 'command line: duration: "ten" cannot be read as a duration'),
        (["--backend", "ns3"], '--backend: "ns3" is not a backend of this version'),
    ],
)
def test_a_mistake_on_the_command_line_is_named(
    fairport: Command, tmp_path: Path, arguments: list[str], error: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert refused(fairport, file, *arguments)[0].startswith(error)


def test_a_results_folder_that_exists_is_kept(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "results" / "mine").mkdir(parents=True)
    (tmp_path / "results" / "mine" / "precious").write_text("x", encoding="utf-8")
    error, hint = refused(fairport, file)
    assert error == f"{Path('results', 'mine')}: exists"
    assert hint == "give another --out"  # --force replaces results only
    error, _ = refused(fairport, file, "--force")
    assert "is not a result of Fairport" in error


def test_a_results_folder_that_cannot_be_written(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    error, hint = refused(fairport, file, "--out", "mine.toml/run")
    assert error.startswith(f"{Path('mine.toml', 'run')}: cannot be written: ")
    assert "--out" in hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_results_folder_without_permission(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "theirs").mkdir(mode=0o500)
    assert "cannot be written" in refused(fairport, file, "--out", "theirs/run")[0]


def test_a_run_that_does_not_fit_the_machine_says_so(
    fairport: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    error, hint = refused(fairport, file)
    assert "mine.toml: needs about " in error
    assert "the machine has 1000.0 B left" in error
    assert "lower `link.rate` (1Gbps)" in hint
    assert "[probes]" in hint


def test_finer_probes_need_more_memory_and_the_engine_knows_it(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    # 15 flows with one row each per microsecond, for an hour
    error, _ = refused(fairport, file, "--duration", "1h", "--set", "probes.series_interval=1us")
    assert "needs about" in error


def test_a_folder_that_is_no_run(fairport: Command, tmp_path: Path) -> None:
    for command in ("report", "rerun"):
        outcome = fairport(command, str(tmp_path))
        assert outcome.status == 2
        assert "is not a run: manifest.json is missing" in outcome.err
        assert outcome.out == ""


def test_a_latency_that_asks_for_more_than_any_buffer_is_named() -> None:
    shaper = {"kind": "tbf", "rate": "1Gbps", "latency": "60s"}
    flows = [{"from": "all", "to": "h0"}]
    document = {"name": "tbf", "topology": {"kind": "star"}, "shaper": shaper, "traffic": flows}
    with pytest.raises(fp.InputError, match="asks for a buffer of 7500020000 B") as error:
        fp.scenario(document)
    assert error.value.field == "shaper.latency"
    assert error.value.remedy == "give a shorter latency or a lower rate"
