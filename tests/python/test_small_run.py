"""The whole summary of one small invented run, whose numbers can be computed by hand."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import polars as pl
import pytest
from fairport import tables
from fairport.backends import made
from fairport.backends.protocol import Recorded
from fairport.metrics import fairness

# measured from 2 to 10 s of a run of 12 s
FROM_S, TO_S, END_S = 2.0, 10.0, 12.0
RECEIVER, UPLINK, IDLE = "edge0.0:0", "agg0.0:1", "edge1.0:1"


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    """A table of these rows; missing columns are null."""
    schema = tables.empty(name).schema
    return pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)


def flow(number: int, hops: int, mbps: float, **others: Any) -> dict[str, Any]:
    given = {"flow": number, "hops": hops, "goodput_bps": mbps * 1e6, "traffic": 0}
    given |= {"workload": "bulk", "protocol": "tcp", "start_s": 0.0, "established_s": 0.001}
    given |= {"timeouts": 0, "timeout_period_s": 0.0, "drops": 0, "measured_bytes": 1}
    return given | others


def drop(time_s: float, number: int, arrival: int, seq: int) -> dict[str, Any]:
    given = {"time_s": time_s, "port": RECEIVER, "flow": number, "seq": seq}
    given |= {"ingress_port": f"edge0.0:{2 if number < 2 else 1}", "port_accepted": 0}
    given |= {"is_backward": False, "is_pure_ack": False}
    return given | {
        "ingress_arrival": arrival,
        "flow_arrival": arrival,
        "port_arrival": 10 * arrival,
    }


def timeout(number: int, seq: int, start_s: float, end_s: float) -> dict[str, Any]:
    return {"flow": number, "seq": seq, "start_s": start_s, "end_s": end_s, "is_backward": False}


def port(name: str, drops: int, flows: int, busy: float) -> dict[str, Any]:
    queue = {"marks": drops + 1, "queue_mean_bytes": drops / 4, "queue_max_bytes": 8 * drops}
    return {"port": name, "drops": drops, "flows": flows, "busy_share": busy} | queue


# Two 2-hop flows of 10 and 30 Mbit/s, three 6-hop flows of 50, 80 and 110, and 40 of UDP.
FLOWS = table(
    "flows",
    flow(0, 2, 10, timeouts=3, timeout_period_s=6.0, drops=5),
    flow(1, 2, 30, timeouts=1, timeout_period_s=2.0, drops=1),
    flow(2, 6, 50, timeouts=1, timeout_period_s=1.0, drops=1),
    *(flow(number, 6, mbps) for number, mbps in ((3, 80), (4, 110))),
    flow(5, 6, 40, workload="udp", protocol="udp", traffic=1, segments_sent=10, drops=0),
)
# Flow 0 loses three packets in a row, and later two; flows 1 and 2 lose one each.
DROPS = table(
    "drops",
    *(drop(0.9 + arrival / 100, 0, arrival, 100 * arrival) for arrival in (1, 2, 3)),
    drop(3.0, 1, 20, 100),
    drop(4.0, 2, 30, 100),
    drop(4.5, 0, 50, 1000),
    drop(4.6, 0, 51, 1100),
)
# Within the measurement flow 0 waits for 1 s after three drops and for 3 s after two, flow 1 for
# 1 s after one; half of the last wait comes after it.
TIMEOUTS = table(
    "timeouts",
    timeout(0, 100, 1.0, 3.0),
    timeout(0, 1000, 5.0, 8.0),
    timeout(0, 9999, 11.0, 12.0),
    timeout(1, 100, 9.0, 11.0),
    timeout(2, 100, 6.0, 7.0),
)
# 99 of 100 samples of the 2-hop flows take 1 ms at most, 98 of 100 of the 6-hop flows
RTT = table(
    "rtt",
    {"flow": 0, "rtt_s": 0.5e-3, "samples": 49},
    {"flow": 1, "rtt_s": 1e-3, "samples": 50},
    {"flow": 1, "rtt_s": 4e-3, "samples": 1},
    {"flow": 2, "rtt_s": 1e-3, "samples": 60},
    {"flow": 3, "rtt_s": 1e-3, "samples": 38},
    {"flow": 4, "rtt_s": 6e-3, "samples": 2},
)
PORTS = table("ports", port(UPLINK, 8, 3, 0.99), port(RECEIVER, 6, 6, 0.75), port(IDLE, 0, 9, 0.01))


def summary(**others: pl.DataFrame) -> dict[str, Any]:
    given = {"flows": FLOWS, "drops": DROPS, "timeouts": TIMEOUTS, "rtt": RTT, "ports": PORTS}
    given |= {name: tables.empty(name) for name in ("rounds", "requests")}
    recorded = Recorded(
        tables=given | others,  # type: ignore[arg-type]
        fingerprint="f",
        started=datetime.now(timezone.utc),
        wall_s=0.5,
        simulated_s=END_S,
        measure_from_s=FROM_S,
        measure_to_s=TO_S,
        packet_hops=1001,
    )
    return made.summary_of(recorded, scenario="small", seed=7, backend="simulation")


def test_every_number_of_the_run() -> None:
    found = summary()
    assert found["schema_version"] == 1
    assert (found["backend"], found["valid"], found["seeds"]) == ("simulation", True, [7])
    assert found["measure"] == {"from_s": 2.0, "to_s": 10.0}
    assert found["packet_hops_per_s"] == 2002.0
    # without the 40 of UDP
    assert found["goodput_bps_total"] == 280e6
    # of 10, 30, 50, 80 and 110: the square of the sum, over 5 times the sum of the squares
    assert found["jain_index"] == pytest.approx(78_400 / (5 * 22_000))
    assert found["utilisation"] == 0.75
    assert found["bottleneck"] == {
        "port": RECEIVER,
        "drops": 6,
        "marks": 7,
        "queue_mean_bytes": 1.5,
        "queue_max_bytes": 48,
    }
    assert (found["fct"], found["rounds"], found["requests"]) == (None, None, None)


def test_every_number_of_its_hop_classes() -> None:
    lone, peers = (summary()["classes"][name] for name in ("2-hop", "6-hop"))
    assert lone == {
        **{"flows": 2, "goodput_bps_mean": 20e6, "goodput_bps_min": 10e6, "goodput_bps_max": 30e6},
        **{"throughput_ratio": 0.25, "timeouts": 4, "timeout_period_s": 8.0, "drops": 6},
        **{"longest_drop_run": 3, "rtt_p99_s": 1e-3},
        "rtt_mean_s": pytest.approx((49 * 0.5e-3 + 50 * 1e-3 + 4e-3) / 100),
    }
    assert peers == {
        **{"flows": 3, "goodput_bps_mean": 80e6, "goodput_bps_min": 50e6},
        **{"goodput_bps_max": 110e6, "throughput_ratio": 1.0, "timeouts": 1},
        **{"timeout_period_s": 1.0, "drops": 1, "longest_drop_run": 1, "rtt_p99_s": 6e-3},
        "rtt_mean_s": pytest.approx((98 * 1e-3 + 2 * 6e-3) / 100),
    }


def test_the_verdict_on_it() -> None:
    # 1 + 3 + 1 s of waiting, of two flows; 1 s of the 5 followed three drops in a row
    assert summary()["verdict"] == {
        "outcast": True,
        "ratio": 0.25,
        "blackout_timeout_share": pytest.approx(0.2),
        "sentence": (
            "The two 2-hop flows get 0.25 of their 6-hop peers' goodput (outcast). On average each"
            " spent 2.5 of 8 s waiting for timeouts; 20 % of that time followed three or more"
            " consecutive drops at their ingress port."
        ),
    }


def test_flows_that_end_are_compared_by_their_times() -> None:
    ended = FLOWS.with_columns(
        size_bytes=pl.when(pl.col("flow") == 4).then(pl.lit(1000, pl.UInt64)),
        end_s=pl.when(pl.col("flow") == 4).then(3.0),
        start_s=pl.lit(2.5),
        ideal_fct_s=pl.lit(0.1),
        fct_s=pl.when(pl.col("flow") == 4).then(0.5),
    )
    found = summary(flows=ended)
    assert found["verdict"] == {
        **{"outcast": None, "ratio": None, "blackout_timeout_share": None},
        "sentence": fairness.NO_VERDICT,
    }


def test_a_run_in_which_nothing_happened() -> None:
    nothing = {name: tables.empty(name) for name in ("flows", "drops", "timeouts", "rtt", "ports")}
    found = summary(**nothing)
    assert (found["classes"], found["bottleneck"], found["utilisation"]) == ({}, None, None)
    assert (found["goodput_bps_total"], found["jain_index"]) == (0.0, None)
    assert found["verdict"]["sentence"] == "There are no TCP flows to compare."


def test_a_class_of_unknown_hops_and_peers_that_got_nothing() -> None:
    flows = FLOWS.with_columns(
        hops=pl.when(pl.col("hops") == 6).then("hops"),
        goodput_bps=pl.when(pl.col("hops") == 6).then(0.0).otherwise("goodput_bps"),
    )
    classes = summary(flows=flows)["classes"]
    assert {name: one["throughput_ratio"] for name, one in classes.items()} == {
        fairness.UNKNOWN_HOPS: None,
        "6-hop": None,
    }
