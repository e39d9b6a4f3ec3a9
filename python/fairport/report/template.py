"""The pages' templates: texts are escaped, and a name without a value is an error."""

from __future__ import annotations

from importlib import resources
from typing import Any

import jinja2


def fill(template: str, **values: Any) -> str:
    """The template of that file name with these values; `css` is the style that pages share."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(css=_read("page.css"), **values)


def _read(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
