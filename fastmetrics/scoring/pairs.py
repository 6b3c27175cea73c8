"""``fm.scoring.pairwise_scores``: one metric of all pairs of two columns of texts, in blocks that count each text once.

**All pairs.** ``pairwise_scores`` calls the function of the metric, so the formulas and the bits are those of rows;
only the counts are computed otherwise. The k-th occurrence of an n-gram in a text is a feature with a number, and the
overlap of two texts is the number of features that they share. The references of a block are numbered once, and a
candidate adds one to the references that have each of its features. Features of an eighth of the references or more are
bits, 64 of which are compared at a time. The command writes rows (candidate, reference, score): a wide table of
thousands of columns suits no tool, and every format can hold rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats
from fastmetrics.base.columns import as_array, check_type
from fastmetrics.base.errors import Argument, ColumnError, OptionError, quoted, warn_of
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.limits import SIZES
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.metrics.batch import Batch, sides
from fastmetrics.metrics.metric import REGISTRY, Metric, caution_name
from fastmetrics.metrics.notes import caution_notes
from fastmetrics.metrics.plan import Score, parse
from fastmetrics.metrics.suites import function_of
from fastmetrics.tables.opening import is_paths, open_table
from fastmetrics.tables.outputs import check_without_target, table_target, write_whole
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.text.tokenize import Vocabularies

T = TypeVar("T")


@dataclass(frozen=True)
class AllPairs:
    """A metric of two texts, and the canonical names of its columns of candidates and of references."""

    score: Score
    candidate: str
    reference: str
    threads: int

    def fill(self, candidates: pa.Array, references: pa.Array, scores: Floats) -> None:
        """Write the score of each pair to ``scores``, for some thousand texts of each side at a time."""
        most = SIZES.crossed_bytes // max(1, _orders(self.score))
        for rows in _cuts(candidates, SIZES.batch_bytes):
            for others in _cuts(references, most):
                self._fill_block(candidates[rows], references[others], scores[rows, others])

    def _fill_block(self, candidates: pa.Array, references: pa.Array, scores: Floats) -> None:
        sides_of = _Sides(self.score, self._by_column(candidates, references))
        every = np.arange(len(references))
        together = max(1, SIZES.crossed_pairs // len(references))
        starts = range(0, len(candidates), together)
        blocks = [slice(start, min(start + together, len(candidates))) for start in starts]

        def compute(rows: slice) -> Floats:
            computed = sides_of.scores(self._by_column(*sides(np.arange(len(candidates))[rows], every)))
            return computed.reshape(-1, len(every))

        for _ in ordered(compute, [slice(0, 0)], 1):  # what all blocks share is computed once, for no candidate
            pass
        for rows, block in zip(blocks, ordered(compute, blocks, self.threads), strict=True):
            scores[rows] = block

    def warn(self, candidates: pa.Array, references: pa.Array) -> None:
        """Hand on the notes on the pairs of these texts: a caution concerns a pair if it concerns one of its texts."""
        score, counts = self.score, {}
        texts_of = self._by_column(candidates, references)
        found = [Batch({column: texts}).read(score.options) for column, texts in texts_of.items()]
        present = [batch.present(column) for batch in found for column in batch.columns]
        for place, caution in enumerate(score.metric.cautions(score.options)):
            if caution.rows is not None:
                concerned = [caution.rows(batch, score.options, batch.columns) for batch in found]
                free = [
                    int(np.count_nonzero(some if rows is None else some & ~rows))
                    for some, rows in zip(present, concerned, strict=True)
                ]
                pairs = math.prod(int(np.count_nonzero(some)) for some in present)
                counts[caution_name(score.name, place)] = [pairs - math.prod(free), pairs]
        warn_of(caution_notes(counts, {score.name: score}))

    def _by_column(self, of_candidates: T, of_references: T) -> dict[str, T]:
        return {self.candidate: of_candidates, self.reference: of_references}


class _Sides:
    """The texts of both sides, with the representations that the metric needs."""

    def __init__(self, score: Score, texts: dict[str, pa.Array]) -> None:
        words, prepare = Vocabularies(), score.metric.rows.prepare
        batches = {column: Batch({column: array}, words=words).read(score.options) for column, array in texts.items()}
        if prepare is not None:
            batches = {column: prepare(batch, score.options) for column, batch in batches.items()}
        self._score, self._batches = score, batches

    def scores(self, pairs: dict[str, Any]) -> Floats:
        """The score of each pair, NaN where a text is missing."""
        options, arguments, present = self._score.options, {}, np.True_
        for column, side in pairs.items():
            need: Any = self._score.metric.needs[column]
            batch = self._batches[column]
            arguments[column] = need.crossed(need.of(batch, column, options), side)
            present = present & batch.present(column)[side.rows]
        return np.where(present, self._score.metric.function(**arguments, **self._score.metric.own(options)), np.nan)


def _orders(score: Score) -> int:
    """The lengths of n-grams that the options add up to, 0 without such options."""
    orders = (value for name, value in score.options.items() if name.endswith("_order"))
    return sum(value for value in orders if not isinstance(value, bool))


def _cuts(texts: pa.Array, most_bytes: int) -> Iterator[slice]:
    """Ranges of the texts, of at most ``SIZES.batch_rows`` texts and ``most_bytes`` bytes, or of one text."""
    ends = np.cumsum(pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + most_bytes, side="right"))
        stop = min(max(stop, start + 1), start + SIZES.batch_rows)
        yield slice(start, min(stop, len(ends)))
        start = stop


@dataclass(frozen=True)
class PairwiseFile:
    """The result of ``pairwise_scores`` with an ``output``: the numbers of candidates and of references."""

    candidates: int
    references: int


def pairwise_scores(
    candidates: Annotated[
        Any, Help("A column of texts, or the path of a file, of which the column ``answer`` is read.")
    ],
    references: Annotated[Any, Help("Likewise; of a file, the column ``reference``.")],
    metric: Annotated[str, Help("The name of a metric, optionally with options.")],
    *,
    output: shared.Output = None,
    columns: shared.Columns = None,
    threads: shared.Threads = None,
    overwrite: shared.Overwrite = False,
) -> Any:
    """Score every candidate against every reference: a matrix of float64, candidates × references.

    Each score has the bits of the metric's own function for that pair.  ``metric`` is a metric of two texts, optionally
    with options: BLEU, chrF, ROUGE, or one of tokens: ``"chrf(word_order=2)"``, ``"token_f1"``.  Both arguments are
    columns of texts, and may be the same column.  The score is NaN where a text is missing or the metric is undefined.
    ``jaccard`` compares the candidates as answers with the references as questions.

    The candidate with the highest mean over the others is that of minimum Bayes risk (MBR) decoding:

    >>> import numpy as np, fastmetrics as fm
    >>> samples = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs bark"]
    >>> scores = fm.scoring.pairwise_scores(samples, samples, "chrf")
    >>> np.fill_diagonal(scores, np.nan)
    >>> samples[np.nanmean(scores, axis=1).argmax()]
    'the cat sat on the mat'

    With ``output``, the scores are written as rows (candidate, reference, score), of all references of the first
    candidate, then of the second; the first two are row numbers from 0.  Undefined scores are null.  Time grows with
    the pairs: about a million pairs of 60 words a second for each thread.

    Raises ``OptionError`` for a metric that does not compare two texts, ``UnknownNameError`` for an unknown one,
    ``ColumnError`` for a column that is missing or holds no text, lists included, ``InputError`` for text that is not
    UTF-8, ``FileFormatError`` for a file with a bad row, ``OutputError`` if the output cannot be written.
    """
    score, workers = _parsed(metric), cores(threads)
    paths = [table for table in (candidates, references) if is_paths(table, or_column=True)]
    if output is None:
        check_without_target(overwrite=overwrite)
    place = None if output is None else table_target(output, paths, overwrite=overwrite)
    (other,) = set(score.metric.needs) - {_CANDIDATE}
    pairs = AllPairs(score, _CANDIDATE, other, workers)
    first = _texts(candidates, "candidates", _CANDIDATE, columns)
    second = _texts(references, "references", other, columns)
    pairs.warn(first, second)
    if place is None:
        scores = np.empty((len(first), len(second)))
        pairs.fill(first, second, scores)
        return scores
    reader = pa.RecordBatchReader.from_batches(_SCHEMA, _long(first, second, pairs))
    write_whole(reader, place, {"pairwise_scores": score.spec}, {"candidate", "reference"})
    return PairwiseFile(len(first), len(second))


_CANDIDATE = "answer"
"""The column of a metric that the candidates are."""

_SCHEMA = pa.schema([("candidate", pa.int64()), ("reference", pa.int64()), ("score", pa.float64())])


def _long(first: pa.Array, second: pa.Array, pairs: AllPairs) -> Iterator[pa.RecordBatch]:
    """All scores as rows, computed for some candidates at a time, in batches of one candidate or more."""
    computed = max(1, SIZES.written_pairs // max(len(second), 1))
    together = max(1, SIZES.crossed_pairs // max(len(second), 1))
    for start in range(0, len(first), computed):
        some = first.slice(start, computed)
        scores = np.empty((len(some), len(second)))
        pairs.fill(some, second, scores)
        for row in range(0, len(some), together):
            block = scores[row : row + together]
            candidate = np.repeat(np.arange(len(block)) + start + row, len(second))
            reference = np.tile(np.arange(len(second)), len(block))
            yield pa.record_batch([candidate, reference, block.ravel()], schema=_SCHEMA)


def _served() -> list[Metric]:
    """The metrics of two texts whose counts are computed for all pairs."""
    return [
        metric
        for metric in REGISTRY.values()
        if metric.level == "row" and len(metric.required) == len(metric.needs) == 2 and metric.rows.fit is None
        if _CANDIDATE in metric.needs and all(hasattr(need, "crossed") for need in metric.needs.values())
    ]


def _parsed(metric: str) -> Score:
    """The metric with its options; raises ``OptionError`` for one that is not served."""
    if not isinstance(metric, str):
        raise OptionError(Argument("metric", metric), ": expected the name of a metric, such as 'chrf'")
    score = parse(metric)
    served = _served()
    if score.metric.name not in [each.name for each in served]:
        names = dict.fromkeys(function_of(each.name) for each in served)
        listed = ", ".join("rouge1_f1 ... rougeLsum_recall" if name == "rouge" else name for name in names)
        raise OptionError(f"metric {score.spec!r} is not computed for all pairs of texts; expected one of {listed}")
    return score


def _texts(values: Any, name: str, column: str, columns: Mapping[str, str] | None) -> pa.Array:
    """One text a row, from a column or from the file at a path."""
    if is_paths(values, or_column=True):
        source = open_table(values, name=name, or_column=True)
        mapping = {canonical: own for canonical, own in (columns or {}).items() if canonical == column}
        own = resolve(source.names, mapping, needed={column}).get(column)
        if own is None:
            at = Argument("columns", {column: ...})
            present = quoted(source.names)
            raise ColumnError(f"{name}: needs the column {column!r}; name it with ", at, f"; it has: {present}")
        values, name = whole_table(source, {own: "text"})[own], own
    array = as_array(values, name)
    check_type("", name, "text", array.type)
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
