"""Which blackout is shown packet by packet: that of the starved class, within the measurement."""

from __future__ import annotations

from dataclasses import replace

import fairport as fp
import polars as pl
import pytest
import synthetic
from fairport import figures
from fairport.errors import InputError
from fairport.metrics import shown_blackout
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.result import Result


@pytest.fixture(scope="module")
def result() -> Result:
    return fp.run(fp.scenario("outcast").patch({"duration": "300ms"}), seed=1)


def test_it_is_the_starved_class_that_is_kept_out_and_not_the_many(result: Result) -> None:
    lone = result.flows.filter(hops=2)["flow"].item()
    shown = shown_blackout.shown(result.tables, result.summary)
    assert shown is not None
    through = result.drops.filter(pl.col("flow") == lone, pl.col("port") == shown.port)
    assert set(through["ingress_port"]) == {shown.ingress_port}
    assert "2-hop" in shown.why
    lost = shown.packets.filter(ingress_port=shown.ingress_port, fate="dropped")
    got_in = shown.packets.filter(fate="forwarded")["ingress_port"]
    assert len(lost) >= 3
    assert (got_in != shown.ingress_port).sum() >= len(lost) - 1
    assert shown.packets["time_s"].min() > result.summary["measure"]["from_s"]


def test_the_class_that_others_are_compared_with_has_no_peers_share(result: Result) -> None:
    classes = {name: dict(one) for name, one in result.summary["classes"].items()}
    classes["2-hop"]["throughput_ratio"] = classes["4-hop"]["throughput_ratio"] = 6.0
    shown = shown_blackout.shown(result.tables, {**result.summary, "classes": classes})
    assert shown is not None
    assert shown.why == "of the classes with a blackout, its 6-hop flows get least"


def test_each_recorded_blackout_is_in_the_table_of_drops(result: Result) -> None:
    runs = blackouts(result.drops)
    for port, rows in result.trace.group_by("blackout_of"):
        lost = rows.filter(ingress_port=port[0], fate="dropped")
        same = lost.join(result.drops, on=["time_s", "port", "ingress_port", "flow", "seq"])
        assert same.height == lost.height
        around = runs.filter(
            pl.col("ingress_port") == port[0],
            pl.col("first_s") <= rows["time_s"].max(),
            pl.col("last_s") >= rows["time_s"].min(),
        )
        assert around["length"].max() >= 2


def test_no_port_has_a_longer_blackout_that_would_have_fitted(result: Result) -> None:
    within = blackouts(result.drops).filter(
        pl.col("port") == result.trace["port"][0],
        pl.col("first_s") > result.summary["measure"]["from_s"],
        pl.col("length") + pl.col("others_accepted") < 50,
    )
    for (port,), rows in result.trace.group_by("blackout_of"):
        longest = within.filter(ingress_port=port)["length"].max()
        lost = rows.filter(ingress_port=port, fate="dropped").height
        assert lost >= longest


def test_it_says_how_much_of_a_longer_drop_run_was_recorded(result: Result) -> None:
    shown = shown_blackout.shown(result.tables, result.summary)
    assert shown is not None
    runs = drop_runs(result.drops.filter(port=shown.port), "ingress")
    [whole] = runs.filter(ingress_port=shown.ingress_port, first_s=shown.run.first_s)["length"]
    assert whole > shown.run.length, "the last drop came after more than 64 arrivals"
    said = f"{shown.run.length} of its {whole} consecutive drops, within 64 arrivals"
    assert shown.part == said
    notes = [text.get_text() for text in figures.draw(result, "queue").texts]
    assert any(said in note for note in notes)


def test_another_one_can_be_chosen(result: Result) -> None:
    other = next(one for one in result.trace["blackout_of"] if one != _default(result))
    shown = shown_blackout.shown(result.tables, result.summary, other)
    assert shown is not None
    assert shown.ingress_port == other
    with pytest.raises(InputError, match="is not an ingress port with a recorded blackout"):
        shown_blackout.shown(result.tables, result.summary, "edge9.9:9")


def test_without_drops_there_is_none() -> None:
    result = synthetic.run(lossless=True, duration_s=0.1)
    assert shown_blackout.shown(result.tables, result.summary) is None


def test_blackouts_that_were_not_recorded_are_not_denied() -> None:
    result = synthetic.run(duration_s=0.5)
    result = replace(result, tables=result.tables | {"trace": result.trace.clear()})
    count = blackouts(result.drops).filter(port="edge0.0:0").height
    assert count > 1
    notes = [text.get_text() for text in figures.draw(result, "queue").texts]
    assert f"{count} blackouts, none recorded packet by packet" in notes


def _default(result: Result) -> str:
    shown = shown_blackout.shown(result.tables, result.summary)
    assert shown is not None
    return shown.ingress_port
