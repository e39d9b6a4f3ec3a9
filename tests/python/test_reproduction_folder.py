"""What `fairport reproduce` writes into its folder."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from conftest import Command
from fairport.figures.drawing import width
from fairport.papers import catalogue
from fairport.scenario import parse
from fairport.storage import redraw, reproduction
from fairport.study.reproduce import Reproduced, reproduce
from fairport.study.runs.model_version import model_version
from fairport.study.runs.store import Store

MODEL = "lee2017/enqueue-probability"


class Drawers:
    """In place of worker processes: counts how many calls there are at a time."""

    def __init__(self, expected: int) -> None:
        self._lock = threading.Lock()
        self._at_once = 0
        self.most_at_once = 0
        self.widths_in: set[float | None] = set()
        self._all_there = threading.Barrier(expected)

    def call(
        self, _: Any, one: Reproduced, folder: Path, wide_in: float | None
    ) -> reproduction.Pictures:
        self.widths_in.add(wide_in)
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self._all_there.wait(timeout=30)
        with self._lock:
            self._at_once -= 1
        svg = folder / f"{one.entry.name.replace('/', '-')}.svg"
        svg.write_text('<svg width="1pt" height="1pt" viewBox="0 0 1 1"></svg>', encoding="utf-8")
        return [("a picture", svg)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_as_many_processes_draw_as_runs_were_made_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    drawers = Drawers(jobs)
    monkeypatch.setattr(reproduction, "shared", lambda: drawers)
    done = reproduce(catalogue.chosen([MODEL]), quick=True, store=Store(tmp_path / "store"))
    claims = len(done[0].entry.claims)
    with width.drawn_at(3.4):
        folder = reproduction.save(done * 8, tmp_path / "results", force=False, jobs=jobs)
    assert (drawers.most_at_once, drawers.widths_in) == (jobs, {3.4})
    assert len(json.loads((folder / "summary.json").read_text())["claims"]) == 8 * claims


def test_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    """Every run can be made again from the folder alone, and compared."""
    done = reproduce(
        catalogue.chosen(["prakash2012/one-to-n", MODEL]), quick=True, store=Store(tmp_path / "s")
    )
    folder = reproduction.save(done, tmp_path / "results", force=False)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["version"] == model_version()
    simulated, model = manifest["experiments"]
    assert (simulated["id"], model["variants"]) == ("prakash2012/one-to-n", [])
    assert [one["name"] for one in simulated["variants"]] == ["n2", "n6", "n12"]
    first = simulated["variants"][0]
    seed = simulated["seeds"][0]
    again = fp.run(parse(first["scenario"], "manifest"), seed=seed)
    assert again.fingerprint == first["fingerprints"][0]
    with pytest.raises(fp.InputError, match="a reproduction"):
        fp.load_run(folder)
    with pytest.raises(fp.InputError, match="is a reproduction, which is not drawn again"):
        redraw.redraw(folder)


def test_without_figures_there_are_the_numbers_only(fairport: Command, tmp_path: Path) -> None:
    done = fairport("reproduce", MODEL, "--quick", "--no-figures", "--out", "found")
    assert done.status == 0
    assert "report.html" not in done.out
    written = {one.name for one in (tmp_path / "found").glob("[!.]*")}
    assert written == {"manifest.json", "summary.json"}
    for more in ([MODEL, "--no-figures"], [MODEL, "--no-output"], []):
        refused = fairport("reproduce", *more, "--width", "3.4in")
        assert (refused.status, "none is asked for" in refused.err) == (2, True)


def test_its_figures_may_be_for_print(fairport: Command, tmp_path: Path) -> None:
    done = fairport("reproduce", MODEL, "--quick", "--width", "86.36mm", "--quiet")
    assert done.status == 0
    for svg in (tmp_path / "results/reproduce/figures").glob("*.svg"):
        assert 'width="244.8pt"' in svg.read_text(encoding="utf-8")
    refused = fairport("reproduce", MODEL, "--width", "1in", "--force")
    assert "is not between 3 and 10 inches" in refused.err
