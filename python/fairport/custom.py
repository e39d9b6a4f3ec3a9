"""Types of the arguments of your own queue disciplines and congestion controls.

docs/extending.md describes them.
"""

from fairport._core import (
    Ack,
    Connection,
    CustomError,
    Established,
    Packet,
    Port,
    Queue,
    RateSample,
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
    "RateSample",
    "Window",
]
