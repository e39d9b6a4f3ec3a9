"""TCP_INFO of a socket: what the kernel says about a connection (include/uapi/linux/tcp.h)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_LAYOUT = struct.Struct("<8B 24I 4Q 6I 4Q 2I 2Q 6I 2H I")
_ROOM = 512
_NO_RTT = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """The fields that are used. Sizes are in bytes, times in seconds."""

    cwnd_bytes: int
    ssthresh_bytes: int | None
    """None: no threshold yet."""
    srtt_s: float | None
    """None: no sample yet."""
    rto_s: float
    """The retransmission timeout, doubled after each timeout in a row."""
    min_rtt_s: float | None
    """The handshake's included; None: no sample yet."""
    in_flight_bytes: int
    """Sent and not acknowledged."""
    segments_sent: int
    """Data segments, retransmissions included."""
    retransmits: int
    timeouts: int
    timeout_period_s: float
    """Time spent in recovery from timeouts; the kernel counts in ms."""


def read(connection: socket.socket) -> TcpInfo:
    """TCP_INFO of a connection. Fields that an older kernel does not have are 0."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROOM)
    fields = _LAYOUT.unpack(raw[: _LAYOUT.size].ljust(_LAYOUT.size, b"\0"))
    words = fields[8:32]
    rto_us, mss, unacked, rtt_us = words[0], words[2], words[4], words[15]
    ssthresh, cwnd, total_retransmits = words[17], words[18], words[23]
    counts = fields[36:42]
    acked_bytes, sent_bytes, again_bytes = fields[34], fields[48], fields[49]
    min_rtt_us, data_segments_out = counts[3], counts[5]
    timeouts, timeout_ms = fields[-3], fields[-1]
    return TcpInfo(
        cwnd_bytes=cwnd * mss,
        ssthresh_bytes=None if ssthresh >= 0x7FFFFFFF else ssthresh * mss,
        srtt_s=rtt_us * 1e-6 if rtt_us else None,
        rto_s=rto_us * 1e-6,
        min_rtt_s=None if min_rtt_us == _NO_RTT else min_rtt_us * 1e-6,
        # segments may be short; a client's SYN counts as an acknowledged byte
        in_flight_bytes=min(unacked * mss, max(0, sent_bytes - again_bytes - acked_bytes + 1)),
        segments_sent=data_segments_out,
        retransmits=total_retransmits,
        timeouts=timeouts,
        timeout_period_s=timeout_ms * 1e-3,
    )
