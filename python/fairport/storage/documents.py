"""The manifest and the summary of a results folder: written, and read again with the tables.

The manifest has a digest of every file that is read again. A fault of a folder that is read is a
RunFolderError.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from fairport.errors import RunFolderError
from fairport.files import put_back
from fairport.storage import digests
from fairport.storage.parts import MANIFEST, SUMMARY, TABLES, files_below, write_json

Keys = Mapping[str, type]
"""The keys that a document must have, and the types of their values."""

# A key that only the manifest of this kind has, and the command that writes such a folder.
_KINDS = {
    "run": ("run_id", "run"),
    "comparison": ("fixes", "compare"),
    "validation": ("simulated", "validate"),
    "reproduction": ("experiments", "reproduce"),
}


def write(folder: Path, manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """Writes both into a folder that has everything else; returns the summary, with its `files`."""
    files = sorted([*files_below(folder), MANIFEST, SUMMARY])
    return replace(folder, manifest, {**summary, "files": files})


def replace(
    folder: Path, manifest: Mapping[str, Any], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes both in place of those that are there; returns the summary."""
    found = digests.digests(manifest, summary, folder / TABLES)
    write_json(folder / MANIFEST, {**manifest, digests.KEY: found})
    write_json(folder / SUMMARY, summary)
    return dict(summary)


def kind_of(folder: Path) -> str | None:
    """The kind of result in a folder: run, comparison, validation or reproduction.

    None if it has no manifest of Fairport's that can be read.
    """
    with suppress(OSError):
        return _kind(_document(folder / MANIFEST) or {})
    return None


def read(
    folder: Path, kind: str, manifest_keys: Keys, summary_keys: Keys
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest and the summary of a folder of this kind, after a check of all its files."""
    if not folder.exists():
        put_back(folder)
    manifest = read_json(folder, MANIFEST, manifest_keys, kind)
    summary = read_json(folder, SUMMARY, summary_keys, kind)
    _require_unchanged(folder, manifest, summary, kind)
    return manifest, summary


def read_json(folder: Path, name: str, keys: Keys, kind: str = "run") -> dict[str, Any]:
    """Reads the JSON file `name` of a folder; checks its keys and the types of their values."""
    try:
        document = _document(folder / name)
    except OSError:
        raise _not_of(kind, folder, f"{name} is missing") from None
    if document is None:
        raise _not_of(kind, folder, f"{name} cannot be read")
    found = _kind(document) if name == MANIFEST else None
    if found not in (None, kind):
        raise _not_of(kind, folder, f"it is a {found}")
    for key, expected in keys.items():
        if key not in document or not isinstance(document[key], expected):
            raise RunFolderError(
                f"is not what a {kind} of this version writes there",
                file=str(folder / name),
                field=key,
                remedy=f"it is damaged, or of another version: {_again(kind)}",
            )
    return document


def tables(folder: Path, names: Iterable[str]) -> dict[str, pl.DataFrame]:
    """The folder's tables of these names."""
    try:
        return {
            # not read as a pattern, because a folder may be named `a[b]`
            name: pl.read_parquet(folder / TABLES / f"{name}.parquet", glob=False)
            for name in names
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RunFolderError(
            f"holds no readable tables: {error}",
            file=str(folder),
            remedy="make the folder again",
        ) from None


def _document(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is something else in it. Raises OSError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        # not UTF-8, not JSON, a number of 5,000 digits, 1,000 brackets
        return None
    return document if isinstance(document, dict) else None


def _kind(manifest: Mapping[str, Any]) -> str | None:
    return next((kind for kind, (key, _) in _KINDS.items() if key in manifest), None)


def _require_unchanged(
    folder: Path, manifest: dict[str, Any], summary: dict[str, Any], kind: str
) -> None:
    """Checks that all files read later are as Fairport wrote them; there is no other check."""
    try:
        name = digests.changed(manifest, summary, folder / TABLES)
    except OSError as error:
        raise RunFolderError(
            f"cannot be read: {error.strerror}",
            file=error.filename or str(folder),
            remedy=f"check that you may read it, or {_again(kind)}",
        ) from None
    if name is not None:
        raise RunFolderError(
            f"is damaged: {name} is not as Fairport wrote it",
            file=str(folder),
            remedy=_again(kind),
        )


def _again(kind: str) -> str:
    """What to do if a folder of this kind cannot be used."""
    return f"run `fairport {_KINDS[kind][1]}` again"


def _not_of(kind: str, folder: Path, problem: str) -> RunFolderError:
    """The error for a folder that is not of this kind."""
    from fairport.study.results import DEFINITION

    runs = sorted(folder.glob(f"*/{MANIFEST}"))
    remedy = f"give a folder that `fairport {_KINDS[kind][1]}` wrote"
    if runs:
        remedy = f"it holds several: give one, such as {runs[0].parent}"
    elif (folder / DEFINITION).is_file():
        remedy = "it is a study: `fairport sweep FILE --out OTHER` makes its runs again"
    return RunFolderError(f"is not a {kind}: {problem}", file=str(folder), remedy=remedy)
