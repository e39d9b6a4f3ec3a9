"""A long run's memory is moved into pages of 2 MiB, now and then, and the result stays the same."""

from __future__ import annotations

import mmap
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import fairport as fp
import pytest
from fairport.backends import huge_pages

_MIB = 1 << 20


def _can_collapse() -> bool:
    version = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdecimal())
    setting = huge_pages._SETTING
    return (
        platform.system() == "Linux"
        and version >= (6, 1)
        and setting.exists()
        and "[never]" not in setting.read_text(encoding="utf-8")
    )


def _in_huge_pages_bytes() -> int:
    lines = Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))


@pytest.fixture
def memory() -> Iterator[mmap.mmap]:
    """64 MiB in pages of 4 KiB."""
    with mmap.mmap(-1, 64 * _MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for start in range(0, len(memory), mmap.PAGESIZE):
            memory[start] = start // mmap.PAGESIZE % 251
        memory.madvise(mmap.MADV_HUGEPAGE)  # takes the ban back, and moves nothing
        yield memory


@pytest.mark.skipif(not _can_collapse(), reason="needs Linux 6.1 that gives huge pages")
def test_memory_is_moved_with_its_content(memory: mmap.mmap) -> None:
    before = _in_huge_pages_bytes()
    huge_pages.collapse()
    # the first and the last part of the mapping may not fill a page
    assert _in_huge_pages_bytes() - before >= 60 * _MIB
    for start in range(0, len(memory), mmap.PAGESIZE):
        assert memory[start] == start // mmap.PAGESIZE % 251


@pytest.mark.skipif(not _can_collapse(), reason="needs Linux 6.1 that gives huge pages")
def test_nothing_is_moved_where_the_owner_of_the_system_says_never(
    memory: mmap.mmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    setting = tmp_path / "enabled"
    setting.write_text("always madvise [never]\n", encoding="utf-8")
    monkeypatch.setattr(huge_pages, "_SETTING", setting)
    before = _in_huge_pages_bytes()
    huge_pages.collapse()
    # the kernel itself may move some meanwhile
    assert _in_huge_pages_bytes() - before < 32 * _MIB


def test_nothing_happens_on_other_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huge_pages, "_SETTING", tmp_path / "none")
    huge_pages.collapse()


def test_the_pauses_between_two_moves_double(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    moved_at_s = []
    monkeypatch.setattr(time, "perf_counter", lambda: now_s)
    monkeypatch.setattr(huge_pages, "collapse", lambda: moved_at_s.append(now_s - 100))
    reports = []
    report = huge_pages.moving(lambda simulated_s, packet_hops: reports.append(packet_hops))
    for step in range(9 * 16):
        now_s = 100 + step / 16
        report(0.0, step)
    assert moved_at_s == [1, 2, 4, 8]
    assert reports == list(range(9 * 16))


def test_a_run_moves_its_memory_and_its_result_stays_the_same(
    short: fp.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = []
    short = short.patch({"duration": "0.3s"})  # the engine reports several times
    monkeypatch.setattr(huge_pages, "_FIRST_S", 1e9)
    untouched = fp.run(short)
    monkeypatch.setattr(huge_pages, "_FIRST_S", 0.0)
    collapse = huge_pages.collapse

    def counted() -> None:
        moves.append(1)
        collapse()

    monkeypatch.setattr(huge_pages, "collapse", counted)
    moved = fp.run(short)
    assert moves
    assert moved.fingerprint == untouched.fingerprint
