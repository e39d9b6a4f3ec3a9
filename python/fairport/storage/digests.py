"""Checks that a run's folder holds what Fairport wrote, by a digest (SHA-256) of each file.

The manifest has the digests of all files that are read again. A file that a disk, a copy or a
person has changed is refused before it is used. The summary's list of files is left out, because it
grows when figures are drawn later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairport.storage.parts import MANIFEST, SUMMARY

KEY = "digests"


def digests(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], tables: Path
) -> dict[str, str]:
    """The digest of each file: the two documents, and the Parquet files in the folder of tables."""
    found = {
        MANIFEST: _of_document(manifest, KEY),
        SUMMARY: _of_document(summary, "files"),
    }
    for path in sorted(tables.glob("*.parquet")):
        found[f"{tables.name}/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def changed(manifest: Mapping[str, Any], summary: Mapping[str, Any], tables: Path) -> str | None:
    """The first file that has changed since it was written; None if none has. Raises OSError."""
    written = manifest.get(KEY)
    if not isinstance(written, dict):
        return MANIFEST
    found = digests(manifest, summary, tables)
    names = sorted({*written, *found})
    return next((name for name in names if written.get(name) != found.get(name)), None)


def _of_document(document: Mapping[str, Any], without: str) -> str:
    rest = {key: value for key, value in document.items() if key != without}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
