"""Models with which papers explain a result, computed without a network: one file per model.

A model takes a variant's patch as arguments, and a seed, and returns numbers by name. The metrics
of `fairport.papers.metrics` read them from a record's summary, under `model`.
"""

from __future__ import annotations

from collections.abc import Callable

from fairport.papers.models.enqueue_probability import enqueue_probability

Model = Callable[..., dict[str, float]]

MODELS: dict[str, Model] = {"enqueue-probability": enqueue_probability}
"""All models, by the name in an experiment's `model`."""
