"""``fm.logs.chunk_utilization``: which chunks of a knowledge base the rankings of a log use (the RAG benchmark)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Floats, Ints, arrow_numbers, decoded, floats_of_arrow, is_list, numpy_values
from fastmetrics.base.column_names import COLUMNS, listed
from fastmetrics.base.columns import as_array, is_column
from fastmetrics.base.display import Grid, Shown, head_of, lines_of, plain
from fastmetrics.base.errors import Argument, ColumnError, InputError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import Real, Rows, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.kernels.rankings import repeats
from fastmetrics.logs.log import KEY, Columns, LogPart, check_named, fewer, open_log, summed
from fastmetrics.retrieval.rankings import fixed_ids, offsets
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
        return replace(self, codes=self.codes[keep], rows=self.rows[keep], places=self.places[keep])

    @property
    def sizes(self) -> Ints:
        """The number of ids in each row."""
        return np.bincount(self.rows, minlength=len(self.valid)).astype(np.int64)

    def once(self) -> ListedIds:
        """The ids without repetitions within a row."""
        return self.where(~repeats(fixed_ids(self.codes.view(np.uint64)), offsets(self.sizes)))

    def counts(self, **columns: Ints | Floats | None) -> pa.Table:
        """The number of entries of each of the ``words``, or the sum of their whole values."""
        sums = {name: np.bincount(self.codes, values, len(self.words)) for name, values in columns.items()}
        return pa.table({KEY: self.words, **{name: _integers(each) for name, each in sums.items()}})


def flat_lists(lists: pa.Array) -> tuple[pa.Array, Ints, Ints]:
    """The entries of all lists, and the row and the position of each."""
    sizes = numpy_values(pc.list_value_length(lists), null=0).astype(np.int64)
    rows = np.repeat(np.arange(len(lists)), sizes)
    return lists.flatten(), rows, np.arange(len(rows)) - np.repeat(offsets(sizes)[:-1], sizes)


def listed_ids(column: pa.Array, name: str, first: int = 0) -> ListedIds:
    """The ids of a column of lists whose first row has the number ``first``; integers or text, with 64-bit types.

    In lists of fixed length (rows of a matrix), -1 is padding.  Raises ``ColumnError`` for anything but lists of
    strings or of integers, and for a null id.
    """
    kind = column.type
    if pa.types.is_null(kind):
        column = column.cast(pa.list_(pa.null()))
    elif not is_list(kind):
        raise ColumnError(f"column {name!r}: expected lists of strings or of whole numbers, got {kind}")
    values, rows, places = flat_lists(column)
    values = decoded(values)
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


_LONGEST = 9  # maximum digits of a valid position in a list


def cited_ids(answers: pa.Array, listed: ListedIds) -> Flags:
    """Which of the listed ids the answers cite.

    Text in square brackets is an id of the row's list or, if the list has no such id, the number of an id, from 1.
    """
    cited = np.zeros(len(listed.codes), np.bool_)
    texts, rows, places = flat_lists(pc.split_pattern(answers.cast(pa.large_string()), "["))
    inside = pc.extract_regex(texts, r"^(?P<text>[^\]]+)\]").field("text")
    some = np.flatnonzero(numpy_values(inside.is_valid()) & (places > 0))  # what is before the first bracket is in none
    if not len(some) or not len(cited):
        return cited
    texts, rows = pc.utf8_trim_whitespace(inside.take(_integers(some))), rows[some]
    codes = numpy_values(pc.index_in(texts, as_text(listed.words)), null=-1).astype(np.int64)
    n = len(listed.words)
    found = pc.index_in(_integers(rows * n + codes), _integers(listed.rows * n + listed.codes))
    by_id = np.where(codes < 0, -1, numpy_values(found, null=-1).astype(np.int64))
    digits = pc.utf8_ltrim(texts, "0")
    is_number = pc.match_substring_regex(digits, rf"^[0-9]{{1,{_LONGEST}}}$")
    numbers = numpy_values(pc.if_else(is_number, digits, "0").cast(pa.int64()))
    in_list = (numbers >= 1) & (numbers <= listed.sizes[rows])
    by_number = np.where(in_list, offsets(listed.sizes)[:-1][rows] + numbers - 1, -1)
    which = np.where(by_id >= 0, by_id, by_number)
    cited[which[which >= 0]] = True
    return cited


# The ids of all chunks of a knowledge base and their sources, and rankings in a plain column.


NAMES = ("chunk_id", "id", "document_id", "doc_id", *COLUMNS["id"].aliases)
"""The possible id columns of a table of chunks, most likely first."""


def chunk_ids(chunks: Any, column: str | None, *others: str) -> list[pa.Array]:
    """The unique ids of a column, or of a table or file of chunks, with other columns of text or ids.

    Raises ``ColumnError`` if no column holds ids or one is missing, and ``InputError`` for a missing or duplicate id.
    """
    if not others and not is_paths(chunks, or_column=True) and is_column(chunks):
        return [_each_once(as_ids(as_array(chunks, "chunks"), "chunks"), "chunks")]
    source = open_table(chunks, name="chunks", or_column=True)
    name = _id_column(source.names, column)
    for other in others:
        check_named("source_column", other, source.names)
    table = whole_table(source, dict.fromkeys([name, *others], "id"))
    ids, *beside = (as_ids(as_array(table[one], one), one) for one in (name, *others))
    return [_each_once(ids, name), *beside]


def _each_once(ids: pa.Array, name: str) -> pa.Array:
    """The ids; raises an error for a missing or duplicate id."""
    for row in np.flatnonzero(numpy_values(ids.is_null())):
        raise InputError(f"column {name!r} of the chunks, row {row}: an id is missing (null)")
    values, counts = pc.value_counts(ids).flatten()
    for at in np.flatnonzero(numpy_values(counts) > 1).tolist():
        times = f"the id {values[at].as_py()!r} occurs in {counts[at].as_py():,} rows"
        raise InputError(f"column {name!r} of the chunks: {times}; expected each id once")
    return ids


def _id_column(names: Sequence[str], column: str | None) -> str:
    if column is not None:
        check_named("chunk_column", column, names)
        return column
    lowered = {name.lower(): name for name in reversed(names)}
    match = next((lowered[name] for name in NAMES if name in lowered), names[0] if len(names) == 1 else None)
    if match is None:
        have = ", ".join(map(repr, names))
        lacking = f"the chunks have no column {NAMES[0]!r} or 'id', but {have}; name it with "
        raise ColumnError(lacking, Argument("chunk_column"))
    return match


# Counting the chunks of a log's rankings: how often each is retrieved, cited and relevant, and the sums of scores.


_OPTIONAL = (("cited", "answer"), ("relevant", "relevant_ids"))
_MOST = 2.0**32
_DIGITS = (2.0, 2.0**-30, 2.0**-60)
"""Scores are added up in three digits, as integers, and so are exact in any order; a score is rounded to 2⁻⁶⁰."""


class PartCounts(NamedTuple):
    """Counts of a part of a log: rows with a ranking, without one, with a short one; and tables by id."""

    rows: Ints
    tables: list[pa.Table]


@dataclass(frozen=True)
class ChunkCounter:
    """The counting of a log with the given columns."""

    has: frozenset[str]
    scores: tuple[str, ...]
    k: int

    def count(self, part: LogPart) -> PartCounts:
        """The counts of a part."""
        rows = part.rows
        retrieved = listed_ids(rows.column("retrieved_ids"), "retrieved_ids", part.first)
        top = retrieved.where(retrieved.places < self.k).once()
        tables = [top.counts(retrieved=None, ranks=top.places + 1)]
        tables += [_score_sums(top, name, part) for name in self.scores]
        if "answer" in self.has:
            shown = retrieved
            if "context_ids" in self.has:
                shown = listed_ids(rows.column("context_ids"), "context_ids", part.first)
            tables.append(shown.where(cited_ids(rows.column("answer"), shown)).once().counts(cited=None))
        if "relevant_ids" in self.has:
            judged = listed_ids(rows.column("relevant_ids"), "relevant_ids", part.first)
            tables.append(judged.where(_relevant(part, judged)).once().counts(relevant=None))
        n, short = int(retrieved.valid.sum()), int((retrieved.sizes[retrieved.valid] < self.k).sum())
        return PartCounts(np.array([n, rows.num_rows - n, short]), tables)

    def add_up(self, _: pa.Schema, parts: Iterable[PartCounts]) -> tuple[Ints, pa.Table]:
        """The sum of all parts, of scores as floats; ids become text if some parts have numbers and others text."""
        names = ["retrieved", "ranks", *(name for name, of in _OPTIONAL if of in self.has)]
        names += [f"{digit} {name}" for name in self.scores for digit in ("n", *range(3))]
        rows, nothing = np.zeros(3, np.int64), pa.nulls(0, pa.int64())
        tables = [pa.table({KEY: pa.nulls(0), **dict.fromkeys(names, nothing)})]
        for part in parts:
            rows += part.rows
            tables = fewer([*tables, *part.tables])
        table = summed(tables)
        return rows, table if len(table) else table.set_column(0, KEY, pa.nulls(0, pa.large_string()))


def _score_sums(top: ListedIds, name: str, part: LogPart) -> pa.Table:
    """The number and the sums of the digits of the scores of the rows that hold each id."""
    values = floats_of_arrow(part.rows.column(name), name)
    for row in np.flatnonzero(np.abs(values) > _MOST):
        value = f"{values[row]:g} is not a score; expected at most ±2**32"
        raise InputError(f"column {name!r}, row {part.first + int(row)}: {value}")
    known, rest, columns = ~np.isnan(values), np.nan_to_num(values), {}
    for digit, unit in enumerate(_DIGITS):
        whole = np.rint(rest / unit)
        columns[f"{digit} {name}"], rest = whole[top.rows], rest - whole * unit
    return top.counts(**{f"n {name}": known[top.rows].astype(np.int64)}, **columns)


def _relevant(part: LogPart, relevant: ListedIds) -> Flags:
    """Which of the judged ids are relevant."""
    every = np.ones(len(relevant.codes), np.bool_)
    if "relevance" not in part.rows.schema.names or pa.types.is_null(part.rows.column("relevance").type):
        return every
    grades = part.rows.column("relevance")
    graded = numpy_values(grades.is_valid()) & relevant.valid
    lengths = numpy_values(pc.list_value_length(grades), null=0)
    wrong = np.flatnonzero(graded & (relevant.sizes != lengths))
    if wrong.size:
        row = int(wrong[0])
        of = f"expected a grade for each of {relevant.sizes[row]} relevant ids, got {lengths[row]:g}"
        raise ColumnError(f"column 'relevance', row {part.first + row}: {of}")
    flat = grades.filter(_flags(graded)).flatten()
    every[graded[relevant.rows]] = numpy_values(flat.cast(pa.float64()), null=0) >= 1
    return every


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
    """One row per chunk, most used first: ``chunk``, ``retrieved`` (rows), ``mean_rank`` (from 1), and more.

    Further columns are ``cited`` and ``relevant`` (rows whose answer cites the chunk, whose ``relevant_ids`` contain
    it), and ``mean_<score>``, the mean over the rows that retrieved the chunk.
    """

    def to_dict(self) -> dict[str, object]:
        """All figures and lists of ids, and at most 20 ``most_used`` chunks of the table."""
        head = self.table.slice(0, _LISTED)
        return {**plain(self), "most_used": [row for row in head.to_pylist() if row.get("retrieved")]}

    def grids(self) -> list[Grid]:
        """The figures, and the chunks used most."""
        hubs = ("hubs", len(self.hubs))
        figures = [item for item in plain(self).items() if isinstance(item[1], int | float)]
        return [lines_of([*figures, hubs], "figure=0", "value=1"), head_of(self.table, _SHOWN)]

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        unknown = list(map(repr, self.unknown_ids))
        return said(
            Note("rankings", n=self.rows, k=self.k),
            self.missing and Note("left_out", n=self.missing, why="a ranking"),
            self.total_chunks is None and Note("unused_unknown"),
            self.unused_ids and Note("never_retrieved", ids=list(map(str, self.unused_ids))),
            self.unknown_chunks and Note("unknown_chunks", n=self.unknown_chunks, ids=unknown[:3]),
        )


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
    if not is_paths(log) and is_column(log):
        log = {"retrieved_ids": log}
    log = open_log(log, ["retrieved_ids"], optional, score_names, how)
    total = None if chunks is None else chunk_ids(chunks, chunk_column)[0]
    counter = ChunkCounter(log.has, tuple(score_names), k)
    rows, table = log.parts(counter.count, counter.add_up, workers)
    return _result(rows, table, total, counter, share)


def _result(rows: Ints, table: pa.Table, total: pa.Array | None, counter: ChunkCounter, share: float) -> ChunkUse:
    """The figures of all chunks, or without a table of them of those in the log."""
    strange = pa.nulls(0, pa.large_string())
    if total is not None:
        both, n = summed([pa.table({KEY: total}), table]), len(total)
        table, others = both.slice(0, n), both.slice(n)
        strange = others[KEY].filter(_flags(_numbers(others, "retrieved") > 0))
        if len(strange) and not _numbers(table, "retrieved").any():
            such = repr(table[KEY][0].as_py()) if n else "none"
            unknown = f"no retrieved id, such as {strange[0].as_py()!r}, matches a chunk id, such as {such}"
            raise InputError(f"{unknown}; name the column of chunk ids with ", Argument("chunk_column"))
    table = table.sort_by([("retrieved", "descending"), (KEY, "ascending")]).combine_chunks()
    counts = {name: _numbers(table, name) for name in table.column_names[1:]}
    retrieved, used = counts["retrieved"], counts["retrieved"] > 0
    of = retrieved if total is not None else retrieved[used]
    uncited = used & (counts["cited"] == 0) if "cited" in counts else None
    pick = partial(_listed, table[KEY])
    means: dict[str, tuple[Any, Ints]] = {"mean_rank": (counts["ranks"], retrieved)}
    for name in counter.scores:
        sums = sum(counts[f"{digit} {name}"] * unit for digit, unit in enumerate(_DIGITS))
        means[f"mean_{name}"] = sums, counts[f"n {name}"]
    columns = {name: table[name] for name in ("retrieved", "cited", "relevant") if name in counts}
    for name, (sums, counted) in means.items():
        mean = np.divide(sums, counted, out=np.full(len(counted), np.nan), where=counted > 0)
        columns[name] = arrow_numbers(mean, pa.float64())
    n, n_used = len(table), int(used.sum())
    return ChunkUse(
        k=counter.k,
        rows=int(rows[0]),
        missing=int(rows[1]),
        short=int(rows[2]),
        total_chunks=None if total is None else n,
        used_chunks=n_used,
        unused_chunks=None if total is None else n - n_used,
        utilization_rate=n_used / n if total is not None and n else float("nan"),
        share=share,
        never_cited=None if uncited is None else int(uncited.sum()),
        unknown_chunks=len(strange),
        unused_ids=None if total is None else pick(~used),
        never_cited_ids=None if uncited is None else pick(uncited),
        hubs=pick(retrieved > (of.mean() + 2 * of.std() if len(of) else 0)),
        unknown_ids=sorted(strange.to_pylist())[:_EXAMPLES],
        table=pa.table({"chunk": table[KEY], **columns}),
        **figures(of, share),  # type: ignore[arg-type]
    )


def _listed(ids: pa.ChunkedArray, which: Flags) -> list[Any]:
    return list(ids.filter(_flags(which)).to_pylist())


def _flags(values: Flags) -> pa.Array:
    return arrow_numbers(values, pa.bool_())


def _numbers(table: pa.Table, name: str) -> Ints:
    numbers: Ints = numpy_values(table[name].combine_chunks())
    return numbers


def _integers(values: Any) -> pa.Array:
    return arrow_numbers(values.astype(np.int64, copy=False), pa.int64())
