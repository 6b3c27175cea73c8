"""The values of corpus metrics from summed counts, and notes for the reader of scores.

**Metrics that need all rows at once**, such as repeats of a question, the geometry of vectors and the agreement of
raters, are computed from a column of lists of integers that a run stores beside the scores: 16-byte keys of texts and
ids, or the bits of vectors and ratings. Metrics that need the same data share the column. After all rows are scored,
the column is read twice. Repeats hold 24 bytes per row and the rows that repeat in memory, geometry and agreement hold
the whole column. Rows keep the order of the input, so engines, threads and parts do not change the result.

**Resampling corpus metrics** takes the counts of each row, which a run stores only on request because they are large.
Several columns of counts share a 64-bit word, and equal columns are stored once, so the kernels that resample scores
also resample counts, with the same draws. Metrics that are resampled often have a vectorised formula beside ``finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.errors import FastmetricsError
from fastmetrics.metrics.metric import values_of
from fastmetrics.metrics.score_names import Score, parse
from fastmetrics.plans.notes import caution_notes

Values: TypeAlias = Callable[[str], Iterable[Any]]
"""Returns the scores of a column, or the lists stored in one, batch by batch at each call."""


Specs: TypeAlias = Mapping[str, str]
"""The specs of scores with a name of the user's own, by name; other names are specs themselves."""


def columns_of_corpus(specs: Iterable[str]) -> list[str]:
    """The columns of scores and stored lists that these corpus metrics read; none for unknown metrics."""
    scores = filter(None, map(_corpus, specs))
    return list(dict.fromkeys(column for score in scores for column in _columns_of(score)))


def _columns_of(score: Score) -> tuple[str, ...]:
    if score.metric.keeps is not None:
        return (score.metric.keeps,)
    return tuple(parse(spec).name for spec in score.metric.reads(score.options))


def lists_read(specs: Iterable[str]) -> list[str]:
    """The columns of stored lists that these corpus metrics read."""
    columns = [score.metric.keeps for score in filter(None, map(_corpus, specs))]
    return list(dict.fromkeys(column for column in columns if column is not None))


def _corpus(spec: str) -> Score | None:
    """The corpus metric that a spec means, if it does."""
    try:
        score = parse(spec)
    except FastmetricsError:
        return None
    return None if score.metric.corpus is None else score


def is_corpus(spec: str) -> bool:
    """Whether this spec is a corpus metric."""
    return _corpus(spec) is not None


def is_counted(spec: str) -> bool:
    """Whether this spec is a corpus metric based on counts of rows, rather than on scores or on all rows at once.

    >>> is_counted("corpus_bleu(tokenizer='char')"), is_counted("bleu"), is_counted("aurc")
    (True, False, False)
    """
    score = _corpus(spec)
    return score is not None and not _columns_of(score)


def many_values(spec: str, sums: Ints) -> Floats:
    """The values of a corpus metric, one for each row of summed counts."""
    score = parse(spec)
    return values_of(score.metric, sums, score.options)


def finished(score: Score, counts: Sequence[int], values: Values) -> Any:
    """The value of a corpus metric, from its summed counts or from the columns it reads."""
    assert score.metric.corpus is not None
    columns = _columns_of(score)
    inputs = partial(together, values, columns) if columns else counts
    return score.metric.corpus.finish(inputs, **score.metric.own(score.options))


def _figures(name: str, value: Any) -> dict[str, float]:
    """The figures of a corpus metric by name; one with several has ``rater_agreement.n_units`` and so on."""
    if not hasattr(value, "figures"):
        return {name: float(value.score)}
    return {f"{name}.{figure}": float(number) for figure, number in value.figures.items()}


def finish_all(
    counts: Mapping[str, Sequence[int]], values: Values, columns: Collection[str], specs: Specs
) -> tuple[dict[str, float], list[str]]:
    """The values of corpus metrics, and notes: cautions, unknown metrics, and columns not among ``columns``."""
    results: dict[str, float] = {}
    remarks = []
    cautioned: dict[str, list[int]] = {}
    scores: dict[str, Score] = {}
    for name, sums in counts.items():
        score = _corpus(specs.get(name, name))
        if score is None:
            remarks.append(f"left out: {name}, a corpus metric that is unknown here; load the plugin that declares it")
            continue
        lost = [column for column in _columns_of(score) if column not in columns]
        if lost:
            what = "the scores" if score.metric.keeps is None else "the column"
            remarks.append(f"left out: {name}, which needs {what} {', '.join(lost)}")
            continue
        value = finished(score, sums, values)
        results |= _figures(name, value)
        cautioned |= cautions_of(name, value)
        scores[name] = score
    return results, [*remarks, *caution_notes(cautioned, scores)]


def cautions_of(name: str, value: Any) -> dict[str, list[int]]:
    """The rows that the caution of a corpus metric concerns, if only its value tells them."""
    return {name: value.cautioned} if hasattr(value, "cautioned") else {}


def together(values: Values, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The scores of several columns combined, even if their batches differ."""
    streams = [iter(values(name)) for name in names]
    buffers: list[Any] = [np.empty(0) for _ in names]
    while True:
        for at, stream in enumerate(streams):
            while not len(buffers[at]):
                more = next(stream, None)
                if more is None:
                    return
                buffers[at] = more
        size = min(map(len, buffers))
        yield tuple(buffer[:size] for buffer in buffers)
        buffers = [buffer[size:] for buffer in buffers]
