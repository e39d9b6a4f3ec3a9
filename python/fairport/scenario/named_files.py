"""Files that a scenario names: relative paths start from the folder of the scenario's own file.

Small files become a part of the scenario when it is read. Of a large one the scenario has the path
and the digest, so that it never means another content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from fairport.scenario.base import Section, refuse
from fairport.scenario.document import is_unicode


def absolute(path: str, info: ValidationInfo) -> str:
    """The file's absolute path, so that a run can be repeated from another folder.

    For a scenario without a file of its own, a relative path starts from the working folder.
    """
    folder: Path = (info.context or {}).get("folder", Path())
    return str(folder.absolute() / path)


def _is_digest(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise refuse("is not a SHA-256 in 64 hexadecimal digits", "`sha256sum FILE` prints it")
    return text


class FileWithDigest(Section):
    """A file and the digest of its content."""

    path: str
    """The file."""
    sha256: Annotated[str, AfterValidator(_is_digest)] | None = None
    """SHA-256 of its content, which is added when the scenario is read. A run refuses a file with
    another one."""

    @property
    def digest(self) -> str | None:
        """The digest of the content that is there now; None if it cannot be read, or only once."""
        path = Path(self.path)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        except OSError:
            return None

    @property
    def is_as_read(self) -> bool:
        """Whether the file has the content with which the scenario was read, as far as known."""
        return self.sha256 is None or self.digest == self.sha256


def _with_digest(given: Any, info: ValidationInfo) -> Any:
    """A path with the digest of its file; the error of a file that is missing is that of a run."""
    if isinstance(given, FileWithDigest):
        return given
    table = {"path": given} if isinstance(given, str) else given
    if not isinstance(table, dict):
        raise refuse("is not the path of a file", 'write it in quotes, such as "flows.csv"')
    if not isinstance(table.get("path"), str):
        return table
    table = table | {"path": absolute(table["path"], info)}
    if not is_unicode(table["path"]):
        raise refuse("is in a folder whose name is not UTF-8", "rename the folder")
    if "sha256" not in table:
        digest = FileWithDigest(path=table["path"]).digest
        table |= {} if digest is None else {"sha256": digest}
    return table


NamedFile = Annotated[
    FileWithDigest, BeforeValidator(_with_digest, json_schema_input_type=str | FileWithDigest)
]
"""The path of a file, to which its digest is added."""


def content_alone(document: Any) -> Any:
    """A scenario's document without the paths of files whose digests it has."""
    if isinstance(document, Mapping):
        return {
            name: content_alone(value)
            for name, value in document.items()
            if not (name == "path" and "sha256" in document)
        }
    return [content_alone(one) for one in document] if isinstance(document, list) else document
