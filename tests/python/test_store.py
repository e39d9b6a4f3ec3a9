"""The store finds earlier runs, and never takes another run for one of them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport import _core, backends
from fairport.backends.progress import Done
from fairport.errors import InputError
from fairport.record import DamagedRecordError, Record
from fairport.scenario import Scenario, load
from fairport.study.making import Listeners, Status
from fairport.study.runs import model_version
from fairport.study.runs import store as store_module
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store, StoreWarning
from fairport.study.sweep import sweep


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


def runs_made(tasks: list[tuple[Scenario, int]], kept: Store) -> int:
    """Runs the tasks; returns how many the store did not have."""
    seen: list[Done] = []
    list(run_all(tasks, store=kept, progress=seen.append))
    return seen[-1].of if seen else 0


def files(kept: Store) -> list[Path]:
    """Everything except the mark and the numbers of the runs."""
    others = {_mark(kept), *kept.folder.rglob("runs/part-*.parquet")}
    return sorted(path for path in kept.folder.rglob("*") if path.is_file() and path not in others)


def _mark(kept: Store) -> Path:
    return kept.folder / "fairport-store"


def test_what_was_run_is_not_run_again(short: Scenario, kept: Store) -> None:
    tasks = [(short, seed) for seed in (1, 2)]
    assert runs_made(tasks, kept) == 2
    assert runs_made(tasks, kept) == 0
    assert runs_made([*tasks, (short, 3)], kept) == 1


def test_a_record_comes_back_as_it_was(short: Scenario, kept: Store) -> None:
    (fresh,) = run_all([(short, 1)], store=kept)
    (found,) = run_all([(short, 1)], store=kept)
    assert found.summary == fresh.summary
    assert found.summary["fingerprint"] == fp.run(short, 1).fingerprint
    for table in ("flows", "ports", "drop_runs", "rtt"):
        assert getattr(found, table).equals(getattr(fresh, table))


def test_the_key_is_what_is_run_not_how_it_is_written(short: Scenario, kept: Store) -> None:
    assert runs_made([(short, 1)], kept) == 1
    renamed = short.patch({"name": "other", "queue.limit": "16384B", "seed": 7})
    assert runs_made([(renamed, 1)], kept) == 0
    (record,) = run_all([(renamed, 1)], store=kept)
    assert record.summary["scenario"] == "other"


@pytest.mark.parametrize("patch", [{"queue.limit": "16385B"}, {"tcp.sack": False}])
def test_another_job_is_another_key(short: Scenario, kept: Store, patch: dict[str, object]) -> None:
    assert runs_made([(short, 1)], kept) == 1
    assert runs_made([(short.patch(patch), 1)], kept) == 1


def test_another_version_finds_nothing(
    short: Scenario, kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runs_made([(short, 1)], kept) == 1
    monkeypatch.setattr(store_module, "model_version", lambda: "0.0.0-000000000000")
    assert runs_made([(short, 1)], kept) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_record_is_computed_again_with_a_warning(
    short: Scenario, kept: Store, damage: str
) -> None:
    (fresh,) = run_all([(short, 1)], store=kept)
    (path,) = files(kept)
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 0x55
    path.write_bytes({"cut": content[:-100], "flipped": content, "empty": b""}[damage])
    with pytest.warns(StoreWarning, match="computed again"):
        (again,) = run_all([(short, 1)], store=kept)
    assert again.summary["fingerprint"] == fresh.summary["fingerprint"]
    Record.from_bytes(path.read_bytes())


def test_the_numbers_of_every_run_are_kept_once_in_one_file(short: Scenario, kept: Store) -> None:
    for _ in range(2):
        records = list(run_all([(short, 1), (short, 2), (short, 2)], store=kept))
    rows = kept.numbers().sort("seed")
    assert rows["seed"].to_list() == [1, 2]
    assert rows["fingerprint"].to_list() == [r.summary["fingerprint"] for r in records[:2]]
    jain = [r.summary["jain_index"] for r in records[:2]]
    assert rows["jain_index"].to_list() == pytest.approx(jain)
    assert len(list(kept.folder.rglob("runs/*"))) == 1


def test_a_store_of_a_newer_version_is_refused(kept: Store) -> None:
    kept.folder.mkdir()
    (kept.folder / "fairport-store").write_text(store_module._MARK_TEXT + "format 2\n")
    with pytest.raises(InputError, match="format 2, which a newer version") as refused:
        Store(kept.folder)
    assert "FAIRPORT_STORE" in refused.value.remedy


def test_machines_with_the_same_release_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For an installed release the table of fingerprints decides, not the built files."""
    monkeypatch.setattr(model_version, "model_version", model_version.model_version.__wrapped__)
    (tmp_path / "crates" / "python").mkdir(parents=True)
    (tmp_path / "crates" / "python" / "Cargo.toml").touch()
    monkeypatch.setattr(model_version, "_PACKAGE", tmp_path / "python" / "fairport")
    checkout = model_version.model_version()
    monkeypatch.setattr(model_version, "_PACKAGE", tmp_path / "lib" / "site-packages" / "fairport")
    release = model_version.model_version()
    assert release != checkout
    assert store_module._VERSION.fullmatch(release)
    table = json.loads(_core.FINGERPRINTS)
    table["outcast"]["why"] = "another reason"
    monkeypatch.setattr(_core, "FINGERPRINTS", json.dumps(table))
    assert model_version.model_version() == release
    table["outcast"]["fingerprint"] = "0000000000000000"
    monkeypatch.setattr(_core, "FINGERPRINTS", json.dumps(table))
    assert model_version.model_version() != release


def test_what_is_no_record_says_so() -> None:
    with pytest.raises(DamagedRecordError):
        Record.from_bytes(b"PK, but nothing behind it")


@pytest.mark.parametrize("kept_bytes", [0, 4, 9, 100, -1])
def test_a_sound_archive_with_half_a_table_is_no_record(short: Scenario, kept_bytes: int) -> None:
    whole = Record.of(fp.run(short, 1)).to_bytes()
    assert Record.from_bytes(whole).flows.height > 0
    damaged = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            new.writestr(name, member[:kept_bytes] if name == "flows.arrow" else member)
    with pytest.raises(DamagedRecordError):
        Record.from_bytes(damaged.getvalue())


def test_a_folder_that_takes_nothing_costs_a_warning_and_no_result(
    short: Scenario, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    blocked = Store(tmp_path / "file")
    with pytest.warns(StoreWarning, match="cannot be written") as warned:
        records = list(run_all([(short, 1), (short, 2)], jobs=1, store=blocked))
    assert [record.summary["seeds"] for record in records] == [[1], [2]]
    assert len(warned) == 1


def test_a_user_without_a_home_folder_gets_the_same_warning(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs with the number of a user that it does not know."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("FAIRPORT_STORE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.warns(StoreWarning, match="FAIRPORT_STORE names another folder"):
        assert runs_made([(short, 1)], Store()) == 1


def test_nothing_half_written_is_left(short: Scenario, kept: Store) -> None:
    list(run_all([(short, 1), (short, 2)], store=kept))
    assert [path.name for path in files(kept)] == ["1.record", "2.record"]


def test_clearing_removes_records_and_nothing_else(short: Scenario, kept: Store) -> None:
    list(run_all([(short, 1)], store=kept))
    mine = kept.folder / "notes" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("keep me")
    count, size = kept.size()
    assert count == 1
    assert 1000 < size < 100_000
    kept.clear()
    assert kept.size() == (0, 0)
    assert files(kept) == [mine]


def test_the_command_says_where_and_how_much(fairport: Command, store_of_its_own: Path) -> None:
    list(run_all([(load("outcast").patch({"duration": "5ms"}), 1)], store=Store()))
    outcome = fairport("store")
    assert outcome.status == 0
    assert outcome.out.startswith(f"{store_of_its_own}: 1 run of this version; the tables of 1;")
    assert '"records": 0' in fairport("store", "--clear", "--json").out


def test_the_key_names_the_backend_and_not_the_seed(short: Scenario) -> None:
    backend = backends.get("simulation")
    one, two = (backend.prepare(short, seed).key for seed in (1, 2))
    assert one == two
    assert one.startswith("simulation-")


def test_clearing_touches_nothing_where_there_is_no_store(tmp_path: Path) -> None:
    theirs = tmp_path / "music" / "vinyl" / "1.record"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("not yours")
    with pytest.raises(InputError, match="is not a store of Fairport"):
        Store(tmp_path).clear()
    assert theirs.exists()


def test_clearing_keeps_others_files_with_the_same_ending(short: Scenario, kept: Store) -> None:
    list(run_all([(short, 1)], store=kept))
    (mine,) = files(kept)
    theirs = [
        kept.folder / "music" / "vinyl" / "1.record",
        mine.parent / "notes.record",
        mine.parents[1] / "vinyl" / "1.record",
    ]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not yours")
    assert kept.size()[0] == 1
    kept.clear()
    assert files(kept) == sorted(theirs)


def test_clearing_removes_what_a_killed_writer_left(short: Scenario, kept: Store) -> None:
    list(run_all([(short, 1)], store=kept))
    (record,) = files(kept)
    (record.parent / ".2.record.0123456789abcdef.partial").write_bytes(b"half")
    kept.clear()
    assert files(kept) == []


def test_numbers_of_which_a_bit_has_changed_are_not_used(short: Scenario, kept: Store) -> None:
    assert runs_made([(short, 1)], kept) == 1
    kept.flush()
    written = kept.numbers()
    (path,) = kept.folder.rglob("runs/part-*.parquet")
    content = path.read_bytes()
    # Parquet itself would notice few of these
    for at in range(0, len(content), 97):
        # each time it is removed
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.warns(StoreWarning, match="is damaged"):
            assert kept.numbers().is_empty()
    path.write_bytes(content)
    assert kept.numbers().equals(written)


def test_a_damaged_file_of_numbers_costs_its_own_runs_alone(short: Scenario, kept: Store) -> None:
    """The command that finds it goes on to its end, and the next one is not warned."""
    assert runs_made([(short, 1)], kept) == 1
    kept.flush()
    (damaged,) = kept.folder.rglob("runs/part-*.parquet")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    kept.add_numbers({"key": "simulation-x", "seed": 2, "jain_index": 0.5})
    with pytest.warns(StoreWarning, match="it is removed, and its runs are computed again"):
        kept.flush()
    assert kept.numbers()["seed"].to_list() == [2]
    theirs = damaged.with_name("theirs.parquet")
    theirs.write_bytes(b"of somebody else")
    with pytest.warns(StoreWarning, match="is damaged"):
        assert kept.numbers().is_empty()
    assert theirs.exists()


@pytest.mark.parametrize("traffic", [{}, {"traffic.0.size": "20kB"}])
def test_what_another_command_ran_is_not_run_again(
    base: Scenario, tmp_path: Path, fairport: Command, traffic: dict[str, str]
) -> None:
    """`run`, `compare` and `sweep` share the store of the machine."""
    base = base.patch(traffic)
    fp.compare(base, ["pacing"], repeat=2, store=Store())
    (tmp_path / "base.toml").write_text(base.to_toml())
    assert fairport("run", "base.toml", "--seed", "3", "--no-figures", "--quiet").status == 0
    seen: list[Status] = []
    listeners = Listeners(status=seen.append)
    axes = {"queue.limit": ["16KiB"]}  # as in the scenario
    study = sweep(base, axes, seeds=4, folder=tmp_path / "study", listeners=listeners)
    assert (seen[-1].done, study.to_polars().height) == (1, 4)
    elsewhere = sweep(base, axes, seeds=4, folder=tmp_path / "else", listeners=listeners)
    assert seen[-1].done == 0
    assert elsewhere.to_polars().equals(study.to_polars())
