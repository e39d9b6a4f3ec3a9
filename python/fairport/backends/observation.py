"""The ports of an observation by their own names, for every backend that knows the network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from fairport.backends.protocol import BOTTLENECK, EVERY_PORT, Observation
from fairport.errors import OutputError, require_known


def named(observation: Observation, ports: Sequence[str], busiest: str) -> Observation:
    """The same observation, with each port once and by its own name.

    `ports` are those of the network, `busiest` is the one through which the data of most flows
    pass. Raises InputError for a port that does not exist.
    """
    return replace(
        observation,
        captures=_named(observation.captures, "captures", ports, busiest),
        packets=_named(observation.packets, "packets", ports, busiest),
    )


def _named(
    names: Sequence[str], argument: str, ports: Sequence[str], busiest: str
) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        if name == EVERY_PORT:
            found += ports
        elif name == BOTTLENECK:
            found.append(busiest)
        else:
            known = [BOTTLENECK, *ports]
            require_known(name, known, "is not a port of this network", field=argument)
            found.append(name)
    return tuple(dict.fromkeys(found))


def capture_files(port: str) -> tuple[str, str]:
    """Names of the two captures of a port: arriving and leaving packets.

    Some systems allow few signs in a file's name. Those of a node's name become numbers, as in
    addresses of pages, so that no two ports have the same file.
    """
    node, _, number = port.rpartition(":")
    stem = re.sub(r"[^\w.-]", lambda sign: quote(sign[0], safe=""), node) + f"-{number}"
    return f"{stem}.ingress.pcapng", f"{stem}.egress.pcapng"


def capture_paths(
    wanted: Observation, number: Mapping[str, int], seed: int
) -> list[tuple[int, Path, Path]]:
    """The captured ports by number, with the files for arriving and for leaving packets.

    Raises OutputError if their folder does not exist.
    """
    if not wanted.captures or wanted.folder is None:
        return []
    folder = Path(wanted.folder(seed)).absolute()
    if not folder.is_dir():
        raise OutputError(
            "is not a folder, so captures cannot be written there",
            file=str(folder),
            remedy="make it before the run",
        )
    files = ((port, *capture_files(port)) for port in wanted.captures)
    return [(number[port], folder / ingress, folder / egress) for port, ingress, egress in files]
