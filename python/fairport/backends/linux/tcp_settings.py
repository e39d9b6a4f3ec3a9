"""Which settings real hosts follow, and by which means of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairport import _core
from fairport.backends.jobs import stacks_of
from fairport.scenario import Scenario
from fairport.scenario.lower import Job
from fairport.scenario.tcp import ENGINE_NAMES

_FOLDER = Path("/proc/sys/net/ipv4")
_PS_PER_MS = 10**9
# the running kernel's TCP is nearest to this stack
_NEAREST = "linux-6"

SYSCTLS: dict[str, tuple[str, Callable[[Any], int]]] = {
    "sack": ("tcp_sack", int),
    "timestamps": ("tcp_timestamps", int),
    "ecn": ("tcp_ecn", int),
    "ecn_fallback": ("tcp_ecn_fallback", int),
    "sack_compression": ("tcp_comp_sack_nr", int),
    "slow_start_after_idle": ("tcp_slow_start_after_idle", int),
    "dsack": ("tcp_dsack", int),
    "frto": ("tcp_frto", lambda is_on: 2 if is_on else 0),
    "tail_loss_probe": ("tcp_early_retrans", lambda is_on: 3 if is_on else 0),
    "syn_linear_timeouts": ("tcp_syn_linear_timeouts", int),
    "rto_max_ps": ("tcp_rto_max_ms", lambda ps: min(max(1000, ps // _PS_PER_MS), 120_000)),
}
"""Settings that are files of a network namespace, and what the kernel writes there."""

OF_HOSTS = (
    *SYSCTLS,
    "rto_min_ps",
    "initial_window_segments",
    "ack_policy",
    "segmentation_offload",
)
"""Settings of a host, and so of all its connections."""

OF_SOCKETS = (
    "congestion_control",
    "mss_bytes",
    "nagle",
    "pacing",
    "payload_sizing",
    "payload_min_bytes",
    "tcprand",
)
"""Settings of a connection's own socket."""

# `host_settings` refuses them where they matter
_REFUSED = ("pacing_granularity_ps", "send_gap_max_ps")
# fields of the model for which real hosts have no use, and those that bridges with `tc` lack
_SIMULATED: Mapping[str, tuple[str, ...]] = {"host": ("processing", "profile", "queue")}
_SWITCHED: Mapping[str, tuple[str, ...]] = {
    "host": ("delay", "delay_spread"),
    "link": ("clock_error",),
    "switch": ("processing_delay", "arbitration", "departure_first"),
}


def sysctls(stack: Mapping[str, Any]) -> dict[str, int]:
    """Files of a namespace below net/ipv4 with their values; an older kernel lacks some of them."""
    return {
        name: value(stack[setting])
        for setting, (name, value) in SYSCTLS.items()
        if (_FOLDER / name).exists()
    }


def ignored(scenario: Scenario, job: Job) -> list[str]:
    """The scenario's settings that real hosts do not follow, by the scenario's names.

    A setting that is as in today's Linux is not among them.
    """
    found: dict[str, None] = {}
    nearest, names = _core.preset(_NEAREST), {own: name for name, own in ENGINE_NAMES.items()}
    for stack, settings in zip(job.stacks, stacks_of(job), strict=True):
        if stack["preset"] != _NEAREST:
            found["tcp.stack"] = None
        for setting in stack["overrides"]:
            if settings[setting] != nearest[setting] and not _is_followed(setting, settings):
                found[f"tcp.{names[setting]}"] = None
    absent = [_SIMULATED, *([_SWITCHED] if scenario.queue.implementation == "tc" else [])]
    for section, fields in (pair for sections in absent for pair in sections.items()):
        given = getattr(scenario, section).model_fields_set
        found |= {f"{section}.{name}": None for name in fields if name in given}
    return list(found)


def _is_followed(setting: str, settings: Mapping[str, Any]) -> bool:
    if setting == "ack_policy":
        # the kernel has no delayed ACKs without quick ones
        return bool(settings[setting] == "every-segment")
    if setting in SYSCTLS:
        return (_FOLDER / SYSCTLS[setting][0]).exists()
    return setting in (*OF_HOSTS, *OF_SOCKETS, *_REFUSED)
