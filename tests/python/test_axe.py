"""axe-core finds no fault in the pages that have no other tests in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import CHROMIUM, browser
from conftest import Command

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
VIOLATIONS = (
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>"
    " violations.map(({ id, nodes }) => [id, nodes.map((one) => one.html.slice(0, 120))]))"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed (apt install chromium)"
)


def check(page: Path) -> None:
    """Light and dark, and on a telephone, where more can be scrolled."""
    with browser() as tab:
        for dark, width in ((False, 1280), (True, 1280), (False, 400)):
            tab.open(page, width=width, dark=dark)
            tab.value(AXE.read_text(encoding="utf-8") + ";0")
            assert tab.value(VIOLATIONS) == []
            assert tab.messages == []


def test_axe_finds_nothing_on_the_page_of_a_comparison(fairport: Command, tmp_path: Path) -> None:
    short = ["outcast-1-to-12", "--duration", "50ms", "--repeat", "2", "--fix", "pacing"]
    assert fairport("compare", *short, "--out", str(tmp_path / "compared")).status == 0
    check(tmp_path / "compared" / "report.html")


def test_the_picture_and_the_table_of_all_fixes_fit_on_a_printed_page(
    fairport: Command, tmp_path: Path
) -> None:
    short = ["outcast-1-to-12", "--duration", "20ms", "--repeat", "2"]
    assert fairport("compare", *short, "--out", str(tmp_path / "compared")).status == 0
    with browser() as tab:
        # a page of A4 is 794 x 1123 pixels of CSS, its margins 38 each
        tab.open(tmp_path / "compared" / "report.html", width=794 - 2 * 38)
        tab.call("Emulation.setEmulatedMedia", media="print")
        assert tab.value("document.documentElement.scrollWidth") <= 794 - 2 * 38
        height = "document.querySelector('figure .scroll > *').getBoundingClientRect().height"
        assert tab.value(height) < 1123 - 2 * 38 - 150


def test_axe_finds_nothing_on_the_page_of_the_microscope(fairport: Command, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    short = ["outcast-1-to-12", "--duration", "50ms", "--no-figures", "--out", run]
    assert fairport("run", *short).status == 0
    assert fairport("microscope", run, "--out", str(tmp_path / "seen"), "--quiet").status == 0
    (page,) = (tmp_path / "seen").glob("*.html")
    check(page)
