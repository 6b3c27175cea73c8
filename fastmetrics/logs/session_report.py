"""``fm.logs.sessions``: success, turns, latency and cost of each session, and their means over sessions.

The rows of a session become one row: what a session takes adds up, success is of all its turns, of the last or of any,
and other scores are means over its turns. The result is a table of scores as any other, with sessions as ids, so means
with intervals, segments, comparisons, gates and reports over sessions are those of scores. A sum that lacks a row would
be too small, so a session with a row without latency has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints, arrow_numbers, is_text
from fastmetrics.base.column_names import COLUMNS, copied_columns, distinct, is_price, listed, resolve
from fastmetrics.base.columns import as_array, as_numbers, codes_of, open_frame
from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.errors import Argument, ColumnError, OptionError
from fastmetrics.base.notes import Figure, Note, said
from fastmetrics.base.options import Choice, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.logs.log import Columns, open_log, order_of_turns
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.prices import Prices, price_of, price_table
from fastmetrics.metrics.score_names import parse
from fastmetrics.results.by_segment import IntervalSummary, summarize_by
from fastmetrics.results.row_groups import added_up
from fastmetrics.scoring.score import score
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.input_files import PLAIN, FileSettings, Reading
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.sources import TableSource

_ADDED = ("latency_ms", "prompt_tokens", "completion_tokens", "total_tokens", "tool_call_count")
"""The metrics whose values add up over the turns of a session."""
_TURNS, _SUCCESS, _COST = "turns", "task_success", "cost"


@dataclass(frozen=True)
class SessionReport(Shown):
    """Means over sessions with their intervals; prints as a table for each metric, the worst segment first."""

    sessions: int
    left_out: int
    """Rows without a session."""
    means: IntervalSummary
    table: pa.Table = field(repr=False)
    """One row per session: ``id``, the columns of the segments, and the scores; a table of scores as any other."""

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per mean."""
        return self.means.records()

    def record(self) -> Sequence[Figure]:
        """The means over sessions."""
        return self.means.record()

    def to_dict(self) -> dict[str, Any]:
        """``{"sessions", "left_out", "means": [{"metric", "segment", "mean", "low", "high", …}, …], "notes": […]}``."""
        return {"sessions": self.sessions, "left_out": self.left_out, **self.means.to_dict(), "notes": self.remarks()}

    def grids(self) -> list[Grid]:
        """The means over all sessions, then over the segments of each metric."""
        return self.means.grids()

    def remarks(self) -> list[str]:
        """How many sessions there are, the kind of intervals, and what was left out."""
        lacking = self.left_out and Note("left_out", n=self.left_out, why="a session")
        return said(Note("sessions", n=self.sessions), list(self.means.remarks()[1:]), lacking)


class _Success(NamedTuple):
    """What counts as success: a column or metric, and the least value of it, or the most."""

    name: str
    limit: float = 1.0
    at_most: bool = False

    def of(self, values: Floats) -> Floats:
        """1 for success, 0 for none, NaN without a value."""
        reached = values <= self.limit if self.at_most else values >= self.limit
        return np.where(np.isnan(values), np.nan, reached)


_RULE = re.compile(r"(?s)(?P<name>.+?)\s*(?P<sign>[<>]=)\s*(?P<limit>[-+]?[\d.]+(?:[eE][-+]?\d+)?)")


def _rule(text: str) -> _Success:
    """What counts as success by a text such as ``token_f1 >= 0.5``, or a name alone."""
    found = _RULE.fullmatch(text.strip())
    if found is not None:
        return _Success(found["name"], float(found["limit"]), found["sign"] == "<=")
    if any(sign in text.partition("(")[0] for sign in "<>="):
        expected = ": expected a column or metric, or one with its limit, as in 'token_f1 >= 0.5' and 'wer <= 0.1'"
        raise OptionError(Argument("success", text), expected)
    return _Success(text.strip())


def sessions(
    log: Annotated[Any, Help("Rows of a log or of scores: a table in memory, or paths of files.")],
    metrics: Annotated[
        Sequence[str] | str | None, Help("Also the means of these metrics or columns: token_f1,cover_match.")
    ] = None,
    *,
    success: Annotated[
        str | None, Help("What counts as success: a column or metric, with its limit: token_f1>=0.5. Default: success.")
    ] = None,
    turn: Annotated[
        Literal["all", "last", "any"], Help("Which turns must be a success for the session to be one.")
    ] = "all",
    by: shared.By = None,
    model: Annotated[str | None, Help("The model in prices, for a log without a column of models.")] = None,
    prices: shared.Prices = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    confidence: shared.Confidence = 0.95,
) -> SessionReport:
    """Success rate, turns, latency, tokens and cost over the sessions of a log, with intervals and by segment.

    The rows with one ``session_id`` are the turns of a session, ordered by ``turn``, else by ``timestamp``, else as
    they are; without such a column each row is a session, whose ``messages`` have the turns.  Of each session,

    - ``task_success`` is 1 if all turns (``turn="last"``: the last, ``"any"``: any) with a value are a success, by the
      column ``success``, or a column or metric and its limit;
    - ``turns`` is the number of its rows, or of the user's messages in its only row;
    - ``latency_ms``, tokens, calls of tools and columns of prices (``cost``, also one that ``columns`` names) are
      sums, missing if a row lacks them; ``prices`` add the metric ``cost``;
    - other ``metrics`` are means over its turns; a column of ``by`` is that of the first turn.

    ``to_arrow()`` has a row of scores per session, which ``compare``, ``gate`` and ``report`` take.

    >>> log = {"session_id": [1, 1, 2], "success": [True, False, True], "latency_ms": [80, 120, 50]}
    >>> found = sessions(log)
    >>> found.to_arrow().to_pydict()
    {'id': [1, 2], 'task_success': [0.0, 1.0], 'turns': [2.0, 1.0], 'latency_ms': [200.0, 50.0]}
    >>> [(mean.metric, mean.mean) for mean in found.means]
    [('task_success', 0.5), ('turns', 1.5), ('latency_ms', 125.0)]

    Raises ``ColumnError`` for a log without sessions, ``UnknownNameError`` for an unknown metric, ``OptionError`` for
    another limit, and the errors of ``score`` and ``price_of``.
    """
    argument("turn", turn, Choice("all", "last", "any"))
    source = open_table(log, reading or PLAIN, name="log", schema=schema)
    names = source.names
    mapping = resolve(names, columns, schema, {"session_id", "turn", "timestamp"})
    if not mapping.keys() & {"session_id", "messages"}:
        lacking = "the log has no column 'session_id' and no conversations in 'messages'; name the column with "
        raise ColumnError(lacking, Argument("columns", {"session_id": ...}))
    rule = _rule(success) if success is not None else _Success(_SUCCESS) if "success" in mapping else None
    wanted = distinct([*([rule.name] if rule else []), *listed(metrics)])
    own = [name for name in wanted if name in names and not (name in COLUMNS and name in REGISTRY)]
    scored = {name: parse(name).name for name in wanted if name not in own}
    scored |= {name: name for name in (_TURNS, *_ADDED) if REGISTRY[name].fits(mapping)}
    own += [name for name in (_TURNS, *_ADDED) if name in names and name not in scored and name not in own]
    if "cost" in mapping and not is_price(mapping["cost"]):
        scored[_COST] = _COST
    if prices is not None:
        if model is not None and "model" not in mapping:
            price_of(model, prices)
            prices = {model: price_table(prices)[model]}
        scored[_COST] = _COST
    money = [name for name in names if is_price(name) and name not in own and name not in scored]
    order = next((name for name in ("turn", "timestamp") if name in mapping), None)
    keys = [mapping[name] for name in ("session_id", "id", order) if name in mapping]
    made = _rows(
        source, list(scored), [*keys, *distinct(by)], [*own, *money], Columns(columns, schema, reading or PLAIN), prices
    )
    values = {name: as_numbers(made[scored.get(name, name)], name) for name in (*scored, *own, *money)}
    grouped = _Sessions.of(made, mapping)
    found = {} if rule is None else {_SUCCESS: grouped.success(rule.of(values[rule.name]), turn)}
    found[_TURNS] = grouped.turns(values.pop(_TURNS, None))
    for name, each in values.items():
        if name not in found and (rule is None or name != rule.name or name in listed(metrics)):
            found[scored.get(name, name)] = (
                grouped.added(each) if name in _ADDED or is_price(name) else grouped.mean(each)
            )
    first = {"id": grouped.ids, **{name: made[name].take(pa.array(grouped.first)) for name in distinct(by)}}
    scores = {name: arrow_numbers(each, pa.float64(), np.isnan(each)) for name, each in found.items()}
    table = pa.table({**first, **scores})
    means = summarize_by(table, by=by, metrics=list(scores), confidence=confidence)
    return SessionReport(len(table), len(made) - len(grouped.rows), means, table)


def _rows(
    log: TableSource,
    metrics: Sequence[str],
    keep: Sequence[str],
    figures: Sequence[str],
    how: Columns,
    prices: Prices | None,
) -> pa.Table:
    """The scores of the rows, with the columns to keep, and the ``figures``: numbers or flags, in CSV as they look."""
    kept = distinct([*keep, *figures])
    names = distinct([*kept, *(parse(name).name for name in metrics)])
    if metrics:
        files = FileSettings(**vars(how.reading))
        made = score(log, metrics, columns=how.columns, schema=how.schema, keep=kept, files=files, prices=prices)
        given = {
            own: name for name, own in copied_columns(kept, resolve(log.names, how.columns, how.schema, ())).items()
        }
        read = open_frame(made).read([given.get(name, name) for name in names])[1]
        table = pa.concat_tables(read).rename_columns(names)
    else:
        table = open_log(log, (), how=how, labels=names).table()
    plain = {name: pa.chunked_array([as_array(table[name], name)]) for name in names}
    looked = {name: as_it_looks(plain[name]) for name in figures if is_text(plain[name].type)}
    return pa.table({**plain, **looked})


class _Sessions(NamedTuple):
    """The sessions of rows: the number of each row's session; the rows are in the order of their turns.

    ``first`` is the first row of each session, and ``ids`` are their names.
    """

    rows: Ints
    of_row: Ints
    first: Ints
    ids: pa.ChunkedArray

    @classmethod
    def of(cls, table: pa.Table, mapping: Mapping[str, str]) -> _Sessions:
        """The sessions of a table, in the order of their first rows; without a column of them each row is one."""
        every = np.arange(len(table))
        if "session_id" not in mapping:
            ids = table[mapping["id"]] if "id" in mapping else pa.chunked_array([pa.array(every)])
            return cls(every, every, every, ids)
        column = table[mapping["session_id"]]
        codes = codes_of(column, "session_id")
        rows = every[codes >= 0]
        order = order_of_turns(table, mapping.get("turn"), mapping.get("timestamp"))
        rows = rows[np.lexsort((order[rows], codes[rows]))]
        of_row = codes[rows]
        first = rows[np.flatnonzero(np.diff(of_row, prepend=-1))]
        return cls(rows, of_row, first, column.take(pa.array(first)))

    def success(self, values: Floats, turn: str) -> Floats:
        """Whether all turns with a value are a success, the last one, or any."""
        values = values[self.rows]
        known = ~np.isnan(values)
        found = np.full(len(self.first), np.nan)
        if turn == "last":
            found[self.of_row[known]] = values[known]  # of several the last stays
            return found
        count, hits = (self._sum(each[known], known) for each in (np.ones(len(values)), values))
        met = hits == count if turn == "all" else hits > 0
        return np.where(count > 0, met, np.nan)

    def turns(self, spoken: Floats | None) -> Floats:
        """The rows of each session; where no session has several, the messages of the user that ``spoken`` counts."""
        single = len(self.rows) == len(self.first)
        return spoken[self.rows] if single and spoken is not None else self._sum(np.ones(len(self.rows)))

    def added(self, values: Floats) -> Floats:
        """The sum of each session; NaN if a row has no value."""
        return added_up(values[self.rows], self.of_row) if len(self.rows) else np.empty(0)

    def mean(self, values: Floats) -> Floats:
        """The mean of each session over the rows with a value; NaN without any."""
        values = values[self.rows]
        known = np.isfinite(values)
        count, total = (self._sum(each[known], known) for each in (np.ones(len(values)), values))
        return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)

    def _sum(self, values: Floats, among: Any = slice(None)) -> Floats:
        return np.bincount(self.of_row[among], values, len(self.first)).astype(np.float64)
