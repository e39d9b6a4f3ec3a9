"""Real runs on the Linux backend: tiny scenarios, hostile settings, and disturbances.

Each is a process of its own, in network namespaces that Fairport makes, and no frame leaves them.
In the middle comes a signal, one of its processes is killed, or a namespace is in its way. It ends
with a documented status and a sentence. It leaves no process, namespace, congestion control or
hidden file. What SIGKILL leaves is removed by `fairport linux cleanup` and by the same command once
more. Namespaces of others stay.
"""

from __future__ import annotations

import copy
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import tomli_w

from validation.attack import laws, words
from validation.attack.attempt import complaint, half_written
from validation.attack.documents import Grammar, places

# a run of tens of ms takes 2 to 3 s on an idle machine; a hostile duration is interrupted after it
PATIENCE_S = 25.0
ENDS_WITHIN_S = 60.0
# the measurement of real hosts ends when the traffic generator gets the processor
_LATE_S = 0.1
LATEST_S = 3.0
_NETNS = Path("/run/netns")
_PROFILE = "profile.toml"
_MAIN = "from fairport.cli import main; main()"
# the next namespaces of this process have these names, and one of them already exists
_TAKEN_SUFFIX = "-0000-switch"
_TAKEN = f"""
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
os.urandom = lambda count: bytes(count)
from fairport.backends.linux.namespaces import Namespaces
Namespaces().make_switch()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
{_MAIN}
"""
_SECTIONS = ("queue", "link", "tcp", "host", "switch", "probes", "measure", "loss", "traffic")
_TOPOLOGIES: tuple[dict[str, Any], ...] = (
    *({"kind": "two-switch", "peers": 1}, {"kind": "two-switch", "peers": 3}),
    *({"kind": "star", "hosts": 4}, {"kind": "fat-tree", "k": 4}),
)
_QUEUES: tuple[dict[str, Any], ...] = (
    *({"kind": "drop-tail", "limit": "20 packets"}, {"kind": "red"}, {"kind": "codel"}),
    *({"kind": "fq-codel"}, {"kind": "drop-tail", "limit": "16KiB", "implementation": "tc"}),
    {"kind": "step-marking", "limit": "50 packets", "mark_above": "5 packets"},
)
_TRAFFIC: tuple[dict[str, Any], ...] = (
    *({"from": "all", "to": "h0"}, {"from": "h1", "to": "h0", "size": "20kB"}),
    {"kind": "request-response", "servers": "h0", "clients": "h1", "response": "5kB"},
    {"kind": "poisson", "load": 0.3},
    {"kind": "udp", "from": "h1", "to": "h0", "rate": "5Mbps"},
)
_CONTROLS = ("cubic", "newreno", "bic", "dctcp", "bbr")
_OPTIONS: tuple[tuple[str, ...], ...] = (
    *(("--pcap", "bottleneck"), ("--packets", "bottleneck"), ("--repeat", "2"), ("--csv",)),
    *(("--seed", "7"), ("--no-figures",), ("--quiet",), ("--force",)),
)
_NEEDED = ("network namespaces", "raw frames (AF_PACKET)")
# negative before the command has begun: Python alone is started
_ENDED_BY_SIGNAL = (-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM)


def lack() -> str:
    """Why no run can be made here; empty if one can."""
    if sys.platform != "linux":
        return "this system is not Linux"
    from fairport.backends.linux import doctor

    if os.geteuid() != 0:
        return "it needs root"
    lacking = [one for one in doctor.examine() if one.what in _NEEDED and not one.is_there]
    return f"it needs {lacking[0].what}: {lacking[0].here}" if lacking else ""


class LinuxRun:
    """A drawn run, and what disturbs it."""

    def __init__(self, draw: random.Random, hostility: float, folder: Path) -> None:
        self._draw = draw
        self._hostility = hostility
        self._folder = folder
        self._made: list[str] = []

    def attempt(self) -> tuple[str, int, list[str]]:
        """What was done, the status, and what did not hold."""
        draw = self._draw
        line = self._line()
        happens: Callable[[subprocess.Popen[str]], str] = draw.choice(
            (self._nothing, self._nothing, self._signal, self._signal, self._kill_a_child)
        )
        taken = draw.random() < 0.1
        self._put_others_there()
        try:
            process = self._started(line, _TAKEN if taken else _MAIN)
            what = happens(process) + (", its namespace is there already" if taken else "")
            out, err, deaf = self._end(process)
            if taken:
                # a run that was refused earlier has not seen it
                there = _NETNS.glob(f"fairport-{process.pid}-*{_TAKEN_SUFFIX}")
                self._remove([path.name for path in there])
            found = [*deaf, *self._wrong(process, line, out, err)]
            if process.returncode == -signal.SIGKILL:
                found += self._once_more(line, process.pid)
            return f"{what}: {' '.join(line)}", process.returncode, found
        finally:
            self._remove(self._made)

    def _line(self) -> list[str]:
        """Writes a scenario; the command line that runs it."""
        draw = self._draw
        document: dict[str, Any] = {
            "name": "drawn",
            "duration": draw.choice(("10ms", "30ms", "60ms")),
            "topology": draw.choice(_TOPOLOGIES),
            "link": {"rate": draw.choice(("10Mbps", "50Mbps")), "delay": "0s"},
            "queue": draw.choice(_QUEUES),
            "tcp": {"stack": "linux-6", "congestion_control": draw.choice(_CONTROLS)},
            "traffic": [draw.choice(_TRAFFIC)],
        }
        # a copy, because it is changed below
        document = copy.deepcopy(document)
        grammar = Grammar(draw, self._hostility)
        if draw.random() < 0.4:
            grammar.change(document, _SECTIONS, draw.randint(1, 2))
        if draw.random() < 0.25:
            here, key = draw.choice(list(places(document)))
            here[key] = words.value(draw)
        if draw.random() < 0.15:
            self._damaged_profile()
            document["host"] = {"profile": _PROFILE}
        if draw.random() < 0.9:
            document["topology"] = dict(draw.choice(_TOPOLOGIES))
        try:
            text = tomli_w.dumps(document)
        except (TypeError, ValueError):
            text = ""  # TOML has no such value
        path = self._folder / "drawn.toml"
        path.write_text(text, encoding="utf-8", errors="replace")
        chosen = draw.sample(_OPTIONS, draw.choice((0, 0, 1, 2)))
        where = draw.choice((("--no-output", "--json"), ("--out", "out")))
        return [
            *("run", "drawn.toml", "--backend", "linux", *where),
            *(word for option in chosen for word in option),
        ]

    def _damaged_profile(self) -> None:
        sound = resources.files("fairport.scenario") / "host_profiles" / "linux-6-vm.toml"
        content = sound.read_bytes()
        if self._draw.random() < 0.8:
            content = words.damaged(content, self._draw)
        (self._folder / _PROFILE).write_bytes(content)

    def _started(self, line: Sequence[str], program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *line],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _nothing(self, _: subprocess.Popen[str]) -> str:
        return "to its end"

    def _signal(self, process: subprocess.Popen[str]) -> str:
        number = self._draw.choice((signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        moment_s = self._draw.uniform(0, LATEST_S)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment_s)
        process.send_signal(number)
        return f"{number.name} after {moment_s:.3f} s"

    def _kill_a_child(self, process: subprocess.Popen[str]) -> str:
        """Kills its traffic generator or its switch, soon after that was started."""
        moment_s = self._draw.uniform(0, 1)
        wanted = self._draw.choice((1, 2))
        until = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until:
            children = _children(process.pid)
            if len(children) >= wanted:
                time.sleep(moment_s)
                with suppress(ProcessLookupError):
                    os.kill(children[wanted - 1], signal.SIGKILL)
                break
            time.sleep(0.01)
        return f"its child {wanted} killed after {moment_s:.3f} s"

    def _end(self, process: subprocess.Popen[str]) -> tuple[str, str, list[str]]:
        """Its output. If it takes too long, it is interrupted, and ended if it does not react."""
        for wait_s, number in ((PATIENCE_S, signal.SIGINT), (ENDS_WITHIN_S, signal.SIGKILL)):
            try:
                return *process.communicate(timeout=wait_s), []
            except subprocess.TimeoutExpired:
                process.send_signal(number)
        return *process.communicate(), [f"did not end {ENDS_WITHIN_S:g} s after Ctrl-C"]

    def _wrong(
        self, process: subprocess.Popen[str], line: Sequence[str], out: str, err: str
    ) -> list[str]:
        status, pid = process.returncode, process.pid
        found = []
        if status == -signal.SIGKILL:
            found += self._cleaned_up(pid)
        else:
            if status not in _ENDED_BY_SIGNAL:
                found.append(complaint(status, out, err))
            found.append(half_written(self._folder))
            found += [f"the namespace {name} is left" for name in _namespaces(pid)]
            if status in (0, 3) and "--json" in line:
                found.append(laws.broken(out, late_s=_LATE_S))
        if not _ends(lambda: not _lives(pid)):
            found.append("a process is left")
        if not _ends(lambda: not _controls()):
            found.append(f"congestion controls are left: {_controls()}")
        found += [f"{name} is gone" for name in self._made if not (_NETNS / name).exists()]
        return [one for one in found if one]

    def _cleaned_up(self, pid: int) -> list[str]:
        """Cleans up after a killed run, half of the time with the command for that."""
        if self._draw.random() < 0.5:
            return []  # otherwise the next run cleans up
        _ends(lambda: not _lives(pid))
        done = self._started(["linux", "cleanup"], _MAIN)
        _, err = done.communicate(timeout=ENDS_WITHIN_S)
        wrong = [f"cleanup: {err}"] if done.returncode != 0 else []
        return wrong + [f"cleanup left the namespace {name}" for name in _namespaces(pid)]

    def _once_more(self, line: Sequence[str], killed: int) -> list[str]:
        """The same command after a kill, to its end."""
        force = ("--force",) if "--out" in line and "--force" not in line else ()
        process = self._started([*line, *force], _MAIN)
        out, err, deaf = self._end(process)
        found = [*deaf, *self._wrong(process, line, out, err)]
        if process.returncode in (0, 3):
            found += [f"the namespace {name} is left" for name in _namespaces(killed)]
        return [f"once more: {one}" for one in found]

    def _put_others_there(self) -> None:
        """Namespaces that only look like Fairport's; another attack has others."""
        for name in (f"fairport-of-mine-{os.getpid()}", f"fairport-{os.getpid()}-1"):
            if self._draw.random() < 0.3:
                from fairport.backends.linux import namespaces

                namespaces.create(name)
                self._made.append(name)

    def _remove(self, names: Sequence[str]) -> None:
        from fairport.backends.linux import namespaces

        namespaces.remove(names)


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _namespaces(pid: int) -> list[str]:
    """Namespaces that a process made, without the one that existed before."""
    found = (path.name for path in _NETNS.glob(f"fairport-{pid}-*-*"))
    return [name for name in found if not name.endswith(_TAKEN_SUFFIX)]


def _controls() -> list[str]:
    from fairport.backends.linux import congestion

    return congestion.leftovers()


def _lives(session: int) -> bool:
    try:
        os.killpg(session, 0)
    except ProcessLookupError:
        return False
    return True


def _ends(holds: Callable[[], bool]) -> bool:
    """Whether the condition becomes true within a while."""
    until = time.monotonic() + ENDS_WITHIN_S
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
