"""The command `fairport run`: what it prints, and what it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
import typer
from conftest import Command
from fairport import tables
from fairport.cli.app import app
from fairport.scenario import Scenario, builtin_names
from fairport.storage import digests

SUMMARY_KEYS = {
    "schema_version", "scenario", "seeds", "backend", "version", "fingerprint", "valid", "wall_s",
    "simulated_s", "packet_hops", "packet_hops_per_s", "classes", "goodput_bps_total",
    "utilisation", "jain_index", "bottleneck", "verdict", "files",
    "host_queue_drop_share", "traffic", "caveats", "rto_min_s", "spread", "decisions_left_out",
    "host_goodput_bps_max", "fullest_link", "host_times_rate_bps", "ecn_is_idle",
    "flows_outside_measurement",
    "flows_partly_measured", "traffic_ended_s",
    "measure",  # not compared: the span of the measurement
    "fct", "rounds", "requests", "udp",  # only some workloads have these
}  # fmt: skip
CLASS_KEYS = {
    "flows", "goodput_bps_mean", "goodput_bps_min", "goodput_bps_max", "throughput_ratio",
    "timeouts", "timeout_period_s", "drops", "longest_drop_run", "rtt_mean_s", "rtt_p99_s",
}  # fmt: skip

SHORT = ["outcast", "--duration", "20ms"]


def test_the_summary_has_the_pinned_keys(fairport: Command) -> None:
    outcome = fairport("run", *SHORT, "--json", "--no-output")
    assert outcome.status == 0
    assert outcome.err == ""
    summary = json.loads(outcome.out)
    assert set(summary) == SUMMARY_KEYS
    assert list(summary["classes"]) == ["2-hop", "4-hop", "6-hop"]
    assert [one["flows"] for one in summary["classes"].values()] == [1, 2, 12]
    for one in summary["classes"].values():
        assert set(one) == CLASS_KEYS
    assert set(summary["bottleneck"]) == {
        "port", "drops", "marks", "queue_mean_bytes", "queue_max_bytes",
    }  # fmt: skip
    assert set(summary["verdict"]) == {"outcast", "ratio", "blackout_timeout_share", "sentence"}
    assert summary["seeds"] == [1]
    assert summary["backend"] == "simulation"
    assert summary["version"] == fp.__version__


def test_a_run_writes_its_folder(fairport: Command, tmp_path: Path) -> None:
    outcome = fairport("run", *SHORT, "--seed", "3", "--csv")
    assert outcome.status == 0
    folder = tmp_path / "results" / "outcast"
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    written.remove(".fairport.json")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["files"]) == written
    assert {"manifest.json", "summary.json", "report.html", "tables/flows.parquet"} <= written
    for name in tables.SCHEMA:
        table = pl.read_parquet(folder / "tables" / f"{name}.parquet")
        assert pl.read_csv(folder / "tables" / f"{name}.csv", schema=table.schema).equals(table)
    assert any(name.endswith(".png") for name in written)
    assert any(name.endswith(".svg") for name in written)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 3
    assert manifest["fingerprint"] == summary["fingerprint"]
    assert manifest["schema_version"] == summary["schema_version"]
    assert manifest["scenario_resolved"]["duration"] == "20ms"
    # in `files` on stdout are paths relative to the working directory
    assert str(Path("results", "outcast", "report.html")) in outcome.out
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["outcast"]


def test_no_figures_means_no_report_either(fairport: Command, tmp_path: Path) -> None:
    assert fairport("run", *SHORT, "--no-figures", "--out", "here").status == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        ".fairport.json",
        "manifest.json",
        "summary.json",
        "tables",
    ]


def test_no_output_writes_nothing(fairport: Command, tmp_path: Path) -> None:
    assert fairport("run", *SHORT, "--no-output").status == 0
    assert list(tmp_path.iterdir()) == []


def test_quiet_says_nothing(fairport: Command) -> None:
    outcome = fairport("run", *SHORT, "--no-output", "--quiet")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_the_table_holds_ours_the_paper_s_the_phases_and_the_verdict(fairport: Command) -> None:
    outcome = fairport("run", *SHORT, "--no-output")
    assert outcome.err == ""
    assert "\x1b" not in outcome.out
    for part in (
        "2-hop", "4-hop", "6-hop", "12.3", "71.3", "(paper 941.6)", "measured from", "utilisation",
        "fingerprint", "30us + U(0, 20us) each way", "ties round-robin",
    ):  # fmt: skip
        assert part in outcome.out
    summary = json.loads(fairport("run", *SHORT, "--no-output", "--json").out)
    assert summary["verdict"]["sentence"] in " ".join(outcome.out.split())


def test_the_table_fits_80_columns(fairport: Command) -> None:
    outcome = fairport("run", *SHORT, "--no-output")
    table = outcome.out.split("\npaper: ")[0]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80


def test_repeated_runs_have_a_folder_each_and_a_summary_over_all(
    fairport: Command, tmp_path: Path
) -> None:
    outcome = fairport(
        "run", *SHORT, "--repeat", "3", "--seed", "5", "--jobs", "2", "--no-figures", "--json"
    )
    assert outcome.status == 0
    summary = json.loads(outcome.out)
    assert set(summary) == SUMMARY_KEYS | {"runs"}
    assert summary["seeds"] == [5, 6, 7]
    assert [run["seeds"] for run in summary["runs"]] == [[5], [6], [7]]
    ratios = sorted(run["goodput_bps_total"] for run in summary["runs"])
    assert summary["goodput_bps_total"] == ratios[1]
    assert summary["packet_hops"] == sum(run["packet_hops"] for run in summary["runs"])
    folder = tmp_path / "results" / "outcast"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".fairport.json",
        "seed-5",
        "seed-6",
        "seed-7",
        "summary.json",
    ]
    assert all(Path(tmp_path / file).is_file() for file in summary["files"])


def test_runs_at_a_time_do_not_change_results(fairport: Command) -> None:
    arguments = ["run", *SHORT, "--repeat", "3", "--no-output", "--json"]
    one, two = (json.loads(fairport(*arguments, "--jobs", jobs).out)["runs"] for jobs in ("1", "2"))
    assert [run["fingerprint"] for run in one] == [run["fingerprint"] for run in two]


def test_force_replaces_the_folder(fairport: Command, tmp_path: Path) -> None:
    assert fairport("run", *SHORT, "--no-figures").status == 0
    refused = fairport("run", *SHORT, "--no-figures")
    assert refused.status == 2
    assert refused.err.endswith("hint: give another --out, or --force to replace it\n")
    assert fairport("run", *SHORT, "--no-figures", "--seed", "2", "--force").status == 0
    manifest = json.loads((tmp_path / "results/outcast/manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 2
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["outcast"]


def test_set_is_the_same_as_writing_it(fairport: Command, tmp_path: Path) -> None:
    changed = fp.scenario("outcast").patch({"duration": "20ms", "queue.limit": "32KiB"})
    (tmp_path / "changed.toml").write_text(changed.to_toml(), encoding="utf-8")
    by_file = fairport("run", "changed.toml", "--no-output", "--json")
    by_set = fairport("run", *SHORT, "--set", "queue.limit=32KiB", "--no-output", "--json")
    assert json.loads(by_file.out)["fingerprint"] == json.loads(by_set.out)["fingerprint"]


def test_a_run_can_be_repeated_from_its_folder(fairport: Command, tmp_path: Path) -> None:
    assert fairport("run", *SHORT, "--no-figures", "--out", "run").status == 0
    outcome = fairport("rerun", "run")
    assert outcome.status == 0
    assert "the same" in outcome.out
    folder = tmp_path / "run"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    manifest |= {"fingerprint": "0" * 16}  # as another version would have left it, undamaged
    manifest[digests.KEY] = digests.digests(manifest, summary, folder / "tables")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    outcome = fairport("rerun", "run", "--json")
    assert outcome.status == 1
    assert json.loads(outcome.out)["same"] is False


def test_a_report_can_be_drawn_again(fairport: Command, tmp_path: Path) -> None:
    assert fairport("run", *SHORT, "--no-figures", "--out", "run").status == 0
    outcome = fairport("report", "run")
    assert outcome.status == 0
    assert (tmp_path / outcome.out.strip()).is_file()
    assert fairport("report", "run").status == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        ".fairport.json",
        "figures",
        "manifest.json",
        "report.html",
        "summary.json",
        "tables",
    ]


@pytest.mark.parametrize("name", builtin_names())
def test_list_says_in_two_sentences_when_one_would_use_a_scenario(
    fairport: Command, name: str
) -> None:
    use = json.loads(fairport("list", name, "--json").out)[0]["when"]
    assert len([part for part in use.split(". ") if part]) >= 2
    assert use in fairport("list", name).out


def test_list_refuses_a_name_that_is_not_built_in(fairport: Command) -> None:
    outcome = fairport("list", "outcat")
    assert outcome.status == 2
    assert outcome.err.splitlines()[1] == "hint: did you mean `outcast`? A file ends in .toml."


def test_list_names_every_built_in_scenario(fairport: Command) -> None:
    shown = fairport("list").out
    assert [name for name in builtin_names() if name not in shown] == []
    listed = json.loads(fairport("list", "--json").out)
    assert [one["name"] for one in listed] == builtin_names()


def test_a_shown_scenario_is_a_file_that_runs(fairport: Command, tmp_path: Path) -> None:
    text = fairport("scenario", "show", "outcast").out
    assert "# The delays are set by" in text
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    assert fp.scenario(tmp_path / "mine.toml") == fp.scenario("outcast")
    changed = fairport("scenario", "show", "outcast", "--set", "queue.limit=32KiB").out
    assert 'limit = "32KiB"' in changed
    resolved = json.loads(fairport("scenario", "show", "outcast", "--json").out)
    assert resolved["probes"]["series_interval"]


def test_the_schema_is_json(fairport: Command) -> None:
    assert json.loads(fairport("scenario", "schema").out)["title"] == "Scenario"


def test_a_pipe_gets_data_alone(fairport_process: Command) -> None:
    outcome = fairport_process("run", *SHORT, "--no-output", "--json")
    assert outcome.status == 0
    assert outcome.err == ""
    json.loads(outcome.out)


def test_version_and_help(fairport: Command) -> None:
    assert fairport("--version").out == f"fairport {fp.__version__}\n"
    commands, _, options = fairport("--help").out.partition("\nOptions:\n")
    # each command once, in its section, before the options
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", commands, re.MULTILINE)
    program: Any = typer.main.get_command(app)
    assert sorted(listed) == sorted(program.commands)
    assert "--version" in options
    assert "--set" in fairport("run", "--help").out
    assert "\n  CAPTURE  pcap or" in fairport("analyze", "--help").out, "no type of Python"


def test_the_result_in_python(short: Scenario, tmp_path: Path) -> None:
    result = fp.run(short, seed=4)
    assert result.seed == 4
    assert isinstance(result.flows, pl.DataFrame)
    assert result.flows.height == 15
    assert set(result.flows["run_id"]) == {"short-seed-4"}
    assert result.summary["verdict"]["sentence"] in repr(result)
    assert "<table>" in result._repr_html_()
    saved = fp.load_run(fp.save(result, tmp_path / "run", figures=False))
    assert saved.fingerprint == result.fingerprint
    assert saved.scenario == result.scenario
    assert saved.summary | {"files": []} == result.summary
    for name in tables.SCHEMA:
        assert saved.tables[name].equals(result.tables[name])


def test_the_same_seed_gives_the_same_run(short: Scenario) -> None:
    assert fp.run(short, seed=1).fingerprint == fp.run(short, seed=1).fingerprint
    assert fp.run(short, seed=1).fingerprint != fp.run(short, seed=2).fingerprint


def test_probes_do_not_change_a_run(short: Scenario) -> None:
    finer = short.patch({"probes.series_interval": "1ms", "probes.queue_interval": "10us"})
    assert fp.run(short).fingerprint == fp.run(finer).fingerprint


@pytest.mark.parametrize("threads", [2, 100_000])
def test_the_number_of_threads_changes_nothing(short: Scenario, threads: int) -> None:
    assert fp.run(short, threads=threads).fingerprint == fp.run(short, threads=1).fingerprint


def test_many_runs_come_in_the_order_of_their_seeds(short: Scenario) -> None:
    assert [result.seed for result in fp.run_many(short, [3, 1, 2], jobs=3)] == [3, 1, 2]
    assert [result.seed for result in fp.run_many(short, iter((2, 1)))] == [2, 1]


def test_every_table_of_the_guide_is_an_attribute(short: Scenario) -> None:
    result = fp.run(short)
    assert result.marks is result.tables["marks"]
    for name in ("flows", "series", "drops", "timeouts", "queue", "ports", "rtt", "trace"):
        assert getattr(result, name) is result.tables[name]


@pytest.mark.usefixtures("narrow_terminal")
def test_a_narrow_terminal_gets_fewer_columns_and_no_shortened_numbers(fairport: Command) -> None:
    table = fairport("run", *SHORT, "--no-output").out.split("paper: ")[0]
    assert "ratio" in table
    assert "min" not in table
    assert "…" not in table
    times = fairport("run", "web-search", "--duration", "20ms", "--no-output").out
    assert "FCT ms" in times
    assert "…" not in times


def test_a_measurement_of_a_part_says_which_numbers_are_of_the_whole_run(fairport: Command) -> None:
    said = "drops, timeouts, queue and utilisation are of the whole run"
    command = ["run", "outcast", "--duration", "200ms", "--no-output"]
    assert said not in fairport(*command).out
    part = fairport(*command, "--set", 'measure.from="100ms"')
    assert said in " ".join(part.out.split())


def test_means_of_finished_transfers_are_not_shown_as_those_of_all(fairport: Command) -> None:
    said = "Means are of the transfers that are done, quantiles of all."
    some = fairport("run", "web-search", "--duration", "20ms", "--no-output")
    assert said in " ".join(some.out.split())
    all_done = ["--set", 'traffic.0.stop="1ms"', "--duration", "200ms"]
    assert said not in fairport("run", "web-search", *all_done, "--no-output").out
