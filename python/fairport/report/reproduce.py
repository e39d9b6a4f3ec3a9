"""The page of `reproduce`: by paper, our numbers beside the published ones, and every claim.

A short script filters the claims by state and by paper; without it all claims are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.quantities import counted
from fairport.report.inline import embed
from fairport.report.template import fill_page, read
from fairport.study.reproduce import STATES, CheckedClaim, totals
from fairport.study.runs.model_version import model_version

if TYPE_CHECKING:
    from fairport.papers.model import Platform
    from fairport.study.reproduce import Reproduced

# The order of the states: claims that differ come first.
_ORDER = ("differs", "holds", "not comparable")


def page(done: Sequence[Reproduced], pictures: Mapping[str, Sequence[tuple[str, Path]]]) -> str:
    """The whole page as text; `pictures` are titles and SVG files by experiment."""
    ordered = sorted(done, key=lambda one: one.entry.paper.place)
    by_paper = groupby(ordered, key=lambda one: one.entry.name.partition("/")[0])
    return fill_page(
        "reproduce.html",
        script=read("reproduce.js"),
        quick=any(one.quick for one in done),
        states=STATES,
        totals=totals(done),
        papers=[_paper(name, list(members), pictures) for name, members in by_paper],
        version=model_version(),
    )


def _paper(
    name: str, done: Sequence[Reproduced], pictures: Mapping[str, Sequence[tuple[str, Path]]]
) -> dict[str, Any]:
    paper = done[0].entry.paper
    on = {
        name: [one for one in done if one.entry.platform == platform]
        for name, platform in paper.platform.items()
    }
    claims = [checked for one in done for checked in one.checked_claims]
    return {
        "id": name,
        "paper": paper,
        "platforms": [_platform(paper.platform[name], on[name]) for name in on if on[name]],
        "totals": totals(done),
        "summary": _summary(done),
        "differing": [
            (checked.experiment.replace("/", "-"), sentence(checked.claim.says))
            for checked in claims
            if checked.state == "differs"
        ],
        "experiments": [_experiment(one, pictures[one.entry.name]) for one in done],
    }


def _summary(done: Sequence[Reproduced]) -> str:
    """The outcome of a paper's claims, in one or two sentences."""
    counts = totals(done)
    compared = counts["holds"] + counts["differs"]
    parts = [f"{counts['holds']} of {counted(compared, 'claim')} that can be compared hold"]
    if counts["not comparable"]:
        parts.append(f"{counts['not comparable']} cannot be compared with a run of ours")
    whole = [
        one.entry.experiment.title
        for one in done
        if all(checked.state != "differs" for checked in one.checked_claims)
    ]
    more = ""
    if whole and counts["differs"]:
        listed = f"{len(whole)} of {counted(len(done), 'experiment')}"
        more = f" In {listed}, all of them hold."
    return "; ".join(parts) + "." + more


def _platform(platform: Platform, done: Sequence[Reproduced]) -> dict[str, Any]:
    return {
        "platform": platform,
        "settings": [f"{path} = {words(value)}" for path, value in platform.settings.items()],
        "experiments": [(one.entry.name.partition("/")[2], _anchor(one)) for one in done],
    }


def words(value: Any) -> str:
    """A setting's value for people, without braces or quotation marks."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return "; ".join(_grouped(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _grouped(values: Sequence[Any]) -> Iterator[str]:
    """Each value; of more than four in a row that differ only by name, the first and last."""

    def but_names(one: Any) -> Any:
        is_table = isinstance(one, Mapping)
        return {key: one[key] for key in one if key != "ends"} if is_table else type(one)

    for _, group in groupby(values, key=but_names):
        alike = [words(one) for one in group]
        if len(alike) > 4:
            alike = [alike[0], "..", f"{alike[-1]} ({len(alike)} of them)"]
        yield from alike


def sentence(text: str) -> str:
    """With a capital letter at the beginning and a full stop at the end."""
    text = text.strip()
    whole = text[:1].upper() + text[1:]
    return whole if not whole or whole[-1] in ".?!" else f"{whole}."


def _experiment(one: Reproduced, pictures: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    experiment, seeds = one.entry.experiment, one.seeds
    each = "without a network"
    if not experiment.model:
        each = f"{one.entry.scenario(one.entry.variants[0], quick=one.quick).duration} each"
    scenarios = counted(len(one.entry.variants), "scenario")
    known = [variant.published for variant in one.entry.variants if variant.published]
    claims = sorted(one.checked_claims, key=lambda checked: _ORDER.index(checked.state))
    return {
        "name": one.entry.name,
        "anchor": _anchor(one),
        "title": experiment.title,
        "shows": sentence(experiment.shows),
        "totals": totals([one]),
        "pictures": [
            embed(svg, f"{_anchor(one)}-{index}", f"{title}, {one.entry.name}")
            for index, (title, svg) in enumerate(pictures)
        ],
        "claims": [_claim(one, checked) for checked in claims],
        "linux": one.linux,
        "read": sorted({sentence(published.read) for published in known}),
        "runs": f"{scenarios}, seeds {seeds[0]} to {seeds[-1]}, {each}.",
    }


def _claim(one: Reproduced, checked: CheckedClaim) -> dict[str, Any]:
    claim = checked.claim
    of = [checked.metric.quantity.title, claim.hop_class]
    of.append("" if claim.traffic is None else f"traffic {claim.traffic}")
    of.append(f"in {claim.variant}" if claim.variant else "")
    if claim.over:
        of.append(f"over {claim.over if isinstance(claim.over, str) else ', '.join(claim.over)}")
    return {
        "checked": checked,
        "says": sentence(claim.says),
        "about": ", ".join(filter(None, of)),
        "source": f"{claim.where} ({claim.read})",
        "why": sentence(claim.why),
        "note": sentence(_note(one, checked)),
    }


def _note(one: Reproduced, checked: CheckedClaim) -> str:
    """Why a claim differs or is not compared, with numbers of these runs only."""
    if checked.claim.not_comparable:
        return checked.claim.not_comparable
    if checked.state != "differs":
        return ""
    if one.quick:
        # the text in the claim's file has numbers of full runs
        return (
            f"{counted(len(one.seeds), 'seed')} of shorter runs gave {checked.ours_in_words};"
            f" the claim needs: {checked.tolerance}. The full run decides"
        )
    return checked.claim.differs


def _anchor(one: Reproduced) -> str:
    return one.entry.name.replace("/", "-")
