"""`fairport doctor`: what this machine can do for the Linux backend."""

from __future__ import annotations

import sys

from fairport.cli.options import Json


def doctor(json: Json = False) -> None:
    """Say what this machine can do for `run --backend linux`, and what each lack costs."""
    from fairport.cli import output

    findings = []
    if sys.platform == "linux":
        from fairport.backends.linux.doctor import examine

        findings = examine()
    if json:
        output.print_json([finding.document() for finding in findings])
    elif findings:
        output.print_rows(
            [{"what": one.what, "here": one.here, "if it is missing": one.cost} for one in findings]
        )
    else:
        output.print_text("the Linux backend needs Linux; the simulation runs everywhere\n")
