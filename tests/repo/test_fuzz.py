"""The fuzz targets for readers in Python accept sound input, and damage drawn by a seed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "name", ["scenario", "import", "distribution", "trace", "host-map", "record"]
)
def test_a_reader_reads_or_refuses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation.attack.words import damaged
    from validation.fuzz.readers import READERS

    draw = random.Random(1)
    for content in READERS[name].sound():
        READERS[name].read(content, tmp_path)
        for _ in range(5):
            READERS[name].read(damaged(content, draw), tmp_path)


def test_every_target_has_its_place_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation.fuzz import RUST

    targets = {path.stem for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}
    assert targets - {"any_settings"} == set(RUST)
