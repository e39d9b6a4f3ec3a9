"""`reproduce --backend linux`: the same claims, simulated and over real TCP, side by side."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport.errors import InputError
from fairport.papers.catalogue import chosen, entries
from fairport.result import Result
from fairport.scenario import Scenario
from fairport.study import on_linux
from fairport.study import reproduce as reproduce_study
from fairport.study.reproduce import document, reproduce
from fairport.study.runs.store import Store

NAME = "walsh2012/linear"


def with_linux() -> list[Any]:
    return [one for one in entries() if one.experiment.linux is not None]


def test_what_ran_on_real_hosts_has_a_linux_part() -> None:
    names = {one.name for one in with_linux()}
    assert {"chopra2012/one-to-n-shapers", NAME, "sajwan2018/linear"} <= names
    with pytest.raises(InputError, match="was not run on real hosts"):
        on_linux.require(chosen(["guo2001/random-loss"]))


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux")
@pytest.mark.parametrize("entry", with_linux(), ids=lambda entry: entry.name)
def test_every_linux_part_is_accepted_by_the_backend(entry: Any) -> None:
    from fairport.backends.linux import programs
    from fairport.backends.linux.backend import BACKEND

    try:
        programs.require()
    except programs.ProgramError as error:
        pytest.skip(str(error))
    for variant in on_linux._variants(entry):
        prepared = BACKEND.prepare(entry.scenario(variant, on_linux=True), 1)
        assert prepared.key.startswith("linux-")


@pytest.mark.parametrize(
    ("metric", "factor"),
    [
        ("goodput_bps_total", 10.0),
        ("rtt_mean_s", 0.1),
        ("throughput_ratio", 1.0),
        ("timeouts", 1.0),
        ("drop_run_share", 1.0),
    ],
)
def test_rates_and_times_of_slower_runs_are_scaled_back(metric: str, factor: float) -> None:
    assert reproduce_study._scale_back(metric, 10.0) == pytest.approx(factor)


def test_slower_runs_are_as_long_as_their_own_part_says() -> None:
    (entry,) = chosen(["prakash2012/one-to-n"])
    for quick in (False, True):
        scenario = entry.scenario(entry.variants[0], quick=quick, on_linux=True)
        assert scenario.duration.seconds == 10
        assert str(scenario.link.rate) == "100Mbps"
        assert scenario.tcp.rto_min == 20 * 10**9


def test_claims_have_both_results_and_invalid_runs_have_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def simulated_twice_as_fast(
        scenario: Scenario, seeds: Any, *, backend: str, retries: int, **_: Any
    ) -> Any:
        assert backend == "linux"
        assert retries == len(seeds)
        for number, seed in enumerate(seeds):
            result: Result = fp.run(scenario.patch({"duration": "6s", "measure": {}}), seed=seed)
            result.summary["valid"] = number > 0
            yield result

    monkeypatch.setattr(on_linux, "run_many", simulated_twice_as_fast)
    (done,) = reproduce(chosen([NAME]), quick=True, store=Store(tmp_path), backend="linux")
    assert done.linux is not None
    assert done.linux.invalid_runs == 3
    assert [record is None for record in done.linux.records["n2"]] == [True, False]
    claims = document([done])["claims"]
    assert claims
    for claim in claims:
        assert claim["linux"]["state"] in ("holds", "differs", "not_comparable")
        assert claim["linux"]["ours"] is not None
        assert claim["linux"]["q1"] <= claim["linux"]["q3"] or isinstance(claim["ours"], list)
        assert claim["linux"].keys() - {"state"} <= claim.keys()
    from fairport.report import reproduce as page

    html = page.page([done], {done.entry.name: []})
    assert '<th scope="col">Linux</th>' in html
    assert "3 runs were not valid" in html
