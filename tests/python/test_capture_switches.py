"""Captures of several switches given together: found out, and never joined as if of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from captures import Captured, as_tcpdump_writes, captured, delayed, thinned
from fairport.backends.captures import CaptureError, Role, Source, analyse
from fairport.metrics import fairness

# s0 leads to the receiver, s1 to s0
NEAR, FAR = "s0:0", "s1:0"
Name = Callable[[str, str], str]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    changed = {"duration": "100ms", "topology.peers": 4}
    scenario = fp.scenario("two-switch").patch(changed)
    return captured(scenario, [NEAR, FAR], tmp_path_factory.mktemp("chain") / "run")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Another switch of another network."""
    scenario = fp.scenario("outcast").patch({"duration": "100ms"})
    return captured(scenario, ["edge0.0:0"], tmp_path_factory.mktemp("other") / "run")


@pytest.fixture(scope="module", params=["directed", "as-tcpdump"])
def named(
    chain: Captured, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Name:
    """A capture's path by side and port, with or without directions in it."""
    folder = tmp_path_factory.mktemp(request.param)

    def path(side: str, port: str) -> str:
        file = chain.file(side, port)
        if request.param == "directed":
            return str(file)
        to = folder / f"{port[:2]}-{side}.pcap"
        if not to.exists():
            as_tcpdump_writes(file, to)
        return str(to)

    return path


def drops(result: fp.Result) -> pl.DataFrame:
    """Drops without their times: the captures of the earlier switch begin earlier."""
    return result.drops.select("seq", "port_arrival", "ingress_arrival", "flow_arrival")


def test_the_switch_nearest_to_the_receiver_is_joined_and_the_other_one_left_out(
    named: Name,
) -> None:
    near = [named("ingress", NEAR), named("egress", NEAR)]
    far = [named("ingress", FAR), named("egress", FAR)]
    result, alone = analyse([*near, *far]), analyse(near)
    assert drops(result).equals(drops(alone))
    assert result.summary["captures"]["egress"] == alone.summary["captures"]["egress"]
    said = f"{far[0]} and {far[1]} show packets of these ports once more, perhaps at another switch"
    assert f"{said}, and are left out." in result.summary["caveats"]


def test_a_link_between_two_switches_is_no_switch(chain: Captured, tmp_path: Path) -> None:
    """Even if the earlier switch's output has more data than the one nearest to the receiver."""
    less = tmp_path / "less.pcapng"
    thinned(chain.file("egress", NEAR), 0.5, less)
    far = [chain.file("ingress", FAR), chain.file("egress", FAR)]
    result = analyse([*map(str, far), str(chain.file("ingress", NEAR)), str(less)])
    assert result.summary["captures"]["egress"] == [NEAR]
    assert set(result.summary["captures"]["ingress"]) == {"s0:1", "s0:2"}


def test_an_output_further_on_is_left_out(chain: Captured) -> None:
    far = [chain.file("ingress", FAR), chain.file("egress", FAR)]
    result = analyse([*map(str, far), str(chain.file("egress", NEAR))])
    assert result.summary["captures"]["egress"] == [FAR]
    assert drops(result).equals(drops(analyse([*map(str, far)])))


@pytest.mark.parametrize(
    ("side", "problem"),
    [
        ("ingress", "shows packets that come in at"),
        ("egress", "shows packets that leave by"),
    ],
)
def test_sides_of_two_switches_are_refused(named: Name, side: str, problem: str) -> None:
    def source(at: str, port: str) -> Source:
        role: Role = "ingress" if at == "ingress" else "egress"
        return Source(named(at, port), role)

    both = [source("ingress", NEAR), source("egress", NEAR)]
    with pytest.raises(CaptureError, match=problem) as raised:
        analyse([*both, source(side, FAR)])
    assert raised.value.file == named(side, FAR)


def test_a_copy_of_a_capture_makes_no_drops(chain: Captured, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcapng"
    copy.write_bytes(chain.file("ingress").read_bytes())
    near = [str(chain.file("ingress")), str(chain.file("egress"))]
    assert drops(analyse([*near, str(copy)])).equals(drops(analyse(near)))
    twice = [Source(file, "ingress") for file in (near[0], str(copy))]
    with pytest.raises(CaptureError, match="shows packets that come in at") as raised:
        analyse([*twice, Source(near[1], "egress")])
    assert raised.value.file == str(copy)


@pytest.mark.parametrize(("side", "way"), [("ingress", "came in"), ("egress", "went out")])
def test_one_side_of_two_switches_is_refused(chain: Captured, side: str, way: str) -> None:
    files = [str(chain.file(side, port)) for port in (NEAR, FAR)]
    with pytest.raises(CaptureError, match=f"both say that they {way}"):
        analyse(files)


def test_switches_without_a_common_port_are_assessed_alone_and_that_is_said(
    chain: Captured, other: Captured
) -> None:
    both = [*other.files, str(chain.file("ingress")), str(chain.file("egress"))]
    result = analyse(both)
    expected = "No port leads data to more than one of these outputs: edge0.0:0; s0:0."
    assert any(note.startswith(expected) for note in result.summary["caveats"])


def test_flows_that_leave_by_no_captured_output_are_not_compared(
    chain: Captured, other: Captured
) -> None:
    alone = analyse(other.files)
    more = [
        Source(str(other.file("ingress")), "ingress"),
        Source(str(chain.file("ingress")), "ingress"),
        Source(str(other.file("egress")), "egress"),
    ]
    result = analyse(more)
    assert result.summary["verdict"]["ratio"] == pytest.approx(alone.summary["verdict"]["ratio"])
    assert fairness.compared(result.flows).height == fairness.compared(alone.flows).height
    expected = "5 long flows left by no captured output, and are not compared."
    assert expected in result.summary["caveats"]


def test_captures_of_two_days_are_refused(chain: Captured, other: Captured, tmp_path: Path) -> None:
    late = [tmp_path / "late-in.pcapng", tmp_path / "late-out.pcapng"]
    for side, file in zip(("ingress", "egress"), late, strict=True):
        delayed(chain.file(side), file, by_ns=86_400_000_000_000)
    with pytest.raises(CaptureError, match=r"begins 86399\.\d s after other captures end"):
        analyse([*other.files, *map(str, late)])
    # one after the other is how a capture is split into files
    soon = tmp_path / "soon.pcapng"
    delayed(chain.file("egress"), soon, by_ns=150_000_000)
    assert analyse([str(other.file("egress")), str(soon)]).summary["simulated_s"] > 0.2
