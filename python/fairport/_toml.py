"""The TOML reader: the standard library's, or tomli, which it came from, on Python 3.10.

A number of more digits than Python reads, and more brackets than its stack holds, are errors of the
text here, as every other.
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


def loads(text: str) -> dict[str, Any]:
    """The document of a TOML text. Raises TOMLDecodeError."""
    try:
        return tomllib.loads(text)
    except TOMLDecodeError:
        raise
    except RecursionError:
        raise TOMLDecodeError("Too many brackets within each other") from None
    except ValueError:
        raise TOMLDecodeError("A number has too many digits") from None
