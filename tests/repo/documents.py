"""The documents' code blocks, run as a reader would run them.

What a fence's language means:

- `console`: lines that begin with `$ ` are commands, run in one folder per document; the lines
  under a command, if any, are its output on stdout. A line `...` means any number of lines.
  `git` and `make` lines are not run: the Makefile must have the target.
- `python`: a whole program. A `text` block right below is what it prints. If its first line is a
  comment with the name of a file of the repository, it is a piece of that file instead.
- `toml`: a scenario, or a part of one, which is laid over `outcast`.
- `rust`: a piece of the file that its first line names, word for word.

A comment `<!-- picture: FILE -->` names the file that the command below makes, and that the picture
above is a copy of.

Run this file to renew the outputs shown, the pictures and the pages that are made from the
program, on purpose: `make renew WHAT=docs`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import first_picture
import generated
import notebooks
import pytest
import reference
from fairport.cli.app import program

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
LANGUAGES = {"console", "python", "toml", "rust", "text"}
# what one block ran another need not run again; what the user ran is not looked at
_STORE = tempfile.TemporaryDirectory(prefix="fairport-store-")
# in quotes too, where they mean nothing to it
_OF_THE_SHELL = re.compile(r"[$&();<>`|]")
_QUOTED = re.compile(r"(?://|#) ([\w./-]+\.(?:rs|py))")
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+)\)(?:(?!!\[).)*?<!-- picture: (\S+) -->", re.DOTALL)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    file: Path
    line: int
    language: str
    content: str
    output: str | None
    """What the `text` block right below a `python` block says."""

    @property
    def name(self) -> str:
        """`file:line`, for messages."""
        return f"{self.file.relative_to(ROOT)}:{self.line}"

    @property
    def quoted(self) -> tuple[Path, str] | None:
        """The file of which it is a piece, and the piece; None if it is not a quotation."""
        first, _, code = self.content.partition("\n")
        named = _QUOTED.fullmatch(first)
        return (ROOT / named[1], code) if named else None


def blocks(file: Path) -> list[Block]:
    """The document's blocks, in order."""
    text = file.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for index, fence in enumerate(fences):
        below = fences[index + 1] if index + 1 < len(fences) else None
        adjoining = below is not None and not text[fence.end() : below.start()].strip()
        output = below[2] if below is not None and adjoining and below[1] == "text" else None
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(file, line, fence[1], fence[2], output))
    return found


def pictures(file: Path) -> list[tuple[Path, str]]:
    """The document's pictures that a command makes: the copy, and the file that is made."""
    found = _PICTURE.findall(file.read_text(encoding="utf-8"))
    return [(file.parent / copy, made) for copy, made in found]


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """A console block's commands with the lines of output shown under each."""
    found: list[tuple[str, list[str]]] = []
    for line in block.content.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def environment() -> dict[str, str]:
    """The environment of a plain terminal in which this interpreter's commands come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"NO_COLOR": "1", "COLUMNS": "100", "MPLBACKEND": "agg", "FAIRPORT_STORE": _STORE.name}
    return os.environ | {"PATH": path} | plain


def run_command(command: str, folder: Path) -> str:
    """What a command prints on stdout; it must succeed."""
    first, *words = shlex.split(command)
    if first == "fairport" and not _OF_THE_SHELL.search(command):
        return _run_here(words, folder)
    return _printed(["bash", "-euo", "pipefail", "-c", command], folder)


def run_python(program: str, folder: Path) -> str:
    """What a program prints on stdout; it must succeed."""
    return _printed([sys.executable, "-c", program], folder)


def _run_here(words: list[str], folder: Path) -> str:
    """What `fairport` prints, in this process: in its own it would import for a second first."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
        _one_processor(),
    ):
        patch.chdir(folder)
        for name, value in environment().items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            program(words)(words, prog_name="fairport")
    assert not ended.value.code, f"{words}: exit status {ended.value.code}\n{err.getvalue()}"
    return out.getvalue()


def _printed(command: list[str], folder: Path) -> str:
    with _one_processor():
        done = subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, f"{command[-1]}: exit status {done.returncode}\n{done.stderr}"
    return done.stdout


@contextmanager
def _one_processor() -> Iterator[None]:
    """Beside other tests, a command has one: on several it starts processes, which cost time."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if not worker or not hasattr(os, "sched_setaffinity"):
        yield
        return
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(processors)[int(worker[2:]) % len(processors)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def agrees(shown: list[str], printed: str) -> bool:
    """Whether the output shown is the one printed, `...` standing for any lines."""
    parts = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line.rstrip()) + r"[ \t]*\n" for line in shown
    ]
    return re.fullmatch("".join(parts), printed) is not None


def _renewed(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(file):
            if block.language == "python" and block.output is not None and not block.quoted:
                printed = "\n".join(
                    line.rstrip() for line in run_python(block.content, Path(folder)).splitlines()
                )
                text = text.replace(
                    f"{block.content}```\n\n```text\n{block.output}```",
                    f"{block.content}```\n\n```text\n{printed}\n```",
                )
    return text


def _draw_pictures() -> None:
    import fairport as fp
    from fairport import layout
    from fairport.figures import microscope, paths
    from fairport.figures.drawing import style
    from fairport.microscope import focus, look

    result = fp.run(fp.scenario("outcast"), seed=1)
    images = ROOT / "docs" / "images"
    first_picture.draw(images / "outcast.png")
    style.save(microscope.draw(look(result, focus(result))), images / "microscope.png")
    routings = ("destination-suffix", "equal-length")
    networks = [layout.network(result.scenario.patch({"routing": name})) for name in routings]
    style.save(paths.draw(*networks), images / "paths.png")


# Pictures of commands that take minutes. The pages name them in their text, because the test of the
# documents runs every command of a block. Name in docs/images, commands, the file that they make.
_SLOW_PICTURES = (
    (
        "compare.png",
        ("fairport compare outcast-1-to-12 --repeat 20",),
        "results/outcast-1-to-12-compare/figures/compare.png",
    ),
    (
        "outcast-map.png",
        ("fairport sweep outcast-map --quick", "fairport plot results/outcast-map-quick"),
        "outcast-map-quick.png",
    ),
    (
        "fabric-memory.png",
        (
            "fairport sweep fabric-memory --quick",
            "fairport plot results/fabric-memory-quick --x queue.limit --y throughput_ratio"
            " --color tcp",
        ),
        "fabric-memory-quick.png",
    ),
    (
        "reproduce-schemes.png",
        ("fairport reproduce lee2017/schemes-and-buffers",),
        "results/reproduce/figures/lee2017-schemes-and-buffers-sweep-jain-index.png",
    ),
)


def _draw_slow_pictures() -> None:
    for name, lines, made in _SLOW_PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            for line in lines:
                run_command(line, Path(folder))
            shutil.copyfile(Path(folder) / made, ROOT / "docs" / "images" / name)


def _copy_pictures() -> None:
    """Makes again the pictures that the documents' own commands make."""
    for file in FILES:
        wanted = pictures(file)
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for block in blocks(file):
                for command, _ in commands(block) if block.language == "console" else []:
                    run_command(command, Path(folder))
            for copy, made in wanted:
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(Path(folder) / made, copy)


# built-in scenarios whose throughput ratio depends on the seed, and how many seeds are run
_SPREAD_OF = ("outcast", "outcast-1-to-12", "outcast-lan", "two-switch")
_SPREAD_SEEDS = range(1, 21)


def _measure_spreads() -> None:
    """Runs the built-in scenarios with many seeds, for the sentence under a verdict of one seed."""
    import fairport as fp
    from fairport import backends
    from fairport.backends import known_spread
    from fairport.backends.run import run_many

    found = {}
    for name in _SPREAD_OF:
        scenario = fp.scenario(name)
        runs = run_many(scenario, _SPREAD_SEEDS, jobs=os.cpu_count() or 1)
        verdicts = [run.summary["verdict"]["ratio"] for run in runs]
        ratios = [ratio for ratio in verdicts if ratio is not None]
        found[backends.get(backends.DEFAULT).prepare(scenario, 1).key] = {
            "scenario": name,
            "seeds": len(ratios),
            "least": round(min(ratios), 4),
            "median": round(statistics.median(ratios), 4),
            "most": round(max(ratios), 4),
        }
    file = ROOT / "python/fairport/scenario" / known_spread.FILE
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _measure_spreads()
    _draw_pictures()
    _draw_slow_pictures()
    _copy_pictures()
    for page in generated.PAGES:
        page.write_text(generated.renewed(page), encoding="utf-8")
    generated.WORDS.write_text(generated.words(), encoding="utf-8")
    generated.MAN_PAGE.write_text(reference.man(), encoding="utf-8")
    for notebook in notebooks.FILES:
        notebooks.renew(notebook)
    for document in FILES:
        document.write_text(_renewed(document), encoding="utf-8")
