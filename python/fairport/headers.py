"""Sizes of headers in bytes, in one place."""

from __future__ import annotations

# RFC 791 3.1 and RFC 9293 3.1 without options, RFC 768.
IPV4 = 20
TCP = 20
UDP = 8

IPV4_TCP = IPV4 + TCP
IPV4_UDP = IPV4 + UDP

ETHERNET_BUFFERED = 18
"""IEEE 802.3: the header (14) and the FCS (4), which a buffer holds with the packet."""

ETHERNET_ON_WIRE = 38
"""IEEE 802.3: bytes of a frame on the line besides its packet: preamble and SFD (8), header (14),
FCS (4), inter-frame gap (12)."""
TIMESTAMPS = 12
"""RFC 7323 appendix A: the timestamps option, padded."""

LARGEST_PACKET = 65535
"""RFC 791 3.1: the length field has 16 bits."""
SMALLEST_MSS = 64
"""The smallest segment of the engine's TCP (`crates/tcp`)."""
