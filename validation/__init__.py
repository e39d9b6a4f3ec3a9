"""Fairport's results compared with ns-2, ns-3, Linux's scripts and published numbers.

One file per case; `make validate` lists them, `make validate CASE=mice` runs one. Each case renews
the table of its page in docs/validation. A case is a measurement and not a test: it may take hours.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
