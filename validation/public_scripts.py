"""The public packetdrill scripts for Linux, run against the TCP of crates/tcp.

    git clone https://github.com/google/packetdrill
    make validate CASE=public-scripts ARGS=packetdrill/gtests/net/tcp

It prints what fails and how many hold, with packetdrill's tolerance of 4 ms and with the 14 ms
that the kernel's own tests allow on a slow machine; docs/validation/public-scripts.md has the
table of commit 2c4001c, and the reason for each script that does not hold.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from validation.case import parser_of

SUBJECTS = (
    *("slow_start", "cubic", "fast_recovery", "fast_retransmit", "sack", "limited_transmit"),
    *("cwnd_moderation", "nagle", "ecn", "ts_recent", "eor", "tcp_info", "mss"),
    *("blocking", "close", "shutdown"),
)
# packetdrill's default, and that of Linux' selftests/net/packetdrill/ksft_runner.sh, slow machine
TOLERANCES = ("4ms", "14ms")
# exit status of `fairport script`: a script cannot be read
UNREADABLE = 2


def main(arguments: Sequence[str]) -> int:
    """Runs all subjects. Scripts that do not hold are a result, not a failure."""
    parser = parser_of("public-scripts", __doc__)
    parser.add_argument("folder", type=Path, help="gtests/net/tcp of a clone of packetdrill")
    folder = parser.parse_args(arguments).folder
    missing = [subject for subject in SUBJECTS if not (folder / subject).is_dir()]
    if missing:
        parser.error(f"{folder} has no folder {', '.join(missing)}")
    program = Path(sys.executable).parent / "fairport"
    scripts = [folder / subject for subject in SUBJECTS]
    for tolerance in TOLERANCES:
        print(f"Tolerance {tolerance}:", flush=True)
        command = [program, "script", "--quiet", "--tolerance", tolerance, *scripts]
        if subprocess.run(command, check=False).returncode == UNREADABLE:
            return UNREADABLE
    return 0
