"""Files and folders are complete or absent, and a user's own files are never replaced."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import ENTRY, Command
from fairport.errors import OutputError
from fairport.files import (
    add_to_list,
    atomic_file,
    atomic_folder,
    is_partial,
    partial,
    put_back,
    refuse_what_is_there,
    replace_file,
    require_writable,
)
from fairport.files.place import place

if sys.platform != "win32":
    import fcntl

LIST = ".fairport.json"
posix = pytest.mark.skipif(sys.platform == "win32", reason="files as POSIX has them")


def listing(folder: Path) -> list[str]:
    """The folder's content, without the lists of files."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(name for name in found if not name.endswith(LIST))


def a_result(folder: Path) -> Path:
    with atomic_folder(folder, force=False) as partial:
        (partial / "tables").mkdir()
        (partial / "tables" / "flows.csv").write_text("1", encoding="utf-8")
    return folder


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "a" / "b", force=False) as partial:
        (partial / "file").write_text("x", encoding="utf-8")
        assert not (tmp_path / "a" / "b").exists()
    assert listing(tmp_path) == ["a", "a/b", "a/b/file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_a_folder_that_was_not_completed(
    tmp_path: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error), atomic_folder(tmp_path / "a" / "b", force=False) as partial:  # noqa: PT012
        (partial / "file").write_text("x", encoding="utf-8")
        raise error
    assert listing(tmp_path) == []


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    before = listing(tmp_path)
    with pytest.raises(OutputError, match="exists"), atomic_folder(folder, force=False):
        pytest.fail("entered")
    assert listing(tmp_path) == before


def test_force_replaces_a_result_by_a_complete_one_only(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    before = listing(tmp_path)
    with pytest.raises(ValueError, match="no"), atomic_folder(folder, force=True):
        raise ValueError("no")
    assert listing(tmp_path) == before
    with atomic_folder(folder, force=True) as partial:
        (partial / "new").write_text("x", encoding="utf-8")
        assert "tables" in listing(folder)
    assert listing(tmp_path) == ["run", "run/new"]


def test_force_replaces_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with atomic_folder(tmp_path / "run", force=True) as partial:
        (partial / "new").write_text("x", encoding="utf-8")
    assert listing(tmp_path) == ["run", "run/new"]


def test_force_does_not_replace_what_is_not_a_result(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x", encoding="utf-8")
    # a browser's extension and many other things have a manifest.json
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension" / "manifest.json").write_text("{}", encoding="utf-8")
    (tmp_path / "extension" / LIST).write_text('{"files": ["manifest.json"]}', encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    a_result(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    before = listing(tmp_path)
    for name in ("thesis", "extension", "file", "link"):
        with pytest.raises(OutputError, match="not a result"):  # noqa: SIM117
            with atomic_folder(tmp_path / name, force=True):
                pytest.fail("entered")
        with pytest.raises(OutputError, match="exists") as raised:
            refuse_what_is_there(tmp_path / name, force=False)
        assert raised.value.remedy == "give another `folder`", "force would not help"
    assert listing(tmp_path) == before


def test_force_does_not_replace_a_result_with_a_file_of_the_users_own(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    (folder / "tables" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"holds `tables/notes.txt`, which Fairport did not"):  # noqa: SIM117
        with atomic_folder(folder, force=True):
            pytest.fail("entered")
    assert (folder / "tables" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_force_looks_again_when_the_new_result_is_complete(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    with (
        pytest.raises(OutputError, match="which Fairport did not write"),
        atomic_folder(folder, force=True),
    ):
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert (folder / "notes.txt").exists()


def test_files_that_are_added_later_belong_to_the_result(tmp_path: Path) -> None:
    folder = a_result(tmp_path / "run")
    (folder / "report.html").write_text("x", encoding="utf-8")
    add_to_list(folder, ["report.html"])
    with atomic_folder(folder, force=True) as partial:
        (partial / "new").write_text("x", encoding="utf-8")
    assert listing(folder) == ["new"]


def test_a_folder_that_cannot_be_made_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):  # noqa: SIM117
        with atomic_folder(tmp_path / "file" / "run", force=False):
            pytest.fail("entered")
    assert listing(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_place_where_nobody_can_write_is_reported() -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        place("/proc/study").write("study.json", b"")


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    name = "n" * 255
    for content in ("old", "new"):
        with atomic_folder(tmp_path / name, force=True) as partial:
            (partial / content).write_text("x", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert listing(tmp_path / name) == ["new"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="cannot be written"):  # noqa: SIM117
        with atomic_folder(tmp_path / "theirs" / "run", force=False):
            pytest.fail("entered")


KILLED = """
import os, signal, sys
from pathlib import Path
from fairport.files import atomic_folder, replace_file
from fairport.files.partial import partial_file
folder = Path(sys.argv[1])
with atomic_folder(folder / "run", force=False) as one, partial_file(folder / "record") as two:
    (one / "half").write_text("half")
    print(one, flush=True)
    os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == "now" else sys.stdin.read()
"""


def started(folder: Path, how: str) -> tuple[subprocess.Popen[str], Path]:
    """A process that writes `run` and `record` and is killed, or waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), how],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@posix
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    process, _ = started(tmp_path, "now")
    assert process.wait() == -signal.SIGKILL
    assert sum(is_partial(path) for path in tmp_path.iterdir()) == 2
    with atomic_folder(tmp_path / "run", force=False) as partial:
        (partial / "file").write_text("x", encoding="utf-8")
    replace_file(tmp_path / "record", b"whole")
    assert listing(tmp_path) == ["record", "run", "run/file"]


@posix
def test_what_a_living_writer_writes_is_left_alone(tmp_path: Path) -> None:
    process, partial = started(tmp_path, "wait")
    try:
        with pytest.raises(ValueError, match="no"), atomic_folder(tmp_path / "run", force=False):
            raise ValueError("no")
        assert (partial / "half").exists()
    finally:
        process.kill()
        process.wait()


@posix
def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(folder: Path) -> int | None:
        monkeypatch.undo()
        folder.rmdir()  # by another program, which has found nobody's lock
        return partial._locked(folder)

    monkeypatch.setattr(partial, "_locked", too_late)
    with atomic_folder(tmp_path / "results", force=False) as made:
        (made / "new").touch()
    assert listing(tmp_path / "results") == ["new"]


def test_only_what_fairport_left_is_removed(tmp_path: Path) -> None:
    theirs = [
        tmp_path / ".run.0123456789abcdef.partial" / "thesis.tex",
        tmp_path / ".run.partial" / "thesis.tex",
        tmp_path / ".other.0123456789abcdef.partial" / "thesis.tex",
    ]
    for path in theirs:
        path.parent.mkdir()
        path.write_text("mine", encoding="utf-8")
    a_result(tmp_path / "run")
    assert all(path.exists() for path in theirs)


KILLED_AT_ITS_LIST = """
import os, signal, sys
from pathlib import Path
from fairport.files import add_to_list, atomic_folder, partial
Path.write_text = lambda path, text, **_: (
    path.write_bytes(text[:5].encode()), os.kill(os.getpid(), signal.SIGKILL)
)
folder = Path(sys.argv[1])
if folder.exists():
    add_to_list(folder, ["added"])
with atomic_folder(folder, force=True):
    pass
"""


@posix
@pytest.mark.parametrize("is_there", [False, True])
def test_who_is_killed_while_a_list_is_written_leaves_the_one_before(
    tmp_path: Path, is_there: bool
) -> None:
    run = tmp_path / "run"
    if is_there:
        a_result(run)
    done = subprocess.run([sys.executable, "-c", KILLED_AT_ITS_LIST, str(run)], check=False)
    assert done.returncode == -signal.SIGKILL
    with atomic_folder(run, force=is_there) as partial:
        (partial / "new").write_text("new", encoding="utf-8")
    assert listing(tmp_path) == ["run", "run/new"]


# A process that replaces a result is killed before its first step, before its second, and so on.
# A step is what Python reports of files: to open, make, rename or remove one, to lock or list one.
KILLED_AT_EVERY_STEP = """
import itertools, json, os, signal, sys
from pathlib import Path
from fairport.files import atomic_folder, folder as folders, is_partial, put_back

if sys.argv[2] == "two renames":
    folders.exchange = lambda one, other: False
place = Path(sys.argv[1])
run = place / "run"

def replace(text, force):
    with atomic_folder(run, force=force) as partial:
        (partial / "half").write_text(text)
        (partial / "other half").write_text(text)

def there():
    return {path.name: path.read_text() for path in run.glob("*half")} if run.exists() else None

def hidden():
    return sum(map(is_partial, place.iterdir()))

replace("old", False)
for step in itertools.count(1):
    pid = os.fork()
    if not pid:
        steps = itertools.count(1)
        def hook(event, _):
            if event.split(".")[0] in ("open", "os", "shutil", "fcntl", "ctypes"):
                if next(steps) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        replace("new", True)
        os._exit(0)
    killed = os.waitpid(pid, 0)[1] != 0
    found = there()
    put_back(run)
    print(json.dumps([found, there(), hidden() > 0]))
    replace("old", True)
    if hidden():
        sys.exit(f"step {step}: something hidden is left")
    if not killed:
        break
"""


@posix
@pytest.mark.parametrize("how", ["exchange", "two renames"])
def test_whoever_is_killed_while_a_result_is_replaced_leaves_a_whole_one(
    tmp_path: Path, how: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, str(tmp_path), how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    old, new = ({"half": text, "other half": text} for text in ("old", "new"))
    assert [steps[0][0], steps[-1]] == [old, [new, new, False]]
    # the next command finds one of the two; no step after the new one brings the old back
    found = [after for _, after, _ in steps]
    assert found == sorted(found, key=lambda one: one == new)
    at_once = [before for before, _, _ in steps]
    assert all(one in (old, new) for one in at_once if one is not None)
    # between two renames there is neither for a moment
    assert (None in at_once) == (how == "two renames")


def moved_aside(tmp_path: Path) -> Path:
    """A result in the state that a kill between two renames leaves; returns its original name."""
    run = a_result(tmp_path / "run")
    place = tmp_path / ".run.0123456789abcdef.partial"
    place.mkdir()
    run.rename(place / "run")
    return run


@posix
def test_a_result_that_a_kill_left_hidden_is_there_for_the_next_command(
    tmp_path: Path, fairport: Command
) -> None:
    run = moved_aside(tmp_path)
    with pytest.raises(OutputError, match="exists"), atomic_folder(run, force=False):
        pytest.fail("entered")
    assert listing(tmp_path) == ["run", "run/tables", "run/tables/flows.csv"]
    run = tmp_path / "short"
    assert fairport("run", "two-switch", "--duration", "1ms", "--out", str(run)).status == 0
    (tmp_path / ".short.0123456789abcdef.partial").mkdir()
    run.rename(tmp_path / ".short.0123456789abcdef.partial" / "short")
    assert fairport("report", str(run)).status == 0
    assert not any(map(is_partial, tmp_path.iterdir()))


@posix
def test_a_hidden_result_is_kept_where_the_user_has_put_something_else(tmp_path: Path) -> None:
    run = moved_aside(tmp_path)
    run.mkdir()
    (run / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="not a result"), atomic_folder(run, force=True):
        pytest.fail("entered")
    assert (run / "notes.txt").exists()
    assert (tmp_path / ".run.0123456789abcdef.partial" / "run" / "tables" / "flows.csv").exists()


def test_without_locks_a_result_is_brought_back_when_nobody_can_be_replacing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairport.files.partial.fcntl", None)
    run = moved_aside(tmp_path)
    put_back(run)
    assert not run.exists()
    os.utime(tmp_path / ".run.0123456789abcdef.partial", (0, 0))
    put_back(run)
    assert listing(tmp_path) == ["run", "run/tables", "run/tables/flows.csv"]


@posix
def test_a_result_that_is_being_replaced_is_left_alone(tmp_path: Path) -> None:
    run = moved_aside(tmp_path)
    lock = os.open(tmp_path / ".run.0123456789abcdef.partial", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        put_back(run)
        assert not run.exists()
    finally:
        os.close(lock)


def written(path: Path, text: str) -> None:
    with atomic_file(path, "--out", force=True) as partial:
        assert partial.suffix == path.suffix
        partial.write_text(text, encoding="utf-8")


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "network.dot"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    with pytest.raises(ValueError, match="no"), atomic_file(file, "--out", force=True) as partial:
        raise ValueError(partial.write_text("no", encoding="utf-8"), "no")
    assert file.read_text(encoding="utf-8") == "old"
    written(file, "new")
    assert file.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert listing(tmp_path) == ["network.dot"]


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.dot").symlink_to(tmp_path / "elsewhere" / "network.dot")
    for text in ("first", "second"):
        written(tmp_path / "link.dot", text)
        assert (tmp_path / "link.dot").is_symlink()
        assert (tmp_path / "elsewhere" / "network.dot").read_text(encoding="utf-8") == text


@posix
def test_a_fifo_is_written_to_and_stays_a_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.dot"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text(encoding="utf-8")))
    reader.start()
    written(fifo, "graph {}")
    reader.join(timeout=30)
    assert read == ["graph {}"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@posix
@pytest.mark.parametrize("name", ["device", "link"])
def test_a_device_is_written_to_and_stays_a_device(
    fairport: Command, tmp_path: Path, name: str
) -> None:
    # a link to a device, because only root could make a device here
    place = tmp_path / name
    if name == "link":
        place.symlink_to("/dev/null")
    else:
        place = Path("/dev/null")
    before = place.stat()
    outcome = fairport("topology", "export", "two-switch", "--format", "dot", "--out", str(place))
    assert outcome.status == 0, outcome.err
    after = place.stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)
    assert place.is_symlink() == (name == "link")


@posix
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_the_name_of_a_stream_is_that_stream(tmp_path: Path, to: str) -> None:
    export = ["topology", "export", "two-switch", "--format", "dot", "--out", "/dev/stdout"]
    file = tmp_path / "network.dot"
    with file.open("wb") as sink:
        done = subprocess.run(
            [*ENTRY, *export],
            stdout=sink if to == "file" else subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert os.path.samestat(file.stat(), os.fstat(sink.fileno()))
    written = file.read_bytes() if to == "file" else done.stdout
    assert written.startswith(b"graph ")


def test_a_file_that_can_be_written_is_tried_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("whole")
    require_writable(tmp_path / "kept", "--out", force=True)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("kept", "whole")]


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"):
        require_writable(tmp_path, "--out", force=True)
