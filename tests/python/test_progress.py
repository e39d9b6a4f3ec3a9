"""The progress of a long command without a terminal."""

from __future__ import annotations

import fairport as fp
import pytest
from fairport.cli import progress
from fairport.quantities import in_millions
from fairport.study.making import Status
from fairport.study.pool import Done


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_a_pipe_gets_an_announcement_and_a_line_every_ten_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = fp.scenario("outcast")  # 10 s
    with progress.progress_bar(scenario, 4, shown=True, jobs=2) as move:
        assert move is not None
        for seconds in range(0, 41):
            clock[0] = float(seconds)
            move(1, seconds / 4, seconds * 2_000_000)
    lines = capsys.readouterr().err.splitlines()
    # a quarter of a second per second, 40 s in all: 160 s
    assert lines[0].startswith("outcast: takes about 3 min and 0.")
    assert lines[0].endswith(" GB of memory")
    assert lines[1] == "outcast: 2.50 of 40 s simulated, 2.0 M packet-hops/s, 2 min left"
    assert len(lines) == 5


def test_set_up_before_the_first_step_is_no_part_of_the_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the Linux backend, which makes its network first and counts no hops."""
    with progress.progress_bar(fp.scenario("outcast"), 2, shown=True) as move:
        assert move is not None
        for seconds in range(9, 29):
            clock[0] = float(seconds)
            move(1, (seconds - 9) / 2 + 0.01, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "outcast: 0.51 of 20 s simulated, 39 s left",
        "outcast: 5.51 of 20 s simulated, 29 s left",
    ]


def test_a_run_that_is_made_again_has_its_own_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.pool_bar("validate", shown=True) as move:
        assert move is not None
        for seconds in range(1, 22):
            clock[0] = float(seconds)
            # the run was not valid, and begins again at 18 s
            move(Done(seconds / 40 if seconds < 18 else (seconds - 17.99) / 10, 1, 0, 0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "validate: 0.2 of 1 runs, 8 s left"


def test_a_run_that_is_made_again_is_not_far_from_where_it_first_ended(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """A short run reports so seldom that both attempts may report nearly the same."""
    with progress.progress_bar(fp.scenario("outcast"), 1, shown=True) as move:
        assert move is not None
        for second, simulated_s in ((0, 0.0), (1, 4.0), (2, 0.0), (12, 0.0), (13, 4.000001)):
            clock[0] = float(second)
            move(1, simulated_s, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["outcast: 0.00 of 10 s simulated"]


def test_one_of_several_runs_that_is_made_again_does_not_change_their_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.pool_bar("validate", shown=True) as move:
        assert move is not None
        # five seconds per run; the fourth one is made again, and takes four seconds to begin
        steps = [(seconds, seconds / 5) for seconds in range(1, 21)]
        for seconds, done in [*steps, (21, 3.0), (25, 3.01), (31, 3.02)]:
            clock[0] = float(seconds)
            move(Done(done, 10, 0, 0))
    lines = capsys.readouterr().err.splitlines()
    # without the pause it would be 35 s
    assert lines[-1] == "validate: 3.0 of 10 runs, 59 s left"


def test_runs_that_are_counted_when_they_end_are_as_fast_as_all_of_them(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.sweep_bar("study", shown=True) as move:
        for second, done in ((30, 1), (31, 2), (40, 4)):
            clock[0] = float(second)
            move(Status(done=done, of=8, reused=0, failed=0, running=4))
    left = [line.rpartition(", ")[2] for line in capsys.readouterr().err.splitlines()]
    assert left == ["4 min left", "40 s left"]


def test_what_is_done_within_ten_seconds_says_nothing(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.progress_bar(fp.scenario("outcast"), 1, shown=True) as move:
        assert move is not None
        for seconds in range(9):
            clock[0] = float(seconds)
            move(1, 10 * seconds / 8, 1)
    assert capsys.readouterr().err == ""


def test_a_quiet_command_has_no_progress() -> None:
    with progress.progress_bar(fp.scenario("outcast"), 1, shown=False) as move:
        assert move is None


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (48_251.7, "48,252"), (99_999, "99,999"), (2_000_000, "2.0 M")]
)
def test_a_small_count_of_packet_hops_is_not_0_million(count: float, shown: str) -> None:
    assert in_millions(count) == shown
