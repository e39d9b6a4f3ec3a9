"""Tables have the columns that are promised, whatever the engine's numbers look like."""

import fairport as fp
import synthetic
from fairport import tables


def made(**how):
    raw, hosts = synthetic.raw(**how)
    return raw, tables.from_core(raw, "r1", hosts, synthetic.STACKS, ["bulk"])


def test_every_table_has_its_columns_in_order_with_their_dtypes():
    _, frames = made(duration_s=0.1)
    assert frames.keys() == tables.SCHEMA.keys()
    for name, frame in frames.items():
        assert frame.schema == tables.empty(name).schema, name


def test_no_column_of_the_engine_is_lost():
    raw, frames = made(duration_s=0.1)
    for name, columns in raw["tables"].items():
        shown = {c.source or c.name for c in tables.SCHEMA[name]}
        assert columns.keys() <= shown, name
        assert frames[name].height == len(next(iter(columns.values())))


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
    assert flows["size_bytes"].null_count() == flows.height, "0 is the engine's word for endless"
    assert series["ssthresh_bytes"].null_count() == series.height, "no loss yet, no threshold"
    assert trace["depart_s"].is_null().to_list() == (trace["fate"] == "dropped").to_list()


def test_a_table_that_the_engine_does_not_fill_is_empty():
    _, frames = made(duration_s=0.1)
    assert frames["marks"].is_empty()
    assert frames["marks"].columns == ["run_id", "time_s", "port", "ingress_port", "flow", "seq"]


def test_every_column_is_explained():
    for name, columns in tables.SCHEMA.items():
        for column in columns:
            assert column.text, f"{name}.{column.name}"
            unit = {"_s": "s", "_bps": "bit/s", "_bytes": "B"}
            for ending, expected in unit.items():
                if column.name.endswith(ending):
                    assert column.unit == expected, f"{name}.{column.name}"


def test_ports_tell_how_fast_their_clocks_run():
    short = fp.scenario("two-switch").patch({"duration": "1ms"})
    drawn = fp.run(short, seed=1).ports["clock_error_ppm"]
    assert drawn.abs().max() <= 50  # ±50 ppm is what the scenario says
    assert drawn.min() < 0 < drawn.max()
    assert drawn.n_unique() == len(drawn)
    exact = fp.run(short.patch({"link.clock_error": "0ppm"}), seed=1).ports
    assert exact["clock_error_ppm"].to_list() == [0] * exact.height
