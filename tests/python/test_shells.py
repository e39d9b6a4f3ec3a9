"""Completion in the shells themselves: each reads the script that Fairport gives it, and completes.

A shell that is not installed is skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fairport.scenario import builtin_names

TYPED = "fairport run outcast-1-to-12-"
COMPLETED = f"{TYPED}ns2"

# bash and fish can be asked. For zsh the test presses the key, in a terminal.
SCRIPTS = {
    "bash": """
eval "$(_FAIRPORT_COMPLETE=source_bash fairport)"
COMP_WORDS=(fairport run outc) COMP_CWORD=2
_fairport_completion fairport
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "fish": """
_FAIRPORT_COMPLETE=source_fish fairport | source
complete -C "fairport run outc"
""",
    "zsh": f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D'
zpty -w shell 'eval "$(_FAIRPORT_COMPLETE=source_zsh fairport)"; print rea\\dy'
zpty -r shell line '*ready*'
zpty -w -n shell $'{TYPED}\\t'
zpty -r shell line '*ns2*'
print -r -- "$line"
zpty -d shell
""",
}
WITHOUT_THE_USERS_SETTINGS = {"bash": "--norc", "fish": "--no-config", "zsh": "-f"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_completes_a_command_line(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    command = tmp_path / "fairport"
    program = "from fairport.cli import main; main()"
    command.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{program}" "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(SCRIPTS[shell], encoding="utf-8")
    done = subprocess.run(
        [shell, WITHOUT_THE_USERS_SETTINGS[shell], str(script)],
        env=os.environ
        | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    if shell == "zsh":
        # the terminal's output has control sequences between the letters
        assert COMPLETED in re.sub(r"\x1b\[[\d;?]*[A-Za-z]|.\x08", "", done.stdout)
        return
    names = [name for name in builtin_names() if name.startswith("outc")]
    assert done.stdout.split() == names
