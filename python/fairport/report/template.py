"""The pages' templates and other files: texts are escaped, a name without a value is an error.

By its content security policy every page runs no script and has no style but its own, whatever a
scenario's texts contain, and loads nothing from any network.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape


def fill_page(template: str, script: str = "", style: str = "", **values: Any) -> str:
    """A page in the common frame; `style` adds to what all pages share."""
    whole = f"{read('page.css')}\n{style}"
    policy = [
        "default-src 'none'",
        f"style-src {policy_hash(whole)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *([f"script-src {policy_hash(script)}"] if script else []),
    ]
    return fill(template, policy="; ".join(policy), script=script, style=whole, **values)


def fill(template: str, **values: Any) -> str:
    """The template of that file name with these values."""
    return _environment().get_template(template).render(**values)


def compile_page(name: str = "page.html") -> None:
    """Compiles the templates of a page, by default a run's, for a caller who will fill it."""
    for template in ("frame.html", name):
        _environment().get_template(template)


@cache
def _environment() -> jinja2.Environment:
    """The compiled templates, which are kept: those of a run's page take 50 ms to compile."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    return environment


def _code(text: str) -> Markup:
    """A sentence whose words in backticks, as a terminal shows them, are code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def policy_hash(text: str) -> str:
    """What a policy says to allow an element with this text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def read(name: str) -> str:
    """A file of this package, such as "page.css" or "live/page.js"."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
