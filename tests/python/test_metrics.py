"""Drop runs, blackouts and fairness: cases computed by hand, and the papers' own figures."""

import fairport as fp
import numpy as np
import polars as pl
import pytest
import synthetic
from fairport import tables
from fairport.backends import made
from fairport.backends.protocol import Recorded
from fairport.metrics import fairness
from fairport.metrics.drop_runs import (
    blackouts,
    drop_runs,
    find_runs,
    ingress_summary,
    timeout_runs,
)
from hypothesis import given
from hypothesis import strategies as st


def drops_of(arrivals):
    """The drops table of arrivals at one port, given as (ingress, flow, dropped)."""
    seen, rows, accepted = {}, [], 0
    for position, (ingress, flow, dropped) in enumerate(arrivals, start=1):
        for key in (("ingress", ingress), ("flow", flow)):
            seen[key] = seen.get(key, 0) + 1
        if not dropped:
            accepted += 1
            continue
        rows.append(
            {
                "run_id": "r1",
                "time_s": position * 1e-6,
                "port": "edge0.0:0",
                "ingress_port": f"edge0.0:{ingress}",
                "flow": flow,
                "seq": 1448 * seen[("flow", flow)],
                "size_bytes": 1518,
                "reason": "queue full",
                "port_arrival": position,
                "ingress_arrival": seen[("ingress", ingress)],
                "flow_arrival": seen[("flow", flow)],
                "port_accepted": accepted,
                "is_backward": False,
                "is_pure_ack": False,
            }
        )
    return pl.DataFrame(rows, schema=tables.empty("drops").schema)


IN, OUT = False, True

# Facts P7, the ns-2 trace: each departure frees one place; the packet of in-port 1 comes 0.1-0.2 us
# before it and is dropped, that of in-port 2 comes after it and gets in. Four times running.
PORT_BLACKOUT = [(1, 0, IN), *[(1, 0, OUT), (2, 1, IN)] * 4, (1, 0, IN)]


def test_the_papers_trace_is_one_blackout_of_four():
    (run,) = blackouts(drops_of(PORT_BLACKOUT)).to_dicts()
    assert run["ingress_port"] == "edge0.0:1"
    assert (run["length"], run["others_accepted"], run["flows"]) == (4, 3, 1)
    assert run["first_s"] == pytest.approx(2e-6)
    assert run["last_s"] == pytest.approx(8e-6)


def test_drops_of_a_port_that_lets_nobody_in_are_no_blackout():
    both_lose = drops_of([(1, 0, OUT), (2, 1, OUT), (1, 0, OUT), (2, 1, OUT)])
    assert drop_runs(both_lose, "ingress")["length"].to_list() == [2, 2]
    assert blackouts(both_lose).is_empty()


def test_a_single_drop_is_no_blackout():
    assert blackouts(drops_of([(1, 0, OUT), (2, 1, IN), (1, 0, IN)])).is_empty()


def test_a_run_by_ingress_goes_over_flows_and_a_run_by_flow_over_packets_of_others():
    drops = drops_of([(1, 0, OUT), (1, 5, OUT), (2, 7, IN), (1, 0, OUT), (1, 5, IN), (1, 0, OUT)])
    by_ingress = drop_runs(drops, "ingress")
    assert by_ingress["length"].to_list() == [3, 1]
    assert by_ingress["flows"].to_list() == [2, 1]
    by_flow = drop_runs(drops, "flow").sort("flow")
    assert by_flow["length"].to_list() == [3, 1], "flow 0 lost three packets in a row"
    assert by_flow["flows"].to_list() == [1, 1]
    assert drop_runs(drops, "port")["length"].to_list() == [2, 1, 1]


def test_packets_pushed_out_latest_first_are_one_run_in_order_of_arrival():
    # Port-fair and Linux's SFQ admit a packet and drop the last that waits: here three packets of
    # port 1 wait, and each of the next two of port 2 takes the place of one of them.
    arrivals = [(1, 0, OUT), (2, 1, IN), (1, 0, OUT), (1, 0, OUT), (2, 1, IN), (1, 0, IN)]
    drops = drops_of(arrivals).with_columns(time_s=pl.Series([9e-6, 8e-6, 5e-6])).sort("time_s")
    for by in ("ingress", "flow"):
        (run,) = drop_runs(drops, by).to_dicts()
        assert (run["length"], run["others_accepted"]) == (3, 1)
        assert (run["first_s"], run["last_s"]) == (5e-6, 9e-6)


def test_what_a_port_lost_later_was_not_accepted():
    # CoDel drops at the head: all of these packets had been accepted when they arrived
    drops = drops_of([(1, 0, OUT), (1, 0, OUT), (2, 1, OUT), (1, 0, OUT), (2, 1, IN)])
    drops = drops.with_columns(port_accepted=pl.col("port_arrival") - 1)
    assert drop_runs(drops, "ingress")["others_accepted"].to_list() == [0, 0]
    assert blackouts(drops).is_empty()


def test_ingress_ports_that_were_kept_out():
    drops = drops_of([*PORT_BLACKOUT, (2, 1, OUT), (1, 0, IN), (2, 2, OUT)])
    assert ingress_summary(drops).rows() == [
        ("edge0.0:0", "edge0.0:1", 1, 4, 4 / 5, 1, 4, 4),
        ("edge0.0:0", "edge0.0:2", 2, 2, 2 / 6, 1, 2, 2),
    ]
    assert ingress_summary(tables.empty("drops")).is_empty()


def test_ingress_ports_with_as_many_drops_come_in_their_order():
    drops = drops_of([(3, 0, OUT), (1, 1, OUT), (2, 2, OUT), (2, 2, OUT)])
    of = ingress_summary(drops)["ingress_port"].to_list()
    assert of == ["edge0.0:2", "edge0.0:1", "edge0.0:3"]
    other = drops.with_columns(port=pl.lit("edge0.0:1"))
    both = ingress_summary(pl.concat([other, drops]))
    assert both["port"].to_list() == [f"edge0.0:{n}" for n in (0, 1, 0, 0, 1, 1)]


def test_no_two_members_are_taken_for_one():
    # every pair of 3 and 6 numbers has two consecutive drops, between which all the others have one
    pairs = [(a, b) for a in range(3) for b in range(6)]
    first, second = (np.array([pair[i] for pair in pairs * 2], np.uint32) for i in (0, 1))
    arrival = np.repeat(np.array([1, 2], np.uint64), len(pairs))
    assert find_runs([first, second], arrival).lengths.tolist() == [2] * len(pairs)


def test_no_drops_no_runs():
    for by in ("ingress", "flow", "port"):
        assert drop_runs(tables.empty("drops"), by).is_empty()


arrivals = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), max_size=60)


@given(arrivals, st.sampled_from(["ingress", "flow", "port"]))
def test_runs_partition_the_drops(packets, by):
    drops = drops_of(packets)
    runs = drop_runs(drops, by)
    assert runs["length"].sum() == drops.height
    # Read by hand: walk each member's own packets and count how many in a row were dropped.
    members = {"ingress": 0, "flow": 1}
    mine = [(p[members[by]] if by in members else 0, p[2]) for p in packets]
    expected = []
    for member in {m for m, _ in mine}:
        fates = "".join("x" if dropped else " " for m, dropped in mine if m == member)
        expected += [len(run) for run in fates.split()]
    assert sorted(runs["length"]) == sorted(expected)


@given(arrivals)
def test_a_run_by_ingress_hits_as_many_flows_as_its_packets_have(packets):
    drops = drops_of(packets)
    for run in drop_runs(drops, "ingress").iter_rows(named=True):
        rows = drops.filter(
            pl.col("time_s").is_between(run["first_s"], run["last_s"]),
            pl.col("ingress_port") == run["ingress_port"],
        )
        assert rows.height == run["length"]
        assert rows["flow"].n_unique() == run["flows"]


# Facts P1: goodput in Mbit/s of the paper's flows 1 (2-hop), 2 and 3 (4-hop) and 4 to 15 (6-hop).
PUBLISHED = [
    12.3,
    39.8,
    34.1,
    68.6,
    72.0,
    77.6,
    71.0,
    77.2,
    73.4,
    78.1,
    65.8,
    74.8,
    63.4,
    68.2,
    65.3,
]
HOPS = [2] + [4] * 2 + [6] * 12


def flows_of(hops, mbps, **columns):
    rows = {
        "flow": range(len(hops)),
        "hops": hops,
        "goodput_bps": [rate * 1e6 for rate in mbps],
        "established_s": [0.0] * len(hops),
        "timeouts": [0] * len(hops),
        "timeout_period_s": [0.0] * len(hops),
        "drops": [0] * len(hops),
    }
    schema = {name: dtype for name, dtype in tables.empty("flows").schema.items() if name in rows}
    return pl.DataFrame(rows | columns, schema=schema)


def classes_of(flows, drops=None, rtt=None):
    drops = tables.empty("drops") if drops is None else drops
    return fairness.class_summary(flows, tables.empty("rtt") if rtt is None else rtt, drops)


def test_jain_index_of_the_published_throughputs():
    assert fairness.jain_index(pl.Series(PUBLISHED)) == pytest.approx(0.921, abs=5e-4)
    assert fairness.jain_index(pl.Series([3.0] * 7)) == pytest.approx(1)
    assert fairness.jain_index(pl.Series([5.0, 0.0, 0.0, 0.0])) == pytest.approx(1 / 4)
    assert fairness.jain_index(pl.Series([0.0, 0.0])) is None
    # the index depends on shares, so the unit makes no difference
    assert fairness.jain_index(pl.Series([0.1, 0.3])) == pytest.approx(0.8)


def test_ratios_of_the_published_throughputs():
    classes = classes_of(flows_of(HOPS, PUBLISHED))
    assert list(classes) == ["2-hop", "4-hop", "6-hop"]
    assert 1 / classes["2-hop"]["throughput_ratio"] == pytest.approx(5.8, abs=0.05)
    assert 1 / classes["4-hop"]["throughput_ratio"] == pytest.approx(1.93, abs=0.01)
    assert classes["6-hop"]["throughput_ratio"] == 1
    assert classes["6-hop"]["goodput_bps_min"] == pytest.approx(63.4e6)
    assert classes["6-hop"]["goodput_bps_max"] == pytest.approx(78.1e6)


def test_the_longest_drop_run_of_a_class_is_by_flow():
    drops = drops_of([(1, 0, OUT), (1, 1, OUT), (1, 0, OUT), (1, 1, IN), (1, 0, OUT)])
    classes = classes_of(flows_of([2, 6, 6], [1, 2, 2]), drops)
    assert classes["2-hop"]["longest_drop_run"] == 3
    assert classes["6-hop"]["longest_drop_run"] == 1


def test_rtt_percentile_is_of_the_merged_histogram():
    # 98 fast samples of one flow and 2 slow ones of another: the 99th of 100 is slow.
    rtt = pl.DataFrame(
        {"flow": [1, 2], "rtt_s": [0.5e-3, 2e-3], "samples": [98, 2]},
        schema={"flow": pl.UInt32, "rtt_s": pl.Float64, "samples": pl.UInt64},
    )
    classes = classes_of(flows_of([2, 6, 6], [1, 2, 2]), rtt=rtt)
    assert classes["6-hop"]["rtt_p99_s"] == 2e-3
    assert classes["6-hop"]["rtt_mean_s"] == pytest.approx((98 * 0.5e-3 + 2 * 2e-3) / 100)
    assert classes["2-hop"]["rtt_mean_s"] is None


def timeouts_of(*rows):
    """The table of timeouts of senders, given as (flow, seq, start, end)."""
    columns = ("flow", "seq", "start_s", "end_s")
    schema = {name: tables.empty("timeouts").schema[name] for name in columns}
    rows = pl.DataFrame(rows, schema=schema, orient="row")
    return rows.with_columns(is_backward=pl.lit(False))


def test_a_timeout_follows_the_run_of_the_last_drop_of_its_segment():
    # Flow 0 loses its packets 1 to 3 in a row, later the resend of packet 1 alone.
    drops = drops_of([(1, 0, OUT), (1, 0, OUT), (1, 0, OUT), (1, 0, IN), (1, 0, OUT)])
    drops = drops.with_columns(seq=pl.Series([1448, 2896, 4344, 1448], dtype=pl.UInt32))
    timeouts = timeouts_of(
        (0, 1448, 1e-6, 4e-6),  # before the resend was lost: the run of 3
        (0, 1448, 4e-6, 9e-6),  # after it: the single drop
        (0, 7240, 4e-6, 9e-6),  # a segment that was never dropped
        (1, 1448, 4e-6, 9e-6),  # another flow's segment of that number
    )
    runs = timeout_runs(timeouts, drops)
    assert runs["run_length"].to_list() == [3, 1, None, None]
    assert runs["seq"].to_list() == timeouts["seq"].to_list(), "order is kept"


def test_only_a_segment_of_the_same_direction_is_what_a_timeout_waits_for():
    # Client and server have sequence numbers of their own, which may be the same; a pure ACK has
    # that of its sender's next segment. All drops are of one flow.
    kinds = [(False, False), (True, False), (True, True), (False, True)]
    drops = drops_of([(1, 0, OUT)] * 3 + [(2, 0, IN)] + [(2, 0, OUT)] * 2 + [(3, 0, OUT)] * 2)
    ways = [kinds[0]] * 3 + [kinds[1]] * 2 + [kinds[2], kinds[3]]
    drops = drops.with_columns(
        seq=pl.lit(77, pl.UInt32),
        is_backward=pl.Series([backward for backward, _ in ways]),
        is_pure_ack=pl.Series([is_ack for _, is_ack in ways]),
    )
    both = timeouts_of((0, 77, 0.0, 1.0), (0, 77, 0.0, 1.0)).with_columns(
        is_backward=pl.Series([False, True])
    )
    assert timeout_runs(both, drops)["run_length"].to_list() == [3, 2]
    acks = drops.filter("is_pure_ack")
    assert timeout_runs(both, acks)["run_length"].to_list() == [None, None]


def test_a_run_by_flow_is_of_one_direction():
    # Under equal-length routing the ACKs of a flow may leave by the port of its data. Each
    # direction has arrivals of its own: data 1, 2 and 3, ACKs 1 and 3.
    drops = drops_of([(1, 0, OUT)] * 5).with_columns(
        flow_arrival=pl.Series([1, 1, 2, 3, 3], dtype=pl.UInt64),
        is_backward=pl.Series([False, True, False, False, True]),
    )
    runs = drop_runs(drops, "flow").sort("length", "first_s")
    assert runs.select("is_backward", "length").rows() == [(True, 1), (True, 1), (False, 3)]


def test_share_of_the_standstill_is_by_time_and_within_the_measurement():
    runs = timeouts_of((0, 1, 0.0, 2.0), (0, 2, 2.0, 3.0), (0, 3, 3.0, 4.0)).with_columns(
        run_length=pl.Series([3, 2, None])
    )
    assert fairness.waiting(runs, 1, 0, 10).after_drop_runs == pytest.approx(2 / 4)
    assert fairness.waiting(runs, 1, 1, 10).after_drop_runs == pytest.approx(1 / 3)
    assert fairness.waiting(runs, 1, 1.5, 2).after_drop_runs == 1
    assert fairness.waiting(runs, 1, 5, 10).after_drop_runs is None


def sized(sizes, ideals, workload):
    return pl.DataFrame(
        {"size_bytes": sizes, "ideal_fct_s": ideals, "workload": workload},
        {"size_bytes": pl.UInt64, "ideal_fct_s": pl.Float64, "workload": pl.String},
    )


@pytest.mark.parametrize(
    ("sizes", "ideals", "is_endless"),
    [([None] * 300, [None] * 300, True), ([None, 1], [None, 0.1], False)],
)
def test_flows_are_endless_if_none_of_them_has_a_size(sizes, ideals, is_endless):
    assert fairness.is_endless(sized(sizes, ideals, ["bulk"] * len(sizes))) is is_endless


def test_long_flows_of_captures_are_endless_although_their_end_was_seen():
    sizes, unknown = [None, 5_000_000], [None, None]
    assert fairness.is_endless(sized(sizes, unknown, ["bulk", "elsewhere"]))
    assert not fairness.is_endless(sized(sizes, unknown, ["bulk", "short"]))


def test_the_bottleneck_is_where_most_flows_lose_not_where_most_is_lost():
    ports = pl.DataFrame(
        {
            "port": ["core0:0", "edge0.0:0", "edge0.0:2"],
            "drops": [9000, 400, 0],
            "marks": [0, 0, 0],
            "queue_mean_bytes": [1.0, 2.0, 3.0],
            "queue_max_bytes": [1, 2, 3],
            "busy_share": [0.99, 0.98, 0.03],
            "flows": [12, 15, 0],
        }
    )
    assert fairness.bottleneck(ports, is_endless=True)["port"] == "edge0.0:0"
    lossless = ports.with_columns(drops=0)
    assert fairness.bottleneck(lossless, is_endless=True)["port"] == "core0:0", (
        "the busiest when nothing is lost"
    )
    assert fairness.bottleneck(ports.head(0), is_endless=True) is None
    one_drop = ports.with_columns(drops=pl.Series([9000, 1, 0]))
    assert fairness.bottleneck(one_drop, is_endless=True)["port"] == "edge0.0:0"
    # how many transfers passed a port says nothing about which were slowed there
    assert fairness.bottleneck(one_drop, is_endless=False)["port"] == "core0:0"
    # a port that only ACKs pass, and that drops some of them, carries no flow's data
    acks = ports.with_columns(
        pl.when(pl.col("port") == "core0:0").then(7).otherwise(0).alias("drops"),
        pl.when(pl.col("port") == "core0:0").then(0).otherwise(12).alias("flows"),
    )
    assert fairness.bottleneck(acks, is_endless=True)["port"] == "core0:0"


def test_hop_classes_have_all_drops_and_the_whole_goodput():
    result = synthetic.run(duration_s=1.0)
    summary = result.summary
    assert sum(c["drops"] for c in summary["classes"].values()) == result.drops.height > 0
    total = sum(c["flows"] * c["goodput_bps_mean"] for c in summary["classes"].values())
    assert total == pytest.approx(summary["goodput_bps_total"])


def test_the_speed_of_a_run_is_by_the_wall_clock_where_it_moved():
    result = synthetic.run(duration_s=0.1)
    given = {"tables": result.tables, "fingerprint": "f", "started": None, "simulated_s": 0.1}
    given |= {"measure_from_s": 0.0, "measure_to_s": 0.1, "packet_hops": 601}
    for wall_s, speed in ((2.0, 300.5), (0.0, None)):
        recorded = Recorded(wall_s=wall_s, **given)
        summary = made.summary_of(recorded, scenario="s", seed=1, backend="simulation")
        assert summary["packet_hops_per_s"] == speed


def test_bulk_flows_are_compared_among_themselves_and_without_any_all_of_tcp():
    flows = synthetic.run(duration_s=0.1).flows.head(4)
    protocol = pl.Series("protocol", ["tcp", "tcp", "tcp", "udp"])
    for workload, sizes, wanted in (
        (["bulk", "incast", "bulk", "udp"], [None, 1, None, None], [0, 2]),
        (["bulk", "incast", "bulk", "udp"], [None, 1, 100_000, None], [0]),  # the endless one
        (["bulk", "incast", "bulk", "udp"], [5_000, 1, 100_000, None], [0, 2]),
        (["incast", "poisson", "trace", "udp"], [1, 1, 1, None], [0, 1, 2]),
    ):
        ideal = pl.Series("ideal_fct_s", sizes, dtype=pl.Float64)
        given = flows.with_columns(protocol, ideal, workload=pl.Series(workload))
        assert fairness.compared(given)["flow"].to_list() == [flows["flow"][n] for n in wanted]


def test_summary_of_a_run_without_loss():
    summary = synthetic.run(duration_s=0.1, lossless=True).summary
    assert summary["verdict"]["blackout_timeout_share"] is None
    assert all(one["longest_drop_run"] == 0 for one in summary["classes"].values())


def test_windows_that_move_alike_correlate_fully_and_a_constant_one_not_at_all():
    windows = {0: [10, 20, 30, 40], 1: [1, 2, 3, 4], 2: [8, 6, 4, 2], 3: [5, 5, 5, 5]}
    rows = [(f, float(t), w) for f, column in windows.items() for t, w in enumerate(column)]
    series = pl.DataFrame(
        rows, {"flow": pl.UInt32, "time_s": pl.Float64, "cwnd_bytes": pl.UInt64}, orient="row"
    )
    found = {(a, b): c for a, b, c in fairness.window_correlation(series, 0.0).iter_rows()}
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == found[1, 2] == pytest.approx(-1)
    assert found[0, 3] is None
    assert len(found) == 6
    # from 2 s on two samples are left, from 3 s one, from 4 s none
    for from_s, correlation in ((2.0, pytest.approx(1)), (3.0, None)):
        later = fairness.window_correlation(series, from_s)
        assert later.height == 6
        assert later.row(0) == (0, 1, correlation)
    assert fairness.window_correlation(series, 4.0).height == 0
    # if there is no time at which both have a window, there is nothing to correlate
    apart = series.with_columns(time_s=pl.col("time_s") + pl.col("flow") * 10)
    assert fairness.window_correlation(apart, 0.0)["correlation"].null_count() == 6


def test_utilisation_is_the_share_of_the_time_in_which_the_line_sends():
    # 1472 B of payload are 1538 B on the wire: half of the line carries 478.5 Mbit/s of payload
    rate = "478.5Mbps"
    scenario = {
        "name": "half",
        "duration": "50ms",
        "topology": {"kind": "star", "hosts": 2},
        "link": {"rate": "1Gbps", "clock_error": "0ppm"},
        "traffic": [{"kind": "udp", "from": "h1", "to": "h0", "rate": rate, "payload": "1472B"}],
    }
    assert fp.run(fp.scenario(scenario)).summary["utilisation"] == pytest.approx(0.5, abs=0.02)
