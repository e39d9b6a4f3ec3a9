"""Random payload sizes (TCPRand) for your own program, on an unmodified Linux kernel.

    sender = RandomizedSender(sock, r_min=724)
    sender.sendall(data)

TCPRand (Lee et al., INFOCOM 2015) draws the payload of each segment, so that flows that share a
switch port lose the rhythm in which one of them finds the buffer full again and again. A kernel
fills segments, but it respects the end of a record: data of one write with MSG_EOR share no segment
with later data, not even in a retransmission. So writes of random sizes become segments of random
sizes. docs/guide/tcprand.md says when this helps and what it costs.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Sequence
from math import inf, isfinite

from fairport import _core

SHAPES = ("default", "conservative", "aggressive")
"""Parameters of the adaptive form, as the paper calls them."""
_MOST = 2_000_000
"""In thousandths, parameters are 32 bits."""


class RandomizedSender:
    """Sends over a connected TCP socket in segments of random sizes.

    `r_min` is the smallest payload in bytes; sizes are uniform between it and the MSS. With
    `adaptive`, payloads are small when the congestion window comes near to its size at the last
    loss, and full otherwise; `r_min` is then the lower bound. It is True, one of `SHAPES`, or the
    paper's four parameters (sigma^2, mu, nu_tau, nu_omega). Equal seeds draw equal sizes; without a
    seed, each sender has its own.

    It sets TCP_NODELAY, so that a short segment does not wait. The adaptive form sets
    TCP_NOTSENT_LOWAT, because data that wait in the socket have their sizes already. Write large
    blocks: the end of a block is the end of a segment.

    Raises OSError for a socket that is not connected, ValueError for impossible values.
    """

    def __init__(
        self,
        sock: socket.socket,
        r_min: int = 724,
        *,
        adaptive: bool | str | Sequence[float] = False,
        seed: int | None = None,
    ) -> None:
        if sys.platform != "linux":
            raise OSError("random payload sizes need Linux: other kernels ignore MSG_EOR")
        if not 1 <= r_min < 1 << 16:
            raise ValueError(f"r_min={r_min} is not a payload size: give 1 to 65535 bytes")
        self._socket = sock
        self._descriptor = sock.fileno()
        if self._descriptor < 0:
            raise OSError("the socket is closed")
        shape = _shape(adaptive)
        text = None if shape is None else json.dumps(shape)
        self._sender = _core.PayloadSender(self._descriptor, r_min, text, seed)

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """Sends as much as the socket has room for; returns the number of bytes.

        Raises OSError as `socket.send` does: BlockingIOError if a non-blocking socket is full.
        """
        return self._send(_block(data), 0)

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Sends everything, and waits for room, up to the socket's timeout for each step."""
        block = _block(data)
        sent = 0
        while sent < len(block):
            try:
                sent += self._send(block, sent)
            except BlockingIOError:
                if self._socket.gettimeout() == 0:
                    raise
                self._wait()

    @property
    def segments(self) -> int:
        """Number of segments written so far."""
        return self._sender.pieces

    @property
    def mss(self) -> int:
        """Payload of a full segment, in bytes."""
        return self._sender.mss

    def _send(self, block: bytes, start: int) -> int:
        if self._socket.fileno() != self._descriptor:
            raise OSError("the socket is closed")
        return self._sender.send(block, start)

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        timeout = self._socket.gettimeout()
        if not poll.poll(None if timeout is None else 1000 * timeout):
            raise TimeoutError("timed out")


def _block(data: bytes | bytearray | memoryview) -> bytes:
    """What is to be sent; `bytes` alone would take a number for so many zeros."""
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def _shape(adaptive: bool | str | Sequence[float]) -> str | list[int | None] | None:
    """The shape as the engine reads it: a name, or thousandths with None for infinite."""
    if isinstance(adaptive, bool):
        return SHAPES[0] if adaptive else None
    if isinstance(adaptive, str):
        if adaptive not in SHAPES:
            raise ValueError(f"adaptive={adaptive!r} is none of {', '.join(SHAPES)}")
        return adaptive
    parts = list(adaptive)
    if not _is_shape(parts):
        raise ValueError(
            f"adaptive={adaptive!r} is not (sigma^2, mu, nu_tau, nu_omega): sigma^2 is at least"
            f" 0.001, a nu at least 0 (it may be infinite), and none is above {_MOST}"
        )
    return [round(1000 * part) if isfinite(part) else None for part in parts]


def _is_shape(parts: list[float]) -> bool:
    if len(parts) != 4:
        return False
    variance, mean, *nus = parts
    are_nus = all(0 <= nu <= _MOST or nu == inf for nu in nus)
    return 0.001 <= variance <= _MOST and abs(mean) <= _MOST and are_nus
