"""Counting, exporting and deleting the calls in a store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.results.prices import Prices, price_of, price_table
from fastmetrics.tables.outputs import table_place, write_whole

_DAY = 86_400.0

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("model", pa.string()),
        ("endpoint", pa.string()),
        ("repeat", pa.int64()),
        ("outcome", pa.string()),
        ("body", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("latency_ms", pa.float64()),
        ("time", pa.timestamp("ms", "UTC")),
        ("attempt", pa.int64()),
    ]
)
"""The columns of an exported store; ``body`` is the reply as the server sent it, or the failure."""


@dataclass(frozen=True)
class StoredCalls(Shown):
    """The number of stored calls, by model, server and outcome; prints as a table.

    Each count has the tokens of all replies to its calls, and their ``cost``: None without a price of the model.
    """

    counts: Sequence[dict[str, Any]]
    nbytes: int
    priced: bool = False

    def grids(self) -> list[Grid]:
        """One table."""
        header = ("model", "endpoint", "outcome", "calls", "read", "written", *self._cost_header, "first", "last")
        rows = [
            (
                row["model"],
                row["endpoint"],
                row["outcome"],
                f"{row['calls']:,}",
                f"{row['prompt_tokens'] or 0:,}",
                f"{row['completion_tokens'] or 0:,}",
                *("–" if row["cost"] is None else f"{row['cost']:,.4g}" for _ in self._cost_header),
                _day(row["first"]),
                _day(row["last"]),
            )
            for row in self.counts
        ]
        return [Grid(header, rows)] if rows else []

    @property
    def _cost_header(self) -> tuple[str, ...]:
        return ("cost",) if self.priced else ()

    def remarks(self) -> list[str]:
        """The total number of calls."""
        calls = sum(row["calls"] for row in self.counts)
        return [f"{calls:,} calls in {self.nbytes:,} bytes; read and written count tokens of the model"]

    def to_dict(self) -> dict[str, Any]:
        """The size of the store and the counts of its calls."""
        return {"bytes": self.nbytes, "calls": list(self.counts)}


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def stored_calls(store: str | Path, *, prices: Prices | None = None) -> StoredCalls:
    """The number of calls in a store, by model, server and outcome, with the tokens of their replies.

    ``store`` is the file of a store, as in :func:`judge` and the bots.  ``prices``, a table or a file as in
    :func:`judge`, adds the cost of all replies.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "calls.sqlite"
    >>> CallStore(path).close()
    >>> stored_calls(path).counts
    []

    Raises ``OutputError`` if there is no store of calls, or the file is none.
    """
    with CallStore(Path(store), create=False) as calls:
        return overview(calls, prices)


def overview(store: CallStore, prices: Prices | None = None) -> StoredCalls:
    """The contents of a store, with costs by a table of ``prices``, as in :func:`price_of`, for the models in it."""
    table = {} if prices is None else price_table(prices)
    counts = []
    for row in store.counts():
        price = price_of(str(row["model"]), table) if row["model"] in table else None
        tokens = (row["prompt_tokens"] or 0, row["completion_tokens"] or 0)
        counts.append({**row, "cost": None if price is None else price.cost(*tokens)})
    return StoredCalls(counts, store.path.stat().st_size, prices is not None)


def export(store: CallStore, out: str | Path, *, overwrite: bool = False, guard: bool = True) -> tuple[int, int]:
    """Write all calls to a file, sorted by time; returns their number, and the number of guarded CSV cells.

    Raises the errors of ``write_whole``, also if the file is the store.
    """
    place = table_place(out, store.path, overwrite=overwrite)
    written = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal written
        for rows in store.rows(SIZES.exported_calls):
            columns = list(zip(*rows, strict=True))
            columns[0] = tuple(key.hex() for key in columns[0])
            columns[9] = tuple(round(seconds * 1000) for seconds in columns[9])
            written += len(rows)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    quoted = write_whole(reader, place, {"store of calls": store.path.name}, set(), guard=guard)
    return written, quoted


def prune_calls(store: CallStore, conditions: Sequence[str]) -> int:
    """Delete the calls that meet all conditions: ``failures``, ``model=NAME``, ``endpoint=NAME``, ``days=NUMBER``.

    Returns their number.  Raises ``OptionError`` for an unknown condition.
    """
    clauses: dict[str, Any] = {}
    for condition in conditions:
        name, _, value = condition.partition("=")
        if condition == "failures":
            clauses["outcome != 'reply'"] = None
        elif name in ("model", "endpoint") and value:
            clauses[f"{name} = ?"] = value
        elif name == "days" and _is_number(value):
            clauses["time < ?"] = time.time() - float(value) * _DAY
        else:
            expected = "expected failures, model=NAME, endpoint=NAME or days=NUMBER"
            raise OptionError(Argument("prune", condition), ": ", expected)
    return store.delete(list(clauses), [value for value in clauses.values() if value is not None])


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
