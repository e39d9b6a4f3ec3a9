"""Captures as a backend: it moves no packets, but finds out how they moved.

`analyse` reads packet captures of a switch's ports and returns what a run returns: tables, summary,
verdict. The scenario of such a result is a guess from the captured packets (`guess`).
"""

from fairport.backends.captures.analysis import NAME as NAME
from fairport.backends.captures.analysis import CaptureError as CaptureError
from fairport.backends.captures.analysis import Role as Role
from fairport.backends.captures.analysis import Source as Source
from fairport.backends.captures.analysis import analyse as analyse
