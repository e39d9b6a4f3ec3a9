"""Hostile numbers, names, paths and times; and damage to bytes."""

from __future__ import annotations

import random
from typing import Any

WORDS: tuple[str, ...] = (
    *("", " ", "x", "0", "-1", "²", "\u0661", "1e999", "NaN", "-inf", "null", "true", "9" * 5000),
    *("18446744073709551616", "-9223372036854775809", "0x10", "1_000", "1.5.5"),
    *(
        "0s",
        "1ps",
        "9223372036854775807ps",
        "18446744073709551615ps",
        "106751days",
        "-1ms",
        "1e99s",
    ),
    *("0B", "18446744073709551615B", "1B", "1 packet", "4294967296 packets", "0 packets"),
    *("0bps", "1bps", "2kbps", "400Gbps", "18446744073709551615bps", "100000ppm", "101%"),
    *("all", "h0", "h99999", "h3..h0", "h0..h99999999999", "h²", "h0,h0", "..", "./", "a/b"),
    *("[bold]", "[/1]", "[red", "$x^{$", "<script>alert(1)</script>", "'; drop table runs; --"),
    *("{", "}" * 50, "[" * 3000, '{"a":' * 2000, "\x00", "\x1b[31m", "\u202e", "\ufeff", "🏁" * 40),
    *("a" * 300, "name with spaces", "-", "--", "=", "a=b=c", "%s%n", "CON", "*?", "[ab]"),
    *("linux", "linux-6", "ns2", "bbr", "drop-tail", "custom:none", "paper/none", "prakash2012/p1"),
)

VALUES: tuple[Any, ...] = (
    *WORDS,
    *(0, -1, 1, 2, 3, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**400, 0.5, -0.0, 1e300),
    *(float("nan"), float("inf"), True, False, None, [], {}, [[]], [1], ["h0", "h0"]),
    *({"kind": "x"}, {"kind": 1}, {"": ""}, ["h1"] * 1000),
)

_TOKENS: tuple[bytes, ...] = (
    *(word.encode(errors="replace") for word in WORDS if word),
    *(b"\xff\xfe", b"\x00" * 64, b"null", b"[]", b"{}", b'""', b"-1", b"1e400", b"\r\n", b"<a>"),
)


def word(draw: random.Random) -> str:
    """A hostile word."""
    return draw.choice(WORDS)


def value(draw: random.Random) -> Any:
    """A hostile value of a TOML or JSON document."""
    return draw.choice(VALUES)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four pieces lost, doubled, flipped or replaced; or empty."""
    if draw.random() < 0.05:
        return b""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(changed) + 1)
        length = min(draw.choice((1, 1, 4, 30, 400)), len(changed) - at)
        match draw.randrange(6):
            case 0:
                del changed[at : at + length]
            case 1:
                changed[at:at] = changed[at : at + length]
            case 2 if length:
                changed[at] ^= 1 << draw.randrange(8)
            case 3:
                del changed[at:]
            case _:
                changed[at : at + draw.choice((0, length))] = draw.choice(_TOKENS)
    return bytes(changed)
