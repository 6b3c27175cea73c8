"""``fm.logs.chunk_utilization``: which chunks of a knowledge base the rankings of a log use (the RAG benchmark)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Ints, Text, arrow_numbers, decoded, is_list, numpy_values, text_of_arrow
from fastmetrics.base.column_names import COLUMNS, listed
from fastmetrics.base.columns import as_array, is_column
from fastmetrics.base.display import Grid, Shown, row_count
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.base.options import Real, Rows, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.kernels.rankings import repeats
from fastmetrics.logs.log import (
    KEY,
    Columns,
    LogPart,
    Tally,
    counted,
    mean_of,
    open_log,
    score_column,
    score_sums,
    sum_names,
)
from fastmetrics.retrieval.rankings import fixed_ids, frozen, offsets, spans
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.tables.opening import is_paths, open_table

# Columns of lists of ids in flat form: row, position and id of each entry.


@dataclass(frozen=True)
class ListedIds:
    """The concatenated ids of all rows: id i is ``words[codes[i]]``, in row ``rows[i]``."""

    codes: Ints
    words: pa.Array
    """The distinct ids."""
    rows: Ints
    places: Ints
    """The position of each id in its row, from 0."""
    valid: Flags
    """Whether each row has a list, which may be empty."""

    def where(self, keep: Flags) -> ListedIds:
        """The ids for which ``keep`` is True."""
        if keep.all():
            return self
        return ListedIds(self.codes[keep], self.words, self.rows[keep], self.places[keep], self.valid)

    def once(self) -> ListedIds:
        """The ids without repetitions within a row."""
        starts = offsets(np.bincount(self.rows, minlength=len(self.valid)).astype(np.int64))
        return self.where(~repeats(fixed_ids(self.codes.view(np.uint64)), frozen(starts)))

    def counts(self) -> Ints:
        """The count of each of the ``words``."""
        return np.bincount(self.codes, minlength=len(self.words))


def listed_ids(column: pa.Array, name: str, first: int = 0) -> ListedIds:
    """The ids of a column of lists whose first row has the number ``first``; integers or text, with 64-bit types.

    In lists of fixed length (rows of a matrix), -1 is padding.  Raises ``ColumnError`` for anything but lists of
    strings or of integers, and for a null id.
    """
    kind = column.type
    if pa.types.is_null(kind):
        nothing = np.zeros(0, np.int64)
        return ListedIds(nothing, pa.array([], pa.large_string()), nothing, nothing, np.zeros(len(column), np.bool_))
    if not is_list(kind):
        raise ColumnError(f"column {name!r}: expected lists of strings or of whole numbers, got {kind}")
    sizes = numpy_values(pc.list_value_length(column), null=0).astype(np.int64)
    rows = np.repeat(np.arange(len(column)), sizes)
    places = np.arange(len(rows)) - np.repeat(offsets(sizes)[:-1], sizes)
    values = decoded(column.flatten())
    if values.null_count and not pa.types.is_null(values.type):
        row = int(rows[np.flatnonzero(numpy_values(values.is_null()))[0]])
        raise ColumnError(f"column {name!r}, row {first + row}: an id is null; give it, or make the whole list null")
    encoded = values.dictionary_encode()
    codes, words = numpy_values(encoded.indices).astype(np.int64), as_ids(encoded.dictionary, name)
    ids = ListedIds(codes, words, rows, places, numpy_values(column.is_valid()))
    if pa.types.is_fixed_size_list(kind) and pa.types.is_integer(words.type) and len(words):
        return ids.where(numpy_values(pc.not_equal(words, -1))[codes])
    return ids


def as_ids(values: pa.Array, name: str) -> pa.Array:
    """Ids as ``large_string`` or ``int64``; raises ``ColumnError`` for other types."""
    kind = values.type
    if pa.types.is_null(kind):
        return pa.array([], pa.large_string()) if not len(values) else values.cast(pa.large_string())
    try:
        if pa.types.is_integer(kind):
            return values.cast(pa.int64())
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return values.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise ColumnError(f"column {name!r}: expected whole ids below 2**63; give larger ones as strings") from error
    raise ColumnError(f"column {name!r}: expected ids that are strings or whole numbers, got {kind}")


def as_text(ids: pa.Array) -> pa.Array:
    """Ids as text, so that 7 equals "7"."""
    return ids.cast(pa.large_string())


# Finding the ids that the answers of a log cite: by number, ``[2]``, or by name, ``[doc-7]``.


_OPEN, _CLOSE = ord("["), ord("]")
_LONGEST = 9  # maximum digits of a valid position in a list


def cited_ids(answers: pa.Array, listed: ListedIds) -> Ints:
    """The positions of the cited ids among all listed ids, ascending.

    Text in square brackets is an id of the row's list or, if the list has no such id, the number of an id, from 1.
    """
    text = text_of_arrow(answers, "answer")
    begins, ends, rows = _brackets(text)
    if not begins.size or not listed.codes.size:
        return np.zeros(0, np.int64)
    texts = pc.utf8_trim_whitespace(_strings(text, begins, ends))
    by_id = _by_id(texts, rows, listed)
    by_number = _by_number(texts, rows, listed)
    places = np.where(by_id >= 0, by_id, by_number)
    cited = np.zeros(listed.codes.size, np.bool_)
    cited[places[places >= 0]] = True
    return np.flatnonzero(cited)


def _brackets(text: Text) -> tuple[Ints, Ints, Ints]:
    """Texts between brackets, without nested brackets: start byte, end byte, and row."""
    order = np.flatnonzero(((text.data - np.uint8(_OPEN)) & np.uint8(~(_CLOSE - _OPEN) & 0xFF)) == 0)
    opens = text.data[order] == _OPEN
    pairs = np.flatnonzero(opens[:-1] & ~opens[1:])
    begins, ends = order[pairs] + 1, order[pairs + 1]
    rows = np.searchsorted(text.starts, begins, side="right") - 1
    # ignore matches outside the texts, and matches that extend over two texts
    inside = (rows >= 0) & (ends > begins)
    inside[inside] = (ends[inside] < text.stops[rows[inside]]) & text.valid[rows[inside]]
    return begins[inside], ends[inside], rows[inside]


def _strings(text: Text, begins: Ints, ends: Ints) -> pa.Array:
    sizes = ends - begins
    data = text.data[spans(begins, sizes)]
    buffers = [None, pa.py_buffer(offsets(sizes).copy()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(sizes), buffers)


def _by_id(texts: pa.Array, rows: Ints, listed: ListedIds) -> Ints:
    """The position of the first id of the row's list that equals the text, −1 without any."""
    encoded = texts.dictionary_encode()
    ids = numpy_values(pc.index_in(encoded.dictionary, as_text(listed.words)).fill_null(-1)).astype(np.int64)
    codes = ids[numpy_values(encoded.indices)]
    places, some = np.full(len(codes), -1), np.flatnonzero(codes >= 0)
    if not some.size:
        return places
    keys = listed.rows * len(listed.words) + listed.codes
    order = np.argsort(keys, kind="stable")
    targets = rows[some] * len(listed.words) + codes[some]
    at = np.minimum(np.searchsorted(keys[order], targets), len(order) - 1)
    places[some] = np.where(keys[order[at]] == targets, order[at], -1)
    return places


def _by_number(texts: pa.Array, rows: Ints, listed: ListedIds) -> Ints:
    """The position of the id with the given number in the row's list, −1 if it is not a number or out of range."""
    texts = pc.utf8_ltrim(texts, "0")
    digits = pc.match_substring_regex(texts, rf"^[0-9]{{1,{_LONGEST}}}$")
    numbers = numpy_values(pc.if_else(digits, texts, "0").cast(pa.int64()))
    starts = offsets(np.bincount(listed.rows, minlength=len(listed.valid)).astype(np.int64))
    inside = (numbers >= 1) & (numbers <= np.diff(starts)[rows])
    return np.where(inside, starts[:-1][rows] + numbers - 1, -1)


# The ids of all chunks of a knowledge base and their sources, and rankings in a plain column.


NAMES = ("chunk_id", "id", "document_id", "doc_id", *COLUMNS["id"].aliases)
"""The possible id columns of a table of chunks, most likely first."""


def as_log(rankings: Any) -> Any:
    """A table of rankings from a plain column."""
    if is_paths(rankings) or not is_column(rankings):
        return rankings
    return {"retrieved_ids": rankings}


def chunk_ids(chunks: Any, column: str | None) -> pa.Array:
    """The unique ids of a column, or of a table or file of chunks.

    Raises ``ColumnError`` if no column holds ids, and ``InputError`` for a missing or duplicate id.
    """
    if is_paths(chunks, or_column=True) or not is_column(chunks):
        return with_column(chunks, column)[0]
    return _each_once(as_ids(as_array(chunks, "chunks"), "chunks"), "chunks")


def with_column(chunks: Any, column: str | None, *others: str) -> list[pa.Array]:
    """The unique ids of a table or file of chunks, with other columns of text or ids.

    Raises the errors of :func:`chunk_ids`, and ``ColumnError`` for a column that is missing.
    """
    source = open_table(chunks, name="chunks", or_column=True)
    present = source.names
    name = _id_column(present, column)
    for other in others:
        if other not in present:
            unknown = UnknownNameError.of("column", other, present).message
            raise ColumnError(Argument("source_column", other), ": ", unknown)
    columns = list(dict.fromkeys([name, *others]))
    table = whole_table(source, dict.fromkeys(columns, "id"))
    ids = _each_once(as_ids(as_array(table[name], name), name), name)
    return [ids, *(as_ids(as_array(table[other], other), other) for other in others)]


def _each_once(ids: pa.Array, name: str) -> pa.Array:
    """The ids; raises an error for a missing or duplicate id."""
    if ids.null_count:
        row = int(np.flatnonzero(numpy_values(ids.is_null()))[0])
        raise InputError(f"column {name!r} of the chunks, row {row}: an id is missing (null)")
    counts = pc.value_counts(ids)
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        first, count = twice[0]["values"].as_py(), twice[0]["counts"].as_py()
        raise InputError(
            f"column {name!r} of the chunks: the id {first!r} occurs in {count:,} rows; expected each id once"
        )
    return ids


def _id_column(names: Sequence[str], column: str | None) -> str:
    if column is not None:
        if column not in names:
            raise ColumnError(
                Argument("chunk_column", column), ": ", UnknownNameError.of("column", column, names).message
            )
        return column
    lowered = {name.lower(): name for name in reversed(names)}
    match = next((lowered[name] for name in NAMES if name in lowered), names[0] if len(names) == 1 else None)
    if match is None:
        have = ", ".join(map(repr, names))
        raise ColumnError(
            f"the chunks have no column {NAMES[0]!r} or 'id', but {have}; name it with ", Argument("chunk_column")
        )
    return match


def comparable(keys: pa.Array, total: pa.Array | None) -> tuple[pa.Array, pa.Array | None]:
    """Retrieved ids and ids of chunks converted to one type: text, if either is text."""
    if total is None or keys.type == total.type:
        return keys, total
    return as_text(keys), as_text(total)


def raise_unknown(keys: pa.Array, total: pa.Array) -> None:
    """Raise the error that no retrieved id is the id of a chunk."""
    retrieved_id, chunk_id = (
        (repr(ids[0].as_py()) for ids in (keys, total)) if len(total) else (repr(keys[0].as_py()), "none")
    )
    way = Argument("chunk_column")
    raise InputError(
        f"no retrieved id, such as {retrieved_id}, matches a chunk id, such as {chunk_id}; "
        "name the column of chunk ids with ",
        way,
    )


def sources_of(chunks: Any, chunk_column: str | None, source_column: str) -> pa.Table:
    """The ``chunk`` ids of a table or file of chunks, as text, and the number of the ``source`` of each.

    Raises ``ColumnError`` for a table without either column.
    """
    ids, sources = with_column(chunks, chunk_column, source_column)
    codes = sources.dictionary_encode().indices.fill_null(-1).cast(pa.int64())
    return pa.table({"chunk": as_text(ids), "source": codes})


def sources_of_words(words: pa.Array, sources: pa.Table) -> Ints:
    """The number of the source of each id, −1 for an unknown id."""
    places = numpy_values(pc.index_in(as_text(words), sources["chunk"].combine_chunks()).fill_null(-1)).astype(np.int64)
    numbers = np.append(numpy_values(sources["source"].combine_chunks()), -1)
    return numbers[places]


# Counting the chunks of a log's rankings: how often each is retrieved, cited and relevant, and the sums of scores.


@dataclass(frozen=True)
class ChunkCounts:
    """Counts of a part of a log: rows with a ranking, without one, with a short one, and the tally of ids."""

    rows: int
    missing: int
    short: int
    tables: Sequence[pa.Table]


@dataclass(frozen=True)
class ChunkCounter:
    """The counting of a log with the given columns."""

    has: frozenset[str]
    scores: tuple[str, ...]
    k: int

    @property
    def names(self) -> list[str]:
        """The columns of the tally."""
        optional = [name for name, column in (("cited", "answer"), ("relevant", "relevant_ids")) if column in self.has]
        return ["retrieved", "ranks", *optional, *(column for name in self.scores for column in sum_names(name))]

    def count(self, part: LogPart) -> ChunkCounts:
        """The counts of a part."""
        rows = part.rows
        retrieved = listed_ids(rows.column("retrieved_ids"), "retrieved_ids", part.first)
        sizes = np.bincount(retrieved.rows, minlength=rows.num_rows)[retrieved.valid]
        tables = {"": (retrieved, self._retrieved(part, retrieved.where(retrieved.places < self.k).once()))}
        if "answer" in self.has:
            key, listed = "", retrieved
            if "context_ids" in self.has:
                key, listed = "context", listed_ids(rows.column("context_ids"), "context_ids", part.first)
            cited = np.zeros(listed.codes.size, np.bool_)
            cited[cited_ids(rows.column("answer"), listed)] = True
            tables.setdefault(key, (listed, {}))[1]["cited"] = listed.where(cited).once().counts()
        if "relevant_ids" in self.has:
            relevant = listed_ids(rows.column("relevant_ids"), "relevant_ids", part.first)
            tables["relevant"] = relevant, {"relevant": relevant.where(_relevant(part, relevant)).once().counts()}
        return ChunkCounts(
            len(sizes),
            rows.num_rows - len(sizes),
            int((sizes < self.k).sum()),
            [self._filled(listed.words, counts) for listed, counts in tables.values()],
        )

    def _retrieved(self, part: LogPart, top: ListedIds) -> dict[str, Any]:
        n = len(top.words)
        counts: dict[str, Any] = {"retrieved": top.counts(), "ranks": np.bincount(top.codes, top.places + 1, n)}
        for name in self.scores:
            counts |= score_sums(name, top.codes, score_column(part.rows, name, part.first)[top.rows], n)
        return counts

    def _filled(self, ids: pa.Array, counts: Mapping[str, Any]) -> pa.Table:
        nothing = np.zeros(len(ids), np.int64)
        return counted(ids, {name: counts.get(name, nothing) for name in self.names})

    def add_up(self, parts: Any) -> ChunkCounts:
        """The sum of all parts; ids become text if some parts have numbers and others text."""
        tally, rows, missing, short = Tally(self.names), 0, 0, 0
        for part in parts:
            rows, missing, short = rows + part.rows, missing + part.missing, short + part.short
            for table in part.tables:
                tally.add(table)
        return ChunkCounts(rows, missing, short, [tally.table()])


def _relevant(part: LogPart, relevant: ListedIds) -> Flags:
    """Which of the judged ids are relevant."""
    if "relevance" not in part.rows.schema.names:
        return np.ones(relevant.codes.size, np.bool_)
    grades = part.rows.column("relevance")
    sizes = np.bincount(relevant.rows, minlength=len(relevant.valid))
    graded = numpy_values(grades.is_valid()) & relevant.valid
    lengths = (
        numpy_values(pc.fill_null(pc.list_value_length(grades), 0)) if not pa.types.is_null(grades.type) else sizes
    )
    wrong = np.flatnonzero(graded & (sizes != lengths))
    if wrong.size:
        row = int(wrong[0])
        of = f"expected a grade for each of {sizes[row]} relevant ids, got {lengths[row]}"
        raise ColumnError(f"column 'relevance', row {part.first + row}: {of}")
    if not graded.any():
        return np.ones(relevant.codes.size, np.bool_)
    flat = grades.filter(pa.array(graded)).flatten()
    values = np.ones(relevant.codes.size)
    values[graded[relevant.rows]] = numpy_values(flat.cast(pa.float64()).fill_null(0.0))
    return values >= 1


# ``fm.logs.chunk_utilization``: which chunks of a knowledge base the rankings of a log use (the RAG benchmark).


_SHOWN = 10
_LISTED = 20


@dataclass(frozen=True)
class ChunkUse(Shown):
    """Use of a knowledge base, over the first ``k`` positions of all rankings of a log.

    Without a table of chunks, ``total_chunks``, ``unused_chunks`` and ``unused_ids`` are None, ``utilization_rate`` is
    NaN, and ``gini`` covers the used chunks only.
    """

    k: int
    rows: int
    """Rows with a ranking."""
    missing: int
    """Rows without a ranking, which are ignored."""
    short: int
    """Rows whose ranking has fewer than ``k`` positions."""
    total_chunks: int | None
    used_chunks: int
    """Chunks in the first ``k`` positions of at least one row."""
    unused_chunks: int | None
    utilization_rate: float
    """used_chunks / total_chunks."""
    places: int
    """Filled positions; a chunk that a row repeats counts once."""
    gini: float
    """Gini coefficient of the chunks' counts: 0 for equal use, near 1 if few fill all positions; NaN without any."""
    share: float
    chunks_filling_share: int
    """The smallest number of chunks that fill the ``share`` of all positions."""
    never_cited: int | None
    """Used chunks that no answer cites; None for a log without answers."""
    expected_unseen: float
    """Chao1: the estimated number of unseen chunks, f1(f1−1) / (2(f2+1))."""
    unknown_chunks: int
    """Distinct ids in the first ``k`` positions that are missing in the table of chunks; other figures exclude them."""
    unused_ids: Sequence[str | int] | None = field(repr=False)
    never_cited_ids: Sequence[str | int] | None = field(repr=False)
    hubs: Sequence[str | int] = field(repr=False)
    """Chunks with counts above the mean of all chunks plus two standard deviations, most used first."""
    unknown_ids: Sequence[str | int] = field(repr=False)
    """The first unknown ids, at most 100."""
    table: pa.Table = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """One row per chunk, most used first: ``chunk``, ``retrieved`` (rows), ``mean_rank`` (from 1), and more.

        Further columns are ``cited`` and ``relevant`` (rows whose answer cites the chunk, whose ``relevant_ids``
        contain it), and ``mean_<score>``, the mean over the rows that retrieved the chunk.
        """
        return self.table

    def to_dict(self) -> dict[str, object]:
        """All figures and lists of ids, and at most 20 ``most_used`` chunks of the table."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "table"}
        head = self.table.slice(0, _LISTED)
        return {**figures, "most_used": [row for row in head.to_pylist() if row.get("retrieved")]}

    def grids(self) -> list[Grid]:
        """The figures, and the chunks used most."""
        lists = {"unused_ids", "never_cited_ids", "hubs", "unknown_ids", "most_used"}
        figures = {name: value for name, value in self.to_dict().items() if name not in lists and value is not None}
        rows = [(name, _written(value)) for name, value in {**figures, "hubs": len(self.hubs)}.items()]
        head = self.table.slice(0, _SHOWN)
        columns = [list(map(_written, head[name].to_pylist())) for name in head.column_names]
        return [Grid(("figure", "value"), rows), Grid(tuple(head.column_names), list(zip(*columns, strict=True)))]

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        notes = [f"{self.rows:,} rankings, their first {self.k} places"]
        if self.missing:
            notes.append(f"left out without a ranking: {row_count(self.missing)}")
        if self.total_chunks is None:
            notes.append("without a table of chunks, unused chunks are unknown and gini covers the used chunks only")
        if self.unused_ids:
            some = ", ".join(map(str, self.unused_ids[:_SHOWN])) + (", …" if len(self.unused_ids) > _SHOWN else "")
            notes.append(f"never retrieved: {some}")
        if self.unknown_chunks:
            some = ", ".join(map(repr, self.unknown_ids[:3])) + (", …" if self.unknown_chunks > 3 else "")
            are = "id is" if self.unknown_chunks == 1 else "ids are"
            notes.append(f"{self.unknown_chunks:,} retrieved {are} not in the table of chunks: {some}")
        return notes


def _written(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def figures(counts: Ints, share: float) -> Mapping[str, float | int]:
    """The figures computed from the counts of all chunks, used or not.

    With the counts x in ascending order, Gini's coefficient is Σ(2i − n − 1)·xᵢ / (n·Σx).
    """
    ordered = np.sort(counts)
    n, total = len(ordered), int(ordered.sum())
    weights = 2 * np.arange(1, n + 1) - n - 1
    gini = float(sum(map(int, weights * ordered))) / (n * total) if total else float("nan")
    filled = np.cumsum(ordered[::-1])
    least = math.ceil(Fraction(repr(share)) * total)  # in decimals as written: 0.07 of 100 is 7, in floats 7.000…01
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return {
        "places": total,
        "gini": gini,
        "chunks_filling_share": int(np.searchsorted(filled, least)) + 1 if total else 0,
        "expected_unseen": once * (once - 1) / (2 * (twice + 1)),
    }


def hub_line(counts: Ints) -> float:
    """The count above which a chunk is a hub: mean plus two standard deviations (population)."""
    return float(counts.mean() + 2 * counts.std()) if len(counts) else 0.0


_EXAMPLES = 100


def chunk_utilization(
    log: shared.Log,
    *,
    chunks: shared.Chunks = None,
    k: shared.K = 10,
    scores: shared.Averaged = (),
    share: Annotated[float, Help("Report how many chunks fill this share of all positions.")] = 0.8,
    chunk_column: shared.ChunkColumn = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: shared.Threads = None,
) -> ChunkUse:
    """How much of a knowledge base the rankings of a log use: chunks in the first ``k`` positions of any row / all.

    ``log`` is a column of lists of ids, or a log: a table or paths, as for ``score``,
    with a column ``retrieved_ids``.  The optional columns ``answer``, ``context_ids``, ``relevant_ids`` and
    ``relevance`` of a log are read too, and so are the columns that ``scores`` names: the score of a row counts for
    every chunk in its first ``k`` positions.  An answer cites what is in square brackets: an id, or a number that
    counts the row's ``context_ids`` (without that column, its ``retrieved_ids``) from 1.  A chunk with grade 1 or more
    is relevant.

    ``chunks`` lists the ids of all chunks: a column, or a table or file with a column ``chunk_id``, ``id``,
    ``document_id``, or ``chunk_column``.  A repeated id in a row counts once, at its first position.

    Returns a ``ChunkUse``, which prints the figures; its ``to_arrow()`` has a row per chunk.

    Source: the RAG benchmark.

    >>> use = chunk_utilization([["a", "b"], ["a", "c"], None], chunks=["a", "b", "c", "d"], k=1)
    >>> use.used_chunks, use.total_chunks, use.utilization_rate, use.unused_ids
    (1, 4, 0.25, ['b', 'c', 'd'])
    >>> use.to_arrow().slice(0, 2).to_pylist()
    [{'chunk': 'a', 'retrieved': 2, 'mean_rank': 1.0}, {'chunk': 'b', 'retrieved': 0, 'mean_rank': nan}]

    Raises ``ColumnError`` for a missing column, a column of the wrong type or a null id; ``InputError`` for duplicate
    chunk ids, or if no retrieved id is among the chunks; ``OptionError`` for a ``k`` below 1.
    """
    workers = cores(threads)
    k, share = argument("k", k, Rows), float(argument("share", share, Real(0.0, 1.0, above=True)))
    score_names = list(dict.fromkeys(listed(scores)))
    how = Columns(columns, schema, reading or PLAIN)
    optional = ("answer", "context_ids", "relevant_ids", "relevance")
    log = open_log(as_log(log), ["retrieved_ids"], optional, score_names, how)
    total = None if chunks is None else chunk_ids(chunks, chunk_column)
    counting = ChunkCounter(log.has, tuple(score_names), k)
    counts = log.parts(counting.count, counting.add_up, workers)
    return _result(counts, total, counting, share)


def _result(counted: ChunkCounts, total: pa.Array | None, counting: ChunkCounter, share: float) -> ChunkUse:
    [table] = counted.tables
    keys, total = comparable(table[KEY].combine_chunks(), total)
    counts = {name: numpy_values(table[name].combine_chunks()) for name in counting.names}
    unknown = np.zeros(len(keys), np.bool_)
    if total is not None:
        places = pc.index_in(keys, total)
        unknown = numpy_values(places.is_null())
        at = numpy_values(places.fill_null(0)).astype(np.int64)
        counts = {name: _spread(values, at, ~unknown, len(total)) for name, values in counts.items()}
        if not (counts["retrieved"] > 0).any() and (numpy_values(table["retrieved"].combine_chunks()) > 0).any():
            raise_unknown(keys, total)
    strange = np.flatnonzero(unknown & (numpy_values(table["retrieved"].combine_chunks()) > 0))
    ids = keys if total is None else total
    order = np.lexsort((_places_in_order(ids), -counts["retrieved"]))
    ids, counts = ids.take(_integers(order)), {name: values[order] for name, values in counts.items()}
    return _figures(counted, counting, ids, counts, keys.take(_integers(strange)), share, has_total=total is not None)


def _figures(
    counted: ChunkCounts,
    counting: ChunkCounter,
    ids: pa.Array,
    counts: Mapping[str, Ints],
    strange: pa.Array,
    share: float,
    *,
    has_total: bool,
) -> ChunkUse:
    retrieved = counts["retrieved"]
    used = retrieved > 0
    pick = partial(_listed, ids)
    uncited = used & (counts["cited"] == 0) if "cited" in counts else None
    n_used = int(used.sum())
    line = hub_line(retrieved if has_total else retrieved[used])
    return ChunkUse(
        k=counting.k,
        rows=counted.rows,
        missing=counted.missing,
        short=counted.short,
        total_chunks=len(ids) if has_total else None,
        used_chunks=n_used,
        unused_chunks=len(ids) - n_used if has_total else None,
        utilization_rate=n_used / len(ids) if has_total and len(ids) else float("nan"),
        share=share,
        never_cited=None if uncited is None else int(uncited.sum()),
        unknown_chunks=len(strange),
        unused_ids=pick(~used) if has_total else None,
        never_cited_ids=None if uncited is None else pick(uncited),
        hubs=pick(retrieved > line),
        unknown_ids=strange.sort()[:_EXAMPLES].to_pylist() if len(strange) else [],
        table=_by_use(ids, counts, counting),
        **figures(retrieved if has_total else retrieved[used], share),  # type: ignore[arg-type]
    )


def _by_use(ids: pa.Array, counts: Mapping[str, Ints], counting: ChunkCounter) -> pa.Table:
    n = counts["retrieved"]
    ranks = np.divide(counts["ranks"], n, out=np.full(len(n), np.nan), where=n > 0)
    sums = pa.table({name: _integers(values) for name, values in counts.items()})
    table = {"chunk": ids, **{name: sums[name] for name in ("retrieved", "cited", "relevant") if name in counts}}
    table["mean_rank"] = arrow_numbers(ranks, pa.float64())
    return pa.table(
        {**table, **{f"mean_{name}": arrow_numbers(mean_of(sums, name), pa.float64()) for name in counting.scores}}
    )


def _listed(ids: pa.Array, which: Flags) -> list[Any]:
    return list(ids.filter(arrow_numbers(which, pa.bool_())).to_pylist())


def _integers(values: Ints) -> pa.Array:
    return arrow_numbers(values, pa.int64())


def _spread(counts: Ints, at: Ints, mask: Flags, n: int) -> Ints:
    """The counts at the positions of their chunks."""
    spread = np.zeros(n, np.int64)
    spread[at[mask]] = counts[mask]
    return spread


def _places_in_order(ids: pa.Array) -> Ints:
    """The position of each id among the sorted ids."""
    ranks = np.empty(len(ids), np.int64)
    ranks[numpy_values(pc.array_sort_indices(ids))] = np.arange(len(ids))
    return ranks
