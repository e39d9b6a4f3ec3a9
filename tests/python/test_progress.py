"""The progress of a long command without a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from io import StringIO
from typing import Any

import fairport as fp
import pytest
from fairport.backends.progress import Done
from fairport.cli import progress
from fairport.quantities import in_millions
from fairport.study.making import Status
from rich.console import Console

Shown = Callable[[AbstractContextManager[Any], Iterable[tuple[float, tuple[Any, ...]]]], list[str]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """What a bar writes on stderr: for steps, each with the seconds of a clock and a report."""
    now_s = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: now_s)

    def run(
        bar: AbstractContextManager[Any], steps: Iterable[tuple[float, tuple[Any, ...]]]
    ) -> list[str]:
        nonlocal now_s
        with bar as move:
            for at_s, report in steps:
                now_s = at_s
                move(*report)
        return capsys.readouterr().err.splitlines()

    return run


def test_a_pipe_gets_an_announcement_and_a_line_every_ten_seconds(shown: Shown) -> None:
    bar = progress.progress_bar(fp.scenario("outcast"), 4, shown=True, jobs=2)  # 10 s each
    lines = shown(bar, ((s, (Done(s / 40, 4, 0, s * 2_000_000),)) for s in range(41)))
    # a quarter of a second per second, 40 s in all: 160 s
    assert lines[0].startswith("outcast: takes about 3 min and 0.")
    assert lines[0].endswith(" GB of memory")
    assert lines[1] == "outcast: 2.50 of 40 s simulated, 2.0 M packet-hops/s, 2 min left"
    assert len(lines) == 5


def test_set_up_before_the_first_step_is_no_part_of_the_speed(shown: Shown) -> None:
    """As on the Linux backend, which makes its network first and counts no hops."""
    bar = progress.progress_bar(fp.scenario("outcast"), 2, shown=True)
    lines = shown(bar, ((s, (Done((s - 9) / 20 + 0.001, 2, 0, 0),)) for s in range(9, 29)))
    assert lines[1:] == [
        "outcast: 0.51 of 20 s simulated, 39 s left",
        "outcast: 5.51 of 20 s simulated, 29 s left",
    ]


def test_a_run_that_is_made_again_has_its_own_speed(shown: Shown) -> None:
    # the run was not valid, and begins again at 18 s
    done = [(s, s / 40 if s < 18 else (s - 17.99) / 10) for s in range(1, 22)]
    lines = shown(
        progress.pool_bar("validate", shown=True), ((s, (Done(runs, 1, 0, 0),)) for s, runs in done)
    )
    assert lines[-1] == "validate: 0.2 of 1 runs, 8 s left"


def test_a_run_that_is_made_again_is_not_far_from_where_it_first_ended(shown: Shown) -> None:
    """A short run reports so seldom that both attempts may report nearly the same."""
    simulated_s = ((0, 0.0), (1, 4.0), (2, 0.0), (12, 0.0), (13, 4.000001))
    bar = progress.progress_bar(fp.scenario("outcast"), 1, shown=True)
    lines = shown(bar, ((second, (Done(at_s / 10, 1, 0, 0),)) for second, at_s in simulated_s))
    assert lines == ["outcast: 0.00 of 10 s simulated"]


def test_one_of_several_runs_that_is_made_again_does_not_change_their_speed(shown: Shown) -> None:
    # five seconds per run; the fourth one is made again, and takes four seconds to begin
    done = [(s, s / 5) for s in range(1, 21)] + [(21, 3.0), (25, 3.01), (31, 3.02)]
    lines = shown(
        progress.pool_bar("validate", shown=True),
        ((s, (Done(runs, 10, 0, 0),)) for s, runs in done),
    )
    # without the pause it would be 35 s
    assert lines[-1] == "validate: 3.0 of 10 runs, 59 s left"


def test_runs_that_are_counted_when_they_end_are_as_fast_as_all_of_them(shown: Shown) -> None:
    done = ((30, 1), (31, 2), (40, 4))
    states = ((s, (Status(done=n, of=8, reused=0, failed=0, running=4),)) for s, n in done)
    lines = shown(progress.sweep_bar("study", shown=True), states)
    assert [line.rpartition(", ")[2] for line in lines] == ["4 min left", "40 s left"]


def test_what_is_done_within_ten_seconds_says_nothing(shown: Shown) -> None:
    bar = progress.progress_bar(fp.scenario("outcast"), 1, shown=True)
    assert shown(bar, ((s, (Done(s / 8, 1, 0, 1),)) for s in range(9))) == []


def test_a_quiet_command_has_no_progress() -> None:
    with progress.progress_bar(fp.scenario("outcast"), 1, shown=False) as move:
        assert move is None


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (48_251.7, "48,252"), (99_999, "99,999"), (2_000_000, "2.0 M")]
)
def test_a_small_count_of_packet_hops_is_not_0_million(count: float, text: str) -> None:
    assert in_millions(count) == text


def test_a_narrow_terminal_shows_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    written = StringIO()
    console = Console(file=written, force_terminal=True, width=60)
    monkeypatch.setattr(progress, "err", lambda: console)
    monkeypatch.setattr(progress, "err_is_terminal", lambda: True)
    with progress.pool_bar("outcast-1-to-12", shown=True) as move:
        assert move is not None
        for runs in (1, 2, 3):
            move(Done(runs=runs, of=360, reused=2, packet_hops=10**8))
    assert "s left, 3.0 of 360 runs" in written.getvalue()
