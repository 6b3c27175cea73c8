"""What counts added up over a table come to: the values of corpus metrics, and notes for the reader of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastmetrics.declaration.cautions import notes
from fastmetrics.plan.plan import parse


def finish_counts(name: str, counts: Sequence[int]) -> float:
    """The value of the corpus metric that was asked for as ``name``, from its added counts."""
    asked = parse(name)
    assert asked.metric.finish is not None
    return float(asked.metric.finish(counts, **asked.options).score)


def caution_notes(counts: Mapping[str, Sequence[int]], common: Mapping[str, Any]) -> list[str]:
    """What a reader must know of scores: ``counts`` has, for each that has a caution, ``[rows, scored rows]``.

    ``common`` are the options of all metrics that have them and whose name sets no other.
    """
    asked = {name: parse(name, common) for name, (rows, _) in counts.items() if rows}
    speaking = [(name, one, one.metric.caution) for name, one in asked.items()]
    cautions = {name: (caution(one.options), one.options) for name, one, caution in speaking if caution is not None}
    return notes(counts, {name: (said, options) for name, (said, options) in cautions.items() if said is not None})
