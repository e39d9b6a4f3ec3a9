"""Hidden temporary files and folders: unique, locked while written, removed when stale.

A name is `.NAME.TOKEN.partial`; a file's name has its ending again at the end. A long NAME is
replaced by its digest, because file systems allow 255 bytes. The token is random, so two processes
with the same number (in two containers) have different names. In this package such a file or folder
is called partial. A lock shows whether its writer is still alive. Without such
locks (Windows, some network file systems) no partial one counts as stale.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TOKEN_BYTES = 8
_LONGEST_NAME_BYTES = 200
_NAME = re.compile(r"\.(?P<name>.+)\.(?P<token>[0-9a-f]{16})\.partial(?P<ending>\.[^.]+)?")

LIST = ".fairport.json"
"""A file that proves that Fairport made the folder: the list of what Fairport wrote there."""

_PROGRAM = "fairport"
# two successive renames take less time than this
_ENDED_AFTER_S = 60.0


def is_partial(path: Path) -> bool:
    """Whether the path's name is that of a partial file or folder."""
    return _NAME.fullmatch(path.name) is not None


@contextmanager
def partial_file(final: Path) -> Iterator[Path]:
    """An empty file to fill, beside `final` and with its ending, by which figures know the format.

    The caller renames it to its place; if it is still there at the end, it is removed.
    """
    remove_stale(final)
    while True:
        partial = _name(final, final.suffix)
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(descriptor)  # Windows cannot rename an open file
            break
        if _is_ours(descriptor, partial):
            break
        os.close(descriptor)
    try:
        yield partial
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(descriptor)


@contextmanager
def partial_folder(final: Path) -> Iterator[Path]:
    """An empty folder to fill, beside `final`.

    The caller renames it to its place; if it is still there at the end, it is removed. It begins
    with an empty list of files, which proves that it may be removed if its writer is killed.
    """
    remove_stale(final)
    while True:
        partial = _name(final)
        partial.mkdir(parents=True)
        lock = _locked(partial)
        if partial.exists() if lock is None else _is_ours(lock, partial):
            break
        if lock is not None:
            os.close(lock)
    try:
        write_list(partial, [])
        yield partial
    finally:
        _remove(partial)
        if lock is not None:
            os.close(lock)


@contextmanager
def moved_aside(folder: Path) -> Iterator[Path]:
    """Moves a results folder into a hidden one; if it is still there at the end, it is removed.

    If the process is killed meanwhile, `put_back` restores it.
    """
    with partial_folder(folder) as place:
        # without its list nobody may remove it as a partial folder
        (place / LIST).unlink()
        folder.rename(place / folder.name)
        yield place / folder.name
        with suppress(OSError):
            write_list(place, [])


def put_back(final: Path) -> None:
    """Restores the results folder that a killed process had moved aside to replace it.

    If another result is there by now, the earlier one has been replaced and is removed.
    """
    for place in _partials(final):
        earlier = place / final.name
        if not _holds_only(place, earlier):
            continue
        with suppress(OSError), _unused(place) as is_unused:
            if not is_unused:
                continue
            if not os.path.lexists(final):
                earlier.rename(final)
                _remove(place)
            elif listed(final) is not None:
                write_list(place, [])
                _remove(place)


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Whether no other process is alone in the folder. Where there are no locks, none is."""
    lock = _locked(folder, wait=False)
    try:
        yield lock is not None or not _can_be_locked(folder)
    finally:
        if lock is not None:
            os.close(lock)


def listed(folder: Path) -> set[str] | None:
    """The files in the folder's list; None for a folder without a list of Fairport's."""
    try:
        document = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("program") != _PROGRAM:
        return None
    names = document.get("files")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return set(names)


def write_list(folder: Path, names: Iterable[str]) -> None:
    """Writes the list of files into a folder; if the process is killed here, the old list stays."""
    document = {"program": _PROGRAM, "files": sorted(names)}
    with partial_file(folder / LIST) as partial:
        partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        partial.replace(folder / LIST)


def remove_stale(final: Path) -> None:
    """Removes what is partial of `final` and whose writers are dead."""
    put_back(final)
    for partial in _partials(final):
        with suppress(OSError):
            lock = _locked(partial, wait=False)
            if lock is None:
                continue
            try:
                if partial.is_dir() and _may_be_removed(partial):
                    _remove(partial)
                elif partial.is_file():
                    partial.unlink()
            finally:
                os.close(lock)


def _partials(final: Path) -> list[Path]:
    """Everything beside `final` with a hidden name made from its name, whoever made it."""
    try:
        siblings = list(final.parent.iterdir())
    except OSError:
        return []
    return [
        path
        for path in siblings
        if (found := _NAME.fullmatch(path.name))
        and found["name"] == _short(final.name)
        and not path.is_symlink()
    ]


def _holds_only(place: Path, result: Path) -> bool:
    """Whether a folder holds nothing but this results folder, or is empty."""
    try:
        found = [path for path in place.iterdir() if not is_partial(path)]
        is_ours = listed(result) is not None or not any(result.iterdir())
        return found == [result] and not result.is_symlink() and is_ours
    except OSError:
        return False


@contextmanager
def _unused(place: Path) -> Iterator[bool]:
    """Whether the writer of a partial folder has ended. Without locks its age decides."""
    lock = _locked(place, wait=False)
    if lock is not None:
        try:
            yield True
        finally:
            os.close(lock)
    else:
        yield not _can_be_locked(place) and time.time() - place.stat().st_mtime > _ENDED_AFTER_S


def _can_be_locked(path: Path) -> bool:
    """Whether the file system has locks; a lock held by another process shows that it has."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _name(final: Path, ending: str = "") -> Path:
    return final.parent / f".{_short(final.name)}.{secrets.token_hex(_TOKEN_BYTES)}.partial{ending}"


def _short(name: str) -> str:
    content = os.fsencode(name)
    if len(content) <= _LONGEST_NAME_BYTES:
        return name
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _remove(folder: Path) -> None:
    """Removes a folder, its list last, so that the remains may be removed after a kill."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LIST:
                path.unlink()
        if all(path.name == LIST for path in folder.iterdir()):
            shutil.rmtree(folder)


def _may_be_removed(partial: Path) -> bool:
    """Whether a partial folder is Fairport's: it has a list, or is too new to have one."""
    return listed(partial) is not None or all(map(is_partial, partial.iterdir()))


def _locked(path: Path, *, wait: bool = True) -> int | None:
    """An open descriptor that holds the lock; None if the lock cannot be taken."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _is_ours(descriptor: int, path: Path) -> bool:
    """Locks the open file; whether it is still at its path (another may have removed it)."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        there = path.stat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))
