"""Single files, complete or not there."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fairport.errors import OutputError
from fairport.files.partial import partial_file


@contextmanager
def atomic_file(path: Path, option: str, *, force: bool) -> Iterator[Path]:
    """A file to fill, which takes the name `path` when the block ends well.

    It has the ending of `path`. If the block raises, nothing of it is left, and an existing file at
    `path` is untouched. A symbolic link stays a link, and the file to which it leads is written. A
    device or a FIFO is written to and never replaced. Raises OutputError, which names `option`,
    when `path` cannot be written, or is an existing file without `force`.
    """
    try:
        kind = _kind(path)
        if kind is not None and stat.S_ISDIR(kind):
            raise IsADirectoryError(0, "is a folder")
        if kind is None or (stat.S_ISREG(kind) and not _is_of_the_system(path)):
            if kind is not None and not force:
                raise OutputError(
                    "exists",
                    field=option,
                    value=str(path),
                    remedy="name another file, or replace this one with --force",
                )
            # a link stays, and the file that it leads to is written
            place = Path(os.path.realpath(path)) if path.is_symlink() else path
            with partial_file(place) as partial:
                yield partial
                if kind is not None:
                    partial.chmod(stat.S_IMODE(kind))
                partial.replace(place)
        else:
            with TemporaryDirectory(prefix="fairport-") as folder:
                content = Path(folder) / path.name
                yield content
                with content.open("rb") as source, path.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    except BrokenPipeError:
        raise  # a reader that has left is no error
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}",
            field=option,
            value=str(path),
            remedy="name a file in a folder that exists and that you may write to",
        ) from None


def write_text(path: Path, option: str, text: str, *, force: bool) -> None:
    """Writes a text file that a user names, complete or not at all. Raises OutputError."""
    with atomic_file(path, option, force=force) as partial:
        partial.write_text(text, encoding="utf-8")


class _TriedError(Exception):
    """Ends a write that was begun to see whether it can be."""


def require_writable(path: Path, option: str, *, force: bool) -> None:
    """Raises OutputError for a path that `atomic_file` would refuse; changes nothing there."""
    with suppress(_TriedError), atomic_file(path, option, force=force):
        raise _TriedError


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file of Fairport's own, and makes its folders. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with partial_file(path) as partial:
        partial.write_bytes(content)
        partial.replace(path)


def _kind(path: Path) -> int | None:
    """The mode of what is at the path or where its link leads; None if there is nothing."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.stat().st_mode
    return None


def _is_of_the_system(path: Path) -> bool:
    """Whether it is a name for an open stream, such as /dev/stdout."""
    return path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc")
