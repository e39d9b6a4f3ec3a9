"""Lowers a scenario to the engine's job: JSON, with integers in base units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fairport import headers
from fairport.errors import ScenarioError
from fairport.scenario.document import look_up
from fairport.scenario.model import Scenario
from fairport.scenario.selectors import SelectorError, position, select
from fairport.scenario.source import parts
from fairport.scenario.tcp import (
    DEFAULT_STACK,
    ENGINE_NAMES,
    TcpSettings,
    control_name,
    engine_value,
)
from fairport.scenario.traffic import Traffic
from fairport.scenario.traffic.base import Ends, ToOneReceiver, TrafficError

# a layer of TCP settings and its place in the scenario
Layer = tuple[str, TcpSettings]


@dataclass
class Job:
    """The engine's input, and the place in the scenario from which each part came."""

    document: dict[str, Any]
    """The job, ready for `json.dumps`."""
    hosts: Sequence[str] = ()
    """The names of the topology's hosts, in the engine's order."""
    stack_layers: list[list[Layer]] = field(default_factory=list)
    """The layers of settings that made each stack, the most general first."""
    flow_sources: list[str] = field(default_factory=list)
    """The traffic of each flow, such as "traffic.0"."""
    workload_sources: list[tuple[str, tuple[str, str]]] = field(default_factory=list)
    """The traffic of each workload, and the names of its fields for senders and receivers."""

    @property
    def stacks(self) -> list[dict[str, Any]]:
        """The distinct stacks of the flows' ends: `preset`, `overrides`."""
        stacks: list[dict[str, Any]] = self.document["stacks"]
        return stacks

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows that are known before the run, in the order of their numbers."""
        flows: list[dict[str, Any]] = self.document["flows"]
        return flows

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """The workloads, which start flows during the run."""
        workloads: list[dict[str, Any]] = self.document["workloads"]
        return workloads

    @property
    def user_code(self) -> dict[str, str]:
        """The names of the user's own code, by the job's fields that name it."""
        queue = self.document["queue"]
        named = {"queue.name": queue["name"]} if queue["kind"] == "custom" else {}
        for index, stack in enumerate(self.stacks):
            control = stack["overrides"].get("congestion_control", "")
            own, _, name = control_name(control).partition(":")
            if own == "custom":
                named[f"stacks.{index}.congestion_control"] = name
        return named


def lower(
    scenario: Scenario,
    hosts: Sequence[str],
    presets: Mapping[str, Mapping[str, Any]],
) -> Job:
    """The job of one run, with the scenario's seed.

    `hosts` are the topology's host names in the engine's order, `presets` the settings of every
    stack preset in base units (`_core.preset`). Raises ScenarioError for a selector that selects no
    existing host, and for a sender that is its own receiver.
    """
    probes, measure_to = scenario.probes, scenario.measure.end
    measure_from = scenario.measure.start
    job = Job(
        {
            "seed": scenario.seed,
            "duration_ps": int(scenario.duration),
            "topology": scenario.topology.job(),
            "routing": scenario.routing.job(),
            "link": {
                "rate_bps": int(scenario.link.rate),
                "delay_ps": int(scenario.link.delay),
                "delay_spread_ps": int(scenario.link.delay_spread),
                "mtu_bytes": int(scenario.link.mtu),
                "framing": scenario.link.framing,
                "clock_error_ppb": int(scenario.link.clock_error),
            },
            "fabric": scenario.fabric.job(
                scenario.topology.fabric_rate_bps(int(scenario.link.rate))
            ),
            "failed_links": scenario.fabric.failed,
            "switch": {
                "processing_delay_ps": int(scenario.switch.processing_delay),
                "arbitration": scenario.switch.arbitration,
                "departure_first": scenario.switch.departure_first,
            },
            "queue": scenario.sized_queue().job(),
            "shaper": None if scenario.shaper is None else scenario.shaper.job(),
            "classifier": None if scenario.classifier is None else scenario.classifier.job(),
            "losses": [loss.job() for loss in scenario.loss],
            "host": scenario.host_times().job()
            | {
                "jitter_ps": int(scenario.host.jitter),
                "interrupt_interval_ps": int(scenario.host.interrupt_interval),
                "queue_packets": int(scenario.host.queue),
            },
            "stacks": [],
            "flows": [],
            "permutations": [],
            "workloads": [],
            "probes": {
                "series_interval_ps": int(probes.series_interval),
                "queue_interval_ps": int(probes.queue_interval),
                "measure_from_ps": None if measure_from is None else int(measure_from),
                "measure_to_ps": None if measure_to is None else int(measure_to),
                "watched_flows": probes.flows,
                "watched_ports": probes.ports,
            },
        },
        hosts,
    )
    _add_traffic(job, scenario, presets)
    return job


def _add_traffic(job: Job, scenario: Scenario, presets: Mapping[str, Mapping[str, Any]]) -> None:
    host_layers = _host_layers(scenario, job.hosts)
    for index, traffic in enumerate(scenario.traffic):
        source = f"traffic.{index}"
        flow_layer: list[Layer] = [] if traffic.tcp is None else [(f"{source}.tcp", traffic.tcp)]

        @cache
        def stack(host: str, flow_layer: tuple[Layer, ...] = tuple(flow_layer)) -> int:
            return _stack(job, scenario, host_layers[host] + list(flow_layer), presets)

        try:
            senders, receivers = _ends(scenario, source, traffic, job.hosts)
            ends = Ends(index, senders, receivers, scenario.duration, stack)
            flows, workload = traffic.flows(ends), traffic.workload(ends)
        except TrafficError as error:
            raise error.placed(
                ScenarioError, file=scenario.where(f"{source}.{error.field}"), field=source
            ) from None
        job.flows.extend(flows)
        job.flow_sources.extend([source] * len(flows))
        if traffic.is_permutation(job.hosts):
            job.document["permutations"].append(index)
        if workload is not None:
            job.workloads.append(workload)
            job.workload_sources.append((source, traffic.selector_fields))


def _ends(
    scenario: Scenario, source: str, traffic: Traffic, hosts: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The hosts that send and those that receive."""
    senders_field, receivers_field = (f"{source}.{name}" for name in traffic.selector_fields)
    traffic.check_hosts(hosts)
    chosen, to = traffic.selectors
    receiver = traffic.receiver if isinstance(traffic, ToOneReceiver) else None
    if traffic.is_permutation(hosts):
        return _permuted(scenario, senders_field, chosen, hosts)
    with _naming(scenario, receivers_field):
        receivers = select(to, hosts) if receiver is None else [hosts[position(to, hosts)]]
    with _naming(scenario, senders_field):
        senders = select(chosen, hosts, but=receiver)
    alone = next((side[0] for side in (receivers, senders) if len(side) == 1), None)
    if alone in senders and alone in receivers:
        role = "receiver" if [alone] == receivers else "sender"
        field = senders_field if role == "receiver" else receivers_field
        other = "leave it out" if role == "receiver" else "add another sender"
        raise ScenarioError(
            f"includes the {role} `{alone}`",
            file=scenario.where(field),
            field=field,
            value=chosen if role == "receiver" else to,
            remedy=f'{other}, or write "all" for every host but the receiver'
            if receiver
            else other,
        )
    return senders, receivers


def _permuted(
    scenario: Scenario, field: str, chosen: Any, hosts: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The hosts of a permutation as senders, and in another order as receivers."""
    with _naming(scenario, field):
        senders = select(chosen, hosts)
    if len(senders) == 1:
        raise ScenarioError(
            "selects one host, which has no other to send to",
            file=scenario.where(field),
            field=field,
            value=chosen,
            remedy="select two or more hosts",
        )
    return senders, senders[1:] + senders[:1]


def _host_layers(scenario: Scenario, hosts: Sequence[str]) -> dict[str, list[Layer]]:
    layers: dict[str, list[Layer]] = {host: [("tcp", scenario.tcp)] for host in hosts}
    for index, layer in enumerate(scenario.host_tcp):
        with _naming(scenario, f"host_tcp.{index}.hosts"):
            selected = select(layer.hosts, hosts)
        for host in selected:
            layers[host].append((f"host_tcp.{index}", layer))
    return layers


@contextmanager
def _naming(scenario: Scenario, path: str) -> Iterator[None]:
    """Adds to the error of a selector with an unknown host its place in the scenario."""
    try:
        yield
    except SelectorError as error:
        value = look_up(scenario.resolved(), parts(path))
        raise error.placed(
            ScenarioError, file=scenario.where(path), field=path, value=value
        ) from None


def _stack(
    job: Job, scenario: Scenario, layers: list[Layer], presets: Mapping[str, Mapping[str, Any]]
) -> int:
    """The index of the stack that these layers make; a new stack is added to the job."""
    name = next((layer.stack for _, layer in reversed(layers) if layer.stack), DEFAULT_STACK)
    overrides: dict[str, Any] = {}
    for _, layer in layers:
        for scenario_name, engine_name in ENGINE_NAMES.items():
            value = getattr(layer, scenario_name)
            if value is not None:
                overrides[engine_name] = engine_value(value)
    control = overrides.get("congestion_control", "")
    own = next((layer.parameters for _, layer in reversed(layers) if layer.parameters), None)
    if own and control.startswith("custom:"):
        overrides["congestion_control"] = {"name": control, "parameters": own}
    fixed_header_bytes = overrides.get("fixed_header_bytes", presets[name]["fixed_header_bytes"])
    if "mss_bytes" not in overrides and not fixed_header_bytes:
        # RFC 9293 3.7.1: what remains of the interface's MTU
        overrides["mss_bytes"] = int(scenario.link.mtu) - headers.IPV4_TCP
    stack = {"preset": name, "overrides": overrides}
    if stack not in job.stacks:
        job.stacks.append(stack)
        job.stack_layers.append(layers)
    return job.stacks.index(stack)
