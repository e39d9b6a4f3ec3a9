"""The layers of the program: no module imports from a layer above its own.

Imports inside functions and under TYPE_CHECKING count like all others, and so do modules that are
named in a text to be imported later. The two lists below are the only place where the layers are
written down. A new module or crate has to be given its place in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTHON = (
    # Modules that need nothing else of Fairport. `_core` is the engine.
    {
        "_core",
        "children",
        "errors",
        "headers",
        "html_table",
        "ordered_threads",
        "quantities",
        "summary",
    },
    {"custom", "files", "payload", "tables", "toml", "workloads"},
    {"metrics", "published"},
    {"scenario"},
    {"result", "scripts"},
    # Backends, which run a scenario, and what is kept of a run.
    {"backends", "record"},
    {"layout", "microscope", "papers"},
    # Questions that need many runs.
    {"study"},
    # Figures and pages.
    {"figures"},
    {"report"},
    {"storage"},
    {"notebook", "run_and_save"},
    # `import fairport`, and the command line.
    {"fairport"},
    {"cli"},
    {"__main__"},
)
"""Modules and packages of python/fairport, the lowest layer first. Those of one layer do not
import each other."""

# A program that Fairport writes into files, to be run with Mininet.
_NOT_IMPORTED = {"layout/mininet_template.py"}

CRATES = (
    {"units"},
    {"net", "tcp"},
    {"wire", "record", "payload"},
    {"plan"},
    {"sim", "switch", "drill", "trace"},
    {"python"},
)
"""Crates, the lowest layer first."""

Imports = Mapping[str, set[str]]


def places(layers: Sequence[set[str]]) -> dict[str, int]:
    return {name: number for number, layer in enumerate(layers) for name in layer}


def upwards(imports: Imports, layers: Sequence[set[str]]) -> list[str]:
    """The imports that go up, or to a neighbour in the same layer."""
    place = places(layers)
    return sorted(
        f"{one} imports {other}"
        for one, others in imports.items()
        for other in others
        if one != other and place[other] >= place[one]
    )


def imported(text: str, module: str, is_package: bool, known: set[str]) -> Iterator[str]:
    """Names of the modules of Fairport that a source imports, wherever the import is."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                base = node.module or ""
                if node.level:
                    package = module.split(".")
                    package = package[: len(package) - node.level + is_package]
                    base = ".".join([*package, *([base] if base else [])])
                for alias in node.names:
                    submodule = f"{base}.{alias.name}"
                    yield submodule if submodule in known else base
            case ast.Constant(value=str(name)) if name in known and "." in name:
                yield name


def unit(module: str) -> str:
    """The module or package right below `fairport` that a module belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "fairport"


def python_imports() -> Imports:
    folder = ROOT / "python" / "fairport"
    sources = {}
    for file in folder.rglob("*.py"):
        if file.relative_to(folder).as_posix() in _NOT_IMPORTED:
            continue
        module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
        sources[module.removesuffix(".__init__")] = file
    known = {*sources, "fairport._core"}
    found: dict[str, set[str]] = {unit(module): set() for module in known}
    for module, file in sources.items():
        text = file.read_text(encoding="utf-8")
        for name in imported(text, module, file.name == "__init__.py", known):
            if name == "fairport" or name.startswith("fairport."):
                found[unit(module)].add(unit(name))
    return found


def crate_dependencies() -> Imports:
    """By crate, all crates of this workspace that its manifest names, also for tests and builds."""
    from fairport.toml.parser import loads

    found = {}
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        document = loads(manifest.read_text(encoding="utf-8"))
        tables = [document, *document.get("target", {}).values()]
        names = {
            name
            for table in tables
            for kind in ("dependencies", "dev-dependencies", "build-dependencies")
            for name in table.get(kind, {})
        }
        own = (name.removeprefix("fairport-") for name in names if name.startswith("fairport-"))
        found[manifest.parent.name] = set(own)
    return found


def test_every_module_and_crate_has_one_place() -> None:
    for found, layers in ((python_imports(), PYTHON), (crate_dependencies(), CRATES)):
        assert sum(map(len, layers)) == len(places(layers)), "a name is in two layers"
        assert found.keys() - places(layers).keys() == set(), "give these a place"
        assert places(layers).keys() - found.keys() == set(), "these are gone"


def test_no_python_module_imports_upwards() -> None:
    assert upwards(python_imports(), PYTHON) == []


def test_no_crate_depends_on_one_above_it() -> None:
    found = crate_dependencies()
    assert found["sim"] >= {"net", "tcp", "units"}
    assert upwards(found, CRATES) == []


@pytest.mark.parametrize(
    "source",
    [
        "from fairport.upper import thing",
        "import fairport.upper.deep",
        "from fairport import upper",
        "from .. import upper",
        "from ..upper import thing",
        "def f():\n    from fairport.upper import thing",
        "if TYPE_CHECKING:\n    from fairport.upper.deep import Thing",
        "import_module('fairport.upper')",
        "HOME = {'thing': 'fairport.upper.deep'}",
    ],
)
def test_an_import_upwards_is_found_wherever_it_is(source: str) -> None:
    known = {"fairport", "fairport.lower", "fairport.lower.here", "fairport.upper"}
    known.add("fairport.upper.deep")
    found = {unit(name) for name in imported(source, "fairport.lower.here", False, known)}
    assert upwards({"lower": found}, ({"lower"}, {"upper"})) == ["lower imports upper"]
