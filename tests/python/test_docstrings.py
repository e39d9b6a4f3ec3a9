"""The examples in the docstrings of `fairport` run."""

import inspect
import re
from pathlib import Path
from textwrap import dedent

import fairport as fp
import pytest

CALLS = {name for name in fp.__all__ if inspect.isfunction(getattr(fp, name))}


def example(name: str) -> str:
    """The indented lines of a docstring."""
    text = inspect.getdoc(getattr(fp, name)) or ""
    return dedent("\n".join(line for line in text.splitlines() if line.startswith("    ")))


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for name in CALLS if not example(name)} == {"load_run"}
    monkeypatch.chdir(tmp_path)
    # `Study` opens what `sweep` made
    for name in [*sorted(CALLS), "Study"]:
        short = re.sub(r'("two-switch"|"outcast")', r"short(\1)", example(name))
        exec(short, {"fp": fp, "short": short_scenario})


def short_scenario(name: str) -> fp.Scenario:
    return fp.scenario(name).patch({"duration": "20ms"})
