"""Round-trip times of real hosts, which the switch measures."""

from __future__ import annotations

import sys
from functools import partial

import fairport as fp
import numpy as np
import pytest
from conftest import timely
from linux_runs import SCENARIO, as_root, kernel_infos

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux.observing import Observe, Observer, Sample
from fairport.backends.linux.round_trips import RoundTrips

pytestmark = pytest.mark.alone


def trips(*samples: tuple[float, int, float]) -> RoundTrips:
    times, flows, rtts = (np.array(column) for column in zip(*samples, strict=True))
    columns = {"time_s": times, "flow": flows.astype(np.uint32), "rtt_s": rtts}
    return RoundTrips(columns, from_s=1.0, to_s=2.0)


def test_only_samples_of_the_measurement_count_for_flows() -> None:
    found = trips((0.5, 0, 9.0), (1.0, 0, 1.0), (1.5, 0, 3.0), (1.5, 2, 5.0), (2.5, 2, 9.0))
    columns = found.of_flows(3)
    assert columns["rtt_mean_s"].tolist()[::2] == [2.0, 5.0]
    assert columns["rtt_min_s"][0] == 1.0
    assert columns["rtt_max_s"][0] == 3.0
    assert all(np.isnan(column[1]) for column in columns.values())


def test_after_a_late_sample_the_next_one_is_an_interval_ahead() -> None:
    observer = Observer(Observe(0.1, 10, measure_from_s=None, measure_to_s=None), 0, [], {})
    assert observer.look(0.25) == pytest.approx(0.3)
    assert observer.look(0.26) == pytest.approx(0.3)


def test_a_row_of_the_series_has_the_samples_of_its_interval() -> None:
    found = trips((0.1, 0, 1.0), (0.5, 1, 7.0), (0.6, 0, 2.0), (1.0, 0, 4.0), (1.1, 0, 9.0))
    rows = [Sample(at, flow, 0.5, 0, 0, None) for at in (0.5, 1.0) for flow in (0, 1)]
    columns = found.of_series(rows)
    assert columns["rtt_mean_s"].tolist()[:3] == [1.0, 7.0, 3.0]
    assert np.isnan(columns["rtt_mean_s"][3])
    assert columns["rtt_max_s"][2] == 4.0
    assert found.of_series([])["rtt_min_s"].tolist() == []


def test_bins_are_those_of_the_simulation() -> None:
    # as in `a_bin_is_named_by_its_middle` of crates/record/src/rtt.rs
    found = trips((1.0, 0, 1e-6), (1.1, 0, 1e-6), (1.2, 5, 1e-6)).histogram(watched_flows=5)
    assert found["flow"].tolist() == [0]
    assert found["rtt_s"] == pytest.approx([1_001_472e-12], rel=1e-9)
    assert found["samples"].tolist() == [2]
    many = np.geomspace(1e-6, 10, 999)
    bins = trips(*((1.0, 0, float(rtt)) for rtt in many)).histogram(1)["rtt_s"]
    off = np.abs(bins[np.abs(bins[:, None] - many).argmin(0)] / many - 1)
    assert off.max() < 0.004


@as_root
def test_a_real_flow_has_round_trips_like_a_simulated_one() -> None:
    """Three flows share a line, behind buffers of 20 packets of 0.6 ms: one on the way of the
    flow over two links, two on that of the others. While these wait for timeouts, the flow over two
    links has the line to itself, and its packets queue in its own host, where no buffer is full.
    """
    shared = SCENARIO | {"duration": "2s", "link": {"rate": "20Mbps", "delay": "2ms"}}
    means = {}
    for backend in ("simulation", "linux"):
        result = timely(partial(fp.run, shared, seed=1, backend=backend))
        flows = result.flows.sort("hops")
        # of the flow over two links, behind no packets of others or behind a full buffer
        assert 0.008 < flows["rtt_min_s"][0] < 0.0215
        assert flows["rtt_max_s"][1:].max() < 0.05  # type: ignore[operator]
        for of_flow in flows.iter_rows(named=True):
            merged = result.rtt.filter(flow=of_flow["flow"])
            samples = merged["samples"]
            mean_s = (merged["rtt_s"] * samples).sum() / samples.sum()
            assert mean_s == pytest.approx(of_flow["rtt_mean_s"], rel=0.01)
        of_class = result.summary["classes"]["3-hop"]
        means[backend] = of_class["rtt_mean_s"]
        assert of_class["rtt_p99_s"] >= of_class["rtt_mean_s"]
        assert result.series["rtt_mean_s"].drop_nulls().len() > 50
    assert means["linux"] == pytest.approx(means["simulation"], rel=0.15)


@as_root
def test_what_rack_sends_again_by_its_timer_is_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its timer is a quarter of the round trip, here about as long as the minimum RTO."""
    ends = kernel_infos(monkeypatch)
    far = {
        "link": {"rate": "50Mbps", "delay": "12ms"},
        "tcp": SCENARIO["tcp"] | {"rto_min": "16ms", "tail_loss_probe": False},
        "loss": [{"kind": "periodic", "at": ["all"], "every": 40}],
    }
    result = fp.run(SCENARIO | far, seed=1, backend="linux")
    assert result.flows["retransmits"].sum() > 10
    assert result.flows["timeouts"].sum() <= sum(end.timeouts for end in ends) + 1


@as_root
def test_datagrams_have_one_way_delays() -> None:
    udp = {"kind": "udp", "from": "h1", "to": "h0", "rate": "4Mbps"}
    change = {"traffic": [udp], "link": {"rate": "20Mbps", "delay": "2ms"}}
    (delay,) = (
        one["delay_s"] for one in fp.run(SCENARIO | change, backend="linux").summary["traffic"]
    )
    # two links of 2 ms, each of which sends 1538 B in 0.6 ms
    assert 0.0052 < delay["mean"] < 0.0065
