"""Modules that import each other in a circle: in Python none, in crates only those listed here.

No circle exists between crates or Python packages (test_layers.py). Inside a crate, a module is a
file or folder right below `src`. In Python a module is a file. Imports inside functions count,
those under TYPE_CHECKING and names in texts do not. Two modules that use each other have to be read
together, so a circle is accepted only where taking it apart would be harder to read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from test_layers import imported

ROOT = Path(__file__).parents[2]

ACCEPTED = {
    ("tcp", frozenset({"congestion", "recovery", "settings", "sizing"})): (
        "`settings` is one flat list, whose fields name the algorithms; each algorithm is built"
        " from the list."
    ),
}

Uses = Mapping[str, set[str]]


def code(text: str) -> str:
    """A source without comments and without its unit tests, which come last in a file."""
    text = re.sub(r"//.*", "", text)
    return text.split("#[cfg(test)]\nmod tests {")[0]


def first_names(path: str) -> Iterator[str]:
    """The first names of `a::b`, or of each part of `{a::b, c::{d, e}}`."""
    if not path.startswith("{"):
        yield path
        return
    depth = 0
    part = ""
    for sign in path[1:]:
        depth += (sign == "{") - (sign == "}")
        if depth < 0 or (sign == "," and depth == 0):
            yield part.strip().split("::")[0]
            part = ""
        else:
            part += sign
        if depth < 0:
            return


def used(text: str, module: list[str]) -> Iterator[str]:
    """Names right below the crate that a module's source names by `crate::` or `super::`."""
    for match in re.finditer(r"\bcrate::(\{[^;]*|\w+)", code(text)):
        yield from first_names(match[1])
    for match in re.finditer(r"\b((?:super::)+)(\{[^;]*|\w+)", code(text)):
        if match[1].count("super::") >= len(module):
            yield from first_names(match[2])


def module_of(file: Path, source: Path) -> list[str]:
    """The path of a file's module, from the crate down."""
    return list(file.relative_to(source).with_suffix("").parts)


def modules_of_tests(text: str) -> list[str]:
    """The modules below this one that are built only for tests."""
    return re.findall(r"#\[cfg\(test\)\]\s*(?:#\[[^]]*\]\s*)*mod (\w+);", text)


def module_uses(source: Path) -> Uses:
    """By module right below a crate's `src`, the others that it uses."""
    files = {tuple(module_of(file, source)): file for file in source.rglob("*.rs")}
    texts = {module: file.read_text(encoding="utf-8") for module, file in files.items()}
    tests = {(*module, name) for module, text in texts.items() for name in modules_of_tests(text)}
    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        module = list(path)
        is_test = any(path[:depth] in tests for depth in range(1, len(path) + 1))
        if module[0] in {"lib", "main"} or module[-1] in {"tests", "fixtures"} or is_test:
            continue
        found.setdefault(module[0], set()).update(used(text, module))
    return {module: (names & found.keys()) - {module} for module, names in found.items()}


class _WhatRuns(ast.NodeTransformer):
    """Leaves out imports for type checkers only, and texts."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def python_uses(package: Path) -> Uses:
    """By module of a Python package, the others of it that are imported when it runs."""
    sources = {}
    for file in package.rglob("*.py"):
        module = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        sources[module.removesuffix(".__init__")] = file
    found = {}
    for module, file in sources.items():
        tree = _WhatRuns().visit(ast.parse(file.read_text(encoding="utf-8")))
        is_package = file.name == "__init__.py"
        names = set(imported(ast.unparse(tree), module, is_package, {*sources}))
        found[module] = (names & sources.keys()) - {module}
    return found


def reached(start: str, uses: Uses) -> set[str]:
    """The modules that are used by `start`, directly or through others."""
    seen: set[str] = set()
    ahead = list(uses[start])
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead.extend(uses[module])
    return seen


def circles(uses: Uses) -> set[frozenset[str]]:
    """The sets of modules that all use each other, directly or through others."""
    reach = {module: reached(module, uses) for module in uses}
    return {
        frozenset(other for other in uses if other in reach[module] and module in reach[other])
        for module in uses
        if module in reach[module]
    }


def test_no_modules_use_each_other_in_a_circle_without_a_written_reason() -> None:
    found = {
        (crate.parent.name, circle)
        for crate in (ROOT / "crates").glob("*/src")
        for circle in circles(module_uses(crate))
    }
    assert found - ACCEPTED.keys() == set(), "take it apart, or write down why not"
    assert ACCEPTED.keys() - found == set(), "it is gone"


def test_no_python_modules_import_each_other_in_a_circle() -> None:
    uses = python_uses(ROOT / "python" / "fairport")
    found = {
        frozenset(name.removeprefix("fairport.") for name in circle) for circle in circles(uses)
    }
    assert found == set(), "take it apart"


def test_a_circle_is_found_through_a_third_module_and_through_super(tmp_path: Path) -> None:
    sources = {
        "a.rs": "use crate::{b::Thing, c};\n",
        "b.rs": "mod deep;\n",
        "b/deep.rs": "use super::super::c::Thing;\n",
        "c.rs": "fn f() { crate::a::g() } // crate::d\n",
        "d.rs": "use super::a;\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n",
        "e.rs": "#[cfg(test)]\nmod against_model;\nuse crate::a;\n",
        "e/against_model.rs": "use crate::f;\n",
        "f.rs": "use crate::e;\n",
        "lib.rs": "mod a; mod b; mod c; mod d; use crate::d;\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert circles(module_uses(tmp_path)) == {frozenset("abc")}


def test_a_circle_of_python_modules_is_found_through_an_import_in_a_function(
    tmp_path: Path,
) -> None:
    sources = {
        "__init__.py": "",
        "a.py": "from house.b import thing\n",
        "b.py": "def f():\n    from house import a\n",
        "c.py": "if TYPE_CHECKING:\n    from house.d import Thing\nHOME = 'house.d'\n",
        "d.py": "import house.c\n",
    }
    house = tmp_path / "house"
    house.mkdir()
    for name, text in sources.items():
        (house / name).write_text(text, encoding="utf-8")
    assert circles(python_uses(house)) == {frozenset({"house.a", "house.b"})}
