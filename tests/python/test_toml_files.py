"""Every TOML file is read in one way: scenario, fix, host profile, sweep, search, paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fairport.errors import InputError
from fairport.papers import catalogue
from fairport.papers.model import Scheme
from fairport.scenario import host_profile
from fairport.scenario import load as load_scenario
from fairport.study import fixes, study_file, sweep_file
from fairport.study.search_file import SearchFile
from fairport.toml import files as toml_files

READERS: dict[str, Callable[[Path], Any]] = {
    "scenario": load_scenario,
    "fix": fixes.read,
    "host profile": host_profile.read,
    "sweep": sweep_file.load,
    "search": lambda path: study_file.load(SearchFile, path),
    "paper": lambda path: catalogue._read(Scheme, path, str(path)),
}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe\x00", "mine.toml: is not UTF-8 text"),
        (b"name = 1\nname = 2\n", "mine.toml:2: is not TOML: "),
    ],
)
@pytest.mark.parametrize("kind", READERS)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(
    kind: str, content: bytes, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        READERS[kind](file)
    assert problem in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("kind", READERS)
def test_a_file_that_is_too_large_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fairport run ./capture.pcap` would read all of it, and `/dev/zero` has no end."""
    monkeypatch.setattr(toml_files, "MOST_CHARACTERS", 9)
    file = tmp_path / "mine.toml"
    file.write_text("name = 'x'\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.toml: cannot be read: "):
        READERS[kind](file)


def test_a_fix_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    source = Path(fixes.__file__).parent / "red.toml"
    file = tmp_path / "red.toml"
    file.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    assert fixes.read(file).name == "red"


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("limit = 16KiB  # a buffer", 'write the value in quotes: "16KiB"'),
        ("kind = drop-tail", 'write the value in quotes: "drop-tail"'),
        ("limit = \u201c16KiB\u201d", "write straight quotes and plain spaces"),
        ("\u00a0limit = 3", "write straight quotes and plain spaces"),
        ("k = 4", "see https://toml.io"),  # given twice, which quotes do not change
    ],
)
def test_frequent_mistakes_have_a_remedy_of_their_own(
    line: str, remedy: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"k = 3\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_scenario(file)
    assert caught.value.remedy.startswith(remedy)
    assert "mine.toml:2: is not TOML" in str(caught.value)
