"""What the fields of a scenario mean: the docstring below each, read from the sources on demand.

pydantic can do the same while it makes a model (`use_attribute_docstrings`), which took a third of
the time that importing all models takes, for texts that few commands show.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from fairport.scenario.base import Section


def field_texts(model: type[Section]) -> dict[str, str]:
    """By field, inherited ones included, the text on one line."""
    texts: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, Section):
            texts |= attribute_texts(one)
    return texts


def attribute_texts(one: type) -> dict[str, str]:
    """By attribute that a class of its own file declares, the text on one line."""
    return _of_module(one.__module__).get(one.__qualname__, {})


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """By class, the docstrings of its attributes."""
    source = inspect.getsource(sys.modules[name])
    return {
        node.name: _of_class(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }


def _of_class(node: ast.ClassDef) -> dict[str, str]:
    texts = {}
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts
