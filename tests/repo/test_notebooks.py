"""The notebooks run from the first cell to the last, and print what they show."""

from pathlib import Path

import notebooks
import pytest


@pytest.mark.parametrize("file", notebooks.FILES, ids=lambda file: file.name)
def test_a_notebook_prints_what_it_shows(file: Path) -> None:
    shown = notebooks.texts(notebooks.read(file))
    assert shown, "it was saved without its outputs; `make docs` renews them"
    assert notebooks.texts(notebooks.executed(file)) == shown, "`make docs` renews it"
