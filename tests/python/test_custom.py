"""A user's own queue disciplines, schedulers and congestion controls."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from conftest import Command
from fairport.custom import Ack, Connection, Established, Packet, Port, Queue, Window
from fairport.scenario import Scenario

LIMIT_BYTES = 16_384


class DropTail:
    def __init__(self, port: Port) -> None:
        assert (port.limit_bytes, port.limit_packets) == (LIMIT_BYTES, None)
        assert (port.rate_bps, port.full_frame_bytes) == (1_000_000_000, 1518)
        assert port.name.split(":")[1].isdigit()

    def admit(self, queue: Queue, packet: Packet) -> bool | str:
        return queue.backlog_bytes + packet.size_bytes <= LIMIT_BYTES


class Fifo:
    """First in, first out, as a scheduler."""

    def __init__(self, port: Port) -> None:
        self.waiting: deque[Packet] = deque()
        self.bytes = 0

    def enqueue(self, queue: Queue, packet: Packet) -> bool:
        backlog = (queue.backlog_bytes, queue.backlog_packets)
        assert (self.bytes, len(self.waiting)) == backlog
        assert packet.arrived_s == queue.now_s
        if self.bytes + packet.size_bytes > LIMIT_BYTES:
            return False
        self.waiting.append(packet)
        self.bytes += packet.size_bytes
        return True

    def dequeue(self, now_s: float) -> Packet | None:
        if not self.waiting:
            return None
        packet = self.waiting.popleft()
        assert packet.arrived_s <= now_s
        self.bytes -= packet.size_bytes
        return packet


class NewReno:
    def __init__(self, connection: Connection) -> None:
        self.unit = connection.unit

    def on_ack(self, window: Window, ack: Ack) -> None:
        assert window.unit == self.unit
        if ack.may_grow and not window.slow_start(ack):
            window.grow_one_per(window.cwnd, ack)

    def on_loss(self, window: Window) -> None:
        window.lower_threshold(window.cwnd // 2)


def test_a_drop_tail_of_ones_own_is_the_built_in_one_packet_for_packet(
    outcast: Scenario, custom: Scenario
) -> None:
    for counts in (False, True):
        own = custom.patch({"queue.count_in_service": counts})
        built_in = outcast.patch({"queue.limit": "16KiB", "queue.count_in_service": counts})
        result = fp.run(own, disciplines={"mine": DropTail})
        assert result.fingerprint == fp.run(built_in).fingerprint
        assert result.manifest["user_code"]["disciplines"]["mine"]["class"].endswith("DropTail")


def test_a_scheduler_that_serves_in_order_is_a_drop_tail(
    outcast: Scenario, custom: Scenario
) -> None:
    built_in = fp.run(outcast.patch({"queue.count_in_service": False}))
    assert fp.run(custom, disciplines={"mine": Fifo}).fingerprint == built_in.fingerprint


def test_a_newreno_of_ones_own_is_the_built_in_one(outcast: Scenario) -> None:
    own = outcast.patch({"tcp.congestion_control": "custom:reno"})
    built_in = outcast.patch({"tcp.congestion_control": "newreno"})
    result = fp.run(own, congestion_controls={"reno": NewReno})
    assert result.fingerprint == fp.run(built_in).fingerprint
    assert set(result.flows["congestion_control"]) == {"custom:reno"}


def test_what_a_class_leaves_out_is_newreno(outcast: Scenario) -> None:
    class OnlyTimeouts:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_timeout(self, window: Window) -> None:
            assert window.cwnd == window.unit

    own = outcast.patch({"tcp.congestion_control": "custom:reno"})
    built_in = outcast.patch({"tcp.congestion_control": "newreno"})
    result = fp.run(own, congestion_controls={"reno": OnlyTimeouts})
    assert result.fingerprint == fp.run(built_in).fingerprint


def test_additive_increase_by_hand_fills_the_link() -> None:
    class Aimd:
        """Grows by one segment per round trip, and halves the window after a loss."""

        def __init__(self, connection: Connection) -> None:
            self.acked = 0

        def on_established(self, window: Window, start: Established) -> None:
            assert start.rtt_s

        def on_ack(self, window: Window, ack: Ack) -> None:
            if not ack.may_grow:
                return
            self.acked += ack.acked
            if window.is_in_slow_start:
                window.cwnd += ack.acked
            elif self.acked >= window.cwnd:
                self.acked -= window.cwnd
                window.cwnd += window.unit

        def on_loss(self, window: Window) -> None:
            window.ssthresh = max(window.cwnd // 2, 2 * window.unit)

    scenario = fp.scenario("two-switch").patch(
        {"duration": "1s", "tcp.congestion_control": "custom:aimd", "tcp.stack": "linux-6"}
    )
    result = fp.run(scenario, congestion_controls={"aimd": Aimd})
    assert 0.8 < result.summary["utilisation"] <= 1
    # losses, and windows that fell by half
    assert result.summary["bottleneck"]["drops"] > 0
    cwnd = result.series.filter(flow=0)["cwnd_bytes"].drop_nulls()
    assert cwnd.max() > 1.5 * cwnd.tail(50).min()


def test_a_congestion_control_knows_which_flow_it_is_of_and_how_long_it_will_be() -> None:
    starts: dict[int, Established] = {}
    receivers: list[int] = []

    class Notes:
        def __init__(self, connection: Connection) -> None:
            pass

        def on_established(self, window: Window, start: Established) -> None:
            if start.size_bytes == 0:
                receivers.append(start.flow)
            else:
                starts[start.flow] = start

    own = {"congestion_control": "custom:mine"}
    endless = {"kind": "bulk", "from": "h1", "to": "h0", "tcp": own}
    short = {"kind": "poisson", "load": 0.1, "sizes": "2kB..200kB", "tcp": own}
    scenario = fp.scenario("two-switch").patch({"duration": "50ms", "traffic": [endless, short]})
    flows = fp.run(scenario, congestion_controls={"mine": Notes}).flows
    known = flows.filter(flows["established_s"].is_not_null())
    assert known.height > 10
    for flow, size, at in known.select("flow", "size_bytes", "established_s").iter_rows():
        start = starts[flow]
        assert (start.size_bytes, start.now_s) == (size, pytest.approx(at, abs=1e-12)), flow
    assert starts[0].size_bytes is None
    # both ends have one
    assert set(receivers) <= set(starts)
    assert len(receivers) == len(set(receivers)) >= known.height - 1


def test_parameters_are_keyword_arguments_and_each_port_has_an_object(custom: Scenario) -> None:
    ports: dict[str, int] = {}
    made = 0

    class Limited(DropTail):
        def __init__(self, port: Port, packets: int, names: list[str]) -> None:
            nonlocal made
            assert names == ["a", "b"]
            self.packets = packets
            ports[port.name] = port.seed
            made += 1

        def admit(self, queue: Queue, packet: Packet) -> bool:
            return queue.backlog_packets < self.packets

    scenario = custom.patch({"queue.parameters": {"packets": 3, "names": ["a", "b"]}})
    result = fp.run(scenario, disciplines={"mine": Limited})
    switch_ports = 20 * 4
    assert len(ports) == len(set(ports.values())) == switch_ports
    # one for the run, and one to see where threads may divide the network
    assert made <= 2 * switch_ports
    assert result.queue["packets"].max() <= 3


def test_a_mark_is_a_mark_and_only_for_packets_that_can_be_marked(custom: Scenario) -> None:
    class Marking(DropTail):
        def admit(self, queue: Queue, packet: Packet) -> bool | str:
            if packet.is_ecn_capable and queue.backlog_packets >= 4:
                return "mark"
            return super().admit(queue, packet)

    class MarkingAll(DropTail):
        def admit(self, queue: Queue, packet: Packet) -> bool | str:
            return "mark"

    dctcp = custom.patch({"tcp.congestion_control": "dctcp"})
    result = fp.run(dctcp, disciplines={"mine": Marking})
    assert result.summary["bottleneck"]["marks"] > 0
    with pytest.raises(fp.CustomError, match="only where packet"):
        fp.run(custom, disciplines={"mine": MarkingAll})


def test_a_scheduler_may_drop_and_mark_what_it_holds(custom: Scenario) -> None:
    class DropsTheOldest(Fifo):
        def enqueue(self, queue: Queue, packet: Packet) -> bool:
            self.waiting.append(packet)
            self.bytes += packet.size_bytes
            while self.bytes > LIMIT_BYTES:
                oldest = self.waiting.popleft()
                self.bytes -= oldest.size_bytes
                oldest.drop("pushed-out")
            if packet.is_ecn_capable and len(self.waiting) > 4:
                self.waiting[0].mark()
            return True

    result = fp.run(custom, disciplines={"mine": DropsTheOldest})
    assert set(result.drops["reason"]) == {"pushed-out"}
    dctcp = custom.patch({"tcp.congestion_control": "dctcp"})
    result = fp.run(dctcp, disciplines={"mine": DropsTheOldest})
    assert result.summary["bottleneck"]["marks"] > 0


def test_an_exception_ends_the_run_with_the_traceback_as_cause(
    custom: Scenario, tmp_path: Path
) -> None:
    class Faulty(DropTail):
        def admit(self, queue: Queue, packet: Packet) -> bool:
            return 1 / queue.backlog_packets > 0

    with pytest.raises(fp.CustomError) as raised:
        fp.run(custom, disciplines={"mine": Faulty})
    message = str(raised.value)
    assert "Faulty.admit` failed (queue discipline `mine`): ZeroDivisionError" in message
    cause = raised.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    line = traceback.extract_tb(cause.__traceback__)[-1].lineno
    assert message.endswith(f"(test_custom.py, line {line})")
    with pytest.raises(fp.CustomError, match=r"^`[\w.<>]*Faulty.admit` failed"):
        fp.run(custom, disciplines={"mine": partial(Faulty)})
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "admit"
    # nothing is left half-written
    from fairport import run_and_save

    folder = tmp_path / "results"
    scenario = custom.with_user_code(disciplines={"mine": Faulty})
    with pytest.raises(fp.CustomError):
        run_and_save.run(scenario, [1], folder=folder)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_within_a_class_is_no_fault_of_the_class(custom: Scenario) -> None:
    class Interrupted(DropTail):
        def admit(self, queue: Queue, packet: Packet) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fp.run(custom, disciplines={"mine": Interrupted})


class _Sins:
    """Schedulers that break the rule: each accepted packet is returned or dropped exactly once."""

    class KeepsPackets(Fifo):
        def dequeue(self, now_s: float) -> Packet | None:
            return None if len(self.waiting) > 1 else super().dequeue(now_s)

    class SendsTwice(Fifo):
        def dequeue(self, now_s: float) -> Packet | None:
            self.last = getattr(self, "last", None) or super().dequeue(now_s)
            return self.last

    class DropsTheArriving(Fifo):
        def enqueue(self, queue: Queue, packet: Packet) -> bool:
            if queue.backlog_packets > 2:
                packet.drop()
            return super().enqueue(queue, packet)

    class DropsWhatItSends(Fifo):
        def dequeue(self, now_s: float) -> Packet | None:
            packet = super().dequeue(now_s)
            if packet is not None:
                packet.drop()
            return packet

    class ReturnsNonsense(Fifo):
        def dequeue(self, now_s: float) -> Any:
            return 7


@pytest.mark.parametrize(
    ("sinner", "message"),
    [
        (_Sins.KeepsPackets, "returned None while packets wait"),
        (_Sins.SendsTwice, "returned a packet that it does not hold"),
        (_Sins.DropsTheArriving, "dropped a packet that it does not hold"),
        (_Sins.DropsWhatItSends, "returned a packet that it does not hold"),
        (_Sins.ReturnsNonsense, "ReturnsNonsense.dequeue"),
    ],
)
def test_a_scheduler_that_loses_or_repeats_packets_is_refused(
    custom: Scenario, sinner: Callable[..., Any], message: str
) -> None:
    with pytest.raises(fp.CustomError, match=message):
        fp.run(custom, disciplines={"mine": sinner})


def test_an_answer_that_is_no_verdict_says_what_the_verdicts_are(custom: Scenario) -> None:
    class Vague(DropTail):
        def admit(self, queue: Queue, packet: Packet) -> str:
            return "maybe"

    with pytest.raises(
        fp.CustomError, match="'maybe' does not say what becomes of the packet: return True, False"
    ):
        fp.run(custom, disciplines={"mine": Vague})


def test_a_class_without_the_methods_or_with_other_parameters_is_refused(
    outcast: Scenario, custom: Scenario
) -> None:
    class Empty:
        def __init__(self, _: object) -> None:
            pass

    with pytest.raises(fp.CustomError, match="neither `admit` nor `enqueue` and `dequeue`"):
        fp.run(custom, disciplines={"mine": Empty})
    with pytest.raises(fp.CustomError, match="unexpected keyword argument 'speed'"):
        fp.run(custom.patch({"queue.parameters.speed": 1}), disciplines={"mine": DropTail})
    own = outcast.patch({"tcp.congestion_control": "custom:mine"})
    with pytest.raises(fp.CustomError, match="none of the methods on_established, on_ack"):
        fp.run(own, congestion_controls={"mine": Empty})


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("on_akc", "did you mean `on_ack`"),
        ("onLoss", "did you mean `on_loss`"),
        ("need_ecn", "did you mean `needs_ecn`"),
        ("on_handshake", "on_established, on_ack, on_rate_sample, on_loss"),
    ],
)
def test_a_method_that_would_never_be_called_is_refused(
    outcast: Scenario, misspelt: str, meant: str
) -> None:
    own = outcast.patch({"tcp.congestion_control": "custom:mine"})
    misspelling = type("Misspelling", (NewReno,), {misspelt: lambda *_: None})
    with pytest.raises(fp.CustomError, match=f"`{misspelt}`, which is never used: .*{meant}"):
        fp.run(own, congestion_controls={"mine": misspelling})

    class WithHelpers(NewReno):
        on_since_s = 0.0

        def timeout(self) -> None:
            """Its name is near that of a method, and is its own."""

    fp.run(own.patch({"duration": "5ms"}), congestion_controls={"mine": WithHelpers})


def test_a_class_that_is_a_discipline_and_a_scheduler_is_refused(custom: Scenario) -> None:
    class Both(Fifo):
        def admit(self, queue: Queue, packet: Packet) -> bool:
            return True

    with pytest.raises(fp.CustomError, match=r"`admit`.* and `enqueue`.*: leave out one"):
        fp.run(custom, disciplines={"mine": Both})


def test_a_window_of_nothing_is_refused(outcast: Scenario) -> None:
    class Zero(NewReno):
        def on_loss(self, window: Window) -> None:
            window.cwnd = 0

    own = outcast.patch({"tcp.congestion_control": "custom:mine"})
    with pytest.raises(fp.CustomError, match="less than one segment"):
        fp.run(own, congestion_controls={"mine": Zero})


def test_a_name_that_no_class_was_given_for_is_refused_with_what_to_do(
    outcast: Scenario, custom: Scenario
) -> None:
    with pytest.raises(fp.ScenarioError) as raised:
        fp.run(custom)
    assert (raised.value.field, raised.value.value) == ("queue.name", "mine")
    assert 'disciplines={"mine": Class}' in raised.value.remedy
    with pytest.raises(fp.ScenarioError) as raised:
        fp.run(outcast.patch({"tcp.congestion_control": "custom:mine"}))
    assert (raised.value.field, raised.value.value) == ("tcp.congestion_control", "custom:mine")
    assert 'congestion_controls={"mine": Class}' in raised.value.remedy


@pytest.mark.parametrize("nameless", ["custom", "custom:"])
def test_a_congestion_control_of_ones_own_has_a_name(outcast: Scenario, nameless: str) -> None:
    with pytest.raises(fp.ScenarioError) as raised:
        outcast.patch({"tcp.congestion_control": nameless})
    assert raised.value.remedy == "write `custom:NAME` for one of your own."


def test_the_command_line_refuses_what_only_a_program_can_run(fairport: Command) -> None:
    outcome = fairport("run", "outcast", "--set", "queue={kind='custom', name='mine'}")
    assert outcome.status == 2
    assert 'queue.name: "mine" is not a registered queue discipline' in outcome.err


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({0: 1}, r"parameters.classes: has the key 0, which is not text"),
        (None, "parameters.classes: null cannot be written to a scenario's file"),
        ([1, {2}], "parameters.classes.1: .* cannot be written"),
        ({"a": float("nan")}, "parameters.classes.a: NaN is not a finite number"),
    ],
)
def test_a_parameter_that_no_file_can_have_is_refused_before_the_run(
    custom: Scenario, value: object, said: str
) -> None:
    with pytest.raises(fp.ScenarioError, match=said):
        custom.patch({"queue.parameters": {"classes": value}})
    kept = custom.patch({"queue.parameters": {"classes": {"0": [1, 2.5, True, "x"]}}})
    assert fp.scenario(kept.document()) == kept


def test_the_limit_has_one_place(custom: Scenario) -> None:
    with pytest.raises(fp.ScenarioError, match="is a field that every queue has"):
        custom.patch({"queue.parameters.limit": "16KiB"})
