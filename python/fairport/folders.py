"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairport.errors import OutputError

# a folder with one of these is a result of ours, which --force may replace
_MARKS = ("manifest.json", "summary.json")


@contextmanager
def appearing(folder: Path, *, force: bool) -> Iterator[Path]:
    """A new folder to fill, which takes the name `folder` when the block ends well.

    When the block raises, nothing of it is left, and what stood at `folder` is untouched. Raises
    OutputError at once when something stands there (with `force`: something that is no result),
    or when the folder cannot be made; later, when it cannot be filled.
    """
    # not resolve(): a link that stands there is to be seen as one
    folder = Path.cwd() / folder
    refuse_what_is_there(folder, force=force)
    # beside its place, so that a rename suffices; hidden, and named for the process
    partial = folder.parent / f".{folder.name}.{os.getpid()}.partial"
    made = _make(partial, folder)
    try:
        yield partial
        _take_place(partial, folder, force)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            raise unwritable(folder, error) from error
        raise


def unwritable(folder: Path, error: OSError) -> OutputError:
    """What to say when a results folder cannot be written."""
    return OutputError(
        f"cannot be written: {error.strerror or error}",
        file=_shown(folder),
        remedy="make room, or give another --out",
    )


def refuse_what_is_there(folder: Path, *, force: bool) -> None:
    """Raises OutputError when something stands there that must not be replaced."""
    if not os.path.lexists(folder):
        return
    if not force:
        raise OutputError(
            "exists", file=_shown(folder), remedy="give another --out, or --force to replace it"
        )
    ours = folder.is_dir() and not folder.is_symlink()
    ours = ours and (any((folder / mark).is_file() for mark in _MARKS) or not any(folder.iterdir()))
    if not ours:
        raise OutputError(
            "is not a result of Fairport, so --force does not replace it",
            file=_shown(folder),
            remedy="give another --out, or move it away",
        )


def _make(partial: Path, folder: Path) -> list[Path]:
    """Makes the folder and the parents that it lacks; returns these, innermost first."""
    missing = [parent for parent in partial.parents if not parent.exists()]
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise OutputError(
            f"cannot be written: {error.strerror}",
            file=_shown(folder),
            remedy="give an --out in a folder that you may write to, or --no-output",
        ) from None
    return missing


def _take_place(partial: Path, folder: Path, force: bool) -> None:
    if not (force and folder.exists()):
        if os.path.lexists(folder):
            raise OutputError(
                "has come to exist meanwhile", file=_shown(folder), remedy="give another --out"
            )
        partial.rename(folder)
        return
    old = folder.parent / f".{folder.name}.{os.getpid()}.old"
    try:
        folder.rename(old)
        partial.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _shown(folder: Path) -> str:
    """Relative to where the user stands, when that is shorter."""
    relative = os.path.relpath(folder)
    return relative if len(relative) < len(str(folder)) else str(folder)
