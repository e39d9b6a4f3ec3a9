"""Axes: points, and every combination of them."""

from __future__ import annotations

from typing import Any

import pytest
from fairport.errors import InputError
from fairport.papers.model import Experiment
from fairport.scenario.axes import Points, combinations
from fairport.study.points import points, value_of
from fairport.study.study_file import read
from fairport.study.sweep_file import SweepFile
from pydantic import TypeAdapter, ValidationError

READ = TypeAdapter(Points)


def test_values_name_themselves() -> None:
    points = READ.validate_python(["8KiB", "16 packets", 0.5])
    assert [point.name for point in points] == ["8kib", "16-packets", "0.5"]
    assert [point.title for point in points] == ["8KiB", "16 packets", "0.5"]


def test_a_point_may_have_the_name_that_people_use() -> None:
    (point,) = READ.validate_python([{"name": "CUBIC"}])
    assert point.title == "CUBIC"
    with pytest.raises(ValidationError):
        READ.validate_python([{"name": "CUBIC, marks"}])


def test_points_whose_names_are_numbers_lie_at_them() -> None:
    points = READ.validate_python([{"name": 8, "patch": {"a": 1}}, {"name": 2.5}, {"name": "12"}])
    assert [point.title for point in points] == ["8", "2.5", "12"]
    assert [value_of(point) for point in points] == [8, 2.5, "12"]
    with pytest.raises(ValidationError):
        READ.validate_python([{"name": True}])


def test_a_row_of_numbers_has_both_ends() -> None:
    points = READ.validate_python({"prefix": "k", "from": 1, "to": 3})
    assert [(point.name, point.value) for point in points] == [("k1", 1), ("k2", 2), ("k3", 3)]


def test_a_logarithmic_row_ends_at_its_last_value() -> None:
    points = READ.validate_python({"from": 49.0, "to": 1.0, "steps": 3, "scale": "log"})
    assert [point.value for point in points] == [49.0, pytest.approx(7.0), 1.0]


def test_the_first_axis_varies_slowest_and_every_pair_is_there_once() -> None:
    axes = {"a.b": READ.validate_python([1, 2]), "c": READ.validate_python(["x", "y", "z"])}
    found = combinations(axes)
    assert [one.name for one in found] == ["1-x", "1-y", "1-z", "2-x", "2-y", "2-z"]
    assert found[4].patch == {"a.b": 2, "c": "y"}


def test_no_axes_have_no_combination() -> None:
    assert combinations({}) == []


def test_a_point_sets_its_axis_and_what_else_it_says() -> None:
    point = {"name": "n12", "value": 12, "patch": {"queue.limit": "8KiB"}}
    (one,) = combinations({"topology.peers": READ.validate_python([point])})
    assert one.patch == {"topology.peers": 12, "queue.limit": "8KiB"}


@pytest.mark.parametrize(
    "axis",
    [
        [],
        {},
        {"from": 1},
        {"values": [1], "from": 1, "to": 2},
        {"values": []},
        [{"name": "Not A Name"}],
        [{"nam": "n1"}],
        "8KiB",
        {"from": 1, "to": 10**12},
        {"from": 1, "to": 2, "steps": 10**12},
        {"from": 1, "to": 10**400, "steps": 3},
    ],
)
def test_an_axis_that_cannot_be_read_is_refused(axis: Any) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python(axis)


EXPERIMENT: dict[str, Any] = {
    "title": "t",
    "shows": "s",
    "axes": {"load": {"prefix": "u", "values": [10, 20]}, "scheme": ["c", "d"]},
}


def test_the_axis_along_which_a_sweep_goes_labels_its_steps() -> None:
    by_load = Experiment.model_validate(EXPERIMENT | {"along": "load"}).variants({})[0]
    by_scheme = Experiment.model_validate(EXPERIMENT).variants({})[0]
    assert (by_load.label, by_load.series) == ("10", "c")
    assert (by_scheme.label, by_scheme.series) == ("c", "10")


def test_a_model_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not a model"):
        Experiment.model_validate(EXPERIMENT | {"model": "crystal-ball"})


def test_values_that_differ_in_their_signs_or_letters_are_points_of_their_own() -> None:
    axes = {"a": ["B", "b"], "b": ["é", "ü"], "c": [-1, 1], "d": [["h1", "h2"], ["h1-h2"]]}
    found = read(SweepFile, {"scenario": "two-switch", "axes": axes})
    every = points(found.axes, (), "", "")
    assert len({point.id for point in every}) == 16
    assert every[0].values == {"a": "B", "b": "é", "c": -1, "d": '["h1", "h2"]'}
    with pytest.raises(InputError, match="has a value twice"):
        read(SweepFile, {"scenario": "two-switch", "axes": {"a": [1, 1]}})


def test_seeds_are_no_axis() -> None:
    with pytest.raises(InputError, match="names `seed`") as error:
        read(SweepFile, {"scenario": "two-switch", "axes": {"seed": [1, 2]}})
    assert error.value.remedy == "give `seeds = [..]`"


@pytest.mark.parametrize(
    ("name", "value"), [("zip", [["a", "b"]]), ("where", "a < 2"), ("seeds", 3)]
)
def test_a_field_of_the_file_below_its_axes_is_put_above(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"axes.{name}: is no field of a scenario") as error:
        read(SweepFile, {"scenario": "two-switch", "axes": {"a": [1, 2], name: value}})
    assert error.value.remedy == f"put `{name}` above the first [section]"
