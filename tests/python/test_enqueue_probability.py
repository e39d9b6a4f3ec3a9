"""The chance of room behind a drop (Lee et al. 2017, Fig. 5)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fairport.cli.app import app
from fairport.enqueue_probability import enqueue_probability
from typer.testing import CliRunner


def test_the_published_probabilities_come_out_at_one_octet() -> None:
    for seed in range(1, 4):
        found = enqueue_probability(trials=1000, seed=seed)
        # one point of 1000 trials strays by 0.015; its neighbours differ by nothing that shows
        assert float(np.mean(found.x2[:20])) == pytest.approx(0.63, abs=0.03)
        assert float(np.mean(found.y2[:20])) == pytest.approx(0.58, abs=0.03)
        assert float(np.mean(found.neither[:20])) == pytest.approx(0.11, abs=0.03)


def test_packets_of_one_length_shut_one_input_out() -> None:
    found = enqueue_probability()
    assert found.x2[-1] == 0
    assert found.y2[-1] == 1


def test_the_command_prints_a_row_each_r_min_and_draws(tmp_path: Path) -> None:
    figure = tmp_path / "enqueue.png"
    arguments = ["enqueue-probability", "--json", "--figure", str(figure)]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert [row["r_min_bytes"] for row in document["rows"]] == list(range(1, 1449))
    first = document["rows"][0]
    assert first["x2"] == pytest.approx(0.63, abs=0.03)
    assert first["y2"] == pytest.approx(0.58, abs=0.03)
    assert first["neither"] == pytest.approx(0.11, abs=0.03)
    assert figure.stat().st_size > 10_000


def test_a_figure_of_another_kind_is_refused(tmp_path: Path) -> None:
    arguments = ["enqueue-probability", "--figure", str(tmp_path / "enqueue.jpg")]
    assert CliRunner().invoke(app, arguments).exit_code == 2
