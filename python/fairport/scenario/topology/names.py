"""Which names nodes may have: those that people can type, and do not take for another node's."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 100


def wrong_names(names: Iterable[str]) -> Iterable[tuple[int, str, str]]:
    """Names that cannot be used: the place among all, the problem and the remedy."""
    known: dict[str, str] = {}
    for place, name in enumerate(names):
        looks = "".join(name.split()).casefold()
        if not looks:
            yield place, "is empty", 'give the node a name, such as "h0"'
        elif not name.isprintable():
            yield place, "holds a character that is not shown", "use letters, digits and signs"
        elif name != name.strip():
            yield place, "begins or ends with a space", f'write "{name.strip()}"'
        elif len(name) > LONGEST:
            problem = f"has {len(name)} characters, more than the limit of {LONGEST}"
            yield place, problem, "give a shorter name"
        elif looks in known:
            other = known[looks]
            same = "is there twice" if other == name else f"looks like `{other}`"
            yield place, same, "give it a name of its own, and not by spaces or capitals alone"
        known.setdefault(looks, name)
