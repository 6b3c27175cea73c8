"""Small tables of results for a terminal, a notebook and plain text."""

from __future__ import annotations

import json
import math
import operator
import shutil
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from fastmetrics.core.display.html_parts import html_of
from fastmetrics.core.display.screen import Block, Screen, blocks, clipped

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

T = TypeVar("T")

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
    """``value`` with about four significant digits; counts in full; – for NaN.

    >>> [number(x) for x in (0.12345, 812.25, 3, 1e-9, float("nan"))]
    ['0.1235', '812.2', '3', '1e-09', '–']
    """
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e7:
        return f"{value:.4g}"
    return f"{value:.4f}" if size < 100 else f"{value:,.1f}"


@dataclass(frozen=True)
class Grid:
    """A header and rows of cells; the first column is left-aligned, the others are right-aligned.

    The first ``label_columns`` name a row; on a terminal that is narrower than the table, they are repeated.

    >>> print(Grid(("metric", "mean"), (("token_f1", "0.5000"),)))
    metric      mean
    token_f1  0.5000
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    label_columns: int = 1

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, screen: Screen | None = None) -> Iterator[str]:
        """The table line by line, to fit a terminal if there is one."""
        widths = list(map(len, self.header))
        for row in self.rows:
            widths = [max(width, len(cell)) for width, cell in zip(widths, row, strict=True)]
        for number, block in enumerate(blocks(widths, self.label_columns, screen)):
            yield from [""] * bool(number)
            yield from self._block_lines(block, screen)

    def _block_lines(self, block: Block, screen: Screen | None) -> Iterator[str]:
        for line in chain([self.header], self.rows):
            cells = []
            for place, width in zip(block.places, block.widths, strict=True):
                text = clipped(line[place], width)
                padded = text.rjust(width) if place else text.ljust(width)
                cells.append(padded if screen is None or not place else screen.cell(text, padded))
            yield (" " * block.gap).join(cells).rstrip()

    def markdown(self) -> str:
        """The table in GitHub's Markdown; bars in cells are escaped."""
        return "\n".join(self.markdown_lines())

    def markdown_lines(self) -> Iterator[str]:
        """The table in GitHub's Markdown, line by line."""

        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"

        yield line(self.header)
        yield line(["---", *["---:"] * (len(self.header) - 1)])
        yield from map(line, self.rows)

    def rich(self) -> Table:
        """The table for a rich console."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        for place, name in enumerate(self.header):
            table.add_column(name, justify="right" if place else "left", overflow="fold", no_wrap=place == 0)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table


class NotebookTables(ABC):
    """Base class of results that a notebook shows as tables and notes."""

    @abstractmethod
    def grids(self) -> Sequence[Grid]:
        """The tables, one below the other."""

    @abstractmethod
    def remarks(self) -> Sequence[str]:
        """The notes for the reader, each whole."""

    def _repr_html_(self) -> str | None:
        """What a notebook shows; nothing where Jinja2 is not installed, so that it prints the result."""
        return html_of(self.grids(), self.remarks())


class Shown(NotebookTables):
    """Base class of results that print as tables and notes."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The values as dictionaries, lists and plain values."""

    def to_json(self) -> str:
        """The dictionary as JSON: null for NaN, ``"Infinity"`` and ``"-Infinity"`` for the infinities."""
        return json.dumps(strict(self.to_dict()), ensure_ascii=False, indent=2, allow_nan=False)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, screen: Screen | None = None) -> Iterator[str]:
        """The tables and notes line by line, to fit a terminal if there is one."""
        parts: list[Iterable[str]] = [grid.lines(screen) for grid in self.grids()]
        notes = folded(self.remarks(), None if screen is None else screen.width)
        parts += [notes] if any(notes) else []
        for place, block in enumerate(parts):
            yield from [""] * bool(place)
            yield from block

    def to_markdown(self) -> str:
        """The tables and notes in GitHub's Markdown."""
        return "".join(f"{line}\n" for line in self.markdown_lines())

    def markdown_lines(self) -> Iterator[str]:
        """The tables in GitHub's Markdown and the notes as a list, line by line."""
        for grid in self.grids():
            yield from grid.markdown_lines()
            yield ""
        yield from (f"- {note}" for note in self.remarks())

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts = [part for grid in self.grids() for part in (grid.rich(), Text())]
        return Group(*parts, *map(Text, self.remarks()))


class _ShownItems(Shown):
    """A printed result whose items are those of its field ``of``."""

    def __init_subclass__(cls, *, of: str | None = None) -> None:
        super().__init_subclass__()
        if of is not None:
            cls._items = property(operator.attrgetter(of))

    _items: ClassVar[Any]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]


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

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[str]: ...
        def __getitem__(self, key: str) -> T: ...


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
