"""The store: records of runs on disk, so that what was run is not run again.

A record is found by what decides it: the version of the program, the job that the engine is given
(so neither the name of a scenario nor the way in which its units are written), and the seed. It
is a file `VERSION/JOB/SEED.record` below the store's folder, written whole or not at all; a
damaged one is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from fairport import _core
from fairport.study import record
from fairport.study.record import DamagedRecordError, Record

FOLDER_VARIABLE = "FAIRPORT_STORE"

# no number of a record depends on these folders of the package
_BEYOND_RECORDS = {"cli", "figures", "papers", "report", "study"}


class StoreWarning(UserWarning):
    """The store cannot do its work; results do not suffer from it."""


class Store:
    """Records below one folder, which is made when the first of them is written."""

    def __init__(self, folder: Path | None = None) -> None:
        """A store in `folder`; None: where FAIRPORT_STORE says, or in the user's cache folder."""
        self.folder = folder or default_folder()
        self._writable = True

    def has(self, job: str, seed: int) -> bool:
        """Whether there is a record, sound or not, of this job (`job_hash`) and seed."""
        return self._path(job, seed).exists()

    def get(self, job: str, seed: int) -> Record | None:
        """The record of this job and seed, when there is a sound one.

        Warns (StoreWarning) of a damaged one.
        """
        path = self._path(job, seed)
        try:
            return Record.from_bytes(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, DamagedRecordError) as error:
            warnings.warn(
                f"{path}: is no sound record ({error}); it is computed again",
                StoreWarning,
                stacklevel=2,
            )
            return None

    def put(self, job: str, seed: int, written: Record) -> None:
        """Writes a record. Warns once (StoreWarning) when the folder takes none."""
        if not self._writable:
            return
        path = self._path(job, seed)
        # two programs may write the same record at once: each under a name of its own
        partial = path.with_suffix(f".{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(written.to_bytes())
            partial.replace(path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            self._writable = False
            warnings.warn(
                f"{self.folder}: takes no records ({error.strerror or error}): what is run now is"
                f" run again the next time; {FOLDER_VARIABLE} names another folder",
                StoreWarning,
                stacklevel=2,
            )

    def size(self) -> tuple[int, int]:
        """How many records there are, of every version, and their bytes."""
        sizes = [path.stat().st_size for path in self.folder.glob("*/*/*.record")]
        return len(sizes), sum(sizes)

    def clear(self) -> None:
        """Removes every record, and nothing else that may lie in the folder."""
        for version in self.folder.glob("*/"):
            if any(version.glob("*/*.record")):
                shutil.rmtree(version)

    @property
    def version_folder(self) -> Path:
        """Where this version of the program keeps what it has."""
        return self.folder / program_version()

    def _path(self, job: str, seed: int) -> Path:
        return self.version_folder / job / f"{seed}.record"


def default_folder() -> Path:
    """Where FAIRPORT_STORE says, or `fairport/runs` in the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(caches or Path.home() / ".cache") / "fairport" / "runs"


def job_hash(job: Mapping[str, Any]) -> str:
    """Hash of a job without its seed: 32 hexadecimal digits."""
    document = {key: value for key, value in job.items() if key != "seed"}
    return _digest(json.dumps(document, sort_keys=True).encode(), size=16)


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
    files = [Path(_core.__file__), *sources, Path(record.__file__)]
    return f"{_core.__version__}-{_digest(*(file.read_bytes() for file in files), size=6)}"


def _digest(*contents: bytes, size: int) -> str:
    digest = hashlib.blake2b(digest_size=size)
    for content in contents:
        digest.update(content)
    return digest.hexdigest()
