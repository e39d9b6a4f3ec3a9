//! Packets, queue disciplines, ports, topologies, routing and the forwarding core.
