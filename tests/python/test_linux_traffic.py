"""Every kind of traffic over real TCP and UDP, and TCPRand's payloads on the wire."""

from __future__ import annotations

import errno
import math
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import timely
from fairport.payload import RandomizedSender
from linux_runs import SCENARIO, as_root

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import namespaces, tcp_info
from fairport.backends.protocol import Observation

pytestmark = pytest.mark.alone

MSS = 1448
THREE_PEERS = SCENARIO | {
    "duration": "1s",
    "topology": {"kind": "two-switch", "peers": 3},
    "queue": {"kind": "drop-tail", "limit": "40 packets"},
}


def run(*traffic: dict[str, Any], **change: Any) -> fp.Result:
    scenario = THREE_PEERS | {"traffic": list(traffic)} | change
    return timely(lambda: fp.run(scenario, seed=1, backend="linux"))


@as_root
def test_an_outage_has_the_times_of_the_scenario() -> None:
    outage = {"kind": "outage", "from": "500ms", "to": "700ms"}
    result = run({"from": "all", "to": "h0"}, loss=[outage])
    times = result.drops.filter(reason="loss")["time_s"].to_list()
    # the line is busy when it goes down
    assert 0.5 <= min(times) < 0.51
    assert max(times) < 0.7


@as_root
def test_the_first_pause_of_losses_begins_with_the_scenario() -> None:
    pauses = {"kind": "on-off", "drops": 3, "off": "400ms"}
    result = run({"from": "all", "to": "h0"}, loss=[pauses])
    times = result.drops.filter(reason="loss", port="s0:0")["time_s"].to_list()
    assert 0.4 <= min(times) < 0.45


@as_root
@pytest.mark.parametrize(
    ("host", "least_s", "most_s"),
    [
        ({}, 0.0, 0.005),
        # by a segment and by its ACK, at both hosts
        ({"delay": "5ms"}, 0.02, 0.025),
        # by a segment and by its ACK: neither may overtake earlier ones, so both take long
        ({"jitter": "40ms"}, 0.01, 0.08),
    ],
)
def test_adapters_come_on_top_of_what_real_hosts_take(
    host: dict[str, str], least_s: float, most_s: float
) -> None:
    # the shortest round trip needs no line that is full, as a valid run does
    scenario = THREE_PEERS | {"traffic": [{"from": "h1", "to": "h0"}], "host": host}
    flow = fp.run(scenario, seed=1, backend="linux").flows.row(0, named=True)
    assert least_s < flow["rtt_min_s"] < most_s


@as_root
def test_real_hosts_get_packets_at_interrupts() -> None:
    asked = {
        "kind": "request-response", "clients": "h1", "servers": "h0",
        "requests": 20, "request": "100B", "response": "100B",
    }  # fmt: skip
    response_s = run(asked, host={"interrupt_interval": "20ms"}).tables["requests"]["response_s"]
    # A request waits for the server's next interrupt, and the answer comes to the client when its
    # next interrupt is due. So an exchange takes one interval; without, a fifth of a millisecond.
    assert response_s.median() == pytest.approx(0.02, abs=0.5e-3)


@as_root
@pytest.mark.parametrize("backend", ["linux", "simulation"])
def test_segments_and_timeouts_of_requests_count(backend: str) -> None:
    """Four segments answer each request, which is one. The client's second request is lost."""
    asked = {
        "kind": "request-response", "clients": "h1", "servers": "h0",
        "requests": 5, "request": "100B", "response": "5kB",
    }  # fmt: skip
    # the ACKs of an answer, and of the handshake, are packets of the client, too
    change = {"tcp": SCENARIO["tcp"] | {"ack_policy": "every-segment", "tail_loss_probe": False}}
    scenario = THREE_PEERS | change | {"traffic": [asked]}
    plain = fp.run(scenario, seed=1, backend=backend).flows.row(0, named=True)
    assert (plain["segments_sent"], plain["retransmits"], plain["timeouts"]) == (25, 0, 0)
    acks = 1 if backend == "linux" else 0
    second = [{"kind": "numbered", "at": "h1:0", "packets": [2 + acks + 4 + 1]}]
    lost = fp.run(scenario | {"loss": second}, seed=1, backend=backend).flows.row(0, named=True)
    assert (lost["segments_sent"], lost["retransmits"], lost["timeouts"]) == (26, 1, 1)


@as_root
@pytest.mark.parametrize("backend", ["linux", "simulation"])
def test_a_syn_that_is_sent_again_is_no_segment(backend: str) -> None:
    """Neither the client's, nor the answer of the server, which sends the data."""
    asked = {
        "kind": "request-response", "clients": "h1", "servers": "h0",
        "requests": 1, "request": "100B", "response": "5kB",
    }  # fmt: skip
    first = [{"kind": "numbered", "at": host, "packets": [1]} for host in ("h0:0", "h1:0")]
    change = {"traffic": [asked], "loss": first, "duration": "2.5s"}
    flow = fp.run(THREE_PEERS | change, seed=1, backend=backend).flows.row(0, named=True)
    assert flow["established_s"] > 2
    assert (flow["segments_sent"], flow["retransmits"]) == (5, 0)


@as_root
def test_a_permutation_has_the_pairs_of_the_simulation() -> None:
    traffic = {"from": "all", "to": "permutation", "size": "20kB"}
    found = run(traffic).flows
    simulated = fp.run(THREE_PEERS | {"traffic": [traffic]}, seed=1).flows
    assert found.select("src", "dst").rows() == simulated.select("src", "dst").rows()
    assert found["fct_s"].null_count() == 0


@as_root
def test_finite_and_constant_rate_flows_side_by_side() -> None:
    result = run(
        {"from": "h1", "to": "h0", "size": "500kB", "start": "0.2s"},
        # stops early, so that the last datagram arrives before the run ends
        {
            "kind": "udp", "from": "h2", "to": "h0", "rate": "4Mbps", "payload": "1000B",
            "stop": "1.3s",
        },
        {"from": "h3", "to": "h0", "stop": "1s", "size": "1GB"},
        duration="1.5s",
    )  # fmt: skip
    file, udp, stopped = result.flows.sort("flow").iter_rows(named=True)
    assert file["delivered_bytes"] == file["size_bytes"] == 500_000
    # alone it would take 85 ms
    assert 0.08 < file["fct_s"] < 1.2
    assert file["ideal_fct_s"] == pytest.approx(0.085, rel=0.1)
    assert file["end_s"] == pytest.approx(file["start_s"] + file["fct_s"])
    assert udp["protocol"] == "udp"
    # a datagram of 1000 B every 2 ms
    sent_s = 1.3 - udp["start_s"]
    assert udp["segments_sent"] == pytest.approx(sent_s / 0.002, abs=3)
    assert udp["delivered_bytes"] == 1000 * (udp["segments_sent"] - udp["drops"])
    assert udp["congestion_control"] is None
    # a flow that is stopped has no completion time, and sends nothing later
    assert stopped["fct_s"] is None
    assert stopped["size_bytes"] == 10**9 > stopped["delivered_bytes"]
    late = result.series.filter(pl.col("flow") == stopped["flow"], pl.col("time_s") > 1.2)
    assert late["goodput_bps"].sum() == 0
    # every flow's series has all of its bytes, up to its end
    interval_s = pl.col("time_s").diff().fill_null(0.01).over("flow")
    for _, series in result.series.with_columns(s=interval_s).group_by("flow"):
        sampled = series.select(pl.col("goodput_bps").dot("s") / 8).item()
        assert sampled == pytest.approx(series["delivered_bytes"].max(), rel=0.05)
    assert set(result.series["flow"]) == {0, 1, 2}
    assert result.summary["udp"]["sent"] == udp["segments_sent"]


@as_root
@pytest.mark.parametrize(
    ("change", "payload"),
    [
        ({"link": SCENARIO["link"] | {"mtu": "576B"}}, 524),
        # the smaller of both ends' limits holds; the other host has the MTU's
        ({"host_tcp": [{"hosts": "h0", "mss": "1000B"}]}, 988),
        ({"host_tcp": [{"hosts": "h1", "mss": "1000B"}]}, 988),
    ],
)
def test_segments_are_as_long_as_the_scenario_says(change: dict[str, Any], payload: int) -> None:
    flow = run({"from": "h1", "to": "h0", "size": "1MB"}, **change).flows.row(0, named=True)
    assert flow["segments_sent"] - flow["retransmits"] == math.ceil(1e6 / payload)


@as_root
def test_transfers_end_without_resets() -> None:
    transfers = {
        "kind": "poisson", "from": "all", "to": "all", "load": 0.1, "sizes": "10kB", "flows": 20,
    }  # fmt: skip
    seen = Observation(packets=("h0:0", "h1:0", "h2:0", "h3:0"))
    scenario = THREE_PEERS | {"traffic": [transfers]}
    result = fp.run(scenario, seed=1, backend="linux", observation=seen)
    assert result.flows["fct_s"].null_count() == 0
    # a reset is the only segment without options: 40 B and its frame's 18, padded to 64
    assert result.packets["size_bytes"].min() == 70
    # with its handshake, a FIN from each side and an ACK for each segment
    assert result.packets.height <= 20 * (3 + 7 + 7 + 4) + 5


@as_root
def test_a_flow_that_is_stopped_during_its_handshake_sends_nothing() -> None:
    # a handshake takes 40 ms
    bulk = {"from": "h1", "to": "h0", "stop": "20ms"}
    flow = run(bulk, link={"rate": "50Mbps", "delay": "10ms"}).flows.row(0, named=True)
    assert flow["established_s"] > 0.02
    assert flow["delivered_bytes"] == flow["segments_sent"] == 0
    assert flow["fct_s"] is None
    # it ends with its FIN
    assert flow["established_s"] < flow["end_s"] < 0.1


@as_root
@pytest.mark.parametrize("connections", ["new", "persistent"])
def test_rounds_of_incast(connections: str) -> None:
    result = run(
        {
            "kind": "incast", "from": "all", "to": "h0", "block": "20kB", "rounds": 5,
            "pause": "10ms", "connections": connections,
        },
        # A round of 56 packets fits, so nothing is lost. Behind less, a sender that was late on a
        # loaded machine could lose its SYN, and wait for a second.
        queue={"kind": "drop-tail", "limit": "80 packets"},
    )  # fmt: skip
    rounds, flows = result.tables["rounds"], result.flows
    assert rounds["round"].to_list() == [0, 1, 2, 3, 4]
    # four senders
    assert set(rounds["bytes"]) == {80_000}
    # the line takes 12.8 ms for that, and for headers more
    assert rounds["completion_s"].min() > 0.0128  # type: ignore[operator]
    starts, ends = rounds["start_s"].to_list(), rounds["end_s"].to_list()
    assert all(later > end + 0.0099 for end, later in zip(ends, starts[1:], strict=False))
    assert flows.height == (20 if connections == "new" else 4)
    assert flows["delivered_bytes"].sum() == 5 * 80_000
    assert flows["drops"].sum() == 0
    # a connection that stays open is never complete
    assert flows["fct_s"].null_count() == (0 if connections == "new" else 4)
    assert set(flows["workload"]) == {"incast"}


@as_root
def test_random_arrivals_and_a_trace_complete(tmp_path: Any) -> None:
    listed = tmp_path / "flows.csv"
    listed.write_text("start_s,src,dst,size_bytes\n0.1,h1,h0,30000\n0.3,h2,h1,40000\n")
    result = run(
        {"kind": "poisson", "from": "all", "to": "all", "load": 0.2, "sizes": "10kB", "flows": 60},
        {"kind": "trace", "file": str(listed)},
    )
    by_kind = {name: flows for (name,), flows in result.flows.group_by("workload")}
    poisson, trace = by_kind["poisson"], by_kind["trace"].sort("start_s")
    assert poisson.height == 60
    assert poisson["fct_s"].null_count() == 0
    assert (poisson["fct_s"] > 0.0016).all()
    # the simulator's own times in the empty network; real hosts are slower
    assert (poisson["fct_s"] / poisson["ideal_fct_s"]).min() > 0.9  # type: ignore[operator]
    assert trace["delivered_bytes"].to_list() == [30_000, 40_000]
    assert trace["start_s"].to_list() == pytest.approx([0.1, 0.3], abs=0.02)
    assert trace["dst"].to_list() == ["h0", "h1"]
    assert result.summary["fct"]["all"]["completed"] == 62


@as_root
def test_requests_are_answered_on_open_connections() -> None:
    result = run(
        {
            "kind": "request-response", "clients": "h0", "servers": ["h1", "h2"],
            "connections": 4, "requests": 5, "request": "200B", "response": "20kB",
        }
    )  # fmt: skip
    requests = result.tables["requests"]
    assert requests.height == 20
    assert requests["end_s"].null_count() == 0
    assert (requests["response_s"] > 0.0034).all()
    # the data goes from servers to the client, and so do the drops
    assert set(result.flows["dst"]) == {"h0"}
    assert result.flows["delivered_bytes"].sum() == 20 * 20_000


# <linux/socket.h> and <linux/if_packet.h>
SO_RCVBUFFORCE = 33
SOL_PACKET = 263
PACKET_STATISTICS = 6


class Wire:
    """Every frame that a host sends and receives, in a socket that has room for the whole run.

    It is read when the run is over: a reader beside the generator would come too late.
    """

    def __init__(self, namespace: str) -> None:
        with namespaces.inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        # 5,000 frames of 2.3 kB each, as the kernel counts them
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._socket.bind((namespaces.INTERFACE, 3))
        self._socket.setblocking(False)

    def segments(self) -> list[tuple[int, int]]:
        """Sequence number and payload of every sent segment with data."""
        found: list[tuple[int, int]] = []
        for frame, (_, _, direction, *_) in self._frames():
            if direction != socket.PACKET_OUTGOING or frame[23] != socket.IPPROTO_TCP:
                continue
            # Ethernet, then IPv4 without options
            length = int.from_bytes(frame[16:18]) - 20 - 4 * (frame[46] >> 4)
            if length > 0:
                found.append((int.from_bytes(frame[38:42]), length))
        return found

    def _frames(self) -> Iterator[tuple[bytes, Any]]:
        while True:
            try:
                yield self._socket.recvfrom(2048)
            except BlockingIOError:
                return
            except OSError as error:
                # Says once that the interface is gone. The frames are still there.
                if error.errno != errno.ENETDOWN:
                    raise

    def lost(self) -> int:
        """The number of frames for which the socket had no room."""
        counts = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        return int.from_bytes(counts[4:], sys.byteorder)

    def close(self) -> None:
        self._socket.close()


@as_root
@pytest.mark.parametrize("sizing", ["static", "adaptive"])
def test_the_wire_shows_the_drawn_payloads_also_when_they_are_sent_again(
    sizing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wires: list[Wire] = []
    make = namespaces.Namespaces.make

    def watched(self: namespaces.Namespaces, *arguments: Any) -> None:
        make(self, *arguments)
        wires.append(Wire(next(host.namespace for host in self.hosts if host.number == 2)))

    monkeypatch.setattr(namespaces.Namespaces, "make", watched)
    tcp = SCENARIO["tcp"] | {"payload_sizing": sizing, "payload_min": "724B"}
    tight = {"kind": "drop-tail", "limit": "11 packets"}
    traffic = [{"from": "all", "to": "h0"}]
    scenario = THREE_PEERS | {"traffic": traffic, "tcp": tcp, "queue": tight}
    first: dict[int, int] = {}
    again = 0
    try:
        for _ in range(5):  # on a busy machine its sender may lose little
            result = fp.run(scenario, seed=1, backend="linux")
            first.clear()
            again = 0
            for seq, length in wires[-1].segments():
                again += seq in first
                # a segment that is sent again ends where it did
                assert first.setdefault(seq, length) == length
            assert wires[-1].lost() == 0
            if again > 5 and len(first) > 500:
                break
    finally:
        for wire in wires:
            wire.close()
    sizes = pl.Series(list(first.values()))
    assert again > 5
    assert again == result.flows.filter(pl.col("src") == "h2")["retransmits"].sum()
    assert len(sizes) > 500
    assert sizes.max() <= MSS  # type: ignore[operator]
    # the end of a block that the generator writes may be shorter
    assert (sizes < 724).mean() < 0.03  # type: ignore[operator]
    if sizing == "static":
        # U(724, 1448): its standard deviation is 209
        assert sizes.mean() == pytest.approx(1086, abs=40)
        assert (sizes == MSS).mean() < 0.03  # type: ignore[operator]
    else:
        assert 0.02 < (sizes < MSS).mean() < 1  # type: ignore[operator]


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        # the segments of an Ethernet
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, MSS)
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    return client, accepted


@pytest.mark.parametrize("adaptive", [False, True, "aggressive", (1, 1, float("inf"), 1)])
def test_each_write_of_the_library_is_one_segment(adaptive: Any) -> None:
    client, accepted = connected()
    total = 2_000_000
    got: list[int] = []

    def read() -> None:
        left = total
        while left and (data := accepted.recv(1 << 16)):
            left -= len(data)
            got.append(len(data))

    reader = threading.Thread(target=read)
    with client, accepted:
        reader.start()
        sender = RandomizedSender(client, r_min=500, adaptive=adaptive, seed=1)
        sender.sendall(bytes(total))
        reader.join()
        for _ in range(100):
            info = tcp_info.read(client)
            if info.in_flight_bytes == 0:
                break
            time.sleep(0.01)
    assert sum(got) == total
    assert sender.mss <= MSS
    # where the reader is late, the window ends within a segment, and TCP sends it in two parts
    in_parts = info.segments_sent - info.retransmits - sender.segments
    assert 0 <= in_parts <= 0.01 * sender.segments
    if adaptive is False:
        assert sender.segments == pytest.approx(2 * total / (500 + sender.mss), rel=0.05)


def test_the_library_refuses_what_cannot_be() -> None:
    client, accepted = connected()
    with client, accepted:
        with pytest.raises(ValueError, match="adaptive='bold'"):
            RandomizedSender(client, adaptive="bold")
        # not a number, a variance that is zero in thousandths, more than 32 bits of them
        for bad in (math.nan, 1), (1e-9, 1), (1, 1e7):
            with pytest.raises(ValueError, match=r"adaptive=.* none is above"):
                RandomizedSender(client, adaptive=(bad[0], 1, 1, bad[1]))
        with pytest.raises(ValueError, match=r"adaptive=.* is not"):
            RandomizedSender(client, adaptive=(1, 1, math.nan, 1))
        with pytest.raises(ValueError, match="r_min=0"):
            RandomizedSender(client, r_min=0)
        sender = RandomizedSender(client)
        with pytest.raises(TypeError, match="bytes-like"):
            sender.sendall(5)  # type: ignore[arg-type]
        assert sender.segments == 0
        client.setblocking(False)
        while sender.send(bytes(1 << 20)) == 1 << 20:
            pass
        with pytest.raises(BlockingIOError):
            sender.send(b"x")
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):
            sender.sendall(bytes(1 << 24))
    with pytest.raises(OSError, match="closed"):
        sender.send(b"x")
    with pytest.raises(OSError, match="closed"):
        RandomizedSender(client)
    with socket.socket() as alone, pytest.raises(OSError, match=r"(?i)not connected"):
        RandomizedSender(alone)
