"""Captures in which hosts merged segments show what captures without offloads show."""

from __future__ import annotations

from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from captures import as_tcpdump_writes, captured
from fairport import metrics
from fairport.backends.captures import Source, analyse
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
# how many packets a merged capture may have in proportion
FEWER = 0.7


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
            few = with_offload(plain / f"{name}.pcap", file, offloads[name])
            assert few
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
    return found.drops.select("flow", "seq", "size_bytes", "flow_arrival").sort("flow", "flow_arrival")
