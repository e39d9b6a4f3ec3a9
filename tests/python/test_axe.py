"""axe-core finds no fault in the pages that have no other tests in a browser."""

from __future__ import annotations

from pathlib import Path

from browser import Page
from conftest import Command


def check(tab: Page, page: Path) -> None:
    """Light and dark, and on a telephone, where more can be scrolled."""
    for dark, width in ((False, 1280), (True, 1280), (False, 400)):
        tab.open(page, width=width, dark=dark)
        assert tab.violations() == []


def test_axe_finds_nothing_on_the_page_of_a_comparison(
    tab: Page, fairport: Command, tmp_path: Path
) -> None:
    short = ["outcast-1-to-12", "--duration", "50ms", "--repeat", "2", "--fix", "pacing"]
    assert fairport("compare", *short, "--out", str(tmp_path / "compared")).status == 0
    check(tab, tmp_path / "compared" / "report.html")


def test_the_picture_and_the_table_of_all_fixes_fit_on_a_printed_page(
    tab: Page, fairport: Command, tmp_path: Path
) -> None:
    short = ["outcast-1-to-12", "--duration", "20ms", "--repeat", "2"]
    assert fairport("compare", *short, "--out", str(tmp_path / "compared")).status == 0
    # a page of A4 is 794 x 1123 pixels of CSS, its margins 38 each
    tab.open(tmp_path / "compared" / "report.html", width=794 - 2 * 38)
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value("document.documentElement.scrollWidth") <= 794 - 2 * 38
    height = "document.querySelector('figure .scroll > *').getBoundingClientRect().height"
    assert tab.value(height) < 1123 - 2 * 38 - 150


def test_axe_finds_nothing_on_the_page_of_the_microscope(
    tab: Page, fairport: Command, tmp_path: Path
) -> None:
    run = str(tmp_path / "run")
    short = ["outcast-1-to-12", "--duration", "50ms", "--no-figures", "--out", run]
    assert fairport("run", *short).status == 0
    assert fairport("microscope", run, "--out", str(tmp_path / "seen"), "--quiet").status == 0
    (page,) = (tmp_path / "seen").glob("*.html")
    check(tab, page)
