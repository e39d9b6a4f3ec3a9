"""What tests of the Linux backend share: the mark of those that need root, and a small scenario."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux: network namespaces"
)

# every sender at once through one slow port
SCENARIO: dict[str, Any] = {
    "name": "linux-test",
    "duration": "2s",
    "topology": {"kind": "two-switch", "peers": 2},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "20 packets"},
    "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms"},
    "traffic": [{"from": "all", "to": "h0", "start_jitter": "1ms"}],
}


def kernel_timeouts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The timeouts that the kernel counts, by end of each flow; filled by runs from now on."""
    from fairport.backends.linux import measured

    counted: list[int] = []
    arrays = measured.arrays

    def spy(outcome: Any, generator: Any, **others: Any) -> Any:
        counted.extend(end.timeouts for flow in generator.flows for end in flow.infos)
        return arrays(outcome, generator, **others)

    monkeypatch.setattr(measured, "arrays", spy)
    return counted
