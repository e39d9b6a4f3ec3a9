"""Part of `make attack`: inputs that broke earlier versions, drawn attempts, and kills."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_neither_what_broke_an_earlier_version_nor_what_is_drawn_breaks_this_one() -> None:
    few = ["--attempts", "60", "--seconds", "600"]
    command = [sys.executable, "-m", "validation", "attack", *few]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    for kind in ("corpus", "scenario", "changed scenario", "command line", "damaged"):
        assert f"| {kind}" in done.stdout


def test_who_is_killed_leaves_nothing_half() -> None:
    command = [sys.executable, "-m", "validation", "kills", "--kills", "3", "--seed", "14"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    assert "| all |" in done.stdout


def test_an_attack_goes_on_beside_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation.attack import linux_runs

    if lack := linux_runs.lack():
        pytest.skip(lack)

    class PutsAll(random.Random):
        def random(self) -> float:
            return 0.0

    runs = [linux_runs.LinuxRun(PutsAll(), 0.0, tmp_path) for _ in range(2)]
    try:
        for run, pid in zip(runs, (1, 2), strict=True):
            monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
            run._put_others_there()
        names = {name for run in runs for name in run._made}
        assert len(names) == 4
        assert names <= {path.name for path in Path("/run/netns").iterdir()}
    finally:
        for run in runs:
            run._remove(run._made)


def test_whatever_is_drawn_is_a_document_and_a_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation.attack.documents import Grammar
    from validation.attack.questions import Questions

    for number in range(40):
        draw = random.Random(number)
        assert isinstance(Grammar(draw, hostility=0.3).scenario(), dict)
        _, document, line = Questions(draw, hostility=0.3).question()
        assert document is None or isinstance(document, dict)
        assert all(isinstance(word, str) and "\x00" not in word for word in line)
