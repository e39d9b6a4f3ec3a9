"""What is said of wrong calls from Python: one sentence that names the argument, and a hint."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import pytest
from fairport.custom import Connection, Port
from fairport.scenario import Scenario


class Discipline:
    def __init__(self, port: Port) -> None:
        pass

    def admit(self, queue: object, packet: object) -> bool:
        return True


class Gentle:
    def __init__(self, connection: Connection) -> None:
        pass

    def on_undo(self) -> None:
        pass


SCENARIO = fp.scenario("outcast").patch({"duration": "1ms"})
OWN = SCENARIO.patch({"queue.kind": "custom", "queue.name": "mine"})
SPACE = {"queue.limit": ["8KiB", "16KiB"]}
# mypy knows all of this
ANY: Any = fp


@pytest.mark.parametrize(
    ("call", "field", "problem", "remedy"),
    [
        (lambda: ANY.run(None), "", "is not a scenario", "the name of a built-in one"),
        (lambda: fp.run(SCENARIO, threads=0), "threads", "is too small", "1 or more"),
        (lambda: ANY.run_many(SCENARIO, 3), "seeds", "is not a list of seeds", "range(1, 4)"),
        (lambda: fp.run_many(SCENARIO, []), "seeds", "is empty", "give a seed"),
        (lambda: fp.run_many(SCENARIO, [1], jobs=0), "jobs", "is too small", "1 or more"),
        (lambda: ANY.run_many(SCENARIO, [1], jobs="2"), "jobs", "is not a whole number", "1 or"),
        (lambda: fp.compare(SCENARIO, "red", repeat=0), "repeat", "is too small", "1 or more"),
        (lambda: fp.compare(SCENARIO, "red", jobs=0), "jobs", "is too small", "1 or more"),
        (lambda: fp.tune(SCENARIO, SPACE, trials=0), "trials", "is too small", "1 or more"),
        (lambda: fp.tune(SCENARIO, SPACE, jobs=-1), "jobs", "is too small", "1 or more"),
        (lambda: fp.run(SCENARIO, backend="linus"), "backend", "is not a backend", "`linux`?"),
        (lambda: ANY.run(SCENARIO, backend=None), "backend", "null is not a backend", "simulation"),
        (lambda: fp.compare(SCENARIO, metric="a"), "metric", "is not a metric", "throughput"),
        (lambda: fp.compare(SCENARIO, ["red", "red"]), "fixes", "is named twice", "once"),
        (lambda: ANY.Scenario("outcast"), "", '"outcast" is not a field', "`fp.scenario`"),
        (lambda: ANY.Scenario(nam="mine"), "nam", "is not a field of a scenario", "`name`?"),
        (lambda: ANY.Scenario(name=3), "name", "is not a text", "in quotes"),
        (lambda: ANY.run(SCENARIO, observation={}), "observation", "not an fp.Obs", "fp.Obs"),
        (lambda: ANY.compare(SCENARIO, "red", store="a"), "store", "an fp.Store", "fp.Store("),
        (lambda: ANY.sweep(SCENARIO, SPACE, store="runs"), "store", "not an fp.Store", "fp.Store("),
        (lambda: ANY.sweep(SCENARIO, SPACE, until_precise=0.1), "until_precise", "fp.P", "fp.Prec"),
        (lambda: ANY.sweep(SCENARIO, SPACE, listeners=print), "listeners", "not an", "fp.Listen"),
        (lambda: ANY.tune(SCENARIO, SPACE, listeners=print), "listeners", "not an", "fp.Listen"),
        (lambda: ANY.save("out", SCENARIO), "folder", "is not the path", "the result first"),
        (lambda: ANY.save(SCENARIO, "out"), "found", "not a result that can be saved", "`fp.run`"),
        (lambda: ANY.sweep(SCENARIO, [1]), "axes", "is not a dictionary", '{"queue.limit"'),
        (lambda: ANY.sweep(SCENARIO, SPACE, executor=4), "executor", "an fp.Executor", "connected"),
        (lambda: ANY.sweep(SCENARIO, SPACE, zip=4), "zip", "is not a list", "in brackets"),
        (lambda: ANY.tune(SCENARIO, [1]), "space", "is not a dictionary", '{"queue.limit"'),
        (
            lambda: ANY.tune(SCENARIO, SPACE, objective=3),
            "objective",
            "is not a dict",
            "jain_index",
        ),
        (lambda: ANY.tune(SCENARIO, SPACE, goal=[1]), "goal", "is not a goal", '"hunt"'),
        (lambda: ANY.Listeners(status=3), "status", "is not a function", "`print`"),
        (lambda: ANY.run(SCENARIO, progress=3), "progress", "is not a function", "`print`"),
        (lambda: ANY.run_many(SCENARIO, [1], progress=3), "progress", "not a function", "`print`"),
        (lambda: ANY.compare(SCENARIO, "red", progress=3), "progress", "not a func", "`print`"),
        (lambda: ANY.compare(SCENARIO, [4]), "fixes", "is not a fix", "names, files or"),
        (lambda: ANY.compare(SCENARIO, 4), "fixes", "is not a fix", "names, files or"),
        (lambda: ANY.compare(SCENARIO, "red", seed="a"), "seed", "is not a whole number", "digits"),
        (lambda: ANY.compare(SCENARIO, folder=4), "folder", "is not the path", "`pathlib.Path`"),
        (lambda: ANY.compare(SCENARIO, metric=[1]), "metric", "is not a metric", "throughput"),
        (lambda: ANY.run(SCENARIO, backend=[1]), "backend", "is not a backend", "simulation"),
        (lambda: ANY.load_run(4), "folder", "is not the path of a folder", "`pathlib.Path`"),
        (lambda: ANY.Study(4), "folder", "is not the path of a folder", "`pathlib.Path`"),
        (lambda: ANY.Store(4), "folder", "is not the path of a folder", "`pathlib.Path`"),
        (lambda: ANY.sweep(SCENARIO, SPACE, folder=4), "folder", "is not the path", "`pathlib"),
        (lambda: ANY.Precision("jain_index", "5%"), "share", "is not a share", "such as 0.1"),
        (lambda: ANY.Observation(window_s=0.1), "window_s", "is not an interval", "its begin and"),
        (lambda: ANY.sweep(SCENARIO, {"seed": 1}), "axes.seed", "is not a list", "in brackets"),
        (lambda: ANY.sweep(SCENARIO, SPACE, seeds=3.5), "seeds", "is not a whole number", "digits"),
        (lambda: fp.sweep(SCENARIO, {}, keep="drops"), "keep", "is not a list", "in brackets"),
        (
            lambda: ANY.plot(SCENARIO),
            "",
            "is neither a result nor a comparison nor a study",
            "`fp.run`",
        ),
    ],
)
def test_a_wrong_argument_is_named(
    call: Callable[[], object], field: str, problem: str, remedy: str
) -> None:
    with pytest.raises(fp.InputError, match=problem) as raised:
        call()
    assert raised.value.field == field
    assert remedy in raised.value.remedy


def test_a_store_takes_the_text_that_hints_give(tmp_path: Path) -> None:
    store = fp.Store(str(tmp_path / "kept"))
    found = fp.compare(SCENARIO, "red", repeat=1, store=store)
    assert store.size()[0] == 2
    assert fp.compare(SCENARIO, "red", repeat=1, store=store).runs.equals(found.runs)


@pytest.mark.parametrize("kind", [4, ["bars"]])
def test_a_figure_and_a_query_are_texts(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(fp.InputError, match=r"kind: .* is not one of goodput"):
        fp.plot(fp.run(SCENARIO), kind)
    study = fp.sweep(SCENARIO, SPACE, seeds=1, folder=tmp_path / "study")
    with pytest.raises(fp.InputError, match=r"query: .* is not a query in SQL"):
        study.sql(kind)


def test_a_folder_that_exists_is_kept_and_the_hint_is_of_python(tmp_path: Path) -> None:
    with pytest.raises(fp.InputError, match="exists") as raised:
        fp.save(fp.run(SCENARIO), tmp_path)
    assert raised.value.remedy == "give another `folder`, or `force=True` to replace it"


def test_a_study_can_be_copied_and_sent_to_another_process(tmp_path: Path) -> None:
    study = fp.sweep(SCENARIO, SPACE, seeds=1, folder=tmp_path / "study")
    for other in (copy.deepcopy(study), pickle.loads(pickle.dumps(study))):
        assert repr(other) == repr(study)
        assert other.to_polars().equals(study.to_polars())


def test_a_study_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("dear")
    with pytest.raises(fp.InputError, match=r"letter\.txt: is a file, not a folder"):
        fp.sweep(SCENARIO, SPACE, seeds=1, folder=file)
    assert file.read_text() == "dear"


@pytest.mark.parametrize("overrides", [3, "queue.limit=16KiB", {3: 4}])
def test_a_patch_is_a_dictionary_by_dotted_paths(overrides: Any) -> None:
    with pytest.raises(fp.ScenarioError, match=r"patch: .* is not a dictionary") as raised:
        SCENARIO.patch(overrides)
    assert raised.value.remedy == 'give one such as {"queue.limit": "16KiB"}'


@pytest.mark.parametrize("change", ["duration", "durration"])
def test_a_scenario_is_not_changed_in_place(change: str) -> None:
    with pytest.raises(fp.ScenarioError, match=f"{change}: cannot be set") as raised:
        setattr(SCENARIO, change, "2ms")
    assert "scenario.patch(" in raised.value.remedy
    with pytest.raises(fp.ScenarioError, match="limit: cannot be set"):
        ANY.scenario("outcast").queue.limit = "8KiB"


def test_numbers_of_numpy_are_numbers() -> None:
    seeds = [result.seed for result in fp.run_many(SCENARIO, np.arange(1, 3))]
    assert seeds == [1, 2]
    own = {"topology.k": np.int64(6), "traffic.0.from": np.array(["h1", "h2"])}
    patched = SCENARIO.patch(own)
    assert patched.document()["topology"]["k"] == 6
    assert patched.document()["traffic"][0]["from"] == ["h1", "h2"]
    with pytest.raises(fp.ScenarioError, match=r"topology\.k: 6\.5 is not a whole number"):
        SCENARIO.patch({"topology.k": np.float64(6.5)})


@pytest.mark.parametrize(
    ("scenario", "classes", "problem", "remedy"),
    [
        (
            SCENARIO,
            {"disciplines": {"mine": Discipline}},
            'disciplines: "mine" is not in the scenario, which names none of your own',
            'name it: `scenario.patch({"queue.kind": "custom", "queue.name": "mine"})`',
        ),
        (
            OWN,
            {"disciplines": {"mien": Discipline}},
            'disciplines: "mien" is not in the scenario, which names mine',
            "did you mean `mine`?",
        ),
        (
            SCENARIO.patch({"traffic.0.tcp.congestion_control": "custom:gentle"}),
            {"congestion_controls": {"gentle": Gentle, "custom:gentle": Gentle}},
            'congestion_controls: "custom:gentle" is not in the scenario, which names gentle',
            "did you mean `gentle`?",
        ),
        (
            OWN,
            {"disciplines": Discipline},
            "is not a dictionary of names and classes",
            'give {"NAME": Class} with the name that the scenario has',
        ),
        (
            OWN,
            {"disciplines": {"mine": Discipline(None)}},  # type: ignore[arg-type]
            'disciplines: "mine" is not the name of a class',
            'give {"NAME": Class} with the name that the scenario has',
        ),
    ],
)
def test_a_class_that_would_never_be_called_is_refused(
    scenario: Scenario, classes: dict[str, Any], problem: str, remedy: str
) -> None:
    with pytest.raises(fp.InputError) as raised:
        fp.run(scenario, **classes)
    assert problem in str(raised.value)
    assert raised.value.remedy == remedy


def test_a_class_may_wait_in_a_scenario_for_a_fix_or_an_axis_that_names_it() -> None:
    waiting = SCENARIO.with_user_code(congestion_controls={"gentle": Gentle})
    assert fp.run(waiting).fingerprint == fp.run(SCENARIO).fingerprint


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"packets": "h0:0"}, 'packets: "h0:0" is a text, not a list of ports'),
        ({"captures": ["h0:0"], "folder": "here"}, 'folder: "here" is not a function from a seed'),
        ({"packets": ["h0:0"], "window_s": (2.0, 1.0)}, "window_s: [2.0, 1.0] is not an interval"),
    ],
)
def test_an_observation_that_cannot_be_made_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(fp.InputError) as raised:
        fp.Observation(**fields)
    assert str(raised.value).startswith(named)


def test_captures_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(fp.InputError, match="folder: is missing, and captures are files"):
        fp.run(SCENARIO, observation=fp.Observation(captures=["bottleneck"]))
    missing = fp.Observation(captures=["bottleneck"], folder=lambda _: tmp_path / "missing")
    with pytest.raises(fp.InputError, match="is not a folder, so captures cannot be written"):
        fp.run(SCENARIO, observation=missing)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_process_that_was_forked_after_a_run_says_so_instead_of_waiting_without_end() -> None:
    script = """
import os
import fairport as fp
scenario = fp.scenario("outcast").patch({"duration": "1ms"})
fp.run(scenario)
child = os.fork()
if not child:
    try:
        fp.run(scenario)
    except fp.BackendError as error:
        os.write(1, str(error).encode())
    os._exit(0)
os.waitpid(child, 0)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    assert said == "cannot run in a process that was forked after a run"
