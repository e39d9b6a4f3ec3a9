"""What all cases share: their options, and the page of docs/validation that holds their table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from validation import DOCS
from validation.markdown import between_markers


@dataclass(frozen=True)
class Options:
    """The options that every case has, and one of those that keep what they measured."""

    seeds: range
    print_only: bool
    again: bool = False

    def publish(self, page: str, marker: str, text: str) -> None:
        """Writes a table into a page below docs/, unless it is only to be printed."""
        if not self.print_only:
            between_markers(DOCS / page, marker, text)


def parser_of(case: str, about: str | None) -> argparse.ArgumentParser:
    """The reader of a case's options, whose help begins with the docstring `about`."""
    return argparse.ArgumentParser(
        prog=f"python -m validation {case}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def options(
    case: str, about: str | None, arguments: Sequence[str], seeds: int, again: str = ""
) -> Options:
    """The options of a case whose docstring is `about` and that runs `seeds` seeds by default.

    `again` is the help of the option `--again`, if the case has it.
    """
    parser = parser_of(case, about)
    parser.add_argument("--seeds", type=int, default=seeds, help=f"runs per row ({seeds})")
    parser.add_argument("--print-only", action="store_true", help="do not renew the page in docs/")
    if again:
        parser.add_argument("--again", action="store_true", help=again)
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error("--seeds must be at least 1")
    return Options(
        range(1, given.seeds + 1), given.print_only, again=bool(again) and bool(given.again)
    )
