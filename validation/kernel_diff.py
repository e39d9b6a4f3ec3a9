"""Random lossy exchanges of the stack `linux-6`, replayed against this machine's kernel.

    make kernel-diff
    make kernel-diff ARGS="--exchanges 60 --print-only"

`crates/drill` draws exchanges and writes them as packetdrill scripts: a sender with reno or cubic,
and a receiver; SACK on and off, losses, reordering, lost ACKs, and the same with ECN, with little
data and pauses, with a path that is down for a while, with lossy handshakes from either end, with a
path that holds segments back or delivers them twice, and with many of these at once; and senders
that pace, bbr among them. packetdrill (at a pinned commit, fetched and built in target/peers)
replays each in a network namespace of its own. It needs Linux, root or the right to make
namespaces, and /dev/net/tun; without them the case says why and ends with status 0.
`PACKETDRILL` names a program that is built already, `PACKETDRILL_SOURCE` another place to fetch
from.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fairport.backends.linux.host_times import hz

from validation import ROOT
from validation.case import Options, parser_of
from validation.markdown import table
from validation.peers import UnavailableError, do

HOME = ROOT / "target" / "peers" / "packetdrill"
SOURCE = "https://github.com/google/packetdrill"
COMMIT = "2c4001c4d6fc04a3bbd01d4b92be62717a37648a"
# exchanges that agree are kept here, and a test replays them against the stack
KEPT = "crates/drill/kernel"
# the stack's part in an exchange: sender (windows, timers, retransmissions) or receiver (ACKs)
# with a theme (`Theme` in crates/drill)
SIDES = (
    *("sender", "receiver", "sender-ecn", "receiver-ecn"),
    *("sender-pauses", "receiver-pauses", "sender-outages", "receiver-outages"),
    *("sender-handshakes", "receiver-handshakes"),
    *("sender-stalls", "receiver-stalls", "sender-mixed", "receiver-mixed"),
    *("sender-paced", "sender-rests"),
)
# per side
EXCHANGES = 500
# of all exchanges
ENOUGH = 0.95
# on a loaded machine the kernel is sometimes late, so one attempt that agrees is enough
TRIES = 5
NO_IPV6 = [f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6" for which in ("all", "default")]
SECONDS = 60
THEMES = {
    "": "",
    "ecn": ", ECN",
    "pauses": ", pauses",
    "outages": ", outages",
    "handshakes": ", handshakes",
    "stalls": ", stalls",
    "mixed": ", mixed",
}
PACED = {"paced": ", paced", "rests": ", rests"}
CLASSES = [
    f"{who}, SACK {sack}{theme}"
    for names, whos in ((THEMES, ("reno", "cubic", "receiver")), (PACED, ("bbr", "reno", "cubic")))
    for theme in names.values()
    for who in whos
    for sack in ("on", "off")
]


@dataclass(frozen=True)
class Result:
    """The outcome of one exchange; `difference` is empty if the kernel did the same."""

    seed: int
    of_class: str
    difference: str


def main(arguments: Sequence[str]) -> int:
    """Replays all exchanges and renews the table; 1 if too few agree."""
    parser = parser_of("kernel-diff", __doc__)
    parser.add_argument("--exchanges", type=int, default=EXCHANGES, help=f"per side ({EXCHANGES})")
    parser.add_argument("--first", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--jobs", type=int, default=4, help="exchanges at a time (4)")
    parser.add_argument(
        "--keep", type=int, default=0, metavar="N", help=f"keep N per side that agree in {KEPT} (0)"
    )
    parser.add_argument("--print-only", action="store_true", help="do not renew the page in docs/")
    given = parser.parse_args(arguments)
    if min(given.exchanges, given.first, given.jobs) < 1:
        parser.error("--exchanges, --first and --jobs must be at least 1")
    if given.keep < 0:
        parser.error("--keep must be at least 0")
    try:
        program = _packetdrill()
        _needs_namespaces()
    except UnavailableError as error:
        print(f"the kernel cannot be compared here: {error}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        refused = 0
        scripts = []
        for side in SIDES:
            refused += _write(Path(folder), side, given.first, given.exchanges)
            seeds = range(given.first, given.first + given.exchanges)
            scripts += [Path(folder) / f"{side}-{seed}.pkt" for seed in seeds]
        with ThreadPoolExecutor(given.jobs) as pool:
            results = list(pool.map(lambda script: _replay(program, script), scripts))
        if given.keep:
            pairs = zip(scripts, results, strict=True)
            agreeing = [script for script, it in pairs if not it.difference]
            _keep(agreeing, given.keep)
    text = _report(results, refused)
    print(text)
    Options(range(0), given.print_only).publish("validation/kernel.md", "kernel", text)
    agree = sum(not result.difference for result in results)
    return 0 if agree >= ENOUGH * len(results) else 1


def _report(results: Sequence[Result], refused: int) -> str:
    rows = []
    for of_class in CLASSES:
        of = [result for result in results if result.of_class == of_class]
        if of:
            rows.append([of_class, str(len(of)), str(sum(not result.difference for result in of))])
    agree = sum(not result.difference for result in results)
    rows.append(["all", str(len(results)), f"{agree} ({1000 * agree // len(results) / 10} %)"])
    differ = [
        [str(result.seed), result.of_class, result.difference]
        for result in results
        if result.difference
    ]
    kernel = f"Linux {platform.release().split('-')[0]} at {_hz()} Hz; {refused} draws refused."
    parts = [table(["exchanges", "number", "agree"], rows), kernel]
    if differ:
        parts.append(table(["seed", "class", "the first packet that differs"], differ))
    return "\n\n".join(parts)


def _replay(program: Path, script: Path) -> Result:
    text = script.read_text("utf-8")
    head = re.search(r"draw \d+: (\w+, SACK \w+)", text)
    assert head is not None
    side, _, seed = script.stem.rpartition("-")
    theme = side.partition("-")[2]
    said = ""
    for _ in range(TRIES):
        said = _run(program, script)
        if not said:
            break
    of_class = head[1] + (THEMES | PACED)[theme]
    return Result(int(seed), of_class, _in_words(said, text.splitlines()))


def _keep(agreeing: Sequence[Path], number: int) -> None:
    """Puts the first into the folder of the tests, without what the stack thought meanwhile.

    The tests' stack has ticks of 1 ms, whatever this kernel's are: some do not hold in them.
    """
    from fairport.scripts import run

    chosen = []
    for side in SIDES:
        of_side = [script for script in agreeing if script.stem.rpartition("-")[0] == side]
        chosen += [script for script in of_side if run(script).holds][:number]
    if len(chosen) < number * len(SIDES):
        print(f"{KEPT} stays as it is: only {len(chosen)} can be kept", file=sys.stderr)
        return
    kept = ROOT / KEPT
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for script in chosen:
        head, *lines = script.read_text("utf-8").splitlines(keepends=True)
        text = head + "".join(line for line in lines if not line.startswith("//"))
        (kept / script.name).write_text(text, "utf-8")


def _run(program: Path, script: Path) -> str:
    """The message of packetdrill; empty if everything happened as in the script."""
    # packetdrill makes itself a real-time process: milliseconds are too late for what is paced. It
    # does not read IPv6 packets from its device: each keeps one of TCP's there, which the kernel
    # then does not join to another (`skb_cloned` in tcp_can_collapse).
    inside = f'echo 1 | tee {" ".join(NO_IPV6)} > /dev/null 2>&1; exec "$@"'
    command = ["unshare", "--net", "sh", "-c", inside, "sh", str(program), str(script)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"packetdrill took more than {SECONDS} s"
    return "" if done.returncode == 0 else (done.stderr.strip() or "packetdrill failed")


def _in_words(said: str, lines: Sequence[str]) -> str:
    """The first packet that differs: what was expected and what the kernel did."""
    if not said:
        return ""
    first = said.splitlines()[0]
    place = re.search(r"\.pkt:(\d+): (?:error handling packet: )?(.*)", first)
    if place is None:
        return f"`{first}`"
    line = lines[int(place[1]) - 1].split("<nop")[0].strip()
    actual = re.search(r"happened at ([\d.]+) sec|vs actual: (\S+)", place[2])
    if actual is None:
        return f"`{line}`: {place[2]}"
    if actual[1]:
        return f"`{line}`: sent at {float(actual[1]):.3f}"
    field = re.search(r"field (\w+)", place[2])
    return f"`{line}`: {field[1] if field else 'it'} is {actual[2]}"


def _write(folder: Path, side: str, first: int, count: int) -> int:
    """Writes the scripts of one side; returns how many draws were refused."""
    command = ["cargo", "run", "--quiet", "--locked", "-p", "fairport-drill", "--example"]
    command += ["exchanges", "--", side, str(_hz()), str(first), str(count), str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def _hz() -> int:
    """Ticks of this kernel's clock per second."""
    return hz() or 1000


def _needs_namespaces() -> None:
    if not Path("/dev/net/tun").exists():
        raise UnavailableError("there is no /dev/net/tun")
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"no network namespace can be made: {done.stderr.strip()}")


def _packetdrill() -> Path:
    """The program, built at the pinned commit unless $PACKETDRILL names one."""
    if sys.platform != "linux":
        raise UnavailableError("this is not Linux")
    own = os.environ.get("PACKETDRILL")
    if own is not None:
        return Path(own)
    folder = HOME / COMMIT / "gtests" / "net" / "packetdrill"
    program = folder / "packetdrill"
    if program.exists():
        return program
    for tool in ("git", "gcc", "make", "bison", "flex", "unshare"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"there is no {tool}")
    source = os.environ.get("PACKETDRILL_SOURCE", SOURCE)
    HOME.mkdir(parents=True, exist_ok=True)
    do("fetch packetdrill", "git", "clone", "--quiet", source, HOME / COMMIT)
    do("find its commit", "git", "-C", HOME / COMMIT, "checkout", "--quiet", COMMIT)
    do("configure it", "sh", "-c", f"cd {folder} && ./configure")
    do("build it", "make", "-C", folder, "packetdrill")
    return program
