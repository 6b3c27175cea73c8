"""Printed tables of results for a terminal, a notebook and plain text."""

from __future__ import annotations

import itertools
import json
import math
import operator
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from itertools import islice
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, get_args

from fastmetrics.base.errors import MissingExtraError, escaped_json, one_line, visible
from fastmetrics.base.notes import Figure, Note, mark_of, said, told

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from jinja2 import Environment
    from rich.console import Console, ConsoleOptions, Group
    from rich.table import Table

# Small tables of results for a terminal, a notebook and plain text.


T = TypeVar("T")

FIRST = 20
"""Maximum number of rows that a notebook shows of a long result."""
_LINE = 80
"""The width of lines of notes where standard output is no terminal, and neither says the variable ``COLUMNS``."""


BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Iterable[float]) -> str:
    """A block a value, as high as it lies between the least and the greatest; · for NaN.

    >>> sparkline([0.1, 0.2, math.nan, 0.8]), sparkline([3, 3])
    ('▁▂·█', '▁▁')
    """
    numbers = [float(value) for value in values]
    finite = [value for value in numbers if math.isfinite(value)]
    least, span = min(finite, default=0.0), max(finite, default=0.0) - min(finite, default=0.0)

    def block(value: float) -> str:
        share = (value - least) / span if 0 < span < math.inf else 0.0
        return BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)] if math.isfinite(value) else "·"

    return "".join(map(block, numbers))


def number(value: float) -> str:
    """``value`` with three or four significant digits; whole numbers in full; – for NaN.

    >>> [number(x) for x in (0.12345, 44.14, 812.25, 3, 0.0, 1e-9, float("nan"), 0.000531)]
    ['0.1235', '44.14', '812.2', '3', '0', '1e-09', '–', '0.000531']
    """
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e7:
        return f"{value:.4g}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{_decimals(size)}f}"


def _decimals(size: float) -> int:
    """The decimals of a number of this size: four up to 1, and for a small one as many as three digits need."""
    if 0 < size < 0.01:
        return 2 - math.floor(math.log10(size))
    return 4 if size <= 1 else 3 if size < 10 else 2 if size < 100 else 1


def interval(low: float, high: float, sign: str = "") -> str:
    """The bounds of an interval with the decimals of the larger one, and with ``sign`` ``"+"`` their signs; – for NaN.

    >>> interval(0.25, 0.5), interval(6.329e-05, 0.0213, "+"), interval(0.0, 1.0), interval(-0.5, 44.14)
    ('[0.2500, 0.5000]', '[+0.0001, +0.0213]', '[0, 1]', '[-0.50, 44.14]')
    """
    if math.isnan(low):
        return "–"
    size = max(abs(low), abs(high))

    def text(value: float) -> str:
        is_plain = not 1e-3 <= size < 1e7 or float(value).is_integer()
        shown = number(value) if is_plain else f"{value:,.{_decimals(size)}f}"
        return f"+{shown}" if sign and value > 0 else shown

    return f"[{text(low)}, {text(high)}]"


def p_value(p: float, note: str | None = None) -> str:
    """A p value, with the sign of the note on it.

    >>> p_value(0.03), p_value(1e-9), p_value(math.nan)
    ('0.0300', '<0.0001', '–')
    """
    return ("–" if math.isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}") + mark_of(note)


TONES = {
    **dict.fromkeys(("better", "ok", "equivalent", "not worse"), "green"),
    **dict.fromkeys(("worse", "FAILED"), "red"),
}
"""The colours of cells with these words on a terminal."""

_GAP = 2
"""The number of spaces between columns."""


class OwnName(str):
    """A name that a user gave, of a system or label, as a heading: no language has another word for it."""

    def apart(self, words: Collection[str]) -> OwnName:
        """The name, in quotes if it is one of the words beside it.

        >>> OwnName("mean").apart(["metric", "mean"]), OwnName("bm25").apart(["mean"])
        ("'mean'", 'bm25')
        """
        return OwnName(f"'{self}'") if self in words else self


@dataclass(frozen=True)
class Grid:
    """A header and rows of cells; the first column is left-aligned, the others are right-aligned.

    A cell is one line: names and ids of users may hold line breaks, and control characters that a terminal obeys.  The
    first ``label_columns`` name a row; on a terminal that is narrower than the table, they are repeated.  A heading
    that is an ``OwnName`` stands in quotes if it is also a word of the header.

    >>> print(Grid(("metric", "mean"), (("token_f1", "0.5000"),)))
    metric      mean
    token_f1  0.5000
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    label_columns: int = 1

    def __post_init__(self) -> None:
        words = {head for head in self.header if not isinstance(head, OwnName)}
        heads = (
            OwnName(one_line(head)).apart(words) if isinstance(head, OwnName) else one_line(head)
            for head in self.header
        )
        object.__setattr__(self, "header", tuple(heads))
        object.__setattr__(self, "rows", tuple(tuple(map(one_line, row)) for row in self.rows))

    def __str__(self) -> str:
        columns = list(zip(self.header, *self.rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        padded = [
            [cell.rjust(width) if place else cell.ljust(width) for cell in column]
            for place, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        return "\n".join((" " * _GAP).join(line).rstrip() for line in zip(*padded, strict=True))

    def markdown(self) -> str:
        """The table in GitHub's Markdown; bars in cells are escaped."""

        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(inert(' '.join(cell.split())).replace('|', chr(92) + '|') for cell in cells)} |"

        rule = ["---", *["---:"] * (len(self.header) - 1)]
        return "\n".join(map(line, [self.header, rule, *self.rows]))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | str]:
        """Tables one below the other, each of as many columns as the terminal has room for."""
        from rich.cells import cell_len

        widths = [max(map(cell_len, column)) for column in zip(self.header, *self.rows, strict=True)]
        labels = list(range(self.label_columns))
        room = options.max_width - sum(widths[place] + _GAP for place in labels)
        most = max(room, options.max_width // 2)  # long names leave half of the line
        others = list(range(self.label_columns, len(widths)))
        foldable = {*labels, *(place for place in others if widths[place] > most)}
        groups: list[list[int]] = [[]]
        for place in others:
            if groups[-1] and sum(widths[one] + _GAP for one in (*groups[-1], place)) - _GAP > most:
                groups.append([])
            groups[-1].append(place)
        for number, group in enumerate(groups):
            yield from [""] * bool(number)
            yield self._table([*labels, *group], foldable)

    def _table(self, places: Sequence[int], foldable: Collection[int]) -> Table:
        """Some columns, of which names and cells wider than a line may be folded, and figures may not."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="")
        for place in places:
            how: dict[str, Any] = {"justify": "right" if place else "left", "no_wrap": place not in foldable}
            table.add_column(Text(self.header[place]), overflow="fold", **how)
        for row in self.rows:
            table.add_row(*(Text(row[place], TONES.get(row[place], "") if place else "") for place in places))
        return table


Reader: TypeAlias = "str | Callable[[Any], Any]"
"""What gives the cell of a line: the path of an attribute, or a function."""


def lines_of(lines: Iterable[Any], *columns: str | tuple[str, Reader], labels: int = 1) -> Grid:
    """A table with a line for each object, and columns of a heading and what reads the object; see :func:`cell`.

    A text is a heading and the path of an attribute or key, ``half=mean``, or alone the name of both; ``1.mean`` is one
    of the second part of a pair.  The first ``labels`` columns name a line.

    >>> from types import SimpleNamespace as Line
    >>> print(lines_of([Line(n=1200, mean=0.5)], "n", ("half", lambda line: line.mean / 2)))
    n        half
    1,200  0.2500
    """
    named = [_headed(column) if isinstance(column, str) else column for column in columns]
    readers = [_reader(read) if isinstance(read, str) else read for _, read in named]
    return Grid([head for head, _ in named], [[cell(read(line)) for read in readers] for line in lines], labels)


def _headed(column: str) -> tuple[str, str]:
    head, _, path = column.partition("=")
    return head, path or head


def _reader(path: str) -> Callable[[Any], Any]:
    place, _, rest = path.partition(".")
    if not place.isdigit():
        own = operator.attrgetter(path)
        return lambda line: line[path] if isinstance(line, Mapping) else own(line)
    part = operator.itemgetter(int(place))
    return part if not rest else lambda line: operator.attrgetter(rest)(part(line))


def cell(value: Any) -> str:
    """A value in a table: numbers by :func:`number`, intervals with the sign of their note, – for None.

    >>> cell("a"), cell(0.25), cell(None), cell(["a", 0.5])
    ('a', '0.2500', '–', 'a, 0.5000')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list | tuple):
        return ", ".join(number(one) if isinstance(one, float) else str(one) for one in value)
    return interval(value.low, value.high) + mark_of(told(value)[1])


class Tabular:
    """Base class of results that are one table, by ``to_arrow``, ``to_pandas`` and ``to_polars``.

    >>> @dataclass(frozen=True)
    ... class Speed(Tabular):
    ...     rows: int
    ...     percentiles: Mapping[str, float]
    >>> Speed(1000, {"p50": 0.2}).to_arrow().to_pylist()
    [{'rows': 1000, 'percentiles.p50': 0.2}]
    """

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the table, each by column: one row of all figures, unless a class has others."""
        return [flat(self)]

    def record(self) -> Sequence[Figure]:
        """The figures one by one: figure, system, segment, value, low, high, kind of interval, n and note."""
        own: Any = self
        named = ((field.name, getattr(self, field.name)) for field in fields(own))
        return [Figure.of(name, value) for name, value in named if hasattr(value, "value") and hasattr(value, "low")]

    def to_arrow(self) -> pa.Table:
        """The result as a table of Arrow, with the columns of segments behind its own."""
        import pyarrow as pa

        if isinstance(own := getattr(self, "table", None), pa.Table):
            return own
        records, types = self.records(), _types_of(getattr(self, "_item", None))
        names = dict.fromkeys(name for record in records for name in record) or types
        columns = {name: [record.get(name) for record in records] for name in names}
        return with_segment_columns(
            pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()}),
            columns.get("segment", []),
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The result as a frame of pandas, which raises ``MissingExtraError`` where it is absent."""
        with _needs("pandas"):
            import pandas  # noqa: F401
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The result as a frame of Polars, which raises ``MissingExtraError`` where it is absent."""
        with _needs("polars"):
            import polars
        return polars.DataFrame(self.to_arrow())


def _types_of(item: type | None) -> dict[str, pa.DataType]:
    """The types of Arrow of the fields that a dataclass declares as numbers, flags and texts."""
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string(), "Better": pa.string()}
    declared = {} if item is None else {one.name: str(one.type).removesuffix(" | None") for one in fields(item)}
    return {name: types[kind] for name, kind in declared.items() if kind in types}


class SegmentName(str):
    """The name of a segment, ``language=en, length=[10, 20)``, with the value of each column."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, values: Mapping[str, str]) -> SegmentName:
        """The name of the segment that these values define."""
        name = cls(", ".join(f"{column}={value}" for column, value in values.items()))
        name.values = values
        return name


def with_segment_columns(table: pa.Table, segments: Sequence[str | None]) -> pa.Table:
    """The table with the values of the segments of its rows, a column each; null where a segment has none.

    A column that the table has already is named ``by_…``.
    """
    import pyarrow as pa

    values = [segment.values if isinstance(segment, SegmentName) else {} for segment in segments]
    for name in dict.fromkeys(name for each in values for name in each):
        own = f"by_{name}" if name in table.column_names else name
        table = table.append_column(own, pa.array([each.get(name) for each in values], pa.string()))
    return table


@contextmanager
def _needs(package: str) -> Iterator[None]:
    """Raise ``MissingExtraError`` if the import fails."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(f"this needs {package}, which is not installed: pip install {package}") from error


def flat(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by column: a figure with an interval is three, a mapping one for each key.

    Fields that hold neither figures nor texts are left out.
    """
    return columns_of({field.name: getattr(value, field.name) for field in fields(value)})


def columns_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by column, as :func:`flat` has those of fields."""
    record: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or isinstance(value, str | Number):
            record[name] = value
        elif hasattr(value, "value") and hasattr(value, "low"):
            record |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif isinstance(value, Mapping) or is_dataclass(value):
            parts = columns_of(value) if isinstance(value, Mapping) else flat(value)
            record |= {f"{name}.{key}": part for key, part in parts.items()}
    return record


class NotebookTables(Tabular):
    """Base class of results that a notebook shows as tables and notes: by default, one table of the figures.

    >>> @dataclass(frozen=True)
    ... class Speed(NotebookTables):
    ...     rows: int
    ...     seconds: float
    ...     percentiles: Mapping[str, float]
    >>> print(*Speed(1000, 0.25, {"p50": 0.2}).grids())
    figure            value
    rows              1,000
    seconds          0.2500
    percentiles.p50  0.2000
    """

    def grids(self) -> Sequence[Grid]:
        """The tables, one below the other: the figures by name, with the intervals of those that have one."""
        own: Any = self
        rows = [row for field in fields(own) for row in _rows(field.name, getattr(self, field.name))]
        if any(interval for *_, interval in rows):
            return [Grid(("figure", "value", "interval"), rows)]
        return [Grid(("figure", "value"), [row[:2] for row in rows])]

    def remarks(self) -> Sequence[str]:
        """The notes for the reader, each whole."""
        return []

    @property
    def headline(self) -> str | None:
        """The sentence that stands before the tables; None for a result without a verdict."""
        return None

    def _repr_html_(self) -> str | None:
        """What a notebook shows; nothing where Jinja2 is not installed, so that it prints the result."""
        return html_of(self.grids(), self._notes(), self._first_line())

    def _first_line(self) -> list[str]:
        """The headline in one line, without control characters, if there is one."""
        return [] if self.headline is None else [one_line(self.headline)]

    def _notes(self) -> list[str]:
        """The notes in one line each, without control characters."""
        return list(map(one_line, self.remarks()))


class Shown(NotebookTables):
    """Base class of results that print as tables and notes."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as dictionaries, lists and plain values, and the ``notes``."""
        return {**plain(self), "notes": list(self.remarks())}

    def to_json(self) -> str:
        """The dictionary as JSON: null for NaN, ``"Infinity"`` and ``"-Infinity"`` for the infinities."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        texts = ("\n".join(folded(lines)) for lines in (self._first_line(), self._notes()))
        first, notes = ([text] if text else [] for text in texts)
        return "\n\n".join([*first, *map(str, self.grids()), *notes])

    def to_markdown(self) -> str:
        """The headline and the tables in GitHub's Markdown, and the notes as a list."""
        first = "".join(f"**{inert(line)}**\n\n" for line in self._first_line())
        tables = "".join(f"{grid.markdown()}\n\n" for grid in self.grids())
        return first + tables + "".join(f"- {inert(note)}\n" for note in self._notes())

    def __rich__(self) -> Group:
        """The tables and notes for a terminal, to the width of its window."""
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [part for line in self._first_line() for part in (Text(line, "bold"), "")]
        parts += [part for grid in self.grids() for part in (grid, "")]
        notes = [Text(note) for note in self._notes()]
        return Group(*parts, *notes) if notes else Group(*parts[:-1])


def inert(text: str) -> str:
    """A text for Markdown that loads no picture, follows no link, holds no HTML and mentions nobody.

    >>> inert("![x](http://a.b) <img src=x> [0.1, 0.2] <= 1 ndcg@10")
    '![x]\\\\(http://a.b) &lt;img src=x> [0.1, 0.2] <= 1 ndcg@10'
    """
    return re.sub(r"(?<!\w)@(?=\w)", "@\u2060", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text.replace("](", r"]\(")))


HIDDEN = {"plain": False}
"""The metadata of a field that ``to_dict`` leaves out."""


def plain(value: Any) -> Any:
    """A value as dictionaries, lists and plain values: of a dataclass its fields, but tables and hidden ones."""
    if is_dataclass(value):
        shown = {one.name: getattr(value, one.name) for one in fields(value) if one.metadata.get("plain", True)}
        return {name: _plain(own) for name, own in shown.items() if not hasattr(own, "column_names")}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    own = getattr(value, "to_dict", None) if is_dataclass(value) else None
    return plain(value) if own is None else own()


class _ShownItems(Shown):
    """A printed result whose items are those of its field ``of``."""

    def __init_subclass__(cls, *, of: str | None = None) -> None:
        super().__init_subclass__()
        if of is not None:
            cls._items = property(operator.attrgetter(of))
            item, *_ = (*get_args(getattr(cls, "__orig_bases__", (None,))[0]), None)
            cls._item = item if is_dataclass(item) else None

    _items: ClassVar[Any]
    _item: ClassVar[Any] = None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def record(self) -> Sequence[Figure]:
        """The figure of each item."""
        named = self._items.items() if isinstance(self._items, Mapping) else ((one.metric, one) for one in self._items)
        return list(itertools.starmap(Figure.of, named))

    def records(self) -> Sequence[Mapping[str, Any]]:
        """A row for each item."""
        return list(map(flat, self._items.values() if isinstance(self._items, Mapping) else self._items))


class ShownSequence(_ShownItems, Sequence[T]):
    """A printed result that is the sequence in its field ``of``.

    >>> @dataclass(frozen=True)
    ... class Marks(ShownSequence[float], of="marks"):
    ...     marks: Sequence[float]
    ...     def grids(self): return [Grid(("mark",), [(number(mark),) for mark in self])]
    ...     def remarks(self): return []
    ...     def to_dict(self): return {"marks": self.marks}
    >>> len(Marks([1.0, 0.5])), Marks([1.0, 0.5])[-1], 1.0 in Marks([1.0])
    (2, 0.5, True)
    """

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[T]: ...


class ShownMapping(_ShownItems, Mapping[str, T]):
    """A printed result that is the mapping in its field ``of``."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse: ``pandas.DataFrame(result)`` would make a column of the names and drop all figures."""
        raise TypeError(f"a {type(self).__name__} is a mapping by name: .to_pandas() or .to_arrow() is its table")

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[str]: ...
        def __getitem__(self, key: str) -> T: ...


def json_text(value: Any) -> str:
    """A value as JSON that a terminal prints as it is: null for NaN, text for the infinities."""
    return escaped_json(json.dumps(strict(value), ensure_ascii=False, indent=2, allow_nan=False))


def folded(notes: Iterable[str], width: int | None = None) -> list[str]:
    """Notes wrapped at spaces to a width, by default that of the terminal or 80; names and numbers stay whole.

    >>> folded(["one", "a b " * 30])[1:]  # doctest: +ELLIPSIS
    ['a b a b ... a b', 'a b ... a b']
    """
    width = width or shutil.get_terminal_size((_LINE, 0)).columns
    fold = partial(textwrap.wrap, width=width, break_long_words=False, break_on_hyphens=False)
    return [line for note in notes for line in fold(note)]


def strict(value: Any) -> Any:
    """``value`` converted for JSON: null for NaN, ``"Infinity"`` and ``"-Infinity"`` for the infinities."""
    if isinstance(value, Mapping):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


# The tables of results with single figures, and of the first rows of long ones.


def _rows(name: str, value: Any) -> Iterator[tuple[str, str, str]]:
    """The lines of a field; none of a field that holds neither figures nor texts."""
    if isinstance(value, str):
        yield name, value, ""
    elif isinstance(value, int | float):
        yield name, number(value), ""
    elif hasattr(value, "value") and hasattr(value, "low"):
        yield name, number(value.value), "" if math.isnan(value.low) else interval(value.low, value.high)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, int | float):
                yield f"{name}.{key}", number(item), ""


def row_count(n: int) -> str:
    """A number of rows, in words.

    >>> row_count(1), row_count(2_000)
    ('1 row', '2,000 rows')
    """
    return f"{n:,} row{'s' * (n != 1)}"


def head_of(table: pa.Table, most: int = FIRST) -> Grid:
    """The first rows of a table of Arrow."""
    columns = [(name, operator.itemgetter(name)) for name in table.column_names]
    return lines_of(table.slice(0, most).to_pylist(), *columns)


def rows_note(n: int) -> list[str]:
    """The note on a table that shows the first of ``n`` rows.

    >>> rows_note(20), rows_note(1_000)
    ([], ['the first 20 of 1,000 rows'])
    """
    return said(n > FIRST and Note("first_rows", most=FIRST, n=n))


class NearestRows(NotebookTables):
    """Base class of the rows nearest to each query, best first, −1 where there are fewer, and a figure of each."""

    _fields: ClassVar[tuple[str, str, str]]
    """What is looked up, the field of the numbers of rows, and that of the figures."""

    def _ranked(self) -> Iterator[tuple[int, list[tuple[int, float]]]]:
        rows, figures = (getattr(self, name).tolist() for name in self._fields[1:])
        return ((query, list(zip(*both, strict=True))) for query, both in enumerate(zip(rows, figures, strict=True)))

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per query and place: the number of the row, and its figure."""
        what, _, figures = self._fields
        return [
            {what: query, "place": place, "row": row, figures.removesuffix("s"): figure}
            for query, ranked in self._ranked()
            for place, (row, figure) in enumerate(ranked, 1)
        ]

    def grids(self) -> Sequence[Grid]:
        """The rows of the first queries with their figures, best first."""
        what, rows, figures = self._fields
        heads = (f"{place}. row ({figures.removesuffix('s')})" for place in range(1, getattr(self, rows).shape[1] + 1))
        lines = (
            (str(query), *(f"{row} ({number(figure)})" if row >= 0 else "–" for row, figure in ranked))
            for query, ranked in islice(self._ranked(), FIRST)
        )
        return [Grid((what, *heads), list(lines))]

    def remarks(self) -> Sequence[str]:
        """How many queries there are, if not all are shown."""
        return rows_note(len(getattr(self, self._fields[1])))


# Tables and notes as HTML from templates shared by all pages: the display of results in notebooks.


def environment(*folders: str) -> Environment:
    """Templates of these folders of the package and of those that all pages share; every value is escaped.

    Raises ``ImportError`` if Jinja2 is not installed.
    """
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("fastmetrics", folder) for folder in (*folders, "base/templates")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    env.filters["visible"] = visible
    return env


@cache
def _own() -> Environment | None:
    try:
        return environment()
    except ImportError:
        return None


def html_of(grids: Sequence[Any], notes: Sequence[str], first: Sequence[str] = ()) -> str | None:
    """The first lines, tables and notes as HTML without external resources; None if Jinja2 is not installed."""
    env = _own()
    if env is None:
        return None
    return env.get_template("result.html").render(
        first=list(map(visible, first)), grids=grids, notes=list(map(visible, notes))
    )
