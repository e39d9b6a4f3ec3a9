"""Mutation testing: the page's rows, accepted survivors, and which mutants count."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from fairport.toml.parser import loads

ROOT = Path(__file__).parents[2]
PAGE = """<!-- mutants: begin -->
| file or crate | mutants | tested | killed | or by guarded runs | seed |
| --- | --- | --- | --- | --- | --- |
| metrics/verdict.py | 197 | 10 | 9 |  | 8 |
| crates/net | 1877 | 12 | 11 | 12 | 9 |
| all | 2074 | 22 | 20 |  |  |
<!-- mutants: end -->
"""


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation import mutants

    return mutants


def test_what_is_published_is_read_again(mutants: ModuleType, tmp_path: Path) -> None:
    rows = mutants.published(PAGE)
    assert rows == [
        ["metrics/verdict.py", "197", "10", "9", "", "8"],
        ["crates/net", "1877", "12", "11", "12", "9"],
    ]
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    mutants.between_markers(page, "mutants", mutants._report(rows))
    assert page.read_text(encoding="utf-8") == PAGE


@pytest.mark.parametrize(
    ("after", "is_accepted"),
    [
        ("return a if ratio > 1.005 else b", True),
        ("return a if ratio == 1.005 else b", False),
        ("return a if ratio > 1.005 else c", False),
    ],
)
def test_a_survivor_is_accepted_where_nothing_else_in_its_line_has_changed(
    mutants: ModuleType, after: str, is_accepted: bool
) -> None:
    before = "return a if ratio >= 1.005 else b"
    assert mutants.python._is_accepted(before, after) is is_accepted


def test_an_error_belongs_to_the_mutant_in_which_it_is(mutants: ModuleType, tmp_path: Path) -> None:
    text = (
        "if chosen() != 7 && chosen() != 8 { a } else if crate :: mutating :: is (7u32) { b }"
        " else if crate :: mutating :: is (8u32) { c } else { crate :: mutating :: end () } ; d"
    )
    (tmp_path / "a.rs").write_text(text)
    tree = mutants.programs.Tree(tmp_path, tmp_path)

    def found(*places: str) -> set[int]:
        spans = [
            {"file_name": "a.rs", "byte_start": text.index(place), "is_primary": place == places[0]}
            for place in places
        ]
        return set(tree._mutants_of({"spans": spans}))

    assert found("{ b }") == {7}
    assert found("{ c }", "{ b }") == {8}
    # the error's main place is the code after the mutant, and the mutant is another of its places
    assert found("; d", "{ b }") == {7}
    assert found("; d") == set()


@pytest.mark.parametrize("line", [("false",), ("sleep", "60")])
def test_a_program_that_fails_or_takes_too_long_has_no_output(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    monkeypatch.setattr(mutants.programs, "LEAST_SECONDS", 1)
    monkeypatch.setattr(mutants.programs, "CLOCK_FACTOR", 0.1)
    assert mutants.programs.Program(line, tmp_path, 0.0).output(1) is None


def test_a_pattern_whose_code_has_changed_is_reported(mutants: ModuleType) -> None:
    config = """exclude_re = ['rtt\\.rs:\\d+:35: .* in a$', 'rtt\\.rs:.* in gone$']"""
    assert mutants.rust.unused(config, {"src/rtt.rs:7:35: replace + with - in a"}) == [
        r"rtt\.rs:.* in gone$"
    ]


def accepted_in_rust() -> list[tuple[str, str, str]]:
    """The file of each pattern that names one, its column and operator, and its functions."""
    config = (ROOT / ".cargo/mutants.toml").read_text(encoding="utf-8")
    found = []
    for pattern in loads(config)["exclude_re"]:
        file, is_split, change = pattern.replace("\\.", ".").partition(".rs:")
        if is_split:
            found.append((f"{file}.rs", change, pattern))
    return found


@pytest.mark.parametrize(("file", "change", "pattern"), accepted_in_rust())
def test_an_accepted_change_is_one_of_the_present_code(
    file: str, change: str, pattern: str
) -> None:
    """cargo-mutants would say so, but it is seldom run."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    place = re.match(r"(\d+|\\d\+):(\d+): (?:replace|delete) (\S+) ", change)
    if place:
        line, column, operator = place.groups()
        of = [lines[int(line) - 1]] if line.isdigit() else lines
        operator = operator.replace("\\", "")
        assert any(one.startswith(operator, int(column) - 1) for one in of), pattern
    text = "\n".join(lines)
    for name in re.findall(r"::(\w+)|(?<= in )(\w+)\$", change):
        assert re.search(rf"\bfn {name[0] or name[1]}\b", text), pattern
    for name in re.findall(r"(\w+)(?:<[^>]*>)?::", change):
        assert re.search(rf"\b(impl|trait)\b.*\b{name}\b", text), pattern


def test_an_accepted_change_of_python_is_one_of_the_present_code(mutants: ModuleType) -> None:
    folder = ROOT / "python/fairport"
    files = [(folder / name).read_text(encoding="utf-8") for name in mutants.python.FILES]
    lines = {line.replace(" ", "") for text in files for line in text.splitlines()}
    accepted = {before for before, _ in mutants.python.ACCEPTED}
    gone = [before for before in accepted if not any(before in line for line in lines)]
    assert gone == []


def test_the_tests_of_a_mutated_file_exist(mutants: ModuleType) -> None:
    tests = {test for tests in mutants.python.FILES.values() for test in tests}
    assert [test for test in tests if not (ROOT / "tests/python" / test).is_file()] == []


def test_a_program_knows_its_mutant(mutants: ModuleType, tmp_path: Path) -> None:
    line = ("sh", "-c", "echo $FAIRPORT_MUTANT")
    assert mutants.programs.Program(line, tmp_path).output(17) == "17\n"
