"""Backends: a scenario becomes tables."""

from fairport.errors import InputError, did_you_mean

NAMES = ("simulation",)


def require(name: str) -> None:
    """Raises InputError for a backend that is not there."""
    if name not in NAMES:
        raise InputError(
            "is not a backend of this version",
            file="--backend",
            value=name,
            remedy=did_you_mean(name, NAMES),
        )
