"""Every order in which the threads of a run can take their steps, tried by loom.

    make validate CASE=threads

The models are tests of `crates/sim` (`barrier.rs`, `published.rs`) that are built with `--cfg loom`
only: nobody passes the barrier too early or sleeps for ever, and who reads a domain's clock has
its mail. They take some seconds, after a build of a minute.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Sequence

from validation import ROOT


def main(arguments: Sequence[str]) -> int:
    """Builds and runs the models; the status is that of `cargo test`."""
    parser = argparse.ArgumentParser(prog="make validate CASE=threads", description=__doc__)
    parser.parse_args(arguments)
    # its own folder, so that ordinary builds are not made again
    changed = {"RUSTFLAGS": "--cfg loom", "CARGO_TARGET_DIR": str(ROOT / "target" / "loom")}
    command = ["cargo", "test", "--locked", "-p", "fairport-sim", "--lib", "model"]
    return subprocess.run(command, cwd=ROOT, env=os.environ | changed, check=False).returncode
