"""What a notebook shows: figures below a result's table, and the progress of long calls.

If IPython runs, `import fairport` calls `set_up`; nothing else needs this module.
"""

from __future__ import annotations

import base64
import functools
import html
import importlib
import inspect
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairport.backends.progress import Progress
    from fairport.result import Result
    from fairport.study.making import Status

SHOWN_AFTER_S = 1.0
"""A call that ends sooner shows no progress."""
_EVERY_S = 0.3
# of those that the run has; one with transfers has `fct` instead of `bars`
_FIGURES = ("bars", "fct", "queue")


def set_up(shell: Any) -> None:
    """Makes this IPython show results with their figures."""
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type_by_name("fairport.result", "Result", result_html)


def result_html(result: Result) -> str:
    """The verdict, the table by hop class, and two figures: goodput and the bottleneck."""
    from fairport import figures

    there = figures.kinds(result)
    pictures = (_image(figures, result, kind) for kind in _FIGURES if kind in there)
    return result._repr_html_() + "".join(pictures)


def _image(figures: Any, result: Result, kind: str) -> str:
    """A figure at the width of half a page, with the pixels of a fine screen."""
    picture = figures.draw(result, kind)
    text = base64.b64encode(picture._repr_png_()).decode("ascii")
    return (
        f'<img src="data:image/png;base64,{text}" alt="{html.escape(picture.title)}"'
        ' style="width: 480px; max-width: 100%">'
    )


def watched(
    function: Callable[..., Any], progress: Callable[[Any, Any], Any], option: str = "progress"
) -> Any:
    """The function with a progress bar in the notebook, unless the caller gives that option.

    `progress` makes the option's value from a bar and the function's first argument.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if options.get(option) is not None:
            return function(*arguments, **options)
        with _Bar() as bar:
            given = signature.bind(*arguments, **options | {option: None}).arguments
            options[option] = progress(bar, next(iter(given.values())))
            return function(*arguments, **options)

    return call


def of_a_run(bar: _Bar, scenario: Any) -> Progress:
    """Progress of `fp.run`: simulated time of the scenario's duration."""
    from fairport.scenario import load

    total = load(scenario).duration.seconds

    return lambda done: bar.show(done.runs, f"{done.runs * total:.2f} of {total:g} s simulated")


def of_many_runs(bar: _Bar, _: Any) -> Progress:
    """Progress of `fp.compare`: runs done."""
    return lambda done: bar.show(
        done.runs / done.of if done.of else 0.0, f"{done.runs:.1f} of {done.of} runs"
    )


def of_a_sweep(bar: _Bar, _: Any) -> Any:
    """Progress of `fp.sweep` and `fp.tune`: runs that the study has."""
    # by name, as `fairport` imports it: studies import `fairport`, which imports this module
    making = importlib.import_module("fairport.study.making")

    def move(status: Status) -> None:
        there = status.done + status.reused
        failed = f", {status.failed:,} failed" if status.failed else ""
        text = f"{there:,} of {status.of:,} runs{failed}"
        bar.show(there / status.of if status.of else 0.0, text)

    return making.Listeners(status=move)


class _Bar:
    """A bar in the cell's output, which disappears when the work is done."""

    def __init__(self) -> None:
        self.started = self.last = monotonic()
        self.handle: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self.handle.update(_screen().HTML(""))

    def show(self, share: float, text: str) -> None:
        """Shows the progress."""
        now = monotonic()
        if now - self.started < SHOWN_AFTER_S or now - self.last < _EVERY_S:
            return
        self.last = now
        screen = _screen()
        bar = screen.HTML(f"<progress value='{share:.3f}' max='1'></progress> {html.escape(text)}")
        if self.handle is None:
            self.handle = screen.display(bar, display_id=True)
        else:
            self.handle.update(bar)


def _screen() -> Any:
    return importlib.import_module("IPython.display")
