"""Same scenario, seed and version: the same run, on every machine."""

import fairport as fp
import pytest
from fairport.backends.simulation import BACKEND
from fingerprints import CASES, expected, fingerprint


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_fingerprint_of_the_table(name: str) -> None:
    assert fingerprint(name) == expected()[name]["fingerprint"], (
        'moved on purpose? `make renew WHAT=fingerprints WHY="..."` renews it'
    )


# each case with one of these numbers: a short lookahead makes regions slow
REGIONS = [(name, (2, 3, 8)[number % 3]) for number, name in enumerate(CASES)]


@pytest.mark.parametrize(("name", "regions"), REGIONS)
def test_a_run_that_is_cut_into_regions_has_it_too(name: str, regions: int) -> None:
    scenario, overrides = CASES[name]
    patched = fp.scenario(scenario).patch(overrides)
    raw = BACKEND.prepare(patched, seed=patched.seed).simulation.run(regions=regions)
    assert raw["fingerprint"] == expected()[name]["fingerprint"]


def test_the_table_has_no_case_that_is_gone() -> None:
    assert list(expected()) == list(CASES)


def test_every_fingerprint_says_why_it_is_that_one() -> None:
    assert [name for name, case in expected().items() if not case["why"].strip()] == []
