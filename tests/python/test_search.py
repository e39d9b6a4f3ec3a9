"""Searches: gains, bounds, resuming, and refusals."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import fairport as fp
import pytest
from conftest import Command
from fairport.errors import InputError, OutputError
from fairport.metrics.spread import medians
from fairport.scenario.patch import assignment, read_assignments
from fairport.study.comparison.gain import weighted_log_gain
from fairport.study.making import Listeners
from fairport.study.results import Definition, Study
from fairport.study.search import search
from fairport.study.search_file import SearchFile
from fairport.study.searched import Found, Goal, Searched
from fairport.study.space import Bounds
from fairport.study.study_file import builtin_names, load

FILE = """
scenario = "two-switch"
seeds = 2
{more}
[set]
duration = "10ms"
[space]
"topology.peers" = {{ from = 2, to = 20 }}
"queue.limit" = {{ from = "4KiB", to = "64KiB", scale = "log" }}
"tcp.congestion_control" = ["bic", "cubic"]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(more=""))
    return str(path)


def gain(
    before: dict[str, Any],
    found: dict[str, Any],
    weights: dict[str, float],
    *,
    for_lone_flow: bool = False,
) -> float:
    log = weighted_log_gain(before, found, weights, for_lone_flow=for_lone_flow)
    assert log is not None
    return math.exp(log)


def test_a_gain_is_the_weighted_geometric_mean() -> None:
    before = {"jain_index": 0.5, "rtt_p99_s": 0.002}
    found = {"jain_index": 1.0, "rtt_p99_s": 0.004}
    assert gain(before, found, {"jain_index": 1.0}) == pytest.approx(2)
    assert gain(before, found, {"rtt_p99_s": 1.0}) == pytest.approx(0.5)
    assert gain(before, found, {"jain_index": 1.0, "rtt_p99_s": 1.0}) == pytest.approx(1)
    assert gain(before, found, {"jain_index": 3.0, "rtt_p99_s": 1.0}) == pytest.approx(2**0.5)
    assert weighted_log_gain(before, found | {"jain_index": None}, {"jain_index": 1.0}) is None


def test_an_equal_share_is_tuned_for_and_the_smallest_is_hunted() -> None:
    half, double, five = ({"throughput_ratio": ratio} for ratio in (0.5, 2.0, 5.0))
    weights = {"throughput_ratio": 1.0}
    assert gain(half, double, weights) == pytest.approx(1)
    assert gain(half, five, weights) == pytest.approx(0.4)
    assert gain(half, double, weights, for_lone_flow=True) == pytest.approx(4)


@pytest.mark.parametrize(
    ("number", "before", "found", "factor"),
    [
        # no timeout at all counts as half of one, a flow that gets nothing as a thousandth
        ("timeouts", 10.0, 0.0, 20),
        ("drops", 0.0, 1.0, 0.5),
        ("throughput_ratio", 0.2, 0.0, 0.005),
        ("outcast", True, False, 2),
        ("loss_share", 0.0, 0.01, 0.01),
    ],
)
def test_the_gain_of_a_number_that_becomes_zero_is_a_factor_to_reckon_with(
    number: str, before: float, found: float, factor: float
) -> None:
    assert gain({number: before}, {number: found}, {number: 1.0}) == pytest.approx(factor)


def searched(*found: Found, goal: Goal = "tune", seeds: int = 5) -> Searched:
    """A search with these points, the best first."""
    numbers = list(range(1, seeds + 1))
    definition = Definition("mine", "", {}, {}, {}, [], "simulation", "", numbers)
    study = cast(Study, SimpleNamespace(definition=definition))
    return Searched(study, goal, {"jain_index": 1.0}, {}, found, len(found))


def point(limit: str, *log_gains: float) -> Found:
    return Found({"queue.limit": limit}, {}, log_gains)


def test_a_search_without_a_result_says_so() -> None:
    assert searched().conclusion == "No point of 0 has a result."
    assert repr(searched()).endswith(": No point of 0 has a result.>")


def test_of_few_seeds_a_search_says_that_it_cannot_choose() -> None:
    best, next_best = point("8KiB", 0.3, 0.4), point("16KiB", 0.1, 0.2)
    assert searched(best, next_best, seeds=2).conclusion == (
        "2 seeds are too few to say which point is best: give more, such as `seeds = 10`."
    )
    assert "1 seed is too few to say which point is worst" in (
        searched(best, goal="hunt", seeds=1).conclusion
    )
    assert ": queue.limit=8KiB. 2 seeds are too few " in repr(searched(best, seeds=2))


def test_a_best_point_is_best_only_beyond_the_spread_of_the_seeds() -> None:
    best = point("8KiB", 0.5, 0.6, 0.7, 0.8, 0.9)
    behind = point("16KiB", 0.1, 0.1, 0.2, 0.3, 0.4)
    mixed = point("32KiB", 0.9, 0.8, 0.7, 0.3, 0.2)
    said = searched(best, mixed, behind, mixed).conclusion
    assert said.startswith("There is no clear difference between it and 1 other point.")
    # the seeds that chose it are not those that can confirm it
    assert "other seeds, such as 6 to 15, show its gain" in said
    assert searched(best, behind).conclusion.startswith("It was chosen with seeds 1 to 5")
    nothing = point("64KiB", -0.2, -0.1, 0.1, 0.2, 0.3)
    as_it_is = "There is no clear difference between it and the scenario as it is."
    assert searched(nothing).conclusion == as_it_is
    worst = point("4KiB", -0.5, -0.6, -0.7, -0.8, -0.9)
    assert searched(worst, best, goal="hunt").conclusion.startswith("It was chosen")
    assert searched(best, worst, goal="hunt").conclusion == as_it_is


def test_the_gain_of_a_point_is_the_median_over_the_seeds() -> None:
    one = point("8KiB", *(math.log(factor) for factor in (1, 2, 3, 4, 50)))
    assert one.gain == pytest.approx(3)
    assert one.gain_range == pytest.approx((2, 4))


def test_another_objective_is_another_search(file: str, tmp_path: Path) -> None:
    done = search(load(SearchFile, file), "tune", trials=1, folder=tmp_path / "study", jobs=1)
    assert "<th>Jain index</th><th>gain</th>" in done._repr_html_()
    assert "<tr><th>as it is</th>" in done._repr_html_()
    Path(file).write_text(FILE.format(more="[objective]\nutilisation = 1"))
    with pytest.raises(InputError, match="another objective: jain_index"):
        search(load(SearchFile, file), "tune", trials=2, folder=tmp_path / "study", jobs=1)


def test_two_searches_are_not_under_way_in_one_folder(file: str, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    refused: list[OutputError] = []

    def ask_for_another(_status: object) -> None:
        with pytest.raises(OutputError, match="another search is under way") as error:
            search(load(SearchFile, file), "tune", trials=2, folder=folder, jobs=1, force=True)
        refused.append(error.value)

    listeners = Listeners(status=ask_for_another)
    search(load(SearchFile, file), "tune", trials=2, folder=folder, jobs=1, listeners=listeners)
    assert refused
    assert search(load(SearchFile, file), "tune", trials=3, folder=folder, jobs=1).trials == 3


def test_a_search_below_a_file_is_refused_with_a_hint(file: str, fairport: Command) -> None:
    outcome = fairport("tune", file, "--out", str(Path(file) / "study"))
    assert outcome.status == 2
    assert "cannot be written" in outcome.err
    assert "hint:" in outcome.err


def test_a_number_is_its_median_over_the_runs_that_have_it() -> None:
    rows: list[dict[str, Any]] = [{"a": 1.0}, {"a": 3.0}, {"a": None}, {"a": 9.0}]
    assert medians(rows, ["a", "b"]) == {"a": 3.0, "b": None}


def test_quantities_are_whole_and_within_their_bounds() -> None:
    low, high, value_of = Bounds.model_validate({"from": "1ms", "to": "200ms"}).range()
    assert (value_of(low), value_of(high)) == ("1ms", "200ms")
    assert value_of(18_962_338_914) == "19ms"


def test_a_search_keeps_to_its_space_and_goes_on(file: str, tmp_path: Path) -> None:
    first = search(load(SearchFile, file), "tune", trials=4, folder=tmp_path / "study", jobs=1)
    assert first.trials == 4
    again = search(load(SearchFile, file), "tune", trials=7, folder=tmp_path / "study", jobs=1)
    assert again.trials == 7
    assert [one.gain for one in again.found] == sorted((o.gain for o in again.found), reverse=True)
    before = again.before["jain_index"]
    assert before is not None
    for one in again.found:
        assert 2 <= one.values["topology.peers"] <= 20
        assert one.values["tcp.congestion_control"] in ("bic", "cubic")
        assert one.gain_range[0] <= one.gain <= one.gain_range[1]
    assert {json.dumps(one.values) for one in first.found} <= {
        json.dumps(one.values) for one in again.found
    }
    study = Study(tmp_path / "study")
    points = {json.dumps(one.values) for one in again.found}
    assert study.to_polars()["run_id"].n_unique() == 2 * (len(points) + 1)


def test_in_python_a_search_has_the_points_of_the_command(file: str, tmp_path: Path) -> None:
    loaded = load(SearchFile, file)
    space = {
        "topology.peers": {"from": 2, "to": 20},
        "queue.limit": {"from": "4KiB", "to": "64KiB", "scale": "log"},
        "tcp.congestion_control": ["bic", "cubic"],
    }
    for goal in ("tune", "hunt"):
        command = search(loaded, goal, trials=3, folder=tmp_path / f"command-{goal}", jobs=1)
        folder = tmp_path / f"python-{goal}"
        program = fp.tune(loaded.base(), space, goal=goal, seeds=2, trials=3, folder=folder, jobs=1)
        assert [(one.values, one.gain) for one in program.found] == [
            (one.values, one.gain) for one in command.found
        ]
    with pytest.raises(InputError, match="is not a goal") as error:
        fp.tune("two-switch", space, goal=cast(Any, "best"))
    assert error.value.field == "goal"


def test_a_hunt_has_the_worst_first(file: str, tmp_path: Path) -> None:
    done = search(load(SearchFile, file), "hunt", trials=4, folder=tmp_path / "study", jobs=1)
    gains = [one.gain for one in done.found]
    assert gains == sorted(gains)
    assert list(done.weights) == ["throughput_ratio"]


def test_the_commands_print_settings_that_can_be_used(
    file: str, fairport: Command, tmp_path: Path
) -> None:
    done = fairport("tune", file, "--trials", "2", "--jobs", "1", "--json")
    assert done.status == 0, done.err
    assert len(json.loads(done.out)["found"]) == 2
    shown = fairport("tune", file, "--trials", "2", "--jobs", "1")
    assert re.search(r"Best of 2 points, 2 seeds each:\n  --set topology\.peers=\d+ ", shown.out)
    assert "2 seeds are too few to say which point is best" in shown.out
    broken = tmp_path / "results" / "mine" / "search.db"
    broken.write_bytes(b"no database" * 500)
    error = fairport("tune", file, "--trials", "2", "--jobs", "1")
    assert error.status == 2
    assert "search.db: cannot be opened" in error.err


def test_built_in_searches_can_be_made() -> None:
    for name in builtin_names(SearchFile):
        file = load(SearchFile, name)
        base = file.base()
        for point in file.searched().corners():
            point.applied(base, Path())


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("[objective]\njain = 1", "objective: .*names `jain`, which no run has"),
        ("[objective]\njain_index = 0", "objective: .*a weight of 0"),
        ("[objective]\njain_index = nan", "objective: .*a weight of nan"),
        ("[objective]\njain_index = inf", "objective: .*a weight of inf"),
        ("fix = 'rde'", '"rde" is not one of'),
        ("trials = 3", "trials: is not a field of a search"),
    ],
)
def test_a_search_that_cannot_be_is_refused(tmp_path: Path, more: str, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(more=more if "[" not in more else "") + more * ("[" in more))
    with pytest.raises(InputError, match=problem):
        search(load(SearchFile, path), "tune", trials=1, folder=tmp_path / "study")


@pytest.mark.parametrize(
    ("dimension", "problem"),
    [
        ('{ from = "4KiB", to = "4ms" }', "not quantities of one kind"),
        ('{ from = "8KiB", to = "4KiB" }', "no room between its ends"),
        ("{ from = 0, to = 4, scale = 'log' }", "has no logarithm"),
        ("{ from = 1.0, to = inf }", "has an end of inf"),
        ('["4KiB"]', r"queue.limit: .* holds 1\nhint: give at least 2"),
        ('["4KiB", "8KiB"]\nseeds = 3', "space.seeds: is no field of a scenario, but of the whole"),
        ('"4KiB"', r"queue.limit: .* is not a table|queue.limit: .* must be a table"),
        ('{ from = "4ms", to = "8ms" }', r'space."queue.limit": "4ms" has an unknown unit'),
    ],
)
def test_a_space_that_cannot_be_is_refused(tmp_path: Path, dimension: str, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'scenario = "outcast"\n[space]\n"queue.limit" = {dimension}\n')
    with pytest.raises(InputError, match=problem):
        search(load(SearchFile, path), "tune", trials=1, folder=tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "value",
    [
        *(3, 0.25, 1e-05, True, False, "16KiB", "16 packets", "true", "3", "", " h1", 'a "b"'),
        *(["h1", "h4..h7"], [1, [2.5, False]], {"kind": "uniform", "min": "0s", "a b": ["1 us"]}),
    ],
)
def test_a_printed_setting_is_read_as_its_value(value: object) -> None:
    (word,) = shlex.split(assignment("queue.limit", value))
    read = read_assignments([word])
    assert read == {"queue.limit": value}
    assert type(read["queue.limit"]) is type(value)


def test_the_best_point_can_be_run_as_printed(file: str, fairport: Command) -> None:
    Path(file).write_text(
        'scenario = "two-switch"\n[set]\nduration = "10ms"\n[space]\n'
        '"tcp.sack" = [true, false]\n"queue.limit" = ["16 packets", "20 packets"]\n'
        '"traffic.0.from" = [["h1", "h2"], ["h1", "h3"]]\n'
    )
    shown = fairport("tune", file, "--trials", "1", "--jobs", "1")
    printed = re.search(r"--set .*", shown.out)
    assert printed, shown.err
    settings = shlex.split(printed[0])
    run = fairport("run", "two-switch", "--duration", "10ms", "--no-output", *settings)
    assert run.status == 0, run.err


def test_an_objective_that_the_scenario_does_not_have_is_refused_before_any_trial(
    file: str, tmp_path: Path
) -> None:
    Path(file).write_text(FILE.format(more="") + "[objective]\nfct_p99_s = 1\n")
    tried: list[Any] = []
    with pytest.raises(InputError, match='objective: "fct_p99_s" is a number that the scenario'):
        search(
            load(SearchFile, file),
            "tune",
            trials=3,
            folder=tmp_path / "study",
            jobs=1,
            listeners=Listeners(status=tried.append),
        )
    assert tried[-1].done == 2
