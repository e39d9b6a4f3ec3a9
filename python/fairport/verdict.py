"""The verdict on a run, in one computed sentence: who is starved, how much, and after what.

**Outcast** (Prakash et al. 2012): the hop class with fewest flows gets less than half of the mean
goodput of the class with most flows. Half, because the paper calls 1:6 flows, where the lone flow
gets about half, the onset; Jain's index hardly moves at all there (0.98 at half of twelve peers).
Of several classes with equally few flows the one with the least goodput counts; classes
with equally many flows are peers of one another, and none of them is an outcast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OUTCAST_BELOW = 0.5
# Within this factor of its peers a class is said to be at parity with them.
PARITY = 0.8


def verdict(
    classes: Mapping[str, Mapping[str, Any]],
    blackout_shares: Mapping[str, float | None],
    established: Mapping[str, int],
) -> dict[str, Any]:
    """The summary's `verdict`: outcast, ratio, blackout_timeout_share, sentence.

    `blackout_shares` and `established` are by hop class: the part of its standstill that follows
    drop runs of 3 and more, and how many of its flows ever connected.
    """
    lone, peers = lone_and_peers(classes)
    ratio = classes[lone]["throughput_ratio"] if lone else None
    return {
        "outcast": ratio is not None and ratio < OUTCAST_BELOW,
        "ratio": ratio,
        "blackout_timeout_share": blackout_shares.get(lone) if lone else None,
        "sentence": _sentence(classes, lone, peers, blackout_shares, established),
    }


def lone_and_peers(classes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The class that may be an outcast and the class that it is compared with; "" for none."""
    if not classes:
        return "", ""
    counts = {name: one["flows"] for name, one in classes.items()}
    # Of equals the later, as `throughput_ratio` has it: more hops.
    peers = max(reversed(counts), key=counts.__getitem__)
    few = [name for name, count in counts.items() if count < counts[peers]]
    if not few:
        return "", peers
    return min(few, key=lambda name: (counts[name], classes[name]["goodput_bps_mean"])), peers


def _sentence(
    classes: Mapping[str, Mapping[str, Any]],
    lone: str,
    peers: str,
    blackout_shares: Mapping[str, float | None],
    established: Mapping[str, int],
) -> str:
    if not classes:
        return "There are no flows to compare."
    if not any(established.values()):
        return "No flow was ever established: every handshake was lost."
    if all(one["goodput_bps_max"] <= 0 for one in classes.values()):
        return "No flow delivered anything within the measurement."
    if not lone:
        return _without_lone_class(classes)
    subject, verb = _subject(lone, classes[lone]["flows"])
    if not established.get(lone):
        return f"{subject} {verb('was', 'were')} never established: outcast by its lost handshake."
    ratio = classes[lone]["throughput_ratio"]
    if ratio is None:
        return f"{subject} {verb('has', 'have')} the line alone: the {peers} flows deliver nothing."
    its = verb("its", "their")
    share = blackout_shares.get(lone)
    gets = f"{subject} {verb('gets', 'get')} {ratio_in_words(ratio)} {its} {peers} peers' goodput"
    if ratio >= 1 / PARITY:
        found = f"no outcast, {verb('it is', 'they are')} favoured"
    elif ratio >= PARITY:
        found = "parity, no outcast"
    else:
        found = "outcast" if ratio < OUTCAST_BELOW else "at a disadvantage, but no outcast"
        if share is None:
            found += f"; no retransmission timer of {its} own expired"
        else:
            found += (
                f"; {100 * share:.0f} % of {its} standstill is timeouts that follow drop runs of "
                f"3 and more packets at {its} ingress port"
            )
    return f"{gets}: {found}{_other_starved(classes, lone)}."


def _other_starved(classes: Mapping[str, Mapping[str, Any]], lone: str) -> str:
    """Other classes that get less than half, too."""
    starved = [
        f"the {name} flows get {ratio_in_words(one['throughput_ratio'])} it"
        for name, one in classes.items()
        if name != lone and one["throughput_ratio"] < OUTCAST_BELOW
    ]
    return "".join(f"; {clause}" for clause in starved)


def _without_lone_class(classes: Mapping[str, Mapping[str, Any]]) -> str:
    names = " and ".join(classes)
    flows = sum(one["flows"] for one in classes.values())
    if flows == 1:
        return f"The {names} flow is alone: there is nobody to be unfair to."
    worst = min(one["goodput_bps_min"] for one in classes.values())
    best = max(one["goodput_bps_max"] for one in classes.values())
    spread = f"the slowest of the {flows} gets {ratio_in_words(worst / best)} the fastest"
    if len(classes) == 1:
        return f"All flows are {names}, so none is an outcast by its place; {spread}."
    return f"There are as many {names} flows, so none is the lone one; {spread}."


def _subject(name: str, flows: int) -> tuple[str, Callable[[str, str], str]]:
    """The sentence's subject, and what chooses between singular and plural for it."""
    if flows == 1:
        return f"The {name} flow", lambda one, _: one
    return f"The {flows} {name} flows", lambda _, many: many


def ratio_in_words(ratio: float) -> str:
    """Two digits that mean something: "0.16 of", "0.0031 of", "2.4 times"."""
    if ratio >= 1.005:
        return f"{ratio:.3g} times" if ratio < 1000 else f"{ratio:,.0f} times".replace(",", " ")
    return f"{ratio:.2f} of" if ratio >= 0.01 or ratio == 0 else f"{ratio:.2g} of"
