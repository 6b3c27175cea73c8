"""Which questions of a log got an answer: one that says something, and does not say "I don't know"."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags
from fastmetrics.declaration.batch import Batch
from fastmetrics.metrics.abstention import PHRASES, RefusalsIn, abstained


def abstains(answers: pa.Array) -> Flags:
    """Which answers say, as a whole, that they do not know: those that ``abstained`` gives 1."""
    refusals = RefusalsIn().of(Batch({"answer": answers}), "answer", {"phrases": PHRASES})
    found: Flags = abstained(refusals, phrases=PHRASES) == 1
    return found


def answered(answers: pa.Array) -> Flags:
    """Which rows have an answer that is neither missing nor blank, and does not abstain."""
    some = np.asarray(pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(answers.fill_null(""))), 0))
    return some & ~abstains(answers)
