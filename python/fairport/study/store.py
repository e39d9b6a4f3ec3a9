"""The store: records of runs on disk, so that what was run is not run again.

A record is found by what decides it: the version of the program, the run's key (the backend and the
job that it is given, so neither the name of a scenario nor the way in which its units are written),
and the seed. It is a file `VERSION/KEY/SEED.record` below the store's folder. A damaged record
counts as none.

The store's folder has a mark, and only files with names as above are counted and removed: the
variable FAIRPORT_STORE may name a folder with other things in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from fairport import _core
from fairport.errors import InputError
from fairport.files import is_partial, replace_file
from fairport.record import DamagedRecordError, Record

FOLDER_VARIABLE = "FAIRPORT_STORE"

# No number of a record depends on these folders of the package.
_BEYOND_RECORDS = {"cli", "figures", "papers", "report", "storage", "study"}

_MARK = "fairport-store"
_MARK_TEXT = "Fairport keeps records of runs here. `fairport store --clear` removes them.\n"
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*-[0-9a-f]{12}")
_OWN_FILE = re.compile(r"[a-z]+-[0-9a-f]{32}[\w.+-]*/\d+\.record|reproduced/[\w.-]+\.json")


class StoreWarning(UserWarning):
    """The store cannot be read or written; results are the same without it."""


class Store:
    """Records below one folder, which is made when the first of them is written."""

    def __init__(self, folder: Path | None = None) -> None:
        """A store in `folder`; None: where FAIRPORT_STORE says, or in the user's cache folder."""
        self.folder = folder or default_folder()
        self._writable = True

    def has(self, key: str, seed: int) -> bool:
        """Whether there is a record, sound or not, of this run (`Prepared.key`) and seed."""
        return self._path(key, seed).exists()

    def get(self, key: str, seed: int) -> Record | None:
        """The record of this run and seed, when there is a sound one.

        Warns (StoreWarning) of a damaged one.
        """
        path = self._path(key, seed)
        try:
            return Record.from_bytes(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, DamagedRecordError) as error:
            warnings.warn(
                f"{path}: is damaged ({error}); the run is computed again",
                StoreWarning,
                stacklevel=2,
            )
            return None

    def put(self, key: str, seed: int, written: Record) -> None:
        """Writes a record. Warns once (StoreWarning) when the folder takes none."""
        if not self._writable:
            return
        try:
            self._write(self._path(key, seed), written.to_bytes())
        except OSError as error:
            self._writable = False
            warnings.warn(
                f"{self.folder}: cannot be written ({error.strerror or error}): the next time these"
                f" runs are computed again; {FOLDER_VARIABLE} names another folder",
                StoreWarning,
                stacklevel=2,
            )

    def size(self) -> tuple[int, int]:
        """How many records there are, of every version, and their bytes."""
        sizes = [path.stat().st_size for path in self._own_files() if path.suffix == ".record"]
        return len(sizes), sum(sizes)

    def clear(self) -> None:
        """Removes every record, of every version, and no other file.

        Raises InputError for a folder that is not empty and has no mark of a store.
        """
        if not self.folder.is_dir():
            return
        if not self._is_marked():
            if any(self.folder.iterdir()):
                raise InputError(
                    "is not a store of Fairport, so nothing there is removed",
                    file=str(self.folder),
                    remedy=f"{FOLDER_VARIABLE} names the store; remove what is there yourself",
                )
            return
        for path in list(self._own_files()):
            path.unlink(missing_ok=True)
            for folder in (path.parent, path.parent.parent):
                with suppress(OSError):  # others' files are in it
                    folder.rmdir()

    def note(self, name: str, content: bytes) -> None:
        """Writes a note that goes with this version's records: `reproduced/NAME.json`.

        Raises OSError.
        """
        self._write(self.note_path(name), content)

    def note_path(self, name: str) -> Path:
        """Where `note` writes."""
        return self.folder / program_version() / "reproduced" / f"{name}.json"

    def _write(self, path: Path, content: bytes) -> None:
        if not self._is_marked():
            replace_file(self.folder / _MARK, _MARK_TEXT.encode())
        replace_file(path, content)

    def _is_marked(self) -> bool:
        with suppress(OSError, UnicodeDecodeError):
            return (self.folder / _MARK).read_text(encoding="utf-8") == _MARK_TEXT
        return False

    def _own_files(self) -> Iterator[Path]:
        """Records and notes of every version, and what killed writers left of them."""
        if not self._is_marked():
            return
        for path in self.folder.glob("*/*/*"):
            version, folder, name = path.relative_to(self.folder).parts
            if is_partial(path):
                name = name[1:].rpartition(".partial")[0].rpartition(".")[0]
            own = _VERSION.fullmatch(version) and _OWN_FILE.fullmatch(f"{folder}/{name}")
            if own and path.is_file() and not path.is_symlink():
                yield path

    def _path(self, key: str, seed: int) -> Path:
        return self.folder / program_version() / key / f"{seed}.record"


def default_folder() -> Path:
    """Where FAIRPORT_STORE says, or `fairport/runs` in the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(caches or Path.home() / ".cache") / "fairport" / "runs"


@cache
def program_version() -> str:
    """The version, and a hash of the engine and of the code between it and a record.

    The hash, because whoever works on the program changes it without changing its version.
    """
    package = Path(__file__).parents[1]
    sources = sorted(
        path
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in _BEYOND_RECORDS
    )
    digest = hashlib.blake2b(digest_size=6)
    for file in (Path(_core.__file__), *sources):
        digest.update(file.read_bytes())
    return f"{_core.__version__}-{digest.hexdigest()}"
