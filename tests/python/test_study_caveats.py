"""The caveats of a study's runs: the column, and the lines after a sweep and a search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from conftest import Command
from fairport.metrics.caveats import MEANINGS, by_name
from fairport.study.caveats_of_runs import caveats_of_runs
from fairport.study.comparison.compare import compare
from fairport.study.results import Study
from fairport.study.runs.dataset import parquet
from fairport.study.runs.store import Store
from fairport.study.sweep import sweep

STAR: dict[str, Any] = {
    "name": "star",
    "duration": "20ms",
    "topology": {"kind": "star", "hosts": 4},
    "tcp": {"rto_min": "1ms"},
    "traffic": [{"kind": "bulk", "from": "h1..h3", "to": "h0"}],
}
POISSON = {"kind": "poisson", "sizes": "10kB", "load": 0.2}


def of(study: Study) -> list[str]:
    return study.to_polars()["caveats"].to_list()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"duration": "4ms"}, "short-run"),
        ({"tcp.ecn": True}, "idle-ecn"),
        ({"tcp.ecn": True, "queue.kind": "red"}, ""),
        ({"link.rate": "10Gbps"}, "fast-hosts"),
        ({"traffic.0.start": "10ms", "measure": {"from": "0s"}}, "partly-measured"),
        ({"traffic.0.stop": "1ms", "measure": {"from": "2ms"}}, "outside-measurement"),
    ],
)
def test_a_run_of_a_sweep_has_the_caveats_of_that_run(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    base = fp.scenario(STAR).patch(changes)
    study = sweep(base, {"link.delay": ["1us"]}, seeds=1, folder=tmp_path / "study")
    assert of(study) == [expected]
    alone = fp.run(base.patch({"link.delay": "1us"}), seed=1).summary
    assert ", ".join(by_name(dict(alone))) == expected


def test_a_sweep_says_at_which_load_links_are_overfilled(fairport: Command, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(fp.scenario(STAR | {"traffic": [POISSON]}).to_toml())
    (tmp_path / "load.toml").write_text(
        'scenario = "star.toml"\nseeds = 2\naxes."traffic.0.load" = [0.2, 0.9, 1.0]\n'
    )
    found = json.loads(fairport("sweep", "load.toml", "--quiet", "--json").out)["caveats"]
    first = {"traffic.0.load": 1.0, "seed": 1}
    overfilled = {"name": "overfilled-links", "runs": 2, "of": 6, "first": first}
    assert overfilled in found
    said = fairport("sweep", "load.toml").out
    assert (
        "2 of 6 runs have the caveat overfilled-links, the first at traffic.0.load=1.0, seed=1:"
        " Poisson arrivals" in said
    )
    sql = "select count(*) as n from runs where caveats like '%overfilled-links%'"
    assert json.loads(fairport("query", "results/load", sql, "--json").out) == [{"n": 2}]


def test_a_search_says_which_of_its_runs_have_a_caveat(fairport: Command, tmp_path: Path) -> None:
    short = STAR | {"duration": "4ms"}
    (tmp_path / "star.toml").write_text(fp.scenario(short).to_toml())
    (tmp_path / "limit.toml").write_text(
        'scenario = "star.toml"\nseeds = 1\nobjective.jain_index = 1\n'
        '[space]\n"queue.limit" = ["16KiB", "32KiB"]\n'
    )
    said = fairport("tune", "limit.toml", "--trials", "1", "--jobs", "1").out
    assert "2 of 2 runs have the caveat short-run, the first at queue.limit=" in said
    again = fairport("tune", "limit.toml", "--trials", "1", "--jobs", "1", "--json").out
    [found] = json.loads(again)["caveats"]
    assert (found["name"], found["runs"], found["of"]) == ("short-run", 2, 2)


def test_a_comparison_says_which_fixes_have_runs_with_a_caveat(tmp_path: Path) -> None:
    slow = tmp_path / "slow.toml"
    slow.write_text(
        'name = "slow"\ntitle = "slow timers"\nneeds = ["host"]\nsource = "this test"\n'
        '[patch]\n"tcp.rto_min" = "100ms"\n'
    )
    found = compare(fp.scenario(STAR), [slow], repeat=2, store=Store(tmp_path / "store"))
    assert list(found.caveats) == [
        "Some runs have the caveat short-run: the run lasts less than 5 minimum RTOs. These are"
        " slow 2 of 2."
    ]


def test_a_study_of_an_earlier_version_is_opened_and_continued(tmp_path: Path) -> None:
    base, axes = fp.scenario(STAR | {"duration": "4ms"}), {"link.delay": ["1us"]}
    study = sweep(base, axes, seeds=1, folder=tmp_path / "study")
    [part] = study.runs.files()
    earlier = study.runs.read().drop("caveats")
    study.runs.remove(part)
    study.place.write("runs/part-0.parquet", parquet(earlier))
    assert "caveats" not in study.to_polars().columns
    assert caveats_of_runs(study) == []
    continued = sweep(base, axes, seeds=2, folder=tmp_path / "study")
    assert of(continued) == [None, "short-run"]
    [found] = caveats_of_runs(continued)
    assert (found.runs, found.of, found.first["seed"]) == (1, 1, 2)


def test_the_guide_explains_every_caveat() -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/studies.md").read_text(encoding="utf-8")
    assert [name for name in MEANINGS if f"`{name}`" not in guide] == []
