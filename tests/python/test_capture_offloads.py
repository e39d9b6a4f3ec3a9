"""Captures in which hosts merged segments show what captures without offloads show."""

from __future__ import annotations

from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from captures import as_tcpdump_writes, captured
from fairport.backends.captures import Source, analyse
from fairport.metrics.drop_runs import drop_runs
from offloads import Offload, with_offload

SCENARIO = {
    "name": "offloads",
    "duration": "300ms",
    "topology": {"kind": "two-switch", "peers": 4},
    "link": {"rate": "1Gbps"},
    "queue": {"kind": "drop-tail", "limit": "32KiB"},
    "traffic": [{"from": "all", "to": "h0"}],
}
# by the name of the port, its interface in the capture of the bottleneck's ingress
PORTS = {"s0-1": 1, "s0-2": 2}
TSO = Offload(gap_ns=100_000)
GRO = Offload(gap_ns=50_000, most=17, at_last=True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of the line: of the ingress ports, the output, and the ports by which ACKs leave."""
    folder = tmp_path_factory.mktemp("offloads")
    run = captured(fp.scenario(SCENARIO), ["s0:0", "s0:1", "s0:2"], folder / "run")
    as_tcpdump_writes(run.file("egress"), folder / "out.pcap")
    for port, interface in PORTS.items():
        as_tcpdump_writes(run.file("ingress"), folder / f"{port}.pcap", interface=interface)
        as_tcpdump_writes(run.file("ingress", port), folder / f"acks-{port}.pcap")
    return folder


def analysed(plain: Path, folder: Path, offloads: dict[str, Offload]) -> fp.Result:
    """The analysis of captures that are merged in this way."""
    sources = [Source(str(plain / f"acks-{port}.pcap")) for port in PORTS]
    for name in [*PORTS, "out"]:
        file = plain / f"{name}.pcap"
        if name in offloads:
            file = folder / f"{name}.pcap"
            with_offload(plain / f"{name}.pcap", file, offloads[name])
        sources.append(Source(str(file), "egress" if name == "out" else "ingress", name))
    return analyse(sources)


def counts(found: fp.Result) -> pl.DataFrame:
    """What the time of a packet does not change."""
    flows = found.flows.select(
        "flow", "delivered_bytes", "segments_sent", "retransmits", "timeouts", "drops"
    )
    more = found.tables["conversations"].select("flow", "out_of_order", "spurious_retransmits")
    return flows.join(more, on="flow").sort("flow")


def drops(found: fp.Result) -> pl.DataFrame:
    return found.drops.select("flow", "seq", "size_bytes", "flow_arrival").sort(
        "flow", "flow_arrival"
    )


@pytest.mark.parametrize(
    "offloads",
    [
        {"s0-1": TSO, "s0-2": TSO},
        {"out": GRO},
        {"s0-1": TSO, "s0-2": TSO, "out": GRO},
        {"s0-1": GRO, "s0-2": GRO, "out": GRO},
    ],
    ids=["senders", "receiver", "both", "mirror"],
)
def test_losses_are_those_of_captures_without_offloads(
    plain: Path, tmp_path: Path, offloads: dict[str, Offload]
) -> None:
    expected = analysed(plain, tmp_path, {})
    found = analysed(plain, tmp_path, offloads)
    assert found.manifest["packet_hops"] == expected.manifest["packet_hops"]
    assert expected.drops.height > 50
    assert drops(found).equals(drops(expected))
    assert counts(found).equals(counts(expected))
    runs = [drop_runs(one.drops, "flow")["length"].sort() for one in (found, expected)]
    assert runs[0].equals(runs[1])
    notes = " ".join(found.summary["captures"]["notes"])  # type: ignore[typeddict-item]
    assert all(f"{name}.pcap: " in notes and "hold several segments" in notes for name in offloads)
    assert "several segments" not in " ".join(expected.summary["captures"]["notes"])  # type: ignore[typeddict-item]


def test_drop_runs_by_port_are_kept_where_packets_keep_their_order(
    plain: Path, tmp_path: Path
) -> None:
    offload = Offload(gap_ns=100_000, in_order=True)
    found = analysed(plain, tmp_path, {"s0-1": offload, "s0-2": offload, "out": offload})
    expected = analysed(plain, tmp_path, {})
    runs = [drop_runs(one.drops, "ingress")["length"] for one in (found, expected)]
    assert runs[0].sort().equals(runs[1].sort())
    assert float(runs[0].max()) > 3  # type: ignore[arg-type]
