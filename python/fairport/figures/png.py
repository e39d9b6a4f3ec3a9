"""PNG files, written in half the time that a general encoder takes for pictures like ours.

That one tries five filters for every row of pixels. Most rows of a figure are like the one above,
so they are filtered by it alone: what is left is zeros.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

# More compression takes longer, for a tenth of the size at most.
_LEVEL = 1
_UP = 2
"""The filter: each byte less the one above it."""
_RGBA = 6
_INCH_M = 0.0254


def encoded(rgba: bytes, width: int, dpi: int) -> bytes:
    """The file of a picture whose rows have so many pixels of four bytes."""
    rows = np.frombuffer(rgba, np.uint8).reshape(-1, 4 * width)
    filtered = np.full((len(rows), 1 + 4 * width), _UP, np.uint8)
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    head = struct.pack(">IIBBBBB", width, len(rows), 8, _RGBA, 0, 0, 0)
    per_metre = round(dpi / _INCH_M)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1))
        + _chunk(b"IDAT", zlib.compress(filtered.data, _LEVEL))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
