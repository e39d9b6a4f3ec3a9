"""Congestion controls of a user's own that pace, and that set their window themselves."""

from __future__ import annotations

import math
from pathlib import Path

import fairport as fp
import pytest
from fairport.custom import Ack, Connection, Established, RateSample, Window
from fairport.scenario import Scenario
from fairport.study import fixes

PACE_BPS = 200e6


class Paced:
    """Sends at a constant rate, whatever is lost."""

    sets_window = True

    def __init__(self, connection: Connection) -> None:
        self.pacing_rate_bps: float | None = PACE_BPS

    def on_established(self, window: Window, start: Established) -> None:
        window.cwnd = 1000 * window.unit


@pytest.fixture
def alone() -> Scenario:
    """One flow on a path that could carry five times its pace."""
    return fp.scenario("two-switch").patch(
        {
            "duration": "200ms",
            "tcp": {"stack": "linux-6", "congestion_control": "custom:mine"},
            "traffic": [{"kind": "bulk", "from": "h1", "to": "h0"}],
        }
    )


def test_a_flow_gets_the_rate_at_which_it_paces(alone: Scenario) -> None:
    result = fp.run(alone, congestion_controls={"mine": Paced})
    assert result.flows["goodput_bps"][0] == pytest.approx(PACE_BPS, rel=0.01)
    # its packets do not queue
    assert result.summary["bottleneck"]["queue_max_bytes"] < 20_000


def test_parameters_of_a_congestion_control_are_keyword_arguments(alone: Scenario) -> None:
    class Given(Paced):
        def __init__(self, connection: Connection, rate_bps: float = PACE_BPS) -> None:
            self.pacing_rate_bps = rate_bps

    def goodput_bps(**patches: object) -> float:
        patched = alone.patch({f"tcp.{name}": value for name, value in patches.items()})
        flows = fp.run(patched, congestion_controls={"mine": Given}).flows
        return float(flows["goodput_bps"][0])

    assert goodput_bps() == pytest.approx(PACE_BPS, rel=0.01)
    assert goodput_bps(parameters={"rate_bps": 50e6}) == pytest.approx(50e6, rel=0.02)
    with pytest.raises(fp.CustomError, match="unexpected keyword argument 'rate'"):
        goodput_bps(parameters={"rate": 50e6})
    with pytest.raises(fp.ScenarioError, match=r"tcp.parameters.rate_bps: NaN is not a finite"):
        alone.patch({"tcp.parameters.rate_bps": float("nan")})


def test_parameters_without_a_congestion_control_of_ones_own_are_refused(alone: Scenario) -> None:
    own = alone.patch({"tcp.parameters.rate_bps": 50e6})
    with pytest.raises(fp.ScenarioError, match=r"^patch: tcp.parameters: has no effect"):
        own.patch({"tcp.congestion_control": "cubic"})
    layer = {"traffic.0.tcp": {"parameters": {"rate_bps": 50e6}}}
    with pytest.raises(fp.ScenarioError, match=r"traffic.0.tcp.parameters: has no effect"):
        alone.patch({"tcp.congestion_control": "cubic"} | layer)
    assert alone.patch(layer).traffic[0].tcp is not None
    # one that some flows have may get them from [tcp]
    mixed = {"tcp.congestion_control": "cubic", "traffic.0.tcp.congestion_control": "custom:mine"}
    assert own.patch(mixed).tcp.parameters


def test_a_fix_that_replaces_the_congestion_control_need_not_know_its_parameters(
    alone: Scenario,
) -> None:
    (dctcp,) = fixes.load(["dctcp"])
    every = {"tcp.parameters.rate_bps": 5e6, "traffic.0.tcp": {"parameters": {"rate_bps": 6e6}}}
    fixed = dctcp.applied(alone.patch(every))
    assert fixed.tcp.congestion_control == "dctcp"
    assert not any(layer.parameters for layer in fixed.tcp_layers().values())


def test_a_sweep_may_have_the_parameters_of_a_congestion_control(
    alone: Scenario, tmp_path: Path
) -> None:
    class Given(Paced):
        def __init__(self, connection: Connection, rate_bps: float) -> None:
            self.pacing_rate_bps = rate_bps

    own = alone.patch({"tcp.parameters.rate_bps": 1e6})
    coded = own.with_user_code(congestion_controls={"mine": Given})
    axes = {"tcp.parameters.rate_bps": [50e6, 100e6]}
    study = fp.sweep(coded, axes, seeds=1, folder=tmp_path / "study")
    rates = study.to_polars().sort("tcp.parameters.rate_bps")["goodput_bps_total"].to_list()
    assert rates == pytest.approx([50e6, 100e6], rel=0.02)


def test_a_window_that_the_class_sets_is_not_changed_by_losses(alone: Scenario) -> None:
    class Loses(Paced):
        sets_window = False

    lossy = alone.patch({"loss": [{"kind": "random", "probability": 0.01}]})
    own = fp.run(lossy, congestion_controls={"mine": Paced})
    recovers = fp.run(lossy, congestion_controls={"mine": Loses})
    assert own.flows["retransmits"][0] > 10
    assert own.flows["goodput_bps"][0] > 0.95 * PACE_BPS
    assert recovers.series["cwnd_bytes"].min() < own.series["cwnd_bytes"].min()


def test_a_rate_sample_shows_the_rate_of_the_path(alone: Scenario) -> None:
    rates: list[float] = []

    class Measures(Paced):
        def __init__(self, connection: Connection) -> None:
            super().__init__(connection)
            self.bits = 8 * connection.segment_bytes / connection.unit

        def on_rate_sample(self, window: Window, ack: Ack, rate: RateSample) -> None:
            assert rate.newly_delivered <= rate.delivered <= rate.delivered_total
            assert rate.prior_delivered + rate.delivered == rate.delivered_total
            assert 0 <= rate.in_flight <= rate.prior_in_flight
            assert rate.newly_lost == rate.lost_total == 0
            if rate.interval_s is not None and not rate.is_app_limited and rate.rtt_s is not None:
                rates.append(rate.delivered * self.bits / rate.interval_s)

    fp.run(alone, congestion_controls={"mine": Measures})
    assert sorted(rates)[len(rates) // 2] == pytest.approx(PACE_BPS, rel=0.01)


@pytest.mark.parametrize("pace", [0, -1, math.nan, None, "fast"])
def test_a_pace_at_which_nothing_is_sent_is_refused(alone: Scenario, pace: float | None) -> None:
    class Stops(Paced):
        def on_ack(self, window: Window, ack: Ack) -> None:
            self.pacing_rate_bps = pace

    with pytest.raises(fp.CustomError, match=r"pacing_rate_bps = .* sends nothing: give bit/s"):
        fp.run(alone, congestion_controls={"mine": Stops})


def test_a_pace_that_comes_too_late_is_refused(alone: Scenario) -> None:
    class Late:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_established(self, window: Window, start: Established) -> None:
            self.pacing_rate_bps = PACE_BPS

    class Later:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_ack(self, window: Window, ack: Ack) -> None:
            self.pacing_rate_bps = PACE_BPS

    for mine in (Late, Later):
        with pytest.raises(fp.CustomError, match="set `pacing_rate_bps` in `__init__`"):
            fp.run(alone, congestion_controls={"mine": mine})


def test_an_infinite_pace_is_the_window_alone(alone: Scenario) -> None:
    class Unpaced:
        def __init__(self, connection: Connection) -> None:
            self.pacing_rate_bps = math.inf

        def on_ack(self, window: Window, ack: Ack) -> None:
            window.grow_as_newreno(ack)

    own = fp.run(alone, congestion_controls={"mine": Unpaced}).flows
    newreno = fp.run(alone.patch({"tcp.congestion_control": "newreno"})).flows
    assert own["goodput_bps"][0] == pytest.approx(newreno["goodput_bps"][0], rel=0.01)


@pytest.mark.parametrize(
    ("attribute", "meant"),
    [("pacing_rate", "pacing_rate_bps"), ("set_window", "sets_window")],
)
def test_a_misspelt_attribute_is_refused(alone: Scenario, attribute: str, meant: str) -> None:
    misspelt = type("Misspelt", (Paced,), {attribute: 1e6})
    with pytest.raises(fp.CustomError, match=f"`{attribute}`, .* did you mean `{meant}`"):
        fp.run(alone, congestion_controls={"mine": misspelt})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "cwnd = nan is not a whole number: round it"),
        (7.5, "cwnd = 7.5 is not a whole number: round it"),
        (None, "cwnd = None is not a whole number"),
        (-5, "cwnd = -5 is less than one segment, which is 1 here"),
        (-(10**30), "is less than one segment"),
    ],
)
def test_a_window_that_is_none_names_itself(alone: Scenario, value: object, said: str) -> None:
    class Wrong:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_ack(self, window: Window, ack: Ack) -> None:
            window.cwnd = value

    with pytest.raises(fp.CustomError, match=said):
        fp.run(alone, congestion_controls={"mine": Wrong})


def test_an_enormous_window_is_a_window_without_effect(alone: Scenario) -> None:
    class Enormous(Paced):
        def on_established(self, window: Window, start: Established) -> None:
            window.cwnd = 10**30
            assert window.cwnd == 2**40

    result = fp.run(alone, congestion_controls={"mine": Enormous})
    assert result.flows["goodput_bps"][0] == pytest.approx(PACE_BPS, rel=0.01)


def test_an_answer_that_nobody_reads_is_refused(alone: Scenario) -> None:
    class AsInLinux:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_loss(self, window: Window) -> int:
            return window.cwnd // 2

    with pytest.raises(fp.CustomError, match=r"returned \d+, which nobody reads: set `window"):
        fp.run(
            alone.patch({"loss": [{"kind": "random", "probability": 0.01}]}),
            congestion_controls={"mine": AsInLinux},
        )


def test_a_window_is_changed_only_while_its_connection_is_asked(alone: Scenario) -> None:
    windows: list[Window] = []

    class Central:
        """Sets the windows of all flows whenever one of them gets an ACK."""

        def __init__(self, connection: Connection) -> None:
            pass

        def on_established(self, window: Window, start: Established) -> None:
            windows.append(window)

        def on_ack(self, window: Window, ack: Ack) -> None:
            for one in windows:
                one.cwnd = 10 * one.unit

    two = alone.patch({"traffic": [{"kind": "bulk", "from": "h1..h2", "to": "h0"}]})
    with pytest.raises(fp.CustomError, match="only in a method of its own connection"):
        fp.run(two, congestion_controls={"mine": Central})
