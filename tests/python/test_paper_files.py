"""The fields of a paper's files: the limits of each, and its default."""

from __future__ import annotations

from typing import Any

import pytest
from fairport.papers.model import (
    Claim,
    Claims,
    Drawing,
    ExceptionAt,
    Experiment,
    OnLinux,
    Paper,
    Platform,
    PublishedClass,
    Scheme,
)
from fairport.toml import parser
from pydantic import ValidationError

CLAIM: dict[str, Any] = {
    **{"id": "one", "says": "it is so", "where": "Fig. 1", "read": "figure"},
    **{"metric": "jain_index", "why": "because", "above": 0.9},
}
ORDER = {key: value for key, value in CLAIM.items() if key != "above"}
DRAWING: dict[str, Any] = {"kind": "classes", "title": "goodput"}
EXPERIMENT: dict[str, Any] = {"title": "one", "shows": "it"}
PAPER: dict[str, Any] = {
    **{"title": "T", "authors": "A", "venue": "V", "year": 2012, "place": 1},
    **{"platform": {"one": {"title": "p", "base": "outcast"}}, "experiments": ["one"]},
}
CUBIC, BIC = (
    Scheme(label=name, patch={"tcp.congestion_control": name.lower()}) for name in ("CUBIC", "BIC")
)


@pytest.mark.parametrize(
    ("kind", "document", "sound", "refused"),
    [
        (Paper, PAPER, {"place": 1}, {"place": 0}),
        (Paper, PAPER, {"doi": "10.1145/1"}, {"doi": "10.114/1"}),
        (Paper, PAPER, {"experiments": ["x"]}, {"experiments": []}),
        (Paper, PAPER, {}, {"platform": {}}),
        (ExceptionAt, {"patch": {"a": 1}}, {"at": {"axis": "point"}}, {"at": {}}),
        (ExceptionAt, {"at": {"axis": "point"}}, {"patch": {"a": 1}}, {"patch": {}}),
        (OnLinux, {"says": "it"}, {"seeds": 1}, {"seeds": 0}),
        (OnLinux, {"says": "it"}, {"slowed": 1.0}, {"slowed": 0.9}),
        (Experiment, EXPERIMENT, {"seeds": 1}, {"seeds": 0}),
        (Experiment, EXPERIMENT, {"quick_seeds": 1}, {"quick_seeds": 0}),
        (Experiment, EXPERIMENT, {"variant": [{"name": "a"}]}, {"variant": [{"name": "A b"}]}),
        (Drawing, DRAWING, {"variants": list("abcd")}, {"variants": list("abcde")}),
        (Drawing, DRAWING, {"traffic": 0}, {"traffic": -1}),
        (Drawing, DRAWING, {"sizes": [0, 1]}, {"sizes": [0]}),
        (Drawing, DRAWING, {"sizes": [0, 1]}, {"sizes": [0, 1, 2]}),
        (Drawing, DRAWING, {"until_s": 0.1}, {"until_s": 0.0}),
        (Drawing, DRAWING | {"kind": "sweep"}, {"measure": "jain_index"}, {"measure": "jain"}),
        (Claim, CLAIM, {"length": 1}, {"length": 0}),
        (Claim, CLAIM, {"traffic": 0}, {"traffic": -1}),
        (Claim, CLAIM, {"sizes": [0, 1]}, {"sizes": [0]}),
        (Claim, CLAIM, {"sizes": [0, 1]}, {"sizes": [0, 1, 2]}),
        (Claim, ORDER | {"published": 1.0}, {"within": 0.01}, {"within": 0.0}),
        (Claim, ORDER, {"between": [0.0, 1.0]}, {"between": [0.0]}),
        (Claim, ORDER, {"between": [0.0, 1.0]}, {"between": [0.0, 1.0, 2.0]}),
        (Claim, ORDER, {"rising": ["a", "b"]}, {"rising": ["a"]}),
        (Claim, ORDER, {"falling": ["a", "b"]}, {"falling": ["a"]}),
        (Claim, ORDER | {"rising": ["a", "b"]}, {"over": ["c", "d"]}, {"over": ["c"]}),
        (Claim, ORDER | {"rising": ["a", "b"]}, {"over": ["c", "d"]}, {"over": list("cde")}),
        (Claim, CLAIM, {"hop_class": "2-hop"}, {"metric": "no such"}),
        (Claim, CLAIM | {"metric": "throughput_ratio"}, {"hop_class": "2-hop"}, {"hop_class": ""}),
        (Claims, {}, {"claim": [CLAIM]}, {"claim": []}),
        (PublishedClass, {"goodput_bps": [1.0]}, {}, {"goodput_bps_mean": 1.0}),
    ],
)
def test_a_field_has_its_least_and_its_most(
    kind: type[Any], document: dict[str, Any], sound: dict[str, Any], refused: dict[str, Any]
) -> None:
    kind.model_validate(document | sound)
    with pytest.raises(ValidationError):
        kind.model_validate(document | refused)


def test_an_experiment_has_ten_seeds_two_if_quick_and_five_on_linux() -> None:
    experiment = Experiment.model_validate(EXPERIMENT)
    assert (experiment.seeds, experiment.quick_seeds) == (10, 2)
    assert OnLinux(says="it").seeds == 5
    assert OnLinux(says="it").slowed == 1
    assert Claim.model_validate(CLAIM).length == 1


def test_a_class_has_no_goodput_of_each_flow_unless_it_is_given() -> None:
    assert PublishedClass(goodput_bps_mean=1.0).goodput_bps == []
    assert Platform(title="p", base="outcast").settings == {}


def combined(axes: dict[str, Any], **others: Any) -> list[tuple[str, str, dict[str, Any]]]:
    experiment = Experiment.model_validate(EXPERIMENT | {"axes": axes} | others)
    variants = experiment.variants({"cubic": CUBIC, "bic": BIC})
    return [(one.name, one.title, one.patch) for one in variants]


def test_points_of_the_axis_of_schemes_may_be_names_of_the_papers() -> None:
    schemes = [{"name": "cubic"}, {"name": "bic", "label": "mine", "patch": {"seed": 3}}]
    assert combined({"scheme": schemes}) == [
        ("cubic", "CUBIC", {"tcp.congestion_control": "cubic"}),
        ("bic", "mine", {"seed": 3}),
    ]
    # not on another axis, whatever its name
    for axis in ("a", "z"):
        ((name, title, patch),) = combined({axis: [{"name": "cubic", "value": 1}]})
        assert (name, title, patch) == ("cubic", "cubic", {axis: 1})


def test_the_last_axis_is_the_sweeps_unless_another_is_named() -> None:
    axes = {
        "seed": [{"name": "s1", "value": 1}],
        "duration": [{"name": "d1", "label": "one", "value": "1s"}],
    }
    assert [title for _, title, _ in combined(axes)] == ["one, s1"]
    # in a file the name of the axis is written twice
    along = parser.loads('along = "seed"')
    assert [title for _, title, _ in combined(axes, **along)] == ["s1, one"]
    with pytest.raises(ValidationError, match="is not an axis"):
        combined(axes, along="none")


def test_an_exception_holds_at_every_combination_with_its_points() -> None:
    axes = {
        "seed": [{"name": f"s{n}", "value": n} for n in (1, 2)],
        "duration": [{"name": f"d{n}", "value": f"{n}s"} for n in (1, 2)],
    }
    at_first = {"at": {"seed": "s1"}, "patch": {"routing": "spray"}}
    found = combined(axes, exception=[at_first])
    assert [patch.get("routing") for _, _, patch in found] == ["spray", "spray", None, None]
    for wrong in ({"seed": "s3"}, {"none": "s1"}):
        with pytest.raises(ValidationError, match="is not a point of that axis"):
            combined(axes, exception=[at_first | {"at": wrong}])


def test_a_number_is_near_the_published_one_of_a_single_variant() -> None:
    near = Claim.model_validate(ORDER | {"published": 2.0, "within": 0.1})
    assert (near.number, near.expectation) == (2.0, "within")
    assert Claim.model_validate(ORDER | {"published": 2.0, "between": [1.0, 3.0]}).number == 2.0
    # a limit, a ratio, an order
    assert Claim.model_validate(CLAIM | {"published": 2.0}).number is None
    ratio = ORDER | {"published": 2.0, "within": 0.1, "variant": "a", "over": "b"}
    assert Claim.model_validate(ratio).number is None
    order = ORDER | {"published": [1.0, 2.0], "rising": ["a", "b"]}
    assert Claim.model_validate(order).number is None


def test_the_file_of_a_figure_is_named_by_what_it_draws() -> None:
    named = {"kind": "sweep", "measure": "jain_index", "traffic": 0, "sizes": [0, 1000]}
    drawing = Drawing.model_validate(DRAWING | named | {"hop_class": "2-hop"})
    assert drawing.file_stem == "sweep-jain-index-2-hop-0-0-1000"
    assert Drawing.model_validate(DRAWING).file_stem == "classes"


def test_a_paper_is_cited_by_authors_title_venue_and_year() -> None:
    assert Paper.model_validate(PAPER).citation == "A: T, V 2012"
