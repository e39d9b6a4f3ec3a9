#!/usr/bin/env python3
"""The network of the Fairport scenario `SCENARIO` in Mininet. Run it as root: `sudo python3 FILE`.

Switches forward by rules for the scenario's pairs of senders and receivers, and by nothing else:
no controller runs. A pair's flows take one path here, the first one's.

Links are Mininet's: HTB and netem, whose buffers count packets and whose timing is the machine's.
They replace a switch's ports; docs/reference/topologies.md says what that does to the result.
"""

from __future__ import annotations

import functools
from typing import Any

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.topo import Topo

# name, name in Fairport, address
HOSTS: list[Any] = []

# name, name in Fairport, datapath
SWITCHES: list[Any] = []

# node, node, port, port, Mbit/s, delay, packets of buffer
LINKS: list[Any] = []

# switch, ingress port, sender's address, receiver's address, output port
RULES: list[Any] = []


class FairportTopo(Topo):  # type: ignore[misc]
    """Hosts, switches and links."""

    def build(self) -> None:
        """Builds the network from the tables above."""
        for name, _, address in HOSTS:
            self.addHost(name, ip=f"{address}/8")
        for name, _, datapath in SWITCHES:
            self.addSwitch(name, dpid=datapath)
        for first, second, port1, port2, rate_mbps, delay, packets in LINKS:
            self.addLink(
                first,
                second,
                port1=port1,
                port2=port2,
                bw=rate_mbps,
                delay=delay,
                max_queue_size=packets,
            )


def install(net: Any) -> None:
    """The rules. A packet that leaves by the port it came in by needs another action."""
    for switch, ingress, sender, receiver, output in RULES:
        action = "in_port" if ingress == output else f"output:{output}"
        match = f"in_port={ingress},ip,nw_src={sender},nw_dst={receiver}"
        net.get(switch).dpctl("add-flow", f"{match},actions={action}")


if __name__ == "__main__":
    setLogLevel("info")
    net = Mininet(
        topo=FairportTopo(),
        switch=functools.partial(OVSSwitch, failMode="secure"),
        link=TCLink,
        controller=None,
        autoStaticArp=True,
    )
    net.start()
    install(net)
    CLI(net)
    net.stop()
