from __future__ import annotations

import os
from pathlib import Path

import pytest
from fairport.errors import OutputError
from fairport.folders import appearing


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def a_result(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with appearing(tmp_path / "a" / "b", force=False) as partial:
        (partial / "file").write_text("x", encoding="utf-8")
        assert not (tmp_path / "a" / "b").exists()
    assert listing(tmp_path) == ["a", "a/b", "a/b/file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_a_folder_that_was_not_completed(
    tmp_path: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error), appearing(tmp_path / "a" / "b", force=False) as partial:  # noqa: PT012
        (partial / "file").write_text("x", encoding="utf-8")
        raise error
    assert listing(tmp_path) == []


def test_what_stands_there_is_kept(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    with pytest.raises(OutputError, match="exists"), appearing(folder, force=False):
        pytest.fail("entered")
    assert listing(tmp_path) == ["run", "run/manifest.json"]


def test_force_replaces_a_result_by_a_complete_one_only(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    with pytest.raises(ValueError, match="no"), appearing(folder, force=True):
        raise ValueError("no")
    assert listing(tmp_path) == ["run", "run/manifest.json"]
    with appearing(folder, force=True) as partial:
        (partial / "new").write_text("x", encoding="utf-8")
        assert listing(folder) == ["manifest.json"]
    assert listing(tmp_path) == ["run", "run/new"]


def test_force_replaces_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with appearing(tmp_path / "run", force=True) as partial:
        (partial / "new").write_text("x", encoding="utf-8")
    assert listing(tmp_path) == ["run", "run/new"]


def test_force_does_not_replace_what_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x", encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    a_result(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    before = listing(tmp_path)
    for name in ("thesis", "file", "link"):
        with pytest.raises(OutputError, match="not a result"):  # noqa: SIM117
            with appearing(tmp_path / name, force=True):
                pytest.fail("entered")
    assert listing(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):  # noqa: SIM117
        with appearing(tmp_path / "file" / "run", force=False):
            pytest.fail("entered")
    assert listing(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="cannot be written"):  # noqa: SIM117
        with appearing(tmp_path / "theirs" / "run", force=False):
            pytest.fail("entered")
