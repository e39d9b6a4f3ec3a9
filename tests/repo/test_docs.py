"""Every command and every piece of code in the documents does what the document says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import generated
import pytest
import reference
import typer
from documents import (
    FILES,
    LANGUAGES,
    ROOT,
    agrees,
    blocks,
    commands,
    pictures,
    run_command,
    run_python,
)
from fairport.cli.app import app as app_of_all_commands
from fairport.cli.examples import EXAMPLES
from fairport.scenario import json_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAMES = [str(file.relative_to(ROOT)) for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_block_is_of_a_language_that_is_checked(file: Path) -> None:
    assert {
        block.name: block.language for block in blocks(file) if block.language not in LANGUAGES
    } == {}


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_command_runs_and_prints_what_is_shown(file: Path, tmp_path: Path) -> None:
    for block in blocks(file):
        if block.language != "console":
            continue
        for command, shown in commands(block):
            if command.startswith("make "):
                subprocess.run(
                    ["make", "--dry-run", *shlex.split(command)[1:]],
                    cwd=ROOT,
                    check=True,
                    capture_output=True,
                )
            elif not command.startswith(("git ", "cd ")):
                printed = run_command(command, tmp_path)
                assert not shown or agrees(shown, printed), (
                    f"{block.name}: `{command}` prints\n{printed}"
                )
    for copy, made in pictures(file):
        assert (tmp_path / made).read_bytes().startswith(b"\x89PNG"), made
        assert copy.is_file(), f"`make renew WHAT=docs` makes {copy.relative_to(ROOT)}"


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_program_runs_and_prints_what_is_shown(file: Path, tmp_path: Path) -> None:
    for block in blocks(file):
        if block.language == "python" and not block.quoted:
            printed = run_python(block.content, tmp_path)
            assert block.output is None or agrees(block.output.splitlines(), printed), (
                f"{block.name} prints\n{printed}"
            )


def test_every_program_passes_a_strict_type_checker(tmp_path: Path) -> None:
    programs = {
        tmp_path / f"{re.sub(r'[^a-z0-9]', '_', block.name)}.py": block.content
        for file in FILES
        for block in blocks(file)
        if block.language == "python" and not block.quoted
    }
    for path, program in programs.items():
        path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *programs],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_scenario_is_valid(file: Path) -> None:
    for block in blocks(file):
        if block.language == "toml":
            document = tomllib.loads(block.content)
            if "name" not in document:
                document = _laid_over(fp.scenario("outcast").document(), document)
            fp.scenario(document)


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_quotation_is_in_the_file_that_it_names(file: Path) -> None:
    for block in blocks(file):
        if block.quoted:
            source, code = block.quoted
            assert code in source.read_text(encoding="utf-8"), f"{block.name}: not in {source}"
        else:
            assert block.language != "rust", f"{block.name} does not name its file"


@pytest.mark.parametrize("file", FILES, ids=FILE_NAMES)
def test_every_place_in_the_repository_that_is_named_is_there(file: Path) -> None:
    named = re.findall(
        r"`((?:crates|python|docs|benches|validation|tests|examples|fuzz)/[\w./-]+)`",
        file.read_text("utf-8"),
    )
    # NAME and PAPER are for the reader to fill in
    fixed = [place for place in named if not re.search(r"\b[A-Z]+\b", place)]
    assert [place for place in fixed if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("page", generated.PAGES, ids=[page.name for page in generated.PAGES])
def test_a_page_made_from_the_program_is_the_programs(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == generated.renewed(page), (
        "`make renew WHAT=docs` renews it"
    )


def test_the_man_page_is_the_programs() -> None:
    renews = "`make renew WHAT=docs` renews it"
    assert generated.WORDS.read_text("utf-8") == generated.words(), renews
    assert generated.MAN_PAGE.read_text("utf-8") == reference.man(), renews


def test_every_example_in_the_help_is_a_command_line_of_its_command() -> None:
    app: Any = typer.main.get_command(app_of_all_commands)
    for name, examples in EXAMPLES.items():
        for example in examples:
            words = shlex.split(example.partition(" > ")[0])
            command, rest = app, words[1:]
            while rest and rest[0] in getattr(command, "commands", {}):
                command, rest = command.commands[rest[0]], rest[1:]
            assert name in ("fairport", " ".join(words[1 : len(words) - len(rest)])), example
            # how to ask for more
            if rest != ["COMMAND", "--help"]:
                command.make_context(name, rest)


def test_the_glossary_has_one_anchor_per_word() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text("utf-8")
    words = re.findall(
        r"^\| (?!word|-)(?:<a id=\"([a-z0-9-]+)\"></a>)?(.+?) \|", text, re.MULTILINE
    )
    assert words
    for anchor, word in words:
        assert anchor == re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
    assert len({anchor for anchor, _ in words}) == len(words)


# a section of a scenario that has kinds -> the page that says what each is
PAGES_OF_KINDS = {
    "topology": "topologies",
    "routing": "topologies",
    "queue": "queues",
    "shaper": "shapers",
    "traffic": "workloads",
    "loss": "workloads",
}


@pytest.mark.parametrize("section", PAGES_OF_KINDS)
def test_the_reference_says_what_every_kind_is(section: str) -> None:
    schema = json_schema()
    models = set(re.findall(r"#/\$defs/(\w+)", str(schema["properties"][section])))
    assert models
    name = PAGES_OF_KINDS[section]
    page = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for model in models:
        kind = schema["$defs"][model]["properties"]["kind"]["const"]
        assert re.search(rf'`{kind}`|"{kind}"', page), f"{name}.md does not name {section} `{kind}`"


def test_the_defaults_in_the_model_are_those_of_the_program() -> None:
    least = {"name": "least", "topology": {"kind": "fat-tree"}}
    default = fp.scenario(least | {"traffic": [{"from": "h1", "to": "h0"}]})
    rows = re.findall(
        r"^\| `([\w.]+)` \| `([^`]+)`(?: \(`outcast`: `([^`]+)`\))? \|",
        (ROOT / "docs" / "reference" / "model.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) > 10
    for path, value, in_outcast in rows:
        assert _written(default, path) == value, path
        assert not in_outcast or _written(fp.scenario("outcast"), path) == in_outcast, path


def _written(scenario: fp.Scenario, path: str) -> str:
    here: Any = scenario.resolved()
    for part in path.split("."):
        here = here[int(part)] if part.isdigit() else here[part]
    return str(here).lower() if isinstance(here, bool) else str(here)


def _laid_over(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for key, value in part.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        # a section that names its kind replaces the whole
        merged[key] = _laid_over(merged[key], value) if both and "kind" not in value else value
    return merged


def test_the_gallery_has_thirteen_pictures_each_with_its_one_command() -> None:
    gallery = ROOT / "docs" / "gallery.md"
    lines = [command for block in blocks(gallery) for command, _ in commands(block)]
    assert len(pictures(gallery)) == len(lines) == 13
    assert len({made for _, made in pictures(gallery)}) == 13
