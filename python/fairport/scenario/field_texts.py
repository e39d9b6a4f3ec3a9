"""The meanings of a scenario's fields: the docstring below each, read from the sources on demand.

pydantic can read them while it makes a model (`use_attribute_docstrings`), but that took a third of
the time for importing all models, and few commands show the texts.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from fairport.scenario.base import Section


def field_texts(model: type[Section]) -> dict[str, str]:
    """The text of each field on one line, inherited fields included."""
    texts: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, Section):
            texts |= attribute_texts(one)
    return texts


def attribute_texts(one: type) -> dict[str, str]:
    """The text of each attribute on one line, of classes declared in one file."""
    return _of_module(one.__module__).get(one.__qualname__, {})


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """The docstrings of attributes, by class."""
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
