"""Rows of runs in a few Parquet files, which several processes may write at once.

A writer collects rows and writes them as a separate file, completely or not at all. So writers
never wait for each other, and a killed writer loses the rows of at most a second. Many small files
are joined into one. The new one is complete before the old ones are removed, so a reader may find a
row twice but never misses one; rows with the same key are the same run, and one of them is read, if
possible one without an error. A file's name ends in its digest, because Parquet does not notice
most damage. Files of earlier versions have a shorter name, and are read without that check.
"""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import polars as pl

from fairport.errors import InputError
from fairport.files.place import Folder

Types = Mapping[str, type[pl.DataType]]

_ENDING = ".parquet"
_ERROR = "error"
_DIGEST = re.compile(r"-([0-9a-f]{32})\.parquet")
# While a study runs, this many files are joined into one, then this many of those, and so on: a row
# is written once per level, however long the study runs. At its end all files are joined.
_MOST_FILES = 32
_TRIES = 5


def parquet(rows: pl.DataFrame) -> bytes:
    """The rows as a file's content; polars itself does not report a full disk."""
    content = io.BytesIO()
    rows.write_parquet(content, compression="zstd")
    return content.getvalue()


class DamagedPartError(InputError):
    """A file of rows that is not as it was written."""

    part = ""
    """Its name."""


class Dataset:
    """The rows in one folder of a place."""

    def __init__(
        self,
        place: Folder,
        folder: str,
        key: Sequence[str],
        types: Types | None = None,
        flush_s: float = 1.0,
    ) -> None:
        """`key` are the columns by which runs differ.

        `types` are the types of columns that may have no value at all. Rows are written every
        `flush_s`.
        """
        self._types = types or {}
        self._flush_s = flush_s
        self.place = place
        self.folder = folder
        self._key = list(key)
        self._gathered: list[Mapping[str, Any]] = []
        self._lock = Lock()
        self._last_flush = time.monotonic()
        self._levels: list[list[str]] = []
        """The files that this process has written, by how often their rows were joined."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row, and writes the collected rows when it is time. Raises OutputError."""
        with self._lock:
            self._gathered.append(row)
            due = time.monotonic() - self._last_flush >= self._flush_s
        if due:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are not yet written. Raises OutputError."""
        with self._lock:
            self._last_flush = time.monotonic()
            if not self._gathered:
                return
            types = {name: of for name, of in self._types.items() if name in self._gathered[0]}
            name = self._write(
                pl.DataFrame(self._gathered, infer_schema_length=None, schema_overrides=types)
            )
            self._gathered = []
        self._join_full_levels(name)

    def read(self) -> pl.DataFrame:
        """Every run once. Raises DamagedPartError."""
        return self._read(self.files())[0]

    def remove(self, part: str) -> None:
        """Removes a file, with its rows. Raises OSError."""
        self.place.remove(f"{self.folder}/{part}")

    def files(self) -> list[str]:
        """The files, in the order in which they were made."""
        return [name for name in self.place.names(self.folder) if name.endswith(_ENDING)]

    def compact(self) -> None:
        """Joins all files into one. Raises OutputError, DamagedPartError."""
        names = self.files()
        if len(names) > 1:
            self._joined(names)
        self._levels = []

    def _join_full_levels(self, name: str, level: int = 0) -> None:
        """Adds a file to a level; if that is full, its files become one of the next level."""
        with self._lock:
            if level == len(self._levels):
                self._levels.append([])
            names = self._levels[level]
            names.append(name)
            if len(names) < _MOST_FILES:
                return
            self._levels[level] = []
        self._join_full_levels(self._joined(names), level + 1)

    def _joined(self, names: list[str]) -> str:
        """The name of the file that replaces these files."""
        rows, names = self._read(names)
        joined = self._write(rows)
        for name in names:
            self.remove(name)
        return joined

    def _write(self, rows: pl.DataFrame) -> str:
        content = parquet(rows)
        name = f"part-{time.time_ns():020}-{_digest(content)}{_ENDING}"
        self.place.write(f"{self.folder}/{name}", content)
        return name

    def _read(self, names: list[str]) -> tuple[pl.DataFrame, list[str]]:
        """The rows of the files, and the list of files that were read."""
        for _ in range(_TRIES):
            try:
                parts = [self._part(name) for name in names]
            except FileNotFoundError:
                # another process has joined several files into one
                names = self.files()
                continue
            if not parts:
                return pl.DataFrame(), []
            rows = pl.concat(parts, how="diagonal_relaxed")
            if _ERROR in rows.columns:  # a run that failed may have been repeated
                rows = rows.sort(pl.col(_ERROR).is_not_null(), maintain_order=True)
            return rows.unique(self._key, keep="first", maintain_order=True), names
        raise InputError(
            "changes faster than it can be read",
            file=f"{self.place.name}/{self.folder}",
            remedy="wait until the other commands that write there have ended",
        )

    def check(self, name: str) -> bytes:
        """A file's content. Raises DamagedPartError if it has changed since it was written."""
        content = self.place.read(f"{self.folder}/{name}")
        written = _DIGEST.search(name)
        if written and written[1] != _digest(content):
            raise self._damaged(name, "it is not as Fairport wrote it")
        return content

    def _part(self, name: str) -> pl.DataFrame:
        content = self.check(name)
        try:
            return pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(name, str(error).splitlines()[0]) from None

    def _damaged(self, name: str, reason: str) -> DamagedPartError:
        damaged = DamagedPartError(
            f"is damaged: {reason}",
            file=f"{self.place.name}/{self.folder}/{name}",
            remedy="remove this file; the same command then repeats the runs that it held",
        )
        damaged.part = name
        return damaged


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
