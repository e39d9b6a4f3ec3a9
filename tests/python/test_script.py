"""The command `fairport script`: exit statuses, and what it says of each script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

OPEN = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
"""
HOLDS = OPEN + "+0 > P. 1:1001(1000) ack 1\n"
FAILS = OPEN + "+0 > P. 1:1101(1100) ack 1\n"


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    (folder / "sub").mkdir(parents=True)
    (folder / "holds.pkt").write_text(HOLDS, encoding="utf-8")
    (folder / "sub" / "fails.pkt").write_text(FAILS, encoding="utf-8")
    return folder


def test_a_script_that_holds_exits_with_0(fairport: Command, scripts: Path) -> None:
    outcome = fairport("script", str(scripts / "holds.pkt"))
    assert outcome.status == 0
    assert outcome.out.endswith("1 of 1 scripts hold\n")


def test_one_that_fails_in_a_folder_exits_with_1_and_shows_both_sides(
    fairport: Command, scripts: Path
) -> None:
    outcome = fairport("script", str(scripts))
    assert outcome.status == 1
    assert "fails.pkt:8 at 0.100000 s" in outcome.out
    assert "expected  `> P. 1:1101(1100) ack 1`" in outcome.out
    assert "1 of 2 scripts hold" in outcome.out


@pytest.mark.parametrize(
    "chosen",
    [
        "`sysctl -q net.ipv4.tcp_congestion_control=hybla`\n" + HOLDS,
        HOLDS.replace(
            "+0 listen", '+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "hybla", 5) = 0\n+0 listen'
        ),
    ],
)
def test_a_script_of_an_unknown_congestion_control_does_not_hold(
    fairport: Command, tmp_path: Path, chosen: str
) -> None:
    (tmp_path / "hybla.pkt").write_text(chosen, encoding="utf-8")
    outcome = fairport("script", "hybla.pkt")
    assert outcome.status == 1
    assert "`hybla` is none of newreno, bic, cubic, dctcp, bbr" in outcome.out


def test_json_has_an_entry_a_script(fairport: Command, scripts: Path) -> None:
    outcome = fairport("script", str(scripts), "--json")
    entries = json.loads(outcome.out)
    assert [entry["holds"] for entry in entries] == [True, False]
    assert set(entries[1]["failure"]) == {"kind", "line", "time_s", "expected", "actual"}
    assert entries[1]["failure"]["kind"] == "segment"


def test_a_syntax_error_exits_with_2_and_names_the_place(fairport: Command, scripts: Path) -> None:
    bad = scripts / "bad.pkt"
    bad.write_text("0 socket(...) = 3\n+x listen(3, 1) = 0\n", encoding="utf-8")
    outcome = fairport("script", str(scripts))
    assert outcome.status == 2
    assert "bad.pkt: line 2, column 2: expected a time in seconds" in outcome.err


def test_nothing_in_back_quotes_is_executed_and_that_is_said(
    fairport: Command, scripts: Path, tmp_path: Path
) -> None:
    noted = scripts / "noted.pkt"
    noted.write_text(f"`touch {tmp_path}/made`\n{HOLDS}", encoding="utf-8")
    outcome = fairport("script", str(noted))
    assert outcome.status == 0
    assert "noted.pkt:1: not executed: `touch" in outcome.err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.pkt"], "nowhere.pkt: does not exist"),
        (["."], ".: contains no scripts"),
    ],
)
def test_what_is_no_script_is_refused(fairport: Command, arguments: list[str], said: str) -> None:
    outcome = fairport("script", *arguments)
    assert outcome.status == 2
    assert said in outcome.err


def test_a_stack_that_does_not_exist_is_refused(fairport: Command, scripts: Path) -> None:
    outcome = fairport("script", str(scripts), "--stack", "plan9")
    assert outcome.status == 2
    assert "--stack: there is no stack `plan9`" in outcome.err
    assert "linux-2.6" in outcome.err
