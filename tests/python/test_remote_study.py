"""A study in an object store: moto's server, which speaks S3, on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from fairport.errors import InputError, OutputError
from fairport.files.place import place
from fairport.scenario import Scenario
from fairport.study.results import Study
from fairport.study.search import search
from fairport.study.search_file import SearchFile
from fairport.study.study_file import load
from fairport.study.sweep import sweep

moto = pytest.importorskip("moto.server", reason="needs moto and flask")
pytest.importorskip("s3fs", reason="needs the extra `s3`")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """An empty bucket, whose server the environment names."""
    import s3fs

    with pytest.MonkeyPatch.context() as patch:
        server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem().mkdir("studies")
        yield "s3://studies"
        server.stop()


def test_a_study_there_is_as_one_here(base: Scenario, bucket: str, tmp_path: object) -> None:
    axes = {"topology.peers": [2, 3], "queue.limit": ["4KiB", "16KiB"]}
    there = sweep(base, axes, seeds=2, folder=f"{bucket}/one", jobs=1)
    here = sweep(base, axes, seeds=2, folder=f"{tmp_path}/one", jobs=1)
    columns = [*axes, "seed", "run_id", "fingerprint"]
    assert there.to_polars().select(columns).equals(here.to_polars().select(columns))
    assert len(there.runs.files()) == 1
    again = sweep(base, axes, seeds=3, folder=f"{bucket}/one", jobs=1)
    assert again.sql("select count(*), count(distinct run_id) from runs").row(0) == (12, 12)


def test_two_writers_there_lose_nothing(base: Scenario, bucket: str) -> None:
    axes = {"queue.limit": ["16KiB"]}
    study = sweep(base, axes, seeds=1, folder=f"{bucket}/two", jobs=1)
    row = study.to_polars().row(0, named=True)
    one, two = Study(f"{bucket}/two"), Study(f"{bucket}/two")
    for number, writer in ((2, one), (3, two), (2, two)):
        writer.runs.add(row | {"seed": number, "run_id": f"other-{number}"})
        writer.runs.flush()
    one.runs.compact()
    assert sorted(two.to_polars()["seed"]) == [1, 2, 3]
    assert len(two.runs.files()) == 1


def test_the_commands_take_a_url(
    base: Scenario, bucket: str, fairport: Command, tmp_path: object
) -> None:
    sweep(base, {"queue.limit": ["4KiB", "16KiB"]}, seeds=2, folder=f"{bucket}/three", jobs=1)
    url = f"{bucket}/three"
    assert '"n": 4' in fairport("query", url, "select count(*) n from runs", "--json").out
    assert fairport("plot", url, "--y", "jain_index", "--out", "lines.png").status == 0
    missing = fairport("query", f"{bucket}/nothing", "select 1")
    assert (missing.status, missing.err.splitlines()[0]) == (
        2,
        f"error: {bucket}/nothing: is not a study",
    )


def test_a_place_that_cannot_be_opened_says_what_is_missing() -> None:
    with pytest.raises(InputError, match="nonsense") as refused:
        place("nonsense://x/y")
    assert "fairport[s3]" in refused.value.remedy


def test_a_store_that_refuses_says_so(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.exceptions

    def refuse(*_: object, **__: object) -> None:
        raise botocore.exceptions.NoCredentialsError

    there: Any = place(f"{bucket}/x")
    monkeypatch.setattr(there._files, "ls", refuse)
    with pytest.raises(OutputError, match="Unable to locate credentials") as refused:
        there.names()
    assert "credentials" in refused.value.remedy


def test_what_a_store_answers_is_the_message_of_the_command(
    bucket: str, fairport: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    (tmp_path / "mine.toml").write_text(
        'scenario = "two-switch"\nseeds = 1\n[set]\nduration = "10ms"\n'
        '[axes]\n"queue.limit" = ["4KiB"]\n'
    )
    done = fairport("sweep", "mine.toml", "--out", "s3://nothing/one")
    assert done.status == 2
    assert "s3://nothing/one/study.json: cannot be written: The specified bucket" in done.err
    done = fairport("query", "s3://", "select 1")
    assert done.err.splitlines()[0] == "error: s3://: names no place for files"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    done = fairport("query", f"{bucket}/one", "select 1")
    s3fs.S3FileSystem.clear_instance_cache()
    assert done.status == 2
    error, hint = done.err.splitlines()
    assert "study.json: cannot be read: Could not connect to the endpoint" in error
    assert "--force" not in hint


def test_a_search_needs_a_place_on_this_machine(bucket: str) -> None:
    file = load(SearchFile, "tune-red")
    with pytest.raises(InputError, match="is not on this machine"):
        search(file, "tune", trials=1, folder=f"{bucket}/search")


def test_a_url_of_this_machine_is_a_path(tmp_path: Path) -> None:
    there = place(f"file://{tmp_path}/new/study")
    there.write("study.json", b"{}")
    assert (tmp_path / "new" / "study" / "study.json").read_bytes() == b"{}"
    assert there.local("study.json") is not None


def test_without_the_extra_nothing_of_it_is_imported() -> None:
    program = (
        "import fairport.study.sweep, sys; print('fsspec' in sys.modules, 'dask' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
