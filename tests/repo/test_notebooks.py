"""The notebooks run from the first cell to the last, and print what they show."""

from pathlib import Path

import notebooks
import pytest


@pytest.mark.parametrize("file", notebooks.FILES, ids=lambda file: file.name)
def test_a_notebook_runs_and_prints_what_it_shows(file: Path) -> None:
    printed = notebooks.texts(notebooks.executed(file))
    assert printed
    shown = notebooks.texts(notebooks.read(file))
    assert shown == printed, "`make renew WHAT=docs` renews it"
