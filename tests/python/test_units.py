"""Quantities with units: what can be read, exactly, and what is refused."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest
from fairport.scenario.units import ClockError, Duration, Limit, Quantity, Rate, Size, UnitError
from hypothesis import given
from hypothesis import strategies as st

KINDS = [Duration, Rate, Size, Limit, ClockError]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Size, "16KB", 16_000),
        (Size, "16kB", 16_000),
        (Size, "16KiB", 16_384),
        (Size, "1500B", 1_500),
        (Size, "1.5 MB", 1_500_000),
        (Rate, "1Gbps", 10**9),
        (Rate, "1.25Mbit/s", 1_250_000),
        (Rate, "100Gbps", 10**11),
        (Duration, "25us", 25_000_000),
        (Duration, "25\N{MICRO SIGN}s", 25_000_000),
        (Duration, "25\N{GREEK SMALL LETTER MU}s", 25_000_000),
        (Duration, "0.5ns", 500),
        (Duration, "1e3 s", 10**15),
        (Duration, "2min", 120 * 10**12),
        (ClockError, "100ppm", 100_000),
        (Limit, "100 packets", 100),
        (Limit, "1 packet", 1),
    ],
)
def test_k_is_1000_and_ki_is_1024(kind: type[Quantity], text: str, value: int) -> None:
    assert kind(text) == value


def test_a_limit_knows_what_it_counts() -> None:
    assert Limit("100 packets").in_packets
    assert not Limit("16KiB").in_packets
    assert Limit("16KiB") == Limit("16384B") == 16384
    assert Limit("16384 packets") != Limit("16KiB")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Size, "16XB", "unknown unit `XB`"),
        (Size, "16Kb", "unknown unit `Kb`"),
        (Size, "16", "no unit"),
        (Size, "KB", "cannot be read"),
        (Size, "", "cannot be read"),
        (Size, "0.5B", "not a whole number of bytes"),
        (Duration, "-1s", "negative"),
        (Duration, "0.1ps", "not a whole number of picoseconds"),
        (Duration, "1e20s", "larger than"),
        (Duration, "1e999999999s", "cannot be read"),
        (Duration, "nan s", "cannot be read"),
        (Rate, "1gbps", "unknown unit `gbps`"),
    ],
)
def test_what_cannot_be_read_is_said(kind: type[Quantity], text: str, problem: str) -> None:
    with pytest.raises(UnitError) as error:
        kind(text)
    assert problem in error.value.problem
    assert error.value.remedy


def test_wrong_case_is_guessed() -> None:
    with pytest.raises(UnitError) as error:
        Rate("1gbps")
    assert error.value.remedy == "did you mean `Gbps`?"


@given(
    kind=st.sampled_from(KINDS),
    number=st.decimals(min_value=0, max_value=10**6, places=6, allow_nan=False),
    data=st.data(),
)
def test_every_quantity_is_exact_and_keeps_its_text(
    kind: type[Quantity], number: object, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from(sorted(kind.units)))
    text = f"{number:f}{unit}"
    exact = Fraction(str(number)) * kind.units[unit]
    if exact.denominator != 1 or exact > kind.largest:
        with pytest.raises(UnitError):
            kind(text)
        return
    quantity = kind(text)
    assert quantity == exact
    assert str(quantity) == text
    for twin in (copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):
        assert twin == quantity
        assert twin.text == text


@given(st.text(max_size=30))
def test_no_text_does_anything_but_read_or_refuse(text: str) -> None:
    for kind in KINDS:
        try:
            quantity = kind(text)
        except UnitError:
            continue
        assert 0 <= quantity <= kind.largest
