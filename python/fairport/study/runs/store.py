"""The store: finished runs on disk, so that they are not made again. All commands share one.

The key of a run is what decides it: the version of the model, the run's own key (the backend and
its job, so neither the name of a scenario nor the way in which its units are written), and the
seed. Below the folder of the version are

- `runs/*.parquet`: the numbers of every run, a row each (`fairport.study.runs.dataset`);
- `KEY/SEED.record`: the tables of those runs that were compared or reproduced.

What is damaged counts as missing. The store's folder has a mark, and only files with names as above
are counted and removed, because the variable FAIRPORT_STORE may name a folder that also has other
files.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from fairport.errors import InputError, require_path
from fairport.files import is_partial, replace_file
from fairport.files.place import place
from fairport.metrics.run_numbers import TYPES
from fairport.record import DamagedRecordError, Record
from fairport.study.runs.dataset import DamagedPartError, Dataset
from fairport.study.runs.model_version import model_version

FOLDER_VARIABLE = "FAIRPORT_STORE"

KEY = ("key", "seed")
"""The columns by which the runs of a version differ."""

_MARK = "fairport-store"
_MARK_TEXT = "Fairport keeps records of runs here. `fairport store --clear` removes them.\n"
# a later format has its number in a second line of the mark
_LATER = re.compile(re.escape(_MARK_TEXT) + r"format (\d+)\n")
_RUNS = "runs"
# a study writes its own rows every second; rows lost here are there, or are made again
_FLUSH_S = 5.0
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*-[0-9a-f]{12}")
_OWN_FILE = re.compile(
    r"[a-z]+-[0-9a-f]{32}[\w.+-]*/\d+\.record|reproduced/[\w.-]+\.json|runs/part-[\w-]+\.parquet"
)


T = TypeVar("T")


class StoreWarning(UserWarning):
    """The store cannot be read or written; results are the same without it."""


class Store:
    """Records below one folder, which is made when the first record is written."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """A store in `folder`; None: FAIRPORT_STORE, or a folder in the user's cache."""
        if folder is not None:
            require_path(folder, "folder")
        self.folder = Path(folder or default_folder())
        self._writable = True
        self._has_mark = False
        later = _LATER.fullmatch(self._mark())
        if later:
            raise InputError(
                f"has format {later[1]}, which a newer version of Fairport wrote",
                file=str(self.folder),
                remedy=f"use that version, or name another folder with {FOLDER_VARIABLE}",
            )
        self._runs = Dataset(place(self.folder / model_version()), _RUNS, KEY, TYPES, _FLUSH_S)

    def has(self, key: str, seed: int) -> bool:
        """Whether there is a record of this run (`Prepared.key`) and seed, even a damaged one."""
        return self._path(key, seed).exists()

    def get(self, key: str, seed: int) -> Record | None:
        """The record of this run and seed; None if there is no undamaged one.

        Warns (StoreWarning) about a damaged one.
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
        """Writes a record. Warns once (StoreWarning) if the folder cannot be written."""
        content = written.to_bytes()
        self._try_to(lambda: self._write(self._path(key, seed), content))

    def numbers(self) -> pl.DataFrame:
        """The numbers of all runs of this version: one row per run, with `key` and `seed`.

        Warns (StoreWarning) about a damaged file, which is removed, and if none can be read.
        """
        try:
            return self._undamaged(self._runs.read)
        except (InputError, OSError) as error:
            warnings.warn(f"{error}; its runs are computed again", StoreWarning, stacklevel=2)
            return pl.DataFrame()

    def add_numbers(self, row: Mapping[str, Any]) -> None:
        """Adds a run's row; it is on disk within seconds, or after `flush`. Warns like `put`."""
        self._try_to(lambda: self._runs.add(row))

    def flush(self) -> None:
        """Writes the rows that are not yet written, and joins files."""
        self._try_to(self._runs.flush)
        self._try_to(lambda: self._undamaged(self._runs.compact))

    def size(self) -> tuple[int, int]:
        """The number of records of every version, and the bytes of everything that is kept."""
        sizes = {path: path.stat().st_size for path in self._own_files()}
        return sum(path.suffix == ".record" for path in sizes), sum(sizes.values())

    def clear(self) -> None:
        """Removes all records of all versions, and no other file.

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
                with suppress(OSError):  # it contains other files
                    folder.rmdir()

    def note(self, name: str, content: bytes) -> None:
        """Writes a note that goes with this version's records: `reproduced/NAME.json`.

        Raises OSError.
        """
        self._write(self.note_path(name), content)

    def note_path(self, name: str) -> Path:
        """The path of a note that `note` writes."""
        return self.folder / model_version() / "reproduced" / f"{name}.json"

    def _undamaged(self, use: Callable[[], T]) -> T:
        """Uses the rows without those of damaged files, which are removed: their runs are repeated.

        Raises OSError if one cannot be removed.
        """
        while True:
            try:
                return use()
            except DamagedPartError as error:
                if not _OWN_FILE.fullmatch(f"{_RUNS}/{error.part}"):
                    raise
                self._runs.remove(error.part)
                warnings.warn(
                    f"{error}; it is removed, and its runs are computed again",
                    StoreWarning,
                    stacklevel=4,
                )

    def _try_to(self, write: Callable[[], None]) -> None:
        """Writes; if the folder cannot be written, there is one warning, and no result is lost."""
        if not self._writable:
            return
        try:
            self._set_mark()
            write()
        except (OSError, InputError) as error:
            self._writable = False
            said = error.problem if isinstance(error, InputError) else error.strerror or error
            warnings.warn(
                f"{self.folder}: cannot be written ({said}): these runs will be"
                f" computed again next time; {FOLDER_VARIABLE} names another folder",
                StoreWarning,
                stacklevel=3,
            )

    def _write(self, path: Path, content: bytes) -> None:
        self._set_mark()
        replace_file(path, content)

    def _set_mark(self) -> None:
        # checked once, because a study adds a row every few milliseconds
        if not self._has_mark and not self._is_marked():
            replace_file(self.folder / _MARK, _MARK_TEXT.encode())
        self._has_mark = True

    def _is_marked(self) -> bool:
        return self._mark() == _MARK_TEXT

    def _mark(self) -> str:
        with suppress(OSError, UnicodeDecodeError):
            return (self.folder / _MARK).read_text(encoding="utf-8")
        return ""

    def _own_files(self) -> Iterator[Path]:
        """Records and notes of every version, and the remains of killed writers."""
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
        return self.folder / model_version() / key / f"{seed}.record"


def default_folder() -> Path:
    """The folder in FAIRPORT_STORE, or `fairport/runs` in the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        folder = Path(caches or Path.home() / ".cache")
    except RuntimeError:
        # a user without a home folder: nothing is kept, and a warning names FAIRPORT_STORE
        folder = Path(os.devnull)
    return folder / "fairport" / "runs"
