"""The values of corpus metrics from summed counts, and notes for the reader of scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.cautions import notes
from fastmetrics.declaration.formula import values_of
from fastmetrics.errors import FastmetricsError
from fastmetrics.plan.plan import Score, parse

Values: TypeAlias = Callable[[str], Iterable[Any]]
"""Returns the scores of a column, or the lists stored in one, batch by batch at each call."""


def columns_read(names: Iterable[str]) -> list[str]:
    """The columns of scores and stored lists that these corpus metrics read."""
    return list(dict.fromkeys(column for name in names for column in _columns_of(parse(name))))


def _columns_of(asked: Score) -> tuple[str, ...]:
    return asked.metric.reads(asked.options) if asked.metric.keeps is None else (asked.metric.keeps,)


def lists_read(names: Iterable[str]) -> list[str]:
    """The columns of stored lists that these corpus metrics read."""
    return list(dict.fromkeys(kept for kept in (parse(name).metric.keeps for name in names) if kept is not None))


def is_corpus(name: str) -> bool:
    """Whether this name, optionally with options, is a corpus metric."""
    try:
        return parse(name).metric.corpus is not None
    except FastmetricsError:
        return False


def is_counted(name: str) -> bool:
    """Whether this name is a corpus metric based on counts of rows, rather than on scores or on all rows at once.

    >>> is_counted("corpus_bleu(tokenizer='char')"), is_counted("bleu"), is_counted("aurc")
    (True, False, False)
    """
    return is_corpus(name) and not columns_read([name])


def many_values(name: str, sums: Ints) -> Floats:
    """The values of the corpus metric ``name``, one for each row of summed counts."""
    asked = parse(name)
    return values_of(asked.metric, sums, asked.options)


def finish_counts(name: str, counts: Sequence[int], values: Values) -> dict[str, float]:
    """The value of the corpus metric ``name``, from its summed counts or from the columns it reads.

    A metric with several ``figures`` has a value for each, named ``rater_agreement.n_units``.
    """
    asked = parse(name)
    assert asked.metric.corpus is not None
    names = _columns_of(asked)
    made_of = partial(together, values, names) if names else counts
    found = asked.metric.corpus.finish(made_of, **asked.options)
    if not hasattr(found, "figures"):
        return {name: float(found.score)}
    return {f"{name}.{figure}": float(value) for figure, value in found.figures.items()}


def finish_all(
    counts: Mapping[str, Sequence[int]], values: Values, columns: Collection[str]
) -> tuple[dict[str, float], list[str]]:
    """The values of corpus metrics, and notes on those that need scores or lists not among the ``columns``."""
    lacking = {name: [one for one in columns_read([name]) if one not in columns] for name in counts}
    notes = [
        f"left out: {name}, which needs {'the scores' if not lists_read([name]) else 'the column'} {', '.join(lost)}"
        for name, lost in lacking.items()
        if lost
    ]
    able = [name for name, lost in lacking.items() if not lost]
    finished = [finish_counts(name, counts[name], values) for name in able]
    return {name: value for figures in finished for name, value in figures.items()}, notes


def together(values: Values, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The scores of several columns combined, even if their batches differ."""
    streams = [iter(values(name)) for name in names]
    held: list[Any] = [np.empty(0) for _ in names]
    while True:
        for at, stream in enumerate(streams):
            while not len(held[at]):
                more = next(stream, None)
                if more is None:
                    return
                held[at] = more
        size = min(map(len, held))
        yield tuple(one[:size] for one in held)
        held = [one[size:] for one in held]


def caution_notes(counts: Mapping[str, Sequence[int]], common: Mapping[str, Any]) -> list[str]:
    """The notes on scores: ``counts`` has ``[rows, scored rows]`` for each score with a caution.

    ``common`` are the options of all metrics that have them, unless a metric's name sets its own.
    """
    asked = {name: parse(name, common) for name, (rows, _) in counts.items() if rows}
    speaking = [(name, one, one.metric.caution) for name, one in asked.items()]
    cautions = {name: (caution(one.options), one.options) for name, one, caution in speaking if caution is not None}
    return notes(counts, {name: (said, options) for name, (said, options) in cautions.items() if said is not None})
