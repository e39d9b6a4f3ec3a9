"""What queue disciplines and congestion controls of your own are given; see docs/extending.md."""

from fairport._core import (
    Ack,
    Connection,
    CustomError,
    Established,
    Packet,
    Port,
    Queue,
    Window,
)

__all__ = [
    "Ack",
    "Connection",
    "CustomError",
    "Established",
    "Packet",
    "Port",
    "Queue",
    "Window",
]
