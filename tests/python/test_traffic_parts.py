"""The results of each [[traffic]], and the caveats that come before them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import Command
from fairport.cli.run_table import traffic_tables
from fairport.metrics import completion, traffic_table
from fairport.metrics.caveats import caveats
from fairport.metrics.traffic_parts import sentence
from fairport.quantities import QUANTITIES
from fairport.report.network import draw
from fairport.report.rows import completion as completion_rows
from fairport.report.rows import key_figures
from fairport.scenario import load
from rich.console import Console

NETWORK = {
    "name": "loads",
    "duration": "100ms",
    "topology": {"kind": "two-switch", "peers": 6},
    "queue": {"limit": "64KiB"},
    "tcp": {"stack": "linux-6", "rto_min": "10ms"},
}
INCAST = {"kind": "incast", "from": "h1..h6", "to": "h0", "block": "20kB"}
TRANSFERS = {"kind": "poisson", "load": 0.2, "sizes": "2kB..200kB"}
REQUESTS = {"kind": "request-response", "servers": "h0", "clients": "h1..h3", "response": "5kB"}
UDP = {"kind": "udp", "from": "h6", "to": "h0", "rate": "50Mbps"}
BULK = {"kind": "bulk", "from": "h1..h3", "to": "h0"}


@pytest.fixture(scope="module")
def result() -> fp.Result:
    return fp.run(NETWORK | {"traffic": [INCAST, TRANSFERS, REQUESTS, UDP, BULK]})


def entry(result: fp.Result, kind: str) -> dict[str, Any]:
    [found] = [one for one in result.summary["traffic"] if one["kind"] == kind]
    return found


def test_there_is_an_entry_for_each_traffic_in_its_order(result: fp.Result) -> None:
    kinds = [one["kind"] for one in result.summary["traffic"]]
    assert kinds == ["incast", "poisson", "request-response", "udp", "bulk"]
    assert [one["index"] for one in result.summary["traffic"]] == [0, 1, 2, 3, 4]
    flows = result.flows
    for one in result.summary["traffic"]:
        ours = flows.filter(pl.col("traffic") == one["index"])
        assert one["flows"] == ours.height
        assert one["goodput_bps_total"] == pytest.approx(ours["goodput_bps"].sum())


def test_an_incast_counts_the_round_that_is_under_way(result: fp.Result) -> None:
    found, begins = entry(result, "incast"), result.summary["measure"]["from_s"]
    ours = result.rounds.filter(pl.col("start_s") >= begins)
    assert found["rounds"]["started"] == ours.height > 3
    assert found["rounds"]["done"] == ours["end_s"].count() == ours.height - 1
    assert found["before_measurement"] == result.rounds.height - ours.height
    assert found["rounds"]["time_s"]["max"] >= ours["completion_s"].max()
    summed = result.summary["rounds"]
    assert summed is not None
    assert summed["rounds"] == found["rounds"]["done"]


def test_an_incast_with_a_last_round_starts_no_more() -> None:
    done = fp.run(NETWORK | {"traffic": [INCAST | {"rounds": 2}]}).summary["traffic"][0]
    assert (done["rounds"]["started"], done["rounds"]["done"]) == (2, 2)
    assert done["unfinished"] == 0


def test_transfers_have_completion_times_and_small_ones_their_own(result: fp.Result) -> None:
    found = entry(result, "poisson")
    begins = result.summary["measure"]["from_s"]
    measured = result.flows.filter(pl.col("traffic") == 1, pl.col("start_s") >= begins)
    assert found["transfers"] == measured.height
    assert found["unfinished"] == measured["fct_s"].null_count()
    assert found["small_fct_s"]["median"] <= found["fct_s"]["median"]
    assert found["slowdown"]["median"] >= 1


def test_requests_have_response_times(result: fp.Result) -> None:
    found = entry(result, "request-response")["requests"]
    assert found["asked"] - found["done"] == entry(result, "request-response")["unfinished"]
    assert 0 < found["time_s"]["median"] <= found["time_s"]["p99"]


def test_a_datagram_is_delayed_by_its_path_and_the_queue(result: fp.Result) -> None:
    found = entry(result, "udp")
    sent = result.flows.filter(pl.col("traffic") == 3).row(0, named=True)
    assert found["loss_share"] == pytest.approx(sent["drops"] / sent["segments_sent"])
    # not less than 1538 B on the wire of two or three links of 1 Gbit/s, not more than full queues
    assert 2 * 12e-6 < found["delay_s"]["mean"] < found["delay_s"]["p99"] < 3e-3


def test_a_datagram_alone_takes_the_time_of_its_path() -> None:
    alone = NETWORK | {
        "topology": {"kind": "star", "hosts": 3},
        "host": {"delay": "0s", "delay_spread": "0s", "processing": "0s"},
        "link": {"rate": "1Gbps", "delay": "7us", "delay_spread": "0s"},
        "switch": {"processing_delay": "5us"},
        "traffic": [UDP | {"from": "h1", "rate": "1Mbps"}],
    }
    found = fp.run(alone).summary["traffic"][0]
    # serialised twice: 1472 + 28 + 18 + 8 bytes (the gap after it is not waited for)
    expected = 2 * (1526 * 8e-9 + 7e-6) + 5e-6
    assert found["delay_s"]["mean"] == pytest.approx(expected, rel=0.01)  # a bin's width
    assert found["loss_share"] == 0


def test_long_lived_flows_have_their_share(result: fp.Result) -> None:
    found = entry(result, "bulk")
    rates = result.flows.filter(pl.col("traffic") == 4)["goodput_bps"]
    assert found["goodput_bps_min"] == rates.min()
    assert found["jain_index"] == pytest.approx(float(rates.sum()) ** 2 / (3 * (rates**2).sum()))
    assert found["unfinished"] == 0


def test_open_connections_have_the_times_of_their_transfers() -> None:
    every = {"kind": "periodic", "from": "h1..h6", "to": "h0", "size": "20kB", "period": "20ms"}
    result = fp.run(NETWORK | {"traffic": [every | {"connections": "persistent"}]})
    found = result.summary["traffic"][0]
    assert (found["transfers"], found["unfinished"]) == (5 * 6, 0)
    assert found["fct_s"]["max"] == result.rounds["completion_s"].max()


def test_a_transfer_under_way_on_an_open_connection_counts_with_its_age() -> None:
    # six transfers of 2 MB at once take about 97 ms, and the next ones begin at once
    every = {"kind": "periodic", "from": "h1..h6", "to": "h0", "size": "2MB", "period": "60ms"}
    scenario = NETWORK | {"traffic": [every | {"connections": "persistent"}], "duration": "150ms"}
    result = fp.run(scenario)
    found = result.summary["traffic"][0]
    under_way = result.rounds.filter(pl.col("end_s").is_null())
    assert (found["transfers"], found["unfinished"]) == (result.rounds.height, 6)
    assert under_way.height == under_way["completion_s"].null_count() == 6
    assert found["fct_s"]["max"] >= 0.15 - under_way["start_s"].min()


def test_an_incast_over_open_connections_is_about_its_rounds() -> None:
    # each sender delivers as much as the others, round by round: there is nobody to starve
    kept = INCAST | {"connections": "persistent", "rounds": 3}
    summary = fp.run(NETWORK | {"traffic": [kept], "measure": {"from": "1ms"}}).summary
    verdict = summary["verdict"]
    assert (verdict["outcast"], verdict["ratio"]) == (None, None)
    # the first round began before the measurement
    assert verdict["sentence"].startswith("2 of 2 rounds of incast were completed; a round took ")
    assert summary["traffic"][0]["before_measurement"] == 1
    [said] = summary["caveats"]
    assert said.startswith("All traffic was over at ")


def test_rounds_that_all_began_before_the_measurement_have_a_caveat() -> None:
    late = {"traffic": [INCAST | {"rounds": 3}], "measure": {"from": "50ms"}}
    summary = fp.run(NETWORK | late).summary
    assert summary["rounds"] is None
    assert summary["traffic"][0]["rounds"] == {"started": 0, "done": 0}
    assert "3 of traffic 0 (incast)" in summary["caveats"][0]


@pytest.mark.parametrize(
    ("size", "bounds"),
    # six equal transfers at once: the line carries all, five, or two of them
    [("1600kB", None), ("2MB", ["p99"]), ("2200kB", ["median", "p99"])],
)
def test_a_quantile_that_is_not_known_is_called_a_lower_bound(
    size: str, bounds: list[str] | None
) -> None:
    equal = BULK | {"from": "h1..h6", "size": size, "start_jitter": "0s"}
    summary = fp.run(NETWORK | {"traffic": [equal]}).summary
    assert summary["traffic"][0]["slowdown"].get("bounds") == bounds
    assert summary["verdict"]["sentence"].count(" at least ") == len(bounds or [])
    # the tables of the terminal and of the report: FCT and slowdown, of all and by [[traffic]]
    [row] = traffic_table.table(summary)[1]
    assert sum(row[2]) == 2 * len(bounds or [])
    of_all = summary["fct"]["all"].get("bounds", [])
    marked = {"fct_median_s": "median", "fct_p99_s": "p99"}
    assert [marked[key] for key in marked if key in of_all] == (bounds or [])
    [line, *_] = completion_rows(summary)[1]
    known_only = [key for key in of_all if key.startswith("fct") or key == "slowdown_median"]
    assert sum(cell.startswith("≥") for cell in line["cells"]) == len(known_only)


def test_most_small_transfers_are_not_said_to_be_fast_if_they_are_under_way() -> None:
    entry: dict[str, Any] = {
        **{"index": 0, "transfers": 10, "unfinished": 5},
        "fct_s": {"median": 1.0, "p99": 2.0, "max": 3.0},
        "small_fct_s": {"median": 1.0, "p99": 2.0},
    }
    assert "of small ones, 99 in 100 took at most 2 s" in sentence([entry])
    entry["small_fct_s"]["bounds"] = ["p99"]
    assert "of small ones, more than 1 in 100 took longer than 2 s" in sentence([entry])


def test_a_short_run_says_so_first() -> None:
    short = load("leaf-spine-incast").patch({"duration": "2ms"})
    found = fp.run(short).summary["caveats"]
    assert found[0].startswith("The run lasts 2 ms, less than 5 minimum RTOs of 200 ms")
    assert "Not all transfers were complete" in found[-1]


def test_hosts_much_faster_than_those_that_were_measured_have_a_caveat() -> None:
    def of(rate: str, **change: Any) -> tuple[dict[str, Any], list[str]]:
        network = NETWORK | {"link": {"rate": rate}, "traffic": [BULK], **change}
        summary = fp.run(network | {"duration": "60ms"}).summary
        return dict(summary), summary["caveats"]

    summary, caveat = of("10Gbps")
    assert summary["host_times_rate_bps"] == 100e6
    assert summary["host_goodput_bps_max"] == summary["goodput_bps_total"]  # the one receiver
    assert len(caveat) == 1
    assert "hosts take were measured at up to 100.0 Mbit/s" in caveat[0]
    assert of("1Gbps")[1] == []
    without, caveat = of("10Gbps", host={"profile": "none"})
    assert (without["host_times_rate_bps"], caveat) == (None, [])


def test_flows_that_the_measurement_misses_have_a_caveat() -> None:
    measured = {"measure": {"from": "40ms", "to": "60ms"}}
    late, over = BULK | {"from": "h4..h5", "start": "70ms"}, BULK | {"from": "h6", "stop": "10ms"}
    summary = fp.run(NETWORK | measured | {"traffic": [BULK, late, over]}).summary
    assert summary["flows_outside_measurement"] == 3
    [said] = summary["caveats"]
    assert said.startswith("3 of the compared flows began after the measurement, from 40 ms to")


def test_flows_that_are_there_for_a_part_of_the_measurement_have_a_caveat() -> None:
    measured = {"measure": {"from": "40ms", "to": "60ms"}}

    def of(**times: str) -> tuple[int, list[str]]:
        other = BULK | {"from": "h4..h5"} | times
        summary = fp.run(NETWORK | measured | {"traffic": [BULK, other]}).summary
        return summary["flows_partly_measured"], summary["caveats"]

    assert of() == of(start="40ms", start_jitter="0s") == of(stop="59ms") == (0, [])
    for change in ({"start": "59ms"}, {"stop": "50ms"}):
        count, [said] = of(**change)
        assert count == 2
        assert said.startswith("2 of the compared flows had a connection for less than 90 % of the")


def test_traffic_that_is_over_long_before_the_measurement_has_a_caveat() -> None:
    def of(**changed: Any) -> tuple[float | None, list[str]]:
        sized = {"traffic": [BULK | {"size": "20kB"}], "measure": {"from": "0s"}}
        summary = fp.run(NETWORK | {"duration": "1s"} | sized | changed).summary
        return summary["traffic_ended_s"], summary["caveats"]

    ended_s, [said] = of()
    assert ended_s is not None
    assert 0 < ended_s < 0.9
    assert said.startswith("All traffic was over at ")
    assert of(measure={"from": "0s", "to": f"{1.05 * ended_s:.9f}s"}) == (None, [])
    # one flow that stays, and one without end that does not
    assert of(traffic=[BULK | {"size": "20kB"}, BULK])[0] is None
    assert of(traffic=[BULK | {"stop": "100ms"}])[0] is None


def test_a_flow_whose_first_syn_is_lost_has_a_caveat() -> None:
    lost = [{"kind": "numbered", "at": "h1:0", "packets": [1]}]
    change = {"loss": lost, "traffic": [BULK], "duration": "2s", "measure": {"from": "100ms"}}
    assert fp.run(NETWORK | change).summary["flows_partly_measured"] == 1


def test_ecn_through_queues_that_do_not_mark_has_a_caveat() -> None:
    def of(queue: dict[str, Any], **tcp: Any) -> list[str]:
        network = NETWORK | {"queue": queue, "tcp": NETWORK["tcp"] | tcp, "traffic": [BULK]}
        return fp.run(network).summary["caveats"]

    drops, marks = (
        {"limit": "16KiB"},
        {"kind": "step-marking", "limit": "16KiB", "mark_above": "4KiB"},
    )
    for tcp in ({"congestion_control": "dctcp"}, {"ecn": True}):
        [said] = of(drops, **tcp)
        assert said.startswith("Senders use ECN, but no switch marked a packet")
        assert of(marks, **tcp) == []
    assert of(drops) == []
    # nothing dropped, so nothing was to be marked
    assert of({"limit": "100MB"}, congestion_control="dctcp") == []


def test_ecn_that_no_sender_uses_is_not_idle() -> None:
    full = NETWORK | {"queue": {"limit": "5000B"}, "tcp": {"ecn": True}, "duration": "20ms"}
    for traffic in (UDP | {"rate": "2Gbps"}, BULK | {"tcp": {"ecn": False}}):
        result = fp.run(full | {"traffic": [traffic]})
        assert not result.drops.is_empty()
        assert not result.summary["ecn_is_idle"]


def test_a_periodic_transfer_before_the_measurement_is_one() -> None:
    periodic = {"kind": "periodic", "from": "h1..h3", "to": "h0", "size": "5kB", "period": "10ms"}
    late = {"measure": {"from": "95ms"}}
    for connections in ("new", "persistent"):
        traffic = periodic | {"connections": connections}
        [found] = fp.run(NETWORK | late | {"traffic": [traffic]}).summary["traffic"]
        assert (found["transfers"], found["before_measurement"]) == (0, 30), connections


def test_the_host_that_sends_most_may_be_the_busiest() -> None:
    spread = [BULK | {"from": "h0", "to": to} for to in ("h1", "h2", "h3")]
    summary = fp.run(NETWORK | {"traffic": spread}).summary
    assert summary["host_goodput_bps_max"] == pytest.approx(summary["goodput_bps_total"])
    assert fp.run(NETWORK | {"traffic": [UDP]}).summary["host_goodput_bps_max"] is None


def test_the_minimum_rto_is_the_largest_of_all_stacks() -> None:
    def of(**change: Any) -> float | None:
        return fp.run(
            NETWORK | {"duration": "5ms", "traffic": [BULK], "tcp": {}, **change}
        ).summary["rto_min_s"]

    assert of() == 0.2
    assert of(host_tcp=[{"hosts": "h1", "stack": "rfc"}]) == 1  # RFC 6298
    assert of(traffic=[BULK | {"tcp": {"stack": "rfc"}}]) == 1
    assert of(host_tcp=[{"hosts": "h1", "stack": "rfc"}], tcp={"rto_min": "5ms"}) == 0.005
    assert of(host_tcp=[{"hosts": "h1", "rto_min": "3s"}]) == 3
    assert of(traffic=[UDP]) is None
    # settings that no sender follows
    assert of(traffic=[BULK | {"tcp": {"rto_min": "1ms"}}]) == 0.001
    assert of(host_tcp=[{"hosts": "h0", "rto_min": "3s"}]) == 0.2  # the receiver


def test_a_run_that_is_long_enough_has_no_caveat() -> None:
    assert fp.run(NETWORK | {"traffic": [BULK]}).summary["caveats"] == []
    enough = {"simulated_s": 1.0, "rto_min_s": 0.2, "traffic": []}
    assert caveats(enough) == []
    assert len(caveats(enough | {"simulated_s": 0.999})) == 1


def test_a_full_table_of_decisions_says_how_many_it_left_out() -> None:
    found = {"simulated_s": 1.0, "decisions_left_out": 12_345}
    assert caveats(found) == [
        "The table `decisions` is full: the last 12,345 decisions of TCP are missing from it."
    ]


def test_transfers_have_no_verdict_on_outcast() -> None:
    verdict = fp.run(NETWORK | {"traffic": [TRANSFERS]}).summary["verdict"]
    assert (verdict["outcast"], verdict["ratio"]) == (None, None)


# One sender whose window of megabytes fits the path, but not its own queue of 20 packets.
OWN_QUEUE = NETWORK | {
    "host": {"queue": "20 packets"},
    "queue": {"limit": "100MB"},
    "traffic": [BULK | {"from": "h1"}],
}


def test_a_full_queue_of_a_linux_host_pushes_back() -> None:
    result = fp.run(OWN_QUEUE | {"tcp": {"stack": "linux-6", "small_queue": False}})
    assert result.drops.is_empty()
    assert result.flows["retransmits"].sum() == 0
    assert result.flows["timeouts"].sum() == 0
    assert result.summary["host_queue_drop_share"] is None
    # the line stays busy, and the window is reduced at most once per window of data
    assert result.summary["goodput_bps_total"] > 0.9e9
    assert result.series["cwnd_bytes"].max() < 200_000


def test_where_it_does_not_push_back_the_packets_are_lost() -> None:
    off = {"stack": "linux-6", "small_queue": False, "host_queue_pushback": False}
    result = fp.run(OWN_QUEUE | {"tcp": off})
    assert result.summary["host_queue_drop_share"] == 1
    assert result.flows["retransmits"].sum() > 0


def test_drops_in_the_hosts_own_queues_are_counted() -> None:
    own = NETWORK | {"host": {"queue": "5 packets"}, "traffic": [BULK | {"from": "h1..h6"}]}
    result = fp.run(own | {"queue": {"limit": "1MB"}, "tcp": {"stack": "ns2"}})
    at_hosts = result.ports.filter(pl.col("port").str.starts_with("h"))["drops"].sum()
    assert result.summary["host_queue_drop_share"] == at_hosts / result.ports["drops"].sum()
    assert at_hosts > 0


def test_a_loss_at_a_hosts_port_is_no_drop_of_its_queue() -> None:
    loss = {"at": "h1:0", "kind": "random", "probability": 0.2}
    lossy = fp.run(NETWORK | {"loss": [loss], "traffic": [BULK]})
    assert lossy.drops.filter(pl.col("port") == "h1:0").height > 0
    assert lossy.summary["host_queue_drop_share"] == 0


def test_a_run_of_udp_alone_has_its_total_and_no_table_by_hop_class(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "udp.toml"
    file.write_text(load(NETWORK | {"traffic": [UDP]}).to_toml(), encoding="utf-8")
    printed = fairport("run", str(file), "--no-output").out
    assert printed.startswith("total 50.")
    assert "Mbit/s of UDP; link utilisation" in printed


def test_large_numbers_are_written_out() -> None:
    assert QUANTITIES["slowdown_p99"].shown(2010.4) == "2,010"
    assert QUANTITIES["fct_p99_s"].shown(12.3456) == "12,350"
    assert QUANTITIES["slowdown_p99"].shown(0.04567) == "0.0457"


def test_a_narrow_terminal_has_a_table_for_each_sort_of_load() -> None:
    traffic = [BULK, BULK | {"from": "h4"}, TRANSFERS, REQUESTS, UDP]
    summary = fp.run(NETWORK | {"traffic": traffic}).summary
    columns, _ = traffic_table.table(summary)
    assert {"fct_median_s", "small_fct_p99_s"} <= set(columns)
    assert "small_fct_median_s" not in columns
    for width, number in ((200, 1), (80, 4)):
        console = Console(width=width)
        tables = traffic_tables(console, summary)
        with console.capture() as shown:
            for table in tables:
                console.print(table)
        assert len(tables) == number
        assert "…" not in shown.get()
        names = [line.split()[0] for line in shown.get().splitlines() if line[:1].isdigit()]
        assert names == ["0:", "1:", "2:", "3:", "4:"]


def test_a_terminal_shows_twenty_rows_of_traffic_and_a_short_run_in_its_unit(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "many.toml"
    many = {"duration": "2us", "traffic": 24 * [BULK | {"from": "h1"}]}
    file.write_text(load(NETWORK | many).to_toml(), encoding="utf-8")
    printed = fairport("run", str(file), "--no-output").out
    assert sum(": bulk" in line for line in printed.splitlines()) == 20
    assert "4 more rows of traffic" in printed
    assert "measured from 0.000 µs to 2.000 µs of 2 µs" in printed


def test_the_total_is_of_tcp_and_says_so_beside_udp() -> None:
    shown = []
    for traffic in ([BULK], [BULK, UDP], [UDP]):
        result = fp.run(NETWORK | {"duration": "20ms", "traffic": traffic})
        shown += [one for one in key_figures(result, None) if one[0] == "Total goodput"]
    assert [note for _, _, note in shown] == ["all flows", "all TCP flows", "all flows"]
    assert shown[2][1].startswith("50.")


def test_a_host_that_sends_in_several_hop_classes_has_the_colour_of_none(
    result: fp.Result,
) -> None:
    one_class = fp.run(NETWORK | {"duration": "20ms", "traffic": [BULK]})
    for run, is_grey in ((result, True), (one_class, False)):
        circles = re.findall(r'<circle [^>]*stroke="([^"]*)"[^>]*><title>(\w+)', draw(run))
        shown = {name: colour for colour, name in circles}
        assert [shown[name] == "var(--edge)" for name in ("h1", "h2", "h3")] == [is_grey] * 3


def test_no_evenness_is_claimed_of_transfers_or_of_one_flow() -> None:
    for traffic in ([TRANSFERS], [BULK | {"from": "h1"}], [BULK]):
        result = fp.run(NETWORK | {"duration": "20ms", "traffic": traffic})
        names = [name for name, _, _ in key_figures(result, None)]
        assert ("Jain index" in names) == (traffic == [BULK])


def test_a_flow_of_datagrams_has_no_tcp(result: fp.Result) -> None:
    has_tcp = pl.col("stack").is_not_null() & pl.col("congestion_control").is_not_null()
    of_tcp = result.flows.select(is_tcp=pl.col("protocol") == "tcp", has_tcp=has_tcp)
    assert of_tcp["is_tcp"].equals(of_tcp["has_tcp"])
    udp = result.flows.filter(protocol="udp")
    assert udp.height == 1
    assert udp["stack"].null_count() == udp["congestion_control"].null_count() == 1


def test_the_median_of_rounds_that_are_all_done_is_one_number() -> None:
    rounds = pl.DataFrame(
        {"traffic": [0] * 5, "start_s": [0.0] * 5, "bytes": [1] * 5}
        | {"completion_s": [1.0, 2.0, 3.0, 4.0, None]}
    )
    flows = pl.DataFrame({"traffic": [0, 1], "workload": ["incast", "periodic"]})
    found = completion.rounds_summary(rounds, flows, completion.Span(0.0, 9.0, 9.0))
    assert found is not None
    assert found["completion_median_s"] == 2.0
    assert found["completion_p99_s"] == found["completion_max_s"] == 4.0
    assert found["goodput_bps"] == pytest.approx(4 * 8 / 10)


def test_the_quantiles_of_a_hundred_transfers_are_those_of_their_ranks() -> None:
    hundred = pl.DataFrame({"fct_s": [float(at) for at in range(100, 0, -1)]}).with_columns(
        size_bytes=pl.lit(1), ideal_fct_s=pl.lit(0.5), start_s=pl.lit(0.0), end_s="fct_s"
    )
    found = completion.summary(hundred, completion.Span(0.0, 1.0, 100.0))
    assert found is not None
    parts = ("mean", "median", "p95", "p99", "max")
    assert [found["all"][f"fct_{part}_s"] for part in parts] == [50.5, 50, 95, 99, 100]
    assert [found["all"][f"slowdown_{part}"] for part in parts] == [101, 100, 190, 198, 200]


def test_datagrams_that_were_sent_are_counted(result: fp.Result) -> None:
    udp, summed = result.flows.filter(protocol="udp"), result.summary["udp"]
    assert summed is not None
    assert summed["sent"] == udp["segments_sent"].sum() > 0
    assert (summed["flows"], summed["drops"]) == (1, udp["drops"].sum())
