"""The summary has the keys that its type declares, with values of the types declared."""

from __future__ import annotations

from typing import Any

import fairport as fp
import pytest
from fairport import summary
from fairport.metrics.repeats import summarise
from pydantic import ConfigDict, TypeAdapter, ValidationError
from test_run_numbers import CASES
from typing_extensions import is_typeddict

# no key but those declared, at any depth
for _one in vars(summary).values():
    if is_typeddict(_one):
        _one.__pydantic_config__ = ConfigDict(extra="forbid")
_DECLARED = TypeAdapter(summary.Summary)


@pytest.mark.parametrize("case", CASES)
def test_every_key_is_declared_with_its_type(case: str) -> None:
    name, patch = CASES[case]
    result = fp.run(fp.scenario(name).patch(patch))
    _DECLARED.validate_python(result.summary, strict=True)


def test_over_several_seeds_it_has_the_same_keys() -> None:
    name, patch = CASES["rounds, UDP and bulk"]
    scenario = fp.scenario(name).patch(patch)
    several = summarise([dict(run.summary) for run in fp.run_many(scenario, [1, 2])])
    assert list(several["runs"][0]) == [key for key in several if key != "runs"]
    for one in several["runs"]:
        _DECLARED.validate_python(one, strict=True)


def test_a_key_that_is_not_declared_is_noticed() -> None:
    name, patch = CASES["one lone flow"]
    found: dict[str, Any] = dict(fp.run(fp.scenario(name).patch(patch)).summary)
    found["traffic"] = [found["traffic"][0] | {"goodput": 1.0}]
    with pytest.raises(ValidationError, match=r"traffic\.0\.goodput"):
        _DECLARED.validate_python(found)
