"""htsim as a peer, on the same machine and at the same time: our program, built on its sources.

$HTSIM_SOURCE names a folder with its public repository; without it the script clones that. Two
things are changed in a copy: the minimum RTO, which is fixed in its source, and its message on
every timeout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from validation.peers import UnavailableError, do

HERE = Path(__file__).parent
HOME = HERE.parents[2] / "target" / "peers" / "htsim"
REPOSITORY = "https://github.com/Broadcom/csg-htsim"
REVISION = "841d9e7be46bb968eece766aa4b6c044c7799f67"
# the files of htsim that TCP over pipes and queues needs
_SOURCES = (
    *("eventlist", "tcppacket", "pipe", "queue", "tcp", "mtcp", "clock", "config", "network"),
    *("sent_packets", "loggers", "logfile", "route", "trigger", "rng", "switch", "routetable"),
    *("fairpullqueue", "queue_lossless", "eth_pause_packet", "ndppacket", "eqdspacket"),
)
_MINIMUM_RTO = re.compile(r"if \(_rto<timeFromSec\(0\.25\)\)\s*_rto = timeFromSec\(\.25\);")
_MESSAGE = re.compile(r'    cout <<"At " << now/\(double\)1000000000.*?endl;', re.DOTALL)


@dataclass(frozen=True)
class Flow:
    """A flow of a job; `size_bytes` is 0 for an endless one.

    Its packets take `out_ps` longer beside its sender, and their ACKs `back_ps`.
    """

    src: int
    dst: int
    start_ps: int
    size_bytes: int
    out_ps: int = 0
    back_ps: int = 0


@dataclass(frozen=True)
class Job:
    """Flows on a fat-tree; `paths` is `suffix` or `ecmp`."""

    k: int
    duration_ps: int
    limit_bytes: int
    link_ps: int
    host_ps: int
    rto_min_ps: int
    paths: str
    flows: tuple[Flow, ...]


@dataclass(frozen=True)
class Run:
    """What one run took, and what each flow's receiver has."""

    packet_hops: int
    wall_s: float
    setup_s: float
    received_bytes: tuple[int, ...]

    @property
    def ns_per_hop(self) -> float:
        """Wall time of the run per packet-hop."""
        return self.wall_s / self.packet_hops * 1e9


def build(rto_min_ps: int) -> Path:
    """Our program with this minimum RTO. Raises UnavailableError."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise UnavailableError("there is no g++")
    program = HOME / f"fat_tree-{rto_min_ps}"
    if program.exists() and program.stat().st_mtime > (HERE / "fat_tree.cc").stat().st_mtime:
        return program
    changed = HOME / f"sources-{rto_min_ps}"
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(_source() / "sim", changed, ignore=shutil.ignore_patterns("EXAMPLES"))
    _change(changed / "tcp.cpp", rto_min_ps)
    files = [str(changed / f"{name}.cpp") for name in _SOURCES]
    flags = ("-O3", "-DNDEBUG", "-march=native", "-std=c++17", "-w", "-I", changed)
    do("build the program", compiler, *flags, "-o", program, HERE / "fat_tree.cc", *files)
    return program


def run(program: Path, job: Job) -> Run:
    """Runs a job once."""
    done = subprocess.run([program], input=_lines(job), capture_output=True, text=True, check=False)
    found = re.search(r"hops=(\d+) wall_s=([\d.]+) setup_s=([\d.]+)", done.stdout)
    if done.returncode != 0 or found is None:
        raise UnavailableError(f"the program ended with status {done.returncode}")
    received = tuple(map(int, re.findall(r"received=(\d+)", done.stdout)))
    return Run(int(found[1]), float(found[2]), float(found[3]), received)


def _lines(job: Job) -> str:
    head: Iterable[object] = (
        *(job.k, job.duration_ps, job.limit_bytes, job.link_ps, job.host_ps),
        *(job.rto_min_ps, job.paths),
    )
    flows = (" ".join(map(str, astuple(flow))) for flow in job.flows)
    return "\n".join([" ".join(map(str, head)), *flows, ""])


def _source() -> Path:
    own = os.environ.get("HTSIM_SOURCE")
    if own is not None:
        return Path(own)
    clone = HOME / "clone"
    if not clone.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        do("get its sources", "git", "clone", "--quiet", REPOSITORY, clone)
    do("get its revision", "git", "-C", clone, "checkout", "--quiet", REVISION)
    return clone


def _change(tcp: Path, rto_min_ps: int) -> None:
    text = tcp.read_text(encoding="utf-8")
    text, limits = _MINIMUM_RTO.subn(f"if (_rto < {rto_min_ps}) _rto = {rto_min_ps};", text)
    text, messages = _MESSAGE.subn("", text)
    if (limits, messages) != (1, 1):
        raise UnavailableError(f"its sources are not those of revision {REVISION[:7]}")
    tcp.write_text(text, encoding="utf-8")
