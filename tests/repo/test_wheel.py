"""The wheel is complete: it works in an environment with nothing but Python. So are the sources."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = "crates/python/fairport.data/data/share/doc/fairport"
COPY_DOCS = ["make", "--no-print-directory", DOCS]


def test_the_wheel_runs_a_scenario_in_an_empty_environment(tmp_path: Path) -> None:
    subprocess.run(COPY_DOCS, cwd=ROOT, check=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "maturin",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--out",
            tmp_path,
        ],
        cwd=ROOT,
        check=True,
    )
    (wheel,) = tmp_path.glob("fairport-*.whl")
    assert "-cp310-abi3-" in wheel.name, "one wheel serves every Python from 3.10 on"
    # the versions of the lock file without its hashes, which the new wheel has not
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+==\S+(?: ; .*?)?) \\$", lock, flags=re.MULTILINE)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
    home = tmp_path / "empty"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, home], check=True)
    into: list[str | Path] = ["--python", home / "bin" / "python", "--constraint", constraints]
    subprocess.run([*uv, "pip", "install", "--quiet", *into, wheel], check=True)
    done = subprocess.run(
        [home / "bin" / "fairport", "run", "outcast", "--duration", "0.1s"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "outcast" / "report.html").exists()
    assert (home / "share" / "man" / "man1" / "fairport.1").exists()
    brought = home / "share" / "doc" / "fairport"
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not (brought / page).exists()] == []


def test_the_sources_of_a_release_hold_every_file(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    subprocess.run(COPY_DOCS, cwd=ROOT, check=True)
    sdist = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    subprocess.run(sdist, cwd=ROOT, check=True)
    (archive,) = tmp_path.glob("fairport-*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    files = set(listed.stdout.split("\0")) - {""}
    # for a wheel that is built from them
    copies = {file.replace("docs", DOCS, 1) for file in files if file.startswith("docs/")}
    assert (files | copies) - held == set()
