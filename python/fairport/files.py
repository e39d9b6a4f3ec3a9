"""A file that appears whole or not at all, where a command is told its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairport.errors import OutputError


@contextmanager
def appearing(path: Path, option: str) -> Iterator[Path]:
    """A new file to write, which takes the name `path` when the block ends well.

    It has the ending of `path`, by which figures know their format. When the block raises, nothing
    of it is left, and what stood at `path` is untouched. Raises OutputError, which names `option`,
    when it cannot be written.
    """
    partial = path.parent / f".{os.getpid()}.{path.name}"
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "is a folder")
        yield partial
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}",
            field=option,
            value=str(path),
            remedy="name a file in a folder that exists and takes it",
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
