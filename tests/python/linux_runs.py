"""What tests of the Linux backend share: the mark of those that need root, and a small scenario."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairport.backends.linux.tcp_info import TcpInfo

as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux: network namespaces"
)

# every sender at once through one slow port
SCENARIO: dict[str, Any] = {
    "name": "linux-test",
    "duration": "1.2s",
    "topology": {"kind": "two-switch", "peers": 2},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "20 packets"},
    "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms"},
    "traffic": [{"from": "all", "to": "h0", "start_jitter": "1ms"}],
}


def kernel_infos(monkeypatch: pytest.MonkeyPatch) -> list[TcpInfo]:
    """The kernel's TCP_INFO at each end of each flow; filled by runs from now on."""
    from fairport.backends.linux import measured

    found: list[TcpInfo] = []
    arrays = measured.arrays

    def spy(outcome: Any, generator: Any, **others: Any) -> Any:
        found.extend(end for flow in generator.flows for end in flow.infos)
        return arrays(outcome, generator, **others)

    monkeypatch.setattr(measured, "arrays", spy)
    return found
