"""Modules that `fairport --help` must not import, so that it appears at once."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport.figures import settings_folder
from fairport.scenario import load

CALLS = [fp.run, fp.run_many, fp.plot, fp.save, fp.compare, fp.sweep, fp.load_run, load]

HEAVY = {"polars", "numpy", "matplotlib", "fairport._core", "fairport.scenario"}

PROGRAM = """
import atexit, sys
sys.argv = ["fairport", *sys.argv[1:]]
from fairport.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["scenario", "--help"]])
def test_help_needs_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert "Usage: fairport" in done.stdout
    loaded = set(done.stderr.split())
    assert "fairport.cli.run" in loaded
    assert not loaded & HEAVY


def test_what_computes_numbers_is_not_imported_before_the_run() -> None:
    """It is imported while the engine runs. An unknown scenario is refused where a run begins."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", "unknown"], capture_output=True, text=True
    )
    assert done.returncode == 2
    loaded = set(done.stderr.split())
    assert {"fairport.cli.run_table", "fairport.run_and_save"} <= loaded
    assert not loaded & {"polars", "numpy"}


def test_a_run_without_figures_needs_no_matplotlib() -> None:
    arguments = ["run", "outcast", "--duration", "1ms", "--no-output"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert "matplotlib" not in done.stderr.split()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a user has a home folder")
def test_figures_without_a_home_that_can_be_written_print_nothing(tmp_path: Path) -> None:
    """matplotlib would print two warnings in each process; a worker gets the folder from us."""
    program = (
        "from fairport.figures.drawing import style; from fairport import children; import os;"
        " child = children.started('fairport.figures.drawing.style'); assert child.wait() == 0;"
        " print(os.environ['MPLCONFIGDIR'])"
    )
    homeless = {name: one for name, one in os.environ.items() if not name.startswith("XDG_")}
    homeless |= {"HOME": "/proc/nowhere", "TMPDIR": str(tmp_path), "MPLCONFIGDIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], env=homeless, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == [], "the folder is removed at the end"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a user has a home folder")
def test_matplotlib_keeps_the_folders_of_a_user_who_can_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    settings_folder.provide()
    assert os.environ["MPLCONFIGDIR"] == ""
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*"))
    assert made == [".cache/matplotlib", ".config/matplotlib"]
    # both folders may be elsewhere; one that cannot be written is enough for a temporary one
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    settings_folder.provide()
    assert os.environ["MPLCONFIGDIR"] == ""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with monkeypatch.context() as imported:
        imported.setitem(sys.modules, "matplotlib", os)  # it has chosen its folders
        settings_folder.provide()
        assert os.environ["MPLCONFIGDIR"] == ""
    settings_folder.provide()
    assert Path(os.environ["MPLCONFIGDIR"]).parent == tmp_path
    # a folder that is another user's
    monkeypatch.setenv("MPLCONFIGDIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setattr(os, "access", lambda path, _: ".cache" not in str(path))
    settings_folder.provide()
    assert Path(os.environ["MPLCONFIGDIR"]).parent == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="the Linux backend needs Linux")
def test_the_processes_of_a_run_on_linux_import_no_scenario_and_no_tables() -> None:
    """They import for twice as long with these, and a run waits for both."""
    program = "import fairport.backends.linux.processes, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "fairport.backends.linux.traffic_generator" in loaded
    assert not loaded & {"fairport.scenario", "pydantic", "polars"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_types_of_every_call_can_be_imported(call: Callable[..., Any]) -> None:
    """Whoever writes annotations needs the types of arguments and of results."""
    needed = set(_named(_hints(call)))
    # the fields of arguments that are made by hand, and what is raised
    for one in [one for one in needed if one.__name__ in ("Listeners", "Observation")]:
        needed |= set(_named(_hints(one)))
    named = inspect.getdoc(call) or ""
    raised = [word.strip(".,") for word in named.split() if word.strip(".,").endswith("Error")]
    assert [one.__name__ for one in needed if getattr(fp, one.__name__, None) is not one] == []
    assert [name for name in raised if not hasattr(fp, name)] == []


def _hints(of: Any) -> list[Any]:
    """The types of the arguments and of the result, or of the fields."""
    module = importlib.import_module(of.__module__)
    # types that are imported for type checkers alone
    known = {name: getattr(fp, name) for name in fp.__all__} | {"Factory": Callable[..., Any]}
    known |= {"Figure": object} | vars(module)
    return list(typing.get_type_hints(of, known).values())


def _named(hints: typing.Iterable[Any]) -> Iterator[type]:
    """The classes of Fairport within types."""
    for hint in hints:
        if isinstance(hint, type) and hint.__module__.startswith("fairport"):
            yield hint
        for part in typing.get_args(hint):
            yield from _named(part if isinstance(part, list) else [part])
