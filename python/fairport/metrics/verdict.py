"""The verdict on a run, in one or two computed sentences: who is starved, how much, and why.

**Outcast** (Prakash et al. 2012): the hop class with fewest flows, the *lone class*, gets less than
half of the mean goodput of the class with most flows. The limit is half, because the paper calls
1:6 flows the onset, where the lone flow gets about half; Jain's index is still 0.98 there.

If several classes have equally few flows, the lone class is the one with the least goodput. The
question of an outcast has no answer (null) if all classes have equally many flows, so that there is
no lone class, and if neither the lone class nor its peers deliver anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairport.quantities import QUANTITIES, digits

OUTCAST_BELOW = 0.5
# A class is at parity with its peers within this factor of their goodput.
PARITY = 0.8
_SMALL = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long the flows of a class waited for retransmission timers within the measurement."""

    mean_s: float
    """Mean waiting time per flow."""
    of_s: float
    """Length of the measurement."""
    after_drop_runs: float | None
    """Share of the waiting time that followed three or more consecutive drops at the flow's ingress
    port; None if no flow waited, or if it is not known when."""


def verdict(
    classes: Mapping[str, Mapping[str, Any]],
    waiting: Mapping[str, Waiting],
    established: Mapping[str, int],
) -> dict[str, Any]:
    """The summary's `verdict`: outcast, ratio, blackout_timeout_share, sentence.

    `waiting` and `established` are by hop class; `established` is the number of flows that ever
    connected.
    """
    lone, peers = lone_and_peers(classes)
    found = None
    if lone:
        found = is_outcast(*(classes[name]["goodput_bps_mean"] for name in (lone, peers)))
    return {
        "outcast": found,
        "ratio": classes[lone]["throughput_ratio"] if lone else None,
        "blackout_timeout_share": waiting[lone].after_drop_runs if lone else None,
        "sentence": _sentence(classes, lone, peers, waiting, established, found),
    }


def is_outcast(lone_bps: float, peers_bps: float) -> bool | None:
    """Whether the lone class's mean is under half of its peers'; None if both deliver nothing."""
    if peers_bps <= 0:
        return False if lone_bps > 0 else None
    return lone_bps / peers_bps < OUTCAST_BELOW


def headline(classes: Mapping[str, Mapping[str, Any]], established: Mapping[str, int]) -> str:
    """Who gets how much, without a full stop: the beginning of the verdict, and a figure's title.

    `established` is as for `verdict`.
    """
    nothing = _nothing(classes, established)
    if nothing:
        return nothing
    lone, peers = lone_and_peers(classes)
    if not lone:
        flows = sum(one["flows"] for one in classes.values())
        if flows == 1:
            rate = QUANTITIES["goodput_bps"].with_unit(classes[peers]["goodput_bps_mean"])
            return f"The {peers} flow is alone: it gets {rate}"
        return f"The slowest of the {flows} flows gets {_slowest(classes)} the fastest"
    whose, verb = subject(lone, classes[lone]["flows"])
    if not established.get(lone):
        return f"{whose} {verb('was', 'were')} not established before the end of the run"
    ratio = classes[lone]["throughput_ratio"]
    if ratio is None:
        return _beside_silent_peers(classes, lone, peers)
    share = f"{ratio_in_words(ratio)} {verb('its', 'their')} {peers} peers' goodput"
    return f"{whose} {verb('gets', 'get')} {share}"


def _nothing(classes: Mapping[str, Mapping[str, Any]], established: Mapping[str, int]) -> str:
    """Why there is nothing to compare, or ""."""
    if not classes:
        return "There are no TCP flows to compare"
    if not any(established.values()):
        return "No flow was established before the end of the run"
    if all(one["goodput_bps_max"] <= 0 for one in classes.values()):
        return "No flow delivered anything within the measurement"
    return ""


def lone_and_peers(classes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The lone class and the class with which it is compared; "" if there is none."""
    if not classes:
        return "", ""
    counts = {name: one["flows"] for name, one in classes.items()}
    # Among equally large classes the one with most hops, as for `throughput_ratio`.
    peers = max(reversed(counts), key=counts.__getitem__)
    few = [name for name, count in counts.items() if count < counts[peers]]
    if not few:
        return "", peers
    return min(few, key=lambda name: (counts[name], classes[name]["goodput_bps_mean"])), peers


def _sentence(
    classes: Mapping[str, Mapping[str, Any]],
    lone: str,
    peers: str,
    waiting: Mapping[str, Waiting],
    established: Mapping[str, int],
    outcast: bool | None,
) -> str:
    if not lone and not _nothing(classes, established):
        return _without_lone_class(classes)
    gets = headline(classes, established)
    if _nothing(classes, established):
        return f"{gets}."
    if not established.get(lone):
        return f"{gets}{' (outcast)' if outcast else ''}."
    ratio = classes[lone]["throughput_ratio"]
    if ratio is None:
        return f"{gets}."
    _, verb = subject(lone, classes[lone]["flows"])
    its = verb("its", "their")
    if ratio >= 1 / PARITY:
        found = f"no outcast: {verb('it is', 'they are')} favoured"
    elif ratio >= PARITY:
        found = "parity, no outcast"
    else:
        found = "outcast" if outcast else "at a disadvantage, but no outcast"
    sentences = [f"{gets} ({found})."]
    if ratio < PARITY:
        sentences.append(_waited(waiting[lone], classes[lone]["flows"], its))
    return " ".join([*sentences, *_other_starved(classes, lone, peers), *_silent(classes)])


def _beside_silent_peers(classes: Mapping[str, Mapping[str, Any]], lone: str, peers: str) -> str:
    """The headline for a lone class whose peers deliver nothing, so that it has no ratio."""
    deliver = [name for name, one in classes.items() if one["goodput_bps_max"] > 0]
    whose, verb = subject(lone, classes[lone]["flows"])
    nothing = f"the {peers} flows deliver nothing"
    if deliver == [lone]:
        return f"{whose} {verb('has', 'have')} the line alone: {nothing}"
    rest = " and ".join(deliver)
    if lone in deliver:
        return f"{nothing.capitalize()}, so there is no ratio; the {rest} flows share the line"
    also = f"{verb('does', 'do')} not deliver anything either"
    return f"{nothing.capitalize()}, and {whose[0].lower()}{whose[1:]} {also}"


def _waited(waiting: Waiting, flows: int, its: str) -> str:
    """How long the flows of the class waited, as a sentence."""
    if waiting.after_drop_runs is None:
        if waiting.mean_s > 0:
            return f"{spent(waiting, flows)}."
        return f"None of {its} retransmission timers expired within the measurement."
    share = f"{100 * waiting.after_drop_runs:.0f} %"
    return (
        f"{spent(waiting, flows)}; {share} of that time followed three or more consecutive drops"
        f" at {its} ingress port."
    )


def spent(waiting: Waiting, flows: int) -> str:
    """How long the flows of a class waited, as a clause."""
    it = "It" if flows == 1 else "On average each"
    return (
        f"{it} spent {_seconds(waiting.mean_s)} of {_seconds(waiting.of_s)} s waiting for timeouts"
    )


def _seconds(value: float) -> str:
    return digits(value, 2) if value < 99.5 else f"{value:.0f}"


def _other_starved(classes: Mapping[str, Mapping[str, Any]], lone: str, peers: str) -> list[str]:
    """Other classes that get less than half, one sentence each."""
    return [
        f"The {name} {'flow gets' if one['flows'] == 1 else 'flows get'}"
        f" {ratio_in_words(one['throughput_ratio'])} the {peers} goodput."
        for name, one in classes.items()
        if name != lone and one["throughput_ratio"] < OUTCAST_BELOW
    ]


def _silent(classes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Classes of which some flows deliver nothing, though the class as a whole delivers."""
    return [
        f"At least one of the {number_in_words(one['flows'])} {name} flows delivered nothing."
        for name, one in classes.items()
        if one["goodput_bps_min"] <= 0 < one["goodput_bps_mean"] and one["flows"] > 1
    ]


def _without_lone_class(classes: Mapping[str, Mapping[str, Any]]) -> str:
    names = " and ".join(classes)
    flows = sum(one["flows"] for one in classes.values())
    if flows == 1:
        return f"The {names} flow is alone: there is no other flow to compare it with."
    spread = f"the slowest of the {flows} gets {_slowest(classes)} the fastest"
    if len(classes) == 1:
        return f"All flows are {names}, so there is no lone class; {spread}."
    return f"There are equally many {names} flows, so there is no lone class; {spread}."


def _slowest(classes: Mapping[str, Mapping[str, Any]]) -> str:
    worst = min(one["goodput_bps_min"] for one in classes.values())
    best = max(one["goodput_bps_max"] for one in classes.values())
    return ratio_in_words(worst / best)


def subject(name: str, flows: int) -> tuple[str, Callable[[str, str], str]]:
    """The sentence's subject, and a function that chooses singular or plural for it."""
    if flows == 1:
        return f"The {name} flow", lambda one, _: one
    return f"The {number_in_words(flows)} {name} flows", lambda _, many: many


def number_in_words(number: int) -> str:
    """A small number as a word, because "3 2-hop flows" is hard to read."""
    return _SMALL[number] if number < len(_SMALL) else str(number)


def ratio_in_words(ratio: float) -> str:
    """The ratio with two significant digits: "0.16 of", "0.016 of", "2.4 times"."""
    if ratio >= 1.005:
        return f"{ratio:.3g} times" if ratio < 999.5 else f"{ratio:,.0f} times"
    return f"{ratio:.2f} of" if ratio >= 0.0995 or ratio == 0 else f"{digits(ratio, 2)} of"
