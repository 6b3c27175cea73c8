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
from fastmetrics.plan.plan import parse

Values: TypeAlias = Callable[[str], Iterable[Floats]]
"""Gives the scores of a column, batch by batch, anew at each call."""


def scores_read(names: Iterable[str]) -> list[str]:
    """The columns of scores of which the corpus metrics asked for by these names are made."""
    asked = (parse(name) for name in names)
    return list(dict.fromkeys(spec for one in asked for spec in one.metric.reads(one.options)))


def is_corpus(name: str) -> bool:
    """Whether a corpus metric goes by this name, which may have options."""
    try:
        return parse(name).metric.finish is not None
    except FastmetricsError:
        return False


def is_counted(name: str) -> bool:
    """Whether a corpus metric goes by this name that is made of counts of rows, not of their scores.

    >>> is_counted("corpus_bleu(tokenizer='char')"), is_counted("bleu"), is_counted("aurc")
    (True, False, False)
    """
    return is_corpus(name) and not scores_read([name])


def many_values(name: str, sums: Ints) -> Floats:
    """The values of the corpus metric that was asked for as ``name``, one for each row of sums of its counts."""
    asked = parse(name)
    return values_of(asked.metric, sums, asked.options)


def finish_counts(name: str, counts: Sequence[int], values: Values) -> float:
    """The value of the corpus metric that was asked for as ``name``: from its added counts, or the scores it reads."""
    asked = parse(name)
    assert asked.metric.finish is not None
    names = asked.metric.reads(asked.options)
    made_of = partial(together, values, names) if names else counts
    return float(asked.metric.finish(made_of, **asked.options).score)


def finish_all(
    counts: Mapping[str, Sequence[int]], values: Values, columns: Collection[str]
) -> tuple[dict[str, float], list[str]]:
    """The values of corpus metrics, and notes on those that read scores which are not among the ``columns``."""
    lacking = {name: [one for one in scores_read([name]) if one not in columns] for name in counts}
    notes = [f"left out: {name}, as it reads the scores {', '.join(lost)}" for name, lost in lacking.items() if lost]
    return {name: finish_counts(name, counts[name], values) for name, lost in lacking.items() if not lost}, notes


def together(values: Values, names: Sequence[str]) -> Iterator[tuple[Floats, ...]]:
    """The scores of several columns side by side, whatever batches each comes in."""
    streams = [iter(values(name)) for name in names]
    held = [np.empty(0) for _ in names]
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
