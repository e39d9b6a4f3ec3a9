"""The line at which a field is set."""

from __future__ import annotations

import pytest
from fairport.toml import lines as toml_lines
from fairport.toml.lines import line_of
from fairport.toml.parser import loads

TEXT = """\
# a comment
name = "x"

[queue]
kind = "red"
limit = "16KiB" # [not.a.heading]
"quoted key" = 1

[host.processing]
kind = "uniform"

[[traffic]]
from = [
  "h1", # one
  "h2",
]
to = "h0"

[[traffic]]
tcp = { stack = "linux-6", ecn = true }
host.delay = "1us"
text = '''
to = "h9"
'''
to = "h1"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["name"], 2),
        (["queue"], 4),
        (["queue", "limit"], 6),
        (["queue", "quoted key"], 7),
        (["host", "processing", "kind"], 10),
        (["traffic", 0], 12),
        (["traffic", 0, "from"], 13),
        # an element of a list of several lines has a line of its own
        (["traffic", 0, "from", 0], 14),
        (["traffic", 0, "from", 1], 15),
        (["traffic", 0, "to"], 17),
        (["traffic", 1, "tcp", "ecn"], 20),
        (["traffic", 1, "host", "delay"], 21),
        (["traffic", 1, "to"], 25),
        # a missing field is reported at the line of its table
        (["queue", "min"], 4),
        (["traffic", 1, "rate"], 19),
        (["topology", "k"], None),
        (["duration"], None),
    ],
)
def test_the_line_is_where_the_statement_begins(path: list[str | int], line: int | None) -> None:
    assert line_of(TEXT, path) == line


LINKS = """\
name = "x"
links = [ { ends = ["a", "s"] },
  # a ] in a comment
  { ends = ["b", "s"], rate = "1Gb" }, { ends = ["c", "s"] },

  { ends = ["d", "s"] } ]
after = 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["links"], 2),
        (["links", 0, "ends"], 2),
        (["links", 1, "rate"], 4),
        (["links", 2, "ends", 1], 4),
        (["links", 3, "ends"], 6),
        (["links", 3, "rate"], 6),
        (["links", 4], 2),
        (["after"], 7),
    ],
)
def test_a_link_of_a_list_of_several_lines_has_a_line_of_its_own(
    path: list[str | int], line: int
) -> None:
    assert line_of(LINKS, path) == line


def test_a_text_that_is_no_toml_has_no_lines() -> None:
    assert line_of("name = \n", ["name"]) is None


def test_lines_end_as_on_windows_too() -> None:
    assert line_of(TEXT.replace("\n", "\r\n"), ["traffic", 0, "to"]) == 17


def test_characters_that_end_no_line_of_toml_are_not_counted_as_lines() -> None:
    assert line_of('name = "a\u2028b\u0085c"\nseed = 1\n', ["seed"]) == 2


@pytest.mark.parametrize(
    ("first", "last", "line"), [("points = [", "]", 1002), ("sizes = { points = [", "] }", 2)]
)
def test_a_list_of_many_lines_is_not_read_once_per_line(
    first: str, last: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"  [\n    {row}.0,\n  ],\n" for row in range(1000))
    texts = []
    monkeypatch.setattr(toml_lines, "loads", lambda text: texts.append(text) or loads(text))
    path = ["points", 333, 0] if line > 2 else ["sizes", "points", 333, 0]
    assert line_of(f'name = "x"\n{first}\n{rows}{last}\n', path) == line
    assert len(texts) < 200


def test_the_lines_of_many_fields_take_one_reading_of_each_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "".join(f'[[traffic]]\nfrom = "h{host}"\nflow = 1\n' for host in range(300))
    texts = []
    monkeypatch.setattr(toml_lines, "loads", lambda text: texts.append(text) or loads(text))
    for host in range(300):
        assert line_of(text, ["traffic", host, "flow"]) == 3 * host + 3
    assert len(texts) <= 900
