"""The numbers of a run are those of its summary, whether made from the engine's arrays or from
tables."""

from __future__ import annotations

import statistics
from typing import Any

import fairport as fp
import pytest
from fairport import backends
from fairport.metrics import fairness
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.metrics.run_numbers import NUMBERS, Arrays, numbers
from fairport.metrics.traffic_table import flat
from fairport.quantities import of_number

TO_H0 = {"from": "h1..h3", "to": "h0"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "one lone flow": ("outcast", {"duration": "200ms"}),
    "two switches": ("two-switch", {"duration": "200ms"}),
    "marks": (
        "outcast",
        {"duration": "100ms", "queue": {"kind": "red", "variant": "floyd-jacobson"}}
        | {"tcp.ecn": True},
    ),
    "pushed out": (
        "two-switch",
        {"duration": "100ms", "queue": {"kind": "linux-sfq", "limit": "20 packets"}},
    ),
    "before anything": ("two-switch", {"duration": "1ms"}),
    "transfers": ("outcast", {"duration": "100ms", "traffic": [{"kind": "poisson", "load": 0.5}]}),
    "rounds, UDP and bulk": (
        "outcast",
        {
            "duration": "100ms",
            "traffic": [
                {"kind": "incast", "from": "h5..h8", "to": "h4", "total": "80kB"},
                {"kind": "udp", **TO_H0, "rate": "900Mbps"},
                {"kind": "bulk", **TO_H0},
            ],
        },
    ),
    "bulk flows, one of a given size": (
        "outcast",
        {
            "duration": "100ms",
            "traffic": [
                {"kind": "bulk", "from": "all", "to": "h0"},
                {"kind": "bulk", "from": "h5", "to": "h9", "size": "100kB", "start": "30ms"},
            ],
        },
    ),
    "requests": (
        "outcast",
        {
            "duration": "100ms",
            "traffic": [
                {
                    "kind": "request-response",
                    "servers": "h0..h3",
                    "clients": "h2..h15",
                    "request": "100B..5kB",
                    "response": "web-search",
                }
            ],
        },
    ),
}


def share_of_first(summary: fp.Summary) -> float | None:
    """What the first of several parts of the traffic has of the goodput of TCP."""
    tcp = [entry for entry in summary["traffic"] if entry["kind"] != "udp"]
    if len(tcp) < 2:
        return None
    first = tcp[0]["goodput_bps_total"] if tcp[0]["index"] == 0 else 0
    return first / summary["goodput_bps_total"]


def of_summary(result: fp.Result) -> dict[str, Any]:
    """The same numbers from `fairport run --json`."""
    summary, flows = result.summary, result.flows
    worst = summary["bottleneck"] or {}
    runs = drop_runs(result.drops, "flow")
    dark = blackouts(result.drops)
    tcp = flows.filter(protocol="tcp").select("flow")
    rtt = fairness.rtt_by(result.rtt.join(tcp, on="flow"), "run_id")
    return {
        "outcast": summary["verdict"]["outcast"],
        "throughput_ratio": summary["verdict"]["ratio"],
        "jain_index": summary["jain_index"],
        "goodput_bps_total": summary["goodput_bps_total"],
        "first_traffic_share": share_of_first(summary),
        "utilisation": summary["utilisation"],
        "timeouts": flows["timeouts"].sum(),
        "timeout_period_s": flows["timeout_period_s"].sum(),
        "drops": result.ports["drops"].sum(),
        "marks": result.ports["marks"].sum(),
        "drop_runs_ge2": runs.filter(runs["length"] >= 2).height,
        "longest_drop_run": max(runs["length"], default=0),
        "blackouts": dark.height,
        "longest_blackout": max(dark["length"], default=0),
        "rtt_mean_s": rtt["rtt_mean_s"].first(),
        "rtt_p99_s": rtt["rtt_p99_s"].first(),
        "queue_mean_bytes": worst.get("queue_mean_bytes"),
        "queue_max_bytes": worst.get("queue_max_bytes"),
    }


@pytest.mark.parametrize("case", CASES)
def test_they_are_those_of_the_summary(case: str) -> None:
    name, patch = CASES[case]
    scenario = fp.scenario(name).patch(patch)
    result = fp.run(scenario)
    traffic = result.summary["traffic"]
    found = numbers(Arrays.of_tables(result.tables), traffic)
    expected = of_summary(result)
    for entry in reversed(result.summary["traffic"]):
        if entry["kind"] != "bulk":
            expected |= flat(entry)
            expected |= {
                key: of_summary(result)[key] for key in ("goodput_bps_total", "jain_index")
            }
    expected = {key: value for key, value in expected.items() if key in NUMBERS}
    expected["lower_bounds"] = {
        **{"transfers": 2, "requests": 1},
        **{"rounds, UDP and bulk": 0, "bulk flows, one of a given size": 0},
    }.get(case)
    for key, value in expected.items():
        same = value if value is None else pytest.approx(value, rel=1e-12)
        assert found[key] == same, key
    assert found.keys() == NUMBERS.keys()
    raw = backends.get("simulation").prepare(scenario, scenario.seed).simulation.run(None)
    kinds = [traffic.kind for traffic in scenario.traffic]
    assert numbers(Arrays.of_engine(raw, kinds), traffic) == found


def test_the_lone_flow_and_its_peers() -> None:
    result = fp.run(fp.scenario("two-switch").patch({"duration": "200ms"}))
    found = numbers(Arrays.of_tables(result.tables))
    lone, *peers = result.flows.sort("hops")["goodput_bps"].to_list()
    assert found["lone_goodput_bps_mean"] == lone
    assert found["peers_goodput_bps_mean"] == pytest.approx(statistics.fmean(peers))
    assert (found["peers_goodput_bps_min"], found["peers_goodput_bps_max"]) == (
        min(peers),
        max(peers),
    )
    assert found["lone_timeouts"] == result.flows.sort("hops")["timeouts"][0]


def test_every_number_has_a_title_and_a_format_for_people() -> None:
    for name in NUMBERS:
        quantity = of_number(name)
        assert "bps" not in quantity.title, name
        if "lone" in name or "peers" in name or quantity.unit in ("packets", "Mbit/s"):
            shown = quantity.shown(12_345 / quantity.factor)
            assert shown.replace(",", "").replace(".", "").isdigit(), name
