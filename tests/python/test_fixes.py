"""Fixes: the built-in ones, those of users, and mistakes in their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from fairport.errors import ScenarioError
from fairport.scenario import Scenario
from fairport.study.fixes import Fix, FixError, available, load, read
from fairport.study.results import Study

GOOD = """
name = "small"
title = "a small buffer"
needs = ["switch"]
source = "nobody"

[patch]
"queue.limit" = "1/4 of queue.limit"
"""


def write(folder: Path, text: str, name: str = "small.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("name", list(available()))
def test_a_built_in_fix_is_named_as_its_file_and_says_where_it_is_from(name: str) -> None:
    fix = available()[name]
    assert fix.name == name
    assert fix.needs
    assert fix.title
    assert fix.source


def test_a_share_of_the_buffer_is_in_its_unit(short: Scenario, tmp_path: Path) -> None:
    fix = read(write(tmp_path, GOOD))
    assert fix.applied(short).queue.limit.text == "4096B"
    packets = short.patch({"queue.limit": "30 packets"})
    # 7.5, rounded to even
    assert fix.applied(packets).queue.limit.text == "8 packets"


def test_a_share_is_at_least_one(short: Scenario, tmp_path: Path) -> None:
    fix = read(write(tmp_path, GOOD.replace("1/4", "0.01")))
    assert fix.applied(short.patch({"queue.limit": "30 packets"})).queue.limit.text == "1 packets"


def test_a_share_can_be_had_in_the_other_unit_at_full_frames(
    short: Scenario, tmp_path: Path
) -> None:
    in_packets = read(
        write(tmp_path, GOOD.replace("1/4 of queue.limit", "1 of queue.limit in packets"))
    )
    # 16384 B hold ten frames of 1518 B and part of another
    assert in_packets.applied(short).queue.limit.text == "10 packets"
    in_bytes = read(
        write(tmp_path, GOOD.replace("1/4 of queue.limit", "2 of queue.limit in bytes"))
    )
    assert in_bytes.applied(short).queue.limit.text == "32768B"
    bare = short.patch({"queue.limit": "30 packets", "link.framing": "none"})
    assert in_bytes.applied(bare).queue.limit.text == "90000B"


def test_another_discipline_keeps_the_buffer_and_nothing_else(
    short: Scenario, tmp_path: Path
) -> None:
    marking = {"kind": "step-marking", "limit": "30 packets", "count_in_service": True}
    patch = '"queue.kind" = "drop-tail"'
    fix = read(write(tmp_path, GOOD.replace('"queue.limit" = "1/4 of queue.limit"', patch)))
    queue = fix.applied(short.patch({"queue": marking | {"mark_above": "9 packets"}})).queue
    assert queue.model_dump(exclude_unset=True) == {
        "kind": "drop-tail", "limit": "30 packets", "count_in_service": True,
    }  # fmt: skip


def test_the_buffer_is_kept_also_where_the_scenario_does_not_write_it(short: Scenario) -> None:
    unwritten = short.patch({"queue": {"kind": "drop-tail"}})
    for fix in load(["codel", "fq-codel", "strict-priority"]):
        assert fix.applied(unwritten).queue.limit == unwritten.queue.limit


def test_a_buffer_that_a_shaper_sizes_is_the_one_whose_share_is_taken(short: Scenario) -> None:
    shaper = {"kind": "tbf", "rate": "100Mbps", "burst": "20kB", "latency": "8ms"}
    (ecn,) = load(["ecn"])
    fixed = ecn.applied(short.patch({"shaper": shaper, "queue": {"kind": "drop-tail"}}))
    assert int(fixed.sized_queue().limit) == 120_000
    assert fixed.document()["queue"]["mark_above"] == "24000B"


def test_a_port_keeps_what_it_could_hold_alone_of_a_shared_memory(short: Scenario) -> None:
    shared = short.patch({"queue": {"kind": "shared-buffer", "limit": "30kB", "alpha": 0.5}})
    codel, ecn = load(["codel", "ecn"])
    assert codel.applied(shared).queue.limit.text == "10000B"
    marking = ecn.applied(shared).document()["queue"]
    assert (marking["limit"], marking["mark_above"]) == ("10000B", "2000B")


def test_sharing_keeps_the_memory_that_ports_share_already(short: Scenario, tmp_path: Path) -> None:
    shared = short.patch({"queue": {"kind": "shared-buffer", "limit": "30kB", "alpha": 0.5}})
    (sharing,) = load(["shared-buffer"])
    assert sharing.applied(short).queue.limit.text == "65536B"
    fixed = sharing.applied(shared)
    assert (fixed.queue.limit.text, fixed.document()["queue"]["alpha"]) == ("30kB", 1.0)
    smaller = read(write(tmp_path, GOOD))
    assert smaller.applied(shared).queue.limit.text == "7500B"
    given = 'queue.kind" = "shared-buffer"\n"queue.limit" = "1MB"'
    larger = read(write(tmp_path, GOOD.replace('queue.limit" = "1/4 of queue.limit"', given)))
    assert larger.applied(shared).queue.limit.text == "1MB"


def test_users_add_fixes_by_folder_and_by_path(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert "small" in available(tmp_path)
    assert [fix.name for fix in load(["small", "pacing"], tmp_path)] == ["small", "pacing"]
    assert [fix.name for fix in load([str(path), "pacing"])] == ["small", "pacing"]
    assert load([path])[0] == load(["small"], tmp_path)[0]


def test_a_users_fix_goes_before_a_built_in_one_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace('"small"', '"pacing"'))
    assert load(["pacing"], tmp_path)[0].title == "a small buffer"


def test_an_unknown_fix_is_answered_with_those_there_are() -> None:
    with pytest.raises(FixError) as raised:
        load(["pasing"])
    for name in available():
        assert name in str(raised.value)
    assert "did you mean `pacing`?" in raised.value.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = ", "is not TOML"),
        (GOOD.replace('title = "a small buffer"', ""), "title: is missing"),
        (GOOD.replace("title", "titel"), "titel: is not a field of a fix"),
        (GOOD.replace('["switch"]', '["money"]'), 'needs.0: "money" is not one of switch, host'),
        (GOOD.replace('["switch"]', '"switch"'), 'needs: "switch" is not a list'),
        (GOOD.replace('"queue.limit" = "1/4 of queue.limit"', ""), "patch: holds 0"),
        (GOOD.replace('name = "small"', 'name = "a b"'), 'name: "a b" is not a name'),
    ],
)
def test_a_bad_file_says_what_is_wrong_where(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(FixError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:")
    assert expected in str(raised.value)
    assert raised.value.remedy


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FixError, match="cannot be read"):
        read(tmp_path / "missing.toml")
    with pytest.raises(FixError, match="is not a folder"):
        available(tmp_path / "missing")


def test_a_fix_twice_is_refused() -> None:
    with pytest.raises(FixError, match="named twice"):
        load(["pacing", "pacing"])


def test_no_fix_takes_the_name_of_the_scenario_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace('"small"', '"none"'))
    with pytest.raises(FixError):
        load([path])


def test_a_patch_that_is_no_scenario_is_refused_when_applied(
    short: Scenario, tmp_path: Path
) -> None:
    fix: Fix = read(write(tmp_path, GOOD.replace('"queue.limit" =', '"queue.limt" =')))
    with pytest.raises(ScenarioError, match=r"queue\.limt: is not a field of kind "):
        fix.applied(short)


def test_the_command_lists_them_and_prints_one(fairport: Command, tmp_path: Path) -> None:
    listed = fairport("fixes").out
    for name in available():
        assert name in listed
    printed = fairport("fixes", "pacing").out
    assert read(write(tmp_path, printed, "again.toml")) == available()["pacing"]
    assert '"needs": [' in fairport("fixes", "--json").out


@pytest.mark.parametrize("name", list(available()))
def test_a_fix_says_when_one_would_use_it(name: str) -> None:
    sentences = [part for part in available()[name].when.split(". ") if part]
    assert len(sentences) >= 2, f"{name}.toml: `when` is to have two sentences"


def test_a_folder_without_fixes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FixError, match="holds no fix"):
        available(tmp_path)


def test_a_fix_may_be_a_file_beside_the_sweep(
    base: Scenario, tmp_path: Path, fairport: Command
) -> None:
    folder = tmp_path / "there" / "mine"
    folder.mkdir(parents=True)
    (folder.parent / "base.toml").write_text(base.to_toml())
    sweep_file = folder.parent / "sweep.toml"
    sweep_file.write_text(
        'scenario = "base.toml"\nseeds = 1\n[axes]\nfix = ["none", "mine/small.toml"]\n'
    )
    refused = fairport("sweep", "there/sweep.toml")
    assert refused.status == 2
    assert f"error: {Path('there/mine/small.toml')}: cannot be read" in refused.err
    fix = 'name = "small"\ntitle = "t"\nneeds = ["switch"]\nsource = "s"\n[patch]\n'
    (folder / "small.toml").write_text(f'{fix}"queue.limit" = "0.5 of queue.limit"\n')
    assert fairport("sweep", "there/sweep.toml", "--quiet").status == 0
    study = Study(Path("results/sweep"))
    assert study.axes["fix"] == ["none", "mine/small.toml"]
    assert study.definition.labels["fix"] == ["none", "small"]
    rows = study.to_polars()
    assert rows.filter(fix="mine/small.toml")["queue_max_bytes"].item() <= 8192
    assert rows.filter(fix="none")["queue_max_bytes"].item() > 8192
