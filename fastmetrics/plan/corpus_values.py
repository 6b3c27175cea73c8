"""What counts added up over a table come to: the values of corpus metrics, and notes for the reader of scores."""

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
"""Gives the scores of a column, or the lists that a run keeps in one, batch by batch, anew at each call."""


def columns_read(names: Iterable[str]) -> list[str]:
    """The columns of scores and of kept lists of which the corpus metrics asked for by these names are made."""
    return list(dict.fromkeys(column for name in names for column in _columns_of(parse(name))))


def _columns_of(asked: Score) -> tuple[str, ...]:
    return asked.metric.reads(asked.options) if asked.metric.keeps is None else (asked.metric.keeps,)


def lists_read(names: Iterable[str]) -> list[str]:
    """The columns of kept lists among those that these corpus metrics are made of."""
    return list(dict.fromkeys(kept for kept in (parse(name).metric.keeps for name in names) if kept is not None))


def is_corpus(name: str) -> bool:
    """Whether a corpus metric goes by this name, which may have options."""
    try:
        return parse(name).metric.corpus is not None
    except FastmetricsError:
        return False


def is_counted(name: str) -> bool:
    """Whether a corpus metric goes by this name that is made of counts of rows, not of their scores or of all at once.

    >>> is_counted("corpus_bleu(tokenizer='char')"), is_counted("bleu"), is_counted("aurc")
    (True, False, False)
    """
    return is_corpus(name) and not columns_read([name])


def many_values(name: str, sums: Ints) -> Floats:
    """The values of the corpus metric that was asked for as ``name``, one for each row of sums of its counts."""
    asked = parse(name)
    return values_of(asked.metric, sums, asked.options)


def finish_counts(name: str, counts: Sequence[int], values: Values) -> dict[str, float]:
    """The value of the corpus metric that was asked for as ``name``: from its added counts, or the columns it reads.

    A metric of several ``figures`` has a value for each, under its name and theirs: ``rater_agreement.n_units``.
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
    """The values of corpus metrics, and notes on those that read scores or lists not among the ``columns``."""
    lacking = {name: [one for one in columns_read([name]) if one not in columns] for name in counts}
    notes = [
        f"left out: {name}, as it reads {'the scores' if not lists_read([name]) else 'the column'} {', '.join(lost)}"
        for name, lost in lacking.items()
        if lost
    ]
    able = [name for name, lost in lacking.items() if not lost]
    finished = [finish_counts(name, counts[name], values) for name in able]
    return {name: value for figures in finished for name, value in figures.items()}, notes


def together(values: Values, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The scores of several columns side by side, whatever batches each comes in."""
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
    """What a reader must know of scores: ``counts`` has, for each that has a caution, ``[rows, scored rows]``.

    ``common`` are the options of all metrics that have them and whose name sets no other.
    """
    asked = {name: parse(name, common) for name, (rows, _) in counts.items() if rows}
    speaking = [(name, one, one.metric.caution) for name, one in asked.items()]
    cautions = {name: (caution(one.options), one.options) for name, one, caution in speaking if caution is not None}
    return notes(counts, {name: (said, options) for name, (said, options) in cautions.items() if said is not None})
