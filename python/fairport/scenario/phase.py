"""The parameters that decide phases: delays, their spread, clocks and ties, as text.

Outcast is an effect of phase, so these are printed with every result.
"""

from __future__ import annotations

from fairport.scenario.host_profile import resolved
from fairport.scenario.model import Scenario
from fairport.scenario.network import Host, HostTimes
from fairport.scenario.shaper import Htb
from fairport.scenario.units import Duration, Rate


def phase_parameters(scenario: Scenario) -> dict[str, str]:
    """The parameters, one line each, by what they belong to."""
    link, switch = scenario.link, scenario.switch
    queue = scenario.sized_queue()
    framing = "Ethernet framing" if link.framing == "ethernet" else "no framing"
    first = "departures" if switch.departure_first else "arrivals"
    starts = dict.fromkeys(traffic.phase for traffic in scenario.traffic)
    return {
        "link": f"{_links(scenario)}, clocks ±{link.clock_error}, {framing}",
        "switch": f"{switch.processing_delay}; ties {switch.arbitration}, {first} first",
        "queue": f"{queue.kind} {queue.phase}",
        **_shaper(scenario),
        "host": _host(scenario.host_times()) + _adapter(scenario.host),
        "start": ", ".join(starts),
    }


def _links(scenario: Scenario) -> str:
    """Rates and delays of the links, also of those that have their own."""
    link, between = scenario.link, scenario.fabric_rate()
    extra = f" + U(0, {link.delay_spread})" if link.delay_spread else ""
    text = f"{_range(scenario.topology.link_rates(link.rate))}"
    text += f", {_range(scenario.topology.link_delays(link.delay))}{extra}"
    of_fabric = ", ".join(str(one) for one in (between, scenario.fabric.delay) if one is not None)
    return f"{text} (between switches {of_fabric})" if of_fabric else text


def _range(values: set[Rate] | set[Duration]) -> str:
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def _host(host: HostTimes) -> str:
    latency = f"{_drawn(host.delay, host.delay_spread)} each way"
    if host.profile is None:
        return f"{latency}, {host.processing} a segment"
    measured = resolved(host.profile)
    name = host.profile if isinstance(host.profile, str) else "a file"
    beside = f", and {latency}" if host.delay or host.delay_spread else ""
    return f"times measured on Linux {measured.machine.kernel} ({name}){beside}"


def _adapter(host: Host) -> str:
    jitter, interval = host.jitter, host.interrupt_interval
    late = f", packets arrive later by U(0, {jitter})" if jitter else ""
    return late + (f", interrupts at least {interval} apart" if interval else "")


def _shaper(scenario: Scenario) -> dict[str, str]:
    shaper = scenario.shaper
    if shaper is None:
        return {}
    bursts = f"burst {shaper.burst}"
    if isinstance(shaper, Htb):
        bursts += f", cburst {shaper.cburst}"
    where = "all ports" if shaper.hosts else "switch ports"
    timer = _drawn(Duration("0s"), shaper.timer_lateness)
    return {"shaper": f"{shaper.kind} {shaper.rate}, {bursts}, timer late by {timer}, at {where}"}


def _drawn(base: Duration, spread: Duration) -> str:
    return f"{base} + U(0, {spread})" if spread else f"{base}"
