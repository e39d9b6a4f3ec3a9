"""What a figure of a study shows: a number at the points, split into panels; and the panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from fairport.errors import InputError
from fairport.figures.drawing import style, width
from fairport.figures.drawing.heading import broken, fitting, heading, width_in
from fairport.metrics.run_numbers import MAY_BE_BOUNDS
from fairport.quantities import Quantity, counted, of_number
from fairport.study import point_statistics
from fairport.study.results import WHY_FAILED

if TYPE_CHECKING:
    from fairport.study.results import Study

WIDTH_IN = 7.2
_LEFT_IN, _TOP_IN, _BOTTOM_IN, _GAP_IN = 0.74, 0.3, 0.78, 0.36
# between rows of panels that have labels of their own below them
_GAP_WITH_LABELS_IN = 0.56
# beside a text in the legend of a wide picture: its mark and the margins
_HANDLE_IN = 0.5
# most of a picture's width that a legend may take
_MOST_BESIDE = 0.6
_MOST_PANELS = 12
_MOST_COLUMNS = 3
# a panel with two or three labels below it
_NARROWEST_IN = 1.2
_NOTE_LINE_IN = 0.12
_MOST_TICKS = 14
TICK_PT = 8.0
"""The size of the labels of an axis's values."""
# the width of a character in a cell; the point, which is narrower, leaves the space between cells
_DIGIT_PT = 4.4
_LARGEST_SPAN, _LARGEST_SPAN_OF_A_RATIO = 30, 3
# labelled ticks of a decade, if values span little more than one, and otherwise
_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0))


@dataclass(frozen=True)
class View:
    """A number of a study at its points."""

    study: Study
    number: str
    points: pl.DataFrame
    """The points as `point_statistics.per_point` returns them."""
    facets: list[str]
    """Axes that are shown as small multiples."""
    runs: int
    """How many runs have the number."""
    missing: int
    """How many do not, such as failed ones."""
    bounds: int
    """How many have a number that may be a lower bound, because transfers were still under way."""
    seeds: str
    """How many seeds a point has, in words."""

    @property
    def quantity(self) -> Quantity:
        """The number with its title and unit for people."""
        return of_number(self.number)

    @property
    def interval(self) -> str:
        """What a point has beside its median."""
        return point_statistics.interval_name(min(self.points["runs"]))

    def title_of(self, axis: str) -> str:
        """The axis's name in the figure."""
        return self.study.definition.titles.get(axis, axis)

    def values(self, axis: str) -> list[Any]:
        """The values that have points, in order."""
        there = set(self.points[axis])
        return [value for value in self.study.axes[axis] if value in there]

    def label(self, axis: str, value: Any) -> str:
        """A value's name in the figure."""
        definition = self.study.definition
        labels = dict(zip(map(str, definition.axes[axis]), definition.labels[axis], strict=True))
        return f"{value:.3g}" if isinstance(value, float) else labels.get(str(value), str(value))

    def panels(self) -> list[tuple[str, pl.DataFrame]]:
        """The points of each panel, with the panel's title."""
        if not self.facets:
            return [("", self.points)]
        found = []
        for at in product(*(self.values(axis) for axis in self.facets)):
            matching = dict(zip(self.facets, at, strict=True))
            points = self.points.filter(**matching)
            title = ", ".join(
                self.label(axis, value)
                if isinstance(value, str)
                else f"{self.title_of(axis)} {self.label(axis, value)}"
                for axis, value in matching.items()
            )
            if points.height:
                found.append((title, points))
        return found


def viewed(study: Study, number: str, shown: Sequence[str], where: str) -> View:
    """The number at the points of the study for which the condition holds. Raises InputError."""
    return view_of(study, chosen(study, where), number, shown)


def chosen(study: Study, where: str) -> pl.DataFrame:
    """The runs for which the condition holds; without one, all. Raises InputError.

    A search also runs the scenario as it is, which has no place on the axes.
    """
    runs = study.to_polars().drop_nulls(list(study.axes))
    if not where:
        return runs
    matching = study.sql(f"select run_id from runs where {where}")
    return runs.join(matching, on="run_id", how="semi", maintain_order="left")


def as_it_is(study: Study) -> pl.DataFrame:
    """The runs of a search's scenario as it is; none if the study is no search."""
    return study.to_polars().filter(pl.all_horizontal(pl.col(list(study.axes)).is_null()))


def view_of(study: Study, runs: pl.DataFrame, number: str, shown: Sequence[str]) -> View:
    """The number at the points of these runs. Raises InputError."""
    points = point_statistics.per_point(runs, list(study.axes), number)
    if points.is_empty():
        place, failed = study.place.name, runs["error"].count()
        why = f": {failed:,} of its {runs.height:,} runs failed" if failed else ""
        raise InputError(
            f"has no run with `{number}`{why}",
            file=place,
            remedy=f"`fairport query {place} '{WHY_FAILED}'` says why"
            if failed
            else "draw another number, or make `where` wider",
        )
    facets = [axis for axis in study.axes if axis not in shown and points[axis].n_unique() > 1]
    count = int(points["runs"].sum())
    view = View(
        study,
        number,
        points,
        facets,
        runs=count,
        missing=runs.height - count,
        bounds=_bounds(runs, number),
        seeds=_seeds(points["runs"]),
    )
    panels = len(view.panels())
    if panels > _MOST_PANELS:
        raise InputError(
            f"makes {panels} panels of {', '.join(facets)}, more than {_MOST_PANELS}",
            file="plot",
            remedy=f"choose some with `where`, such as '\"{facets[0]}\" = ..'",
        )
    return view


def panels(
    view: View,
    title: str,
    subject: str,
    note: str,
    *,
    tall_in: float,
    right_in: float,
    names: Sequence[str] = (),
) -> tuple[style.Picture, list[Axes]]:
    """A picture with one set of axes per panel, in rows; `right_in` inches stay free.

    The panels are those of the view, or as many as `names`, each with labels of its own below.
    """
    shown = names or [name for name, _ in view.panels()]
    wide_in = width.of_picture(WIDTH_IN)
    rows = -(-len(shown) // _columns(wide_in - right_in))
    columns = -(-len(shown) // rows)
    gap_in = _GAP_WITH_LABELS_IN if names else _GAP_IN
    runs = f"{view.runs:,}"
    of = f"{view.study.definition.name}, {runs} runs, {view.seeds}"
    if view.missing:
        of += f"; {counted(view.missing, 'run')} without this number left out"
    # a number's panel says what it is of, a text's does not
    unnamed = [axis for axis in view.facets if isinstance(view.values(axis)[0], str)]
    if unnamed:
        of += f"; panels by {' and '.join(map(view.title_of, unnamed))}"
    head = heading(title, subject, of, wide_in)
    top_in = head.tall_in + _TOP_IN
    points = width.READABLE_PT if width.is_asked() else 7.5
    notes = broken(note, wide_in - 0.2, points, "normal") if width.is_asked() else [note]
    if view.bounds:
        unfinished = f"{counted(view.bounds, 'run')} ended with unfinished transfers"
        bound = f"values may be lower bounds: {unfinished}"
        notes += broken(bound, wide_in - 0.2, points, "normal")
    bottom_in = _BOTTOM_IN + (len(notes) - 1) * _NOTE_LINE_IN
    height = top_in + rows * tall_in + (rows - 1) * gap_in + bottom_in
    wide = (wide_in - _LEFT_IN - right_in) / columns
    gap = 0.16 if columns > 1 else 0.0
    picture = style.Picture(figsize=(wide_in, height))
    axes = []
    for index, name in enumerate(shown):
        row, column = divmod(index, columns)
        bottom = height - top_in - (row + 1) * tall_in - row * gap_in
        panel = picture.add_panel(_LEFT_IN + column * wide, bottom, wide - gap, tall_in)
        name = fitting(name, wide - gap, 8.5, "bold")
        panel.set_title(name, loc="left", fontweight="bold", fontsize=8.5, pad=4)
        axes.append(panel)
    head.write(picture)
    look: dict[str, Any] = {"color": style.MUTED, "fontsize": points}
    picture.text(0.1 / wide_in, 0.08 / height, "\n".join(notes), **look)
    return picture, axes


def _columns(room_in: float) -> int:
    """How many panels are side by side in this width."""
    return max(1, min(_MOST_COLUMNS, int((room_in - _LEFT_IN) / _NARROWEST_IN)))


def scale_number(view: View, axes: Sequence[Axes]) -> None:
    """Gives the vertical axes of all panels the scale that suits the number, and one range."""
    is_log = _spans_much(view)
    for panel in axes:
        if is_log:
            panel.set_yscale("log")
        elif not view.number.endswith("_index"):
            panel.set_ylim(bottom=0)
        if view.number == "throughput_ratio":
            style.fair_share(panel, 1.0)
    limits = [panel.get_ylim() for panel in axes]
    least, most = min(low for low, _ in limits), max(high for _, high in limits)
    subs = _TICKS[int(most > 20 * least)]
    for panel in axes:
        panel.set_ylim(least, most)
        if is_log:
            panel.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=9))
            panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())


def _spans_much(view: View) -> bool:
    """Of a ratio sooner than of other numbers, for a half is as far from 1 as 2 is."""
    values = view.points["median"].drop_nulls()
    least, most = values.min(), values.max()
    assert isinstance(least, float)
    assert isinstance(most, float)
    largest = _LARGEST_SPAN_OF_A_RATIO if view.number == "throughput_ratio" else _LARGEST_SPAN
    return least > 0 and most / least > largest


def label_axes(picture: style.Picture, axes: Sequence[Axes], x: str, y: str) -> None:
    """Names both axes once; inner panels have no tick labels."""
    height = picture.get_figheight()
    places = [panel.get_position() for panel in axes]
    left, right = min(place.x0 for place in places), max(place.x1 for place in places)
    bottom, top = min(place.y0 for place in places), max(place.y1 for place in places)
    below = height * bottom - 0.36
    picture.text((left + right) / 2, below / height, x, ha="center", va="center")
    picture.text(
        0.14 / picture.get_figwidth(), (bottom + top) / 2, y, rotation=90, ha="center", va="center"
    )
    for number, (panel, place) in enumerate(zip(axes, places, strict=True)):
        panel.tick_params(labelleft=place.x0 < left + 0.01)
        below = [
            other
            for other in places[number + 1 :]
            if other.y1 < place.y0 and abs(other.x0 - place.x0) < 0.01
        ]
        panel.tick_params(labelbottom=not below)


def as_map(view: View, axes: Sequence[Axes], x: str, y: str) -> None:
    """Makes the panels maps: cells of width and height 1, in the order of two axes' values."""
    columns, rows = len(view.values(x)), len(view.values(y))
    for panel in axes:
        panel.set_xlim(-0.5, columns - 0.5)
        panel.set_ylim(-0.5, rows - 0.5)
        panel.grid(visible=False)
        panel.set_xticks(*ticks(view, x, room=14 if len(axes) == 1 else 8, across=panel))
        panel.set_yticks(*ticks(view, y, room=14))
        panel.tick_params(length=0)


def legend_beside(picture: style.Picture, title: str, handles: Sequence[Artist]) -> None:
    """A legend in one column, at the right of the panels."""
    top = max(panel.get_position().y1 for panel in picture.axes)
    picture.legend(
        handles=handles,
        title=title,
        loc="upper right",
        bbox_to_anchor=(0.995, top),
        alignment="left",
        title_fontsize=width.READABLE_PT if width.is_narrow() else 8,
    )


def room_beside(labels: Sequence[str], usual_in: float) -> float:
    """The room at the right for a legend.

    It is what the legend's texts need, and in a wide picture at least the usual room.
    """
    is_narrow = width.is_narrow()
    size_pt, handle_in = (width.READABLE_PT, style.HANDLE_IN) if is_narrow else (8, _HANDLE_IN)
    widest = max((width_in(label, size_pt) for label in labels), default=0.0)
    needed_in = widest + handle_in
    most_in = _MOST_BESIDE * width.of_picture(WIDTH_IN)
    return min(needed_in if is_narrow else max(usual_in, needed_in), most_in)


def in_cells(view: View, axes: Sequence[Axes], columns: float) -> Callable[[float], str]:
    """How the number is written into the cells of a map: with fewer digits if they are narrow."""
    room_pt = axes[0].get_position().width * width.of_picture(WIDTH_IN) * 72 / columns
    most = int(room_pt / _DIGIT_PT)

    def shown(value: float) -> str:
        forms = [view.quantity.shown(value), view.quantity.shown(value, "over_seeds")]
        number = value * view.quantity.factor
        # at least as many digits as are before the point
        forms += [f"{number:.{digits}g}" for digits in (3, 2) if abs(number) < 10**digits]
        return next((form for form in forms if len(form) <= most), "")

    return shown


def ticks(
    view: View, axis: str, *, room: int = _MOST_TICKS, across: Axes | None = None
) -> tuple[list[int], list[str]]:
    """Places and labels of an axis's values; if they are many, only every second, third .. one.

    `across` is the panel below which the labels are written side by side.
    """
    labels = [tick_label(view, axis, value) for value in view.values(axis)]
    if across:
        room_in = across.get_position().width * width.of_picture(WIDTH_IN)
        widest_in = max(width_in(f"{label} ", TICK_PT) for label in labels)
        room = min(room, max(1, int(room_in / widest_in)))
    step = -(-len(labels) // room)
    return list(range(0, len(labels), step)), labels[::step]


def tick_label(view: View, axis: str, value: Any) -> str:
    """The label of an axis's value, without the unit that the axis's title has."""
    return view.label(axis, value).removesuffix(" packets")


def axis_title(view: View, axis: str) -> str:
    """The title of an axis, with the unit that its labels leave out."""
    values = view.values(axis)
    counted = all(isinstance(value, str) and value.endswith(" packets") for value in values)
    title = view.title_of(axis)
    return f"{title} (packets)" if counted and "packets" not in title else title


def _bounds(runs: pl.DataFrame, number: str) -> int:
    """How many runs have transfers that were under way at the end, if the number is of these."""
    if number not in MAY_BE_BOUNDS:
        return 0
    counted = "lower_bounds" in runs.columns
    unfinished = pl.col("caveats").str.contains("unfinished-transfers")
    is_one = pl.col("lower_bounds") > 0 if counted else unfinished
    return runs.filter(pl.col(number).is_not_null() & is_one).height


def _seeds(runs: pl.Series) -> str:
    counts = runs.to_list()
    least, most = min(counts), max(counts)
    return f"{least} seeds per point" if least == most else f"{least} to {most} seeds per point"
