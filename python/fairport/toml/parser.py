"""The TOML reader: the standard library's, or tomli on Python 3.10.

A number with more digits than Python reads, or more nested brackets than its stack holds, is an
error of the text like any other.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
    from tomllib import TOMLDecodeError as TOMLDecodeError
else:
    import tomli as tomllib
    from tomli import TOMLDecodeError as TOMLDecodeError


class _LimitError(TOMLDecodeError):
    """A text beyond a limit of the reader's own."""

    def __init__(self, problem: str) -> None:
        # from Python 3.14 and tomli 2.3 on, the reader's error asks for a place and warns without
        ValueError.__init__(self, problem)


def loads(text: str) -> dict[str, Any]:
    """The document of a TOML text. Raises TOMLDecodeError."""
    try:
        return tomllib.loads(text)
    except TOMLDecodeError:
        raise
    except RecursionError:
        raise _LimitError("Too many nested brackets") from None
    except ValueError:
        raise _LimitError("A number has too many digits") from None
