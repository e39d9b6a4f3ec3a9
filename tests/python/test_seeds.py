"""Several seeds: one report and one set of figures, over all of them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport import run_and_save
from fairport.figures import seeds
from fairport.metrics.repeats import typical_run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds") / "run"
    scenario = fp.scenario("outcast").patch({"duration": "100ms"})
    run_and_save.run(scenario, range(1, 5), folder=folder, jobs=2)
    return folder


def test_there_is_one_report_and_one_set_of_figures(written: Path) -> None:
    assert (written / "report.html").is_file()
    assert (written / "figures" / "seeds.png").is_file()
    assert (written / "figures" / "queue.svg").is_file()
    for seed in range(1, 5):
        assert sorted(path.name for path in (written / f"seed-{seed}").iterdir()) == [
            "manifest.json",
            "summary.json",
            "tables",
        ]
    summary = json.loads((written / "summary.json").read_text(encoding="utf-8"))
    assert "report.html" in summary["files"]
    page = (written / "report.html").read_text(encoding="utf-8")
    assert "outcast, seeds 1 to 4" in page
    assert summary["verdict"]["sentence"] in page
    for run in summary["runs"]:
        assert run["fingerprint"] in page


def test_the_seed_in_full_is_the_one_nearest_to_the_median(written: Path) -> None:
    summary = json.loads((written / "summary.json").read_text(encoding="utf-8"))
    ratios = {run["seeds"][0]: run["verdict"]["ratio"] for run in summary["runs"]}
    (seed,) = typical_run(summary["runs"])["seeds"]
    assert ratios[seed] == sorted(ratios.values())[1]
    page = (written / "report.html").read_text(encoding="utf-8")
    assert f'One seed in full: <span class="seed-said">{seed}</span>' in page


def test_every_seed_is_a_dot(written: Path) -> None:
    summary = json.loads((written / "summary.json").read_text(encoding="utf-8"))
    ratio, *_ = seeds.draw(summary).axes
    drawn = {round(float(x), 9) for line in ratio.get_lines() for x in line.get_xdata()}
    for run in summary["runs"]:
        assert round(run["verdict"]["ratio"], 9) in drawn


def test_loads_have_their_own_panels(fairport: Command) -> None:
    short = ["leaf-spine-incast", "--duration", "2ms", "--repeat", "2", "--no-figures", "--json"]
    summary = json.loads(fairport("run", *short, "--no-output").out)
    picture = seeds.draw(summary)
    titles = [text.get_text() for panel in picture.axes for text in panel.texts]
    assert picture.title == "Rounds done (0: incast): 0 over 2 seeds"
    assert any(title.startswith("rounds done") for title in titles)
    assert any(title.startswith("small FCT p99") for title in titles)


def test_a_verdict_of_one_seed_says_what_the_spread_is_known_to_be(fairport: Command) -> None:
    whole = json.loads(fairport("run", "two-switch", "--no-output", "--json").out)
    assert whole["spread"].startswith("This is one seed: 20 seeds of this scenario gave ratios")
    least, most = re.findall(r"from (\d\.\d\d) to (\d\.\d\d),", whole["spread"])[0]
    assert float(least) - 0.005 <= whole["verdict"]["ratio"] <= float(most) + 0.005
    changed = ["run", "two-switch", "--duration", "100ms", "--no-output"]
    assert "The spread over seeds is not known here" in fairport(*changed).out
    assert "This is one seed" not in fairport(*changed, "--repeat", "2").out


def test_ratios_that_span_much_are_on_a_logarithmic_axis() -> None:
    def scale(ratios: list[float]) -> str:
        one = {"goodput_bps_mean": 9.9e6, "timeouts": 9, "timeout_period_s": 0.1}
        runs = [
            {"classes": {"2-hop": {"throughput_ratio": ratio, **one}}, "traffic": []}
            | {"jain_index": 0.9, "goodput_bps_total": 9e8}
            | {"verdict": {"outcast": ratio < 0.5, "ratio": ratio}}
            for ratio in ratios
        ]
        summary = {"scenario": "s", "seeds": list(range(len(ratios))), "runs": runs, **runs[0]}
        return seeds.draw(summary).axes[0].get_xscale()

    scales = [scale(ratios) for ratios in ([0.2, 0.5], [0.2, 1.1, 40.0], [0.0, 2.0])]
    assert scales == ["linear", "log", "linear"]


def test_labels_of_neighbouring_panels_do_not_run_into_each_other() -> None:
    classes = {"2-hop": {"goodput_bps_mean": 9.9e6, "timeouts": 9.9, "throughput_ratio": 1}}
    run = {"classes": classes, "jain_index": 0.99, "goodput_bps_total": 9.9e6, "traffic": []}
    run |= {"verdict": {"outcast": None, "ratio": None}}
    for number in (3, 4):
        whole = {"scenario": "s", "seeds": list(range(number)), "runs": [run] * number, **run}
        picture = seeds.draw(whole)
        labels = [
            label.get_window_extent() for panel in picture.axes for label in panel.get_xticklabels()
        ]
        assert not any(one.overlaps(other) for one, other in itertools.combinations(labels, 2))
        said = " ".join(text.get_text() for text in picture.texts)
        assert ("middle half" in said) == (number == 4)
