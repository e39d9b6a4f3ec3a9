"""The version of the model, which decides a run's result together with its job and seed.

It consists of the release and a hash of the table of fingerprints, which a change of the model
changes. So machines with the same release share their runs. In a checkout the table may lag behind
the sources, so the version also depends on the built engine and on the Python sources that make
results.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from fairport import _core

_PACKAGE = Path(__file__).parents[1]

# No number of a record depends on these folders of the package.
_BEYOND_RECORDS = {"cli", "figures", "papers", "report", "storage", "study"}


@cache
def model_version() -> str:
    """The version, such as `0.1.0-4f0c2a9d11ee`."""
    table = json.loads(_core.FINGERPRINTS)
    fingerprints = {name: case["fingerprint"] for name, case in table.items()}
    digest = hashlib.blake2b(json.dumps(fingerprints, sort_keys=True).encode(), digest_size=6)
    for file in _sources():
        digest.update(file.read_bytes())
    return f"{_core.__version__}-{digest.hexdigest()}"


def _sources() -> list[Path]:
    """In a checkout, the sources on which a result depends; nothing in an installed release."""
    if not (_PACKAGE.parents[1] / "crates" / "python" / "Cargo.toml").is_file():
        return []
    parts = [part for part in _PACKAGE.glob("*") if part.name not in _BEYOND_RECORDS]
    sources = [part for part in parts if part.suffix == ".py"]
    sources += [path for part in parts for path in part.rglob("*.py")]
    return [Path(_core.__file__), *sorted(sources)]
