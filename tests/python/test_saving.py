"""Figures have the same bytes in whichever process they are saved; none is left half-written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from threading import active_count, current_thread, main_thread

import pytest
import synthetic
from fairport import figures
from fairport.backends.progress import Report
from fairport.errors import InputError
from fairport.figures import compared
from fairport.figures.drawing import saving, style
from fairport.result import Result
from fairport.scenario import load
from fairport.storage import save
from fairport.study.comparison.compare import compare
from fairport.study.runs.store import Store
from fairport.study.runs.workers import Workers
from matplotlib import artist
from matplotlib.figure import Figure


def _drawn(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The figures of a run, saved by this process, in the order in which they were drawn."""
    folder = tmp_path_factory.mktemp("here")
    drawn = figures.draw_all(synthetic.run(), folder, saving.Saver(None))
    return {path.name: path.read_bytes() for path in drawn}


def test_a_worker_writes_the_bytes_that_this_process_would(
    here: dict[str, bytes], tmp_path: Path
) -> None:
    result = synthetic.run()
    with saving.saver() as pictures:
        there = figures.draw_all(result, tmp_path, pictures)
    assert list(here) == [path.name for path in there]
    assert here == _drawn(tmp_path)
    assert len(here) == 2 * len(figures.kinds(result))


def _nothing(_: Report) -> None:
    pass


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor: there is no worker")
def test_a_worker_writes_where_this_process_is_now_and_svgs_are_there_before_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = figures.draw(synthetic.run(), "bars")
    saving.shared().call(_nothing)  # the process was started in the present working directory
    monkeypatch.chdir(tmp_path)

    def save(picture: Figure, path: Path) -> None:
        raise AssertionError("saved here, not by the worker")

    monkeypatch.setattr(style, "save", save)
    with saving.saver() as pictures:
        pictures.save(picture, Path("bars"))
        pictures.finish_svgs()
        assert Path("bars.svg").exists()
    assert sorted(_drawn(tmp_path)) == ["bars.png", "bars.svg"]


def test_without_a_worker_process_this_one_saves_one_picture_after_the_other(
    here: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairport.children.sys.executable", "/there/is/no/such/python")
    monkeypatch.setattr(saving, "shared", Workers)
    save, threads = style.save, set()

    def watched(picture: Figure, path: Path) -> None:
        threads.add(current_thread())
        save(picture, path)

    monkeypatch.setattr(style, "save", watched)
    with saving.saver() as pictures:
        figures.draw_all(synthetic.run(), tmp_path, pictures)
    assert here == _drawn(tmp_path)
    # matplotlib's settings, svg.fonttype among them, are those of all threads
    assert threads == {main_thread()}


def test_a_comparison_is_the_same_folder_with_and_without_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = load("two-switch").patch({"duration": "50ms"})
    comparison = compare(scenario, ["red"], repeat=1, store=Store(tmp_path / "store"))
    save(comparison, tmp_path / "there")
    monkeypatch.setattr(saving, "_has_a_worker", lambda: False)
    save(comparison, tmp_path / "here")
    for name in ("figures/compare.png", "figures/compare.svg", "report.html", "summary.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_a_call_is_made_here_if_there_is_no_worker_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairport.children.sys.executable", "/there/is/no/such/python")
    monkeypatch.setattr(saving, "shared", Workers)
    with saving.beside(lambda _, text: (tmp_path / "made").write_text(text) and None, "here"):
        pass
    assert (tmp_path / "made").read_text() == "here"


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor: there is no worker")
def test_what_fails_there_is_raised_here(tmp_path: Path) -> None:
    picture = figures.draw(synthetic.run(), "bars")
    (tmp_path / "bars.png").mkdir()  # a picture cannot replace a folder
    with pytest.raises(IsADirectoryError), saving.saver() as pictures:
        pictures.save(picture, tmp_path / "bars")


def _draw_and_fail(result: Result, folder: Path) -> None:
    with saving.saver() as pictures:
        figures.draw_all(result, folder, pictures)
        raise InputError("is refused")


def test_nothing_is_written_after_an_exception(tmp_path: Path) -> None:
    result, threads = synthetic.run(), active_count()
    with pytest.raises(InputError):
        _draw_and_fail(result, tmp_path)
    assert active_count() == threads
    assert not [name for name in _drawn(tmp_path) if name.startswith(".")]


def _modules_after(program: str, folder: Path) -> set[str]:
    """The modules that a program has imported, which it prints."""
    package = str(Path(figures.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        env=os.environ | {"PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_a_worker_needs_no_tables_to_write_a_picture(tmp_path: Path) -> None:
    result = synthetic.run()
    for kind in figures.kinds(result):
        (tmp_path / kind).write_bytes(pickle.dumps(figures.draw(result, kind)))
    program = """
import pathlib, pickle, sys
import fairport.figures.drawing.matplotlib_parts
for path in pathlib.Path(sys.argv[1]).iterdir():
    pickle.loads(path.read_bytes())
print(*sys.modules)
"""
    loaded = _modules_after(program, tmp_path)
    assert "matplotlib.figure" in loaded
    assert "polars" not in loaded


def test_what_is_left_out_for_figures_alone_changes_nothing_that_others_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = artist.kwdoc
    monkeypatch.delitem(sys.modules, saving.DRAWING, raising=False)
    import_module(saving.DRAWING)
    assert artist.kwdoc is described


def test_a_worker_needs_no_tables_to_draw_a_comparison(tmp_path: Path) -> None:
    scenario = load("two-switch").patch({"duration": "50ms"})
    comparison = compare(scenario, ["red"], repeat=1, store=Store(tmp_path / "store"))
    (tmp_path / "chart").write_bytes(pickle.dumps(compared.chart(comparison)))
    program = """
import pathlib, pickle, sys
from fairport.figures.drawing import matplotlib_parts
from fairport.figures.drawing import saving
folder = pathlib.Path(sys.argv[1])
shown = pickle.loads((folder / "chart").read_bytes())
saving.draw(None, "fairport.figures.compare", shown, folder / "compare")
print(*sys.modules)
"""
    assert not {"polars", "pydantic"} & _modules_after(program, tmp_path)
    save(comparison, tmp_path / "saved")
    for name in ("compare.png", "compare.svg"):
        drawn = (tmp_path / "saved" / "figures" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == drawn
