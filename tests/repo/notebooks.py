"""The notebooks of examples/: executed as a reader would, and renewed by `make renew WHAT=docs`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
_FORMAT: Any = nbformat  # nbformat has no types
FILES = sorted((ROOT / "examples").glob("*.ipynb"))


def read(file: Path) -> Any:
    """The notebook as it was saved."""
    return _FORMAT.read(file, as_version=4)


def executed(file: Path) -> Any:
    """The notebook with the outputs of this program, in an empty folder. A failing cell raises."""
    notebook = read(file)
    with tempfile.TemporaryDirectory() as folder:
        plain = {"NO_COLOR": "1", "FAIRPORT_STORE": f"{folder}/store"}
        client = NotebookClient(
            notebook,
            timeout=600,
            startup_timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=os.environ | plain)
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def texts(notebook: Any) -> str:
    """What its cells print on stdout, which is the same on every machine."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output["text"] for output in outputs if output.get("name") == "stdout")


def renew(file: Path) -> None:
    """Executes it and keeps the outputs."""
    _FORMAT.write(executed(file), file)
