"""Mutation testing: what the page has, what is accepted, and which mutants count."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = """<!-- mutants: begin -->
| file or crate | mutants | tested | killed | or by guarded runs | seed |
| --- | --- | --- | --- | --- | --- |
| verdict.py | 197 | 10 | 9 |  | 8 |
| crates/net | 1877 | 12 | 11 | 12 | 9 |
| all | 2074 | 22 | 20 |  |  |

Survivors:

- `verdict.py:149: a < 1 -> a <= 1`
- `crates/net/src/port.rs:224:9: replace OutputPort<S>::count_arrival with ()`
<!-- mutants: end -->
"""


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation import mutants

    return mutants


def test_the_page_s_rows_are_read_with_their_survivors(mutants: ModuleType) -> None:
    rows = mutants.published(PAGE)
    assert [row.name for row in rows] == ["verdict.py", "crates/net"]
    assert [row.cells[1:] for row in rows] == [
        ("197", "10", "9", "", "8"),
        ("1877", "12", "11", "12", "9"),
    ]
    assert [row.survivors for row in rows] == [
        ("verdict.py:149: a < 1 -> a <= 1",),
        ("crates/net/src/port.rs:224:9: replace OutputPort<S>::count_arrival with ()",),
    ]


@pytest.mark.parametrize(
    ("after", "is_accepted"),
    [
        ("return a if ratio > 0.01 else b", True),
        ("return a if ratio == 0.01 else b", False),
        ("return a if ratio > 0.01 else c", False),
    ],
)
def test_a_survivor_is_accepted_where_nothing_else_in_its_line_has_changed(
    mutants: ModuleType, after: str, is_accepted: bool
) -> None:
    before = "return a if ratio >= 0.01 else b"
    assert mutants.python._is_accepted(before, after) is is_accepted


def test_only_the_mutants_that_were_drawn_count(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source").mkdir()
    # one of three that were drawn does not compile, and two were tested besides
    outcomes = {"caught": "a.rs:1: x\nb.rs:9: y\n", "missed": "a.rs:2: x\nb.rs:8: z\n"}

    def program(*_: object, **__: object) -> None:
        (tmp_path / "output/mutants.out").mkdir(parents=True)
        for name, text in (outcomes | {"timeout": ""}).items():
            (tmp_path / f"output/mutants.out/{name}.txt").write_text(text)

    monkeypatch.setattr(mutants.rust.subprocess, "run", program)
    drawn = ["a.rs:1: x", "a.rs:2: x", "a.rs:3: x"]
    found = mutants.rust._outcome(tmp_path, "tcp", ("tcp",), drawn)
    assert (found.noticed, found.endless, found.missed) == (1, 0, ["a.rs:2: x"])
