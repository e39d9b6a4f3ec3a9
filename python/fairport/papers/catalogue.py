"""Reads papers, experiments and claims, and makes the scenarios that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from fairport import published
from fairport.errors import InputError, did_you_mean, require_known
from fairport.papers.model import Claim, Claims, Experiment, Paper, Platform, Variant
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.base import Section
from fairport.scenario.checking import checked
from fairport.scenario.source import Source
from fairport.toml.files import parse, read_text

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # from Python 3.11 on

S = TypeVar("S", bound=Section)


class PaperError(InputError):
    """A paper, experiment or claim that does not exist, or whose file cannot be read."""


@dataclass(frozen=True)
class Entry:
    """An experiment with its paper and its claims."""

    name: str
    """Its name, such as "prakash2012/fifteen-to-one"."""
    paper: Paper
    experiment: Experiment
    claims: Sequence[Claim]

    @cached_property
    def variants(self) -> list[Variant]:
        """The variants that are run or computed, in order."""
        return self.experiment.variants(self.paper.scheme)

    @property
    def platform(self) -> Platform | None:
        """Its platform; None without a network."""
        known = self.paper.platform
        if self.experiment.model:
            return None
        return known[self.experiment.platform or next(iter(known))]

    def seeds(self, *, quick: bool = False) -> range:
        """The seeds of each variant's runs."""
        count = self.experiment.quick_seeds if quick else self.experiment.seeds
        return range(1, count + 1)

    def scenario(
        self, variant: Variant, *, quick: bool = False, on_linux: bool = False
    ) -> Scenario:
        """The scenario of a variant. Raises ScenarioError."""
        experiment, platform = self.experiment, self.platform
        assert platform is not None, "what has no network has no scenario"
        patch = platform.settings | experiment.scenario | variant.patch
        if quick:
            patch |= experiment.quick
        later: dict[str, Any] = {}
        if on_linux and experiment.linux is not None:
            # parts that belong to a section which a variant gives as a whole
            later = experiment.linux.scenario
            if quick and experiment.linux.slowed == 1:
                later = later | experiment.quick
        patch |= {"name": f"{self.name.replace('/', '-')}-{variant.name}"}
        if "description" not in patch:
            patch["description"] = f"{experiment.title}: {variant.title}"
        scenario = _base(platform.base).patch(patch)
        return scenario.patch(later) if later else scenario

    def variant(self, name: str) -> Variant:
        """The variant with that name; without a name, the only one."""
        return next(one for one in self.variants if name in ("", one.name))


def entries() -> list[Entry]:
    """Every experiment. Raises PaperError for a file that cannot be read."""
    return [entry(name) for name in published.experiment_names()]


def chosen(names: Sequence[str]) -> list[Entry]:
    """Experiments by name, or all of a paper by its name. Raises PaperError for an unknown one."""
    known = published.experiment_names()
    found: dict[str, Entry] = {}
    for name in names:
        members = [one for one in known if name in (one, one.partition("/")[0])]
        if not members:
            raise PaperError(
                "is not an experiment",
                value=name,
                remedy=f"{did_you_mean(name, known)} `fairport reproduce` lists them.",
            )
        found |= {member: entry(member) for member in members}
    return list(found.values())


@cache
def entry(name: str) -> Entry:
    """One experiment. Raises KeyError for an unknown one, PaperError for a file that is wrong."""
    place = published.folder(name)
    paper_id = name.partition("/")[0]
    paper_file = published.papers_folder() / paper_id / published.PAPER
    paper = _read(Paper, paper_file, f"{paper_id}/paper.toml")
    experiment_file = f"{name}/{published.EXPERIMENT}"
    experiment = _read(Experiment, place / published.EXPERIMENT, experiment_file)
    check_platform(experiment, paper, experiment_file)
    file = f"{name}/claims.toml"
    claims = _read(Claims, place / "claims.toml", file).claim
    found = Entry(name, paper, experiment, claims)
    check_variants(found, experiment_file)
    _check(claims, found.variants, file)
    return found


@cache
def _base(name: str) -> Scenario:
    """The scenario of that name, which many variants patch."""
    return load_scenario(name)


def check_platform(experiment: Experiment, paper: Paper, file: str) -> None:
    """Checks that the experiment names one of the paper's platforms if there are several."""
    name, known = experiment.platform, list(paper.platform)
    if experiment.model:
        return
    if name:
        problem = "is not a platform of the paper"
        require_known(name, known, problem, file=file, field="platform", kind=PaperError)
    if not name and known[1:]:
        raise PaperError(
            "is missing", file=file, field="platform", remedy=f"the paper has {', '.join(known)}"
        )


def check_variants(entry: Entry, file: str) -> None:
    """Checks that there are variants, and that their names differ."""
    names = [one.name for one in entry.variants]
    if not names:
        raise PaperError(
            "has no variant", file=file, field="variant", remedy="give [[variant]]s or [axes]"
        )
    for index, name in enumerate(entry.experiment.linux.variants if entry.experiment.linux else []):
        _require_variant(name, names, file, f"linux.variants.{index}")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise PaperError(
                "is the name of another variant too", file=file, field="variant", value=name,
                remedy="give each variant a name of its own",
            )  # fmt: skip


def _check(claims: Sequence[Claim], known: Sequence[Variant], file: str) -> None:
    """Checks that claims name existing variants, and name one if there are several."""
    variants = [one.name for one in known]
    for index, claim in enumerate(claims):
        if any(claim.id == other.id for other in claims[:index]):
            raise PaperError(
                "is also the id of another claim",
                file=file,
                field=f"claim.{index}.id",
                value=claim.id,
                remedy="give each claim an id of its own",
            )
        named = {"variant": claim.variant}
        if isinstance(claim.over, list):
            named |= {f"over.{i}": one for i, one in enumerate(claim.over)}
        else:
            named["over"] = claim.over
        for field in ("rising", "falling"):
            named |= {f"{field}.{i}": one for i, one in enumerate(getattr(claim, field) or [])}
        for field, name in named.items():
            if name:
                _require_variant(name, variants, file, f"claim.{index}.{field}")
        if claim.rising is None and claim.falling is None and not claim.variant and variants[1:]:
            raise PaperError(
                "is missing", file=file, field=f"claim.{index}.variant",
                remedy=f"the experiment has {', '.join(variants)}",
            )  # fmt: skip


def _require_variant(name: str, known: Sequence[str], file: str, field: str) -> None:
    problem = "is not a variant of the experiment"
    require_known(name, known, problem, file=file, field=field, kind=PaperError)


def _read(kind: type[S], path: Traversable, shown: str) -> S:
    remedy = "docs/reference/papers.md shows how such a file is written"
    text = read_text(path, shown, PaperError, remedy)
    document = parse(text, shown, PaperError, remedy)
    return checked(kind.model_validate, document, Source(shown, text), PaperError)
