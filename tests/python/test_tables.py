"""Tables have the documented columns, whatever the engine's numbers are."""

import subprocess
import sys

import fairport as fp
import polars as pl
import pytest
import synthetic
from fairport import tables
from fairport.backends import columns, simulation


def made(**how):
    raw, hosts = synthetic.raw(**how)
    return raw, columns.from_core(raw, "r1", hosts, synthetic.STACKS, ["bulk"])


def test_every_table_has_its_columns_in_order_with_their_dtypes():
    _, frames = made(duration_s=0.1)
    assert frames.keys() == tables.SCHEMA.keys()
    for name, frame in frames.items():
        assert frame.schema == tables.empty(name).schema, name


def test_no_column_of_the_engine_is_lost():
    raw, frames = made(duration_s=0.1)
    for name, arrays in raw["tables"].items():
        shown = {columns.source(c) for c in tables.SCHEMA[name]}
        assert arrays.keys() <= shown, name
        assert frames[name].height == len(next(iter(arrays.values())))


def test_indices_become_names():
    _, frames = made(duration_s=0.1)
    first = frames["flows"].row(0, named=True)
    assert (first["src"], first["dst"], first["stack"]) == ("h1", "h0", "linux-2.6")
    assert (first["protocol"], first["congestion_control"]) == ("tcp", "bic")
    assert set(frames["drops"]["ingress_port"]) <= {"edge0.0:1", "edge0.0:2"}
    assert set(frames["trace"]["fate"]) == {"forwarded", "dropped"}


def test_what_does_not_exist_is_null():
    _, frames = made(duration_s=0.1)
    flows, series, trace = frames["flows"], frames["series"], frames["trace"]
    assert flows["end_s"].null_count() == flows.height, "bulk flows run to the end"
    assert flows["size_bytes"].null_count() == flows.height
    assert series["ssthresh_bytes"].null_count() == series.height, "no loss yet, no threshold"
    assert trace["depart_s"].is_null().to_list() == (trace["fate"] == "dropped").to_list()


def test_a_table_that_the_engine_does_not_fill_is_empty():
    _, frames = made(duration_s=0.1)
    assert frames["marks"].is_empty()
    assert frames["marks"].columns == ["run_id", "time_s", "port", "ingress_port", "flow", "seq"]


_IN_THREADS = """
import sys, threading
import numpy, polars
from fairport.backends import columns
sys.setswitchinterval(1e-6)
started = threading.Barrier(8)
def first_array():
    started.wait()
    polars.Series(numpy.zeros(3))
threads = [threading.Thread(target=first_array) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
"""


def test_the_first_tables_of_a_process_may_be_made_in_several_threads_at_once():
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", _IN_THREADS], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_every_column_is_explained():
    for name, schema in tables.SCHEMA.items():
        for column in schema:
            assert column.text, f"{name}.{column.name}"
            unit = {"_s": "s", "_bps": "bit/s", "_bytes": "B"}
            for ending, expected in unit.items():
                if column.name.endswith(ending):
                    assert column.unit == expected, f"{name}.{column.name}"


def test_ports_tell_how_fast_their_clocks_run():
    short = fp.scenario("two-switch").patch({"duration": "1ms"})
    drawn = fp.run(short, seed=1).ports["clock_error_ppm"]
    assert drawn.abs().max() <= 50  # the scenario allows ±50 ppm
    assert drawn.min() < 0 < drawn.max()
    assert drawn.n_unique() == len(drawn)
    exact = fp.run(short.patch({"link.clock_error": "0ppm"}), seed=1).ports
    assert exact["clock_error_ppm"].to_list() == [0] * exact.height


def test_the_engine_fills_every_column_of_every_table_and_no_others():
    short = fp.scenario("two-switch").patch({"duration": "1ms"})
    raw = simulation.BACKEND.prepare(short, 1).simulation.run()
    # one table is only for captures, and one only for real hosts
    others = ("conversations", "answers")
    engines = {name: schema for name, schema in tables.SCHEMA.items() if name not in others}
    assert raw["tables"].keys() == engines.keys()
    dtypes = {pl.UInt32: "uint32", pl.UInt64: "uint64", pl.Float64: "float64", pl.Boolean: "uint8"}
    for name, schema in engines.items():
        assert raw["tables"][name].keys() == {columns.source(column) for column in schema}, name
        for column in schema:
            if column.dtype != pl.String:
                array = raw["tables"][name][column.name]
                assert array.dtype == dtypes[column.dtype], f"{name}.{column.name}"


def test_a_column_that_a_backend_cannot_know_is_null_where_the_schema_allows_it():
    raw, _ = made(duration_s=0.1)
    hosts = [f"h{i}" for i in range(16)]
    del raw["tables"]["series"]["cwnd_bytes"]
    frames = columns.from_core(raw, "r1", hosts, synthetic.STACKS, ["bulk"])
    assert frames["series"]["cwnd_bytes"].is_null().all()
    del raw["tables"]["series"]["goodput_bps"]
    with pytest.raises(ValueError, match=r"series\.goodput_bps"):
        columns.from_core(raw, "r1", hosts, synthetic.STACKS, ["bulk"])


def test_decisions_say_what_a_sender_decided_and_why():
    run = fp.run(fp.scenario("two-switch").patch({"duration": "0.2s"}), seed=1)
    decisions = run.decisions
    assert decisions["flow"].is_in(run.flows["flow"].implode()).all()
    ends = decisions.filter(pl.col("what") == "slow-start-end")
    assert not ends.is_empty()
    assert {"loss"} <= set(ends["cause"])
    assert (ends["cwnd_before_bytes"] >= ends["cwnd_after_bytes"]).all()
    fired = decisions.filter(pl.col("what") == "rto")
    timeouts = run.tables["timeouts"]
    assert fired.height > 0
    assert fired["time_s"].to_list() == timeouts["end_s"].to_list()
    assert fired["cause"].to_list() == ("rto-" + timeouts["cause"]).to_list()
