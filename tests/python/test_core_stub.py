"""`_core.pyi` agrees with the compiled module: names, parameters, attributes."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import fairport
import pytest
from fairport import _core, custom

STUB = ast.parse((Path(fairport.__path__[0]) / "_core.pyi").read_text(encoding="utf-8"))


def public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_")}


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in arguments if argument.arg != "self"]


def test_the_stub_has_every_name_of_the_module_and_no_other() -> None:
    named = {
        node.name for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    } | {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert named - {"__version__"} == public(_core)
    assert "__version__" in named
    assert isinstance(_core.__version__, str)


@pytest.mark.parametrize(
    "function",
    [node for node in STUB.body if isinstance(node, ast.FunctionDef)],
    ids=lambda f: f.name,
)
def test_functions_take_the_parameters_of_the_stub(function: ast.FunctionDef) -> None:
    signature = inspect.signature(getattr(_core, function.name))
    assert list(signature.parameters) == parameters(function)


@pytest.mark.parametrize(
    "stub",
    [
        node
        for node in STUB.body
        if isinstance(node, ast.ClassDef) and node.name in custom.__all__ and node.bases == []
    ],
    ids=lambda one: one.name,
)
def test_help_has_the_stub_s_sentence_for_each_member_of_user_code_s_arguments(
    stub: ast.ClassDef,
) -> None:
    said = {
        node.name: ast.get_docstring(node)
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    for field, text in zip(stub.body, stub.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(text, ast.Expr)
            assert isinstance(text.value, ast.Constant)
            said[field.target.id] = str(text.value.value)
    shown = getattr(_core, stub.name)
    assert said == {
        name: " ".join((inspect.getdoc(getattr(shown, name)) or "").split())
        for name in public(shown)
    }


def test_a_simulation_has_the_members_of_the_stub() -> None:
    (stub,) = (
        node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "Simulation"
    )
    members = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert set(members) - {"__init__"} == public(_core.Simulation)
    run = inspect.signature(_core.Simulation.run)
    assert [name for name in run.parameters if name != "self"] == parameters(members["run"])
    assert list(inspect.signature(_core.Simulation).parameters) == parameters(members["__init__"])


def test_a_refused_job_names_field_value_problem_and_remedy() -> None:
    (stub,) = (
        node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "JobError"
    )
    fields = [
        node.target.id
        for node in stub.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    with pytest.raises(_core.JobError) as error:
        _core.topology_hosts('{"kind": "fat-tree", "k": 3}')
    assert all(isinstance(getattr(error.value, field), str) for field in fields)
    assert (error.value.field, error.value.value) == ("topology.k", "3")
