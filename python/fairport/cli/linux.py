"""`fairport linux`: removes what the Linux backend has left on this machine."""

from __future__ import annotations

import sys

from fairport.cli.examples import epilog
from fairport.cli.group import group
from fairport.cli.options import Json

app = group("Clean up after the Linux backend.")


@app.command("cleanup", epilog=epilog("linux cleanup"))
def cleanup(json: Json = False) -> None:
    """Remove what killed runs of the Linux backend have left.

    These are network namespaces and congestion controls. Runs that are still going on keep theirs.
    Every run on the Linux backend does this first.
    """
    from fairport.cli import output

    removed: list[str] = []
    if sys.platform == "linux":
        from fairport.backends.linux import congestion, namespaces

        removed = namespaces.remove(namespaces.leftovers()) + congestion.remove_leftovers()
    if json:
        output.print_json({"removed": removed})
    else:
        output.print_text("".join(f"{name}\n" for name in removed) or "nothing is left\n")
