"""Answered questions of a log: the answer is not blank and does not abstain ("I don't know")."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags, text_of_arrow
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.declaration.batch import Batch
from fastmetrics.metrics.abstention import PHRASES, RefusalsIn, abstained

_SPACE, _ASCII_END = ord(" "), 0x80


def abstains(answers: pa.Array) -> Flags:
    """Which answers abstain: those with the score 1 of the metric ``abstained``."""
    flags, size = np.zeros(len(answers), np.bool_), SIZES.log_answers
    for start in range(0, len(answers), size):
        batch = Batch({"answer": answers.slice(start, size)})
        refusals = RefusalsIn().of(batch, "answer", {"phrases": PHRASES})
        flags[start : start + size] = abstained(refusals) == 1
    return flags


def blank(texts: pa.Array) -> Flags:
    """Which texts are missing or contain only white space.

    Only texts whose first byte is white space are examined completely.
    """
    text = text_of_arrow(texts, "text")
    is_blank = ~text.valid | (text.starts == text.stops)
    some = np.flatnonzero(~is_blank)
    head = text.data[text.starts[some]]
    doubtful = some[(head <= _SPACE) | (head >= _ASCII_END)]
    trimmed = pc.utf8_trim_whitespace(texts.take(pa.array(doubtful)))
    is_blank[doubtful] = np.asarray(pc.equal(pc.binary_length(trimmed), 0))
    return is_blank


def answered(answers: pa.Array) -> Flags:
    """Which rows have an answer that is neither missing nor blank, and does not abstain."""
    return ~blank(answers) & ~abstains(answers)
