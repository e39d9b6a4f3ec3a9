"""A folder of files that appear complete: on this machine, or anywhere that fsspec reaches.

A path is local; a text with `://` (`s3://bucket/study`) is opened through fsspec. In both cases a
reader sees all of a file or nothing: a local file gets its name when it is complete, and an object
store publishes an object when its upload has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from fairport.errors import InputError, OutputError, require_path
from fairport.files.partial import is_partial, remove_stale
from fairport.files.single import replace_file

_HERE = "file://"


class Folder(Protocol):
    """A folder. Names may have one `/`; reading a missing file raises FileNotFoundError."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    def names(self, folder: str = "") -> list[str]:
        """The files directly in the folder, in order; none if there is no folder."""

    def read(self, name: str) -> bytes:
        """A file's content."""

    def write(self, name: str, content: bytes) -> None:
        """Writes a complete file. Raises OutputError."""

    def remove(self, name: str) -> None:
        """Removes a file; a missing file is no error."""

    def local(self, name: str) -> Path | None:
        """The file's path on this machine; None if it has none."""


def place(where: str | Path) -> Folder:
    """The folder of that path or URL. Raises InputError for a URL that cannot be opened."""
    require_path(where, "folder")
    if isinstance(where, str) and "://" in where and not where.startswith(_HERE):
        return _Remote(where)
    return _Local(Path(str(where).removeprefix(_HERE)))


class _Local:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder)

    def names(self, folder: str = "") -> list[str]:
        try:
            found = list((self.folder / folder).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(path.name for path in found if path.is_file() and not is_partial(path))

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            replace_file(path, content)
        except FileExistsError:
            raise OutputError(
                "is a file, not a folder", file=self.name, remedy="give another `folder`"
            ) from None
        except OSError as error:
            raise OutputError(
                f"cannot be written: {error.strerror or error}",
                file=str(path),
                remedy="make space, or name a place that you may write to; the files that are"
                " there are complete",
            ) from None

    def remove(self, name: str) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        remove_stale(path)

    def local(self, name: str) -> Path | None:
        return self.folder / name


class _Remote:
    def __init__(self, url: str) -> None:
        self.name = url.rstrip("/")
        if self.name.endswith(":"):
            raise InputError(
                "names no place for files",
                file=url,
                remedy="give an address such as s3://BUCKET/NAME",
            )
        try:
            import fsspec

            self._files, self._root = fsspec.core.url_to_fs(self.name)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"cannot be opened: {error}",
                file=url,
                remedy="install fsspec and the package of this store: for S3, `pip install"
                " 'fairport[s3]'`",
            ) from None

    def names(self, folder: str = "") -> list[str]:
        # the cached listing lacks files that other processes write
        self._files.invalidate_cache()
        root = f"{self._root}/{folder}" if folder else self._root
        with _store_errors(self.name, "read"):
            try:
                found: list[dict[str, Any]] = self._files.ls(root, detail=True)
            except FileNotFoundError:
                return []
        files = (one["name"] for one in found if one["type"] == "file")
        return sorted(name.rpartition("/")[2] for name in files)

    def read(self, name: str) -> bytes:
        with _store_errors(f"{self.name}/{name}", "read"):
            content: bytes = self._files.cat_file(f"{self._root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        with _store_errors(f"{self.name}/{name}", "written"):
            self._files.pipe_file(f"{self._root}/{name}", content)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), _store_errors(f"{self.name}/{name}", "removed"):
            self._files.rm_file(f"{self._root}/{name}")

    def local(self, name: str) -> Path | None:
        return None


@contextmanager
def _store_errors(what: str, verb: str) -> Iterator[None]:
    """Turns whatever an object store's library raises into one kind of error.

    Only a file that cannot be read or removed may be missing; a write then lacks its bucket.
    """
    try:
        yield
    except FileNotFoundError as error:
        if verb != "written":
            raise
        problem: Exception = error
    except Exception as error:
        problem = error
    else:
        return
    raise OutputError(
        f"cannot be {verb}: {problem}",
        file=what,
        remedy="check the address, the store's endpoint and credentials, and that the bucket"
        " exists; no file there is incomplete",
    )
