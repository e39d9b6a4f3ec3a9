"""Files that a scenario names: relative paths start from the folder of the scenario's own file."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationInfo


def absolute(path: str, info: ValidationInfo) -> str:
    """The file's absolute path, so that a run can be repeated from another folder.

    For a scenario without a file of its own, a relative path starts from the working folder.
    """
    folder: Path = (info.context or {}).get("folder", Path())
    return str(folder.absolute() / path)
