"""The decision of a system on each question, to answer or to abstain, and whether the question is answerable.

**Answerable questions.** The label ``answerable`` decides. Where the label is null or absent, a question is answerable
if it has a reference that does not itself abstain. A row without a reference is unknown where the label is null, and
scored null; in a table without labels it is unanswerable, as in SQuAD 2.0. A table with neither column is not scored.
Answerability metrics are NaN on rows outside their scope, so each mean is a share of the questions that its name
states. The F1 of abstention is NaN if no question is unanswerable and no answer abstains; scikit-learn would warn and
return 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import InputError
from fastmetrics.metrics.abstention import PhrasesOption, refusals_in
from fastmetrics.metrics.batch import Batch, Number, Options, Raw
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.parameters import Either


@dataclass(frozen=True, eq=False)
class AnswerabilityFlags:
    """Per row, whether the answer abstains, and whether the question is answerable: 1, 0, or NaN if unknown."""

    abstained: Flags
    answerable: Floats


@dataclass(frozen=True)
class DecisionsIn:
    """Answers, and whether their questions are answerable."""

    convention: str = "words"
    options: ClassVar[type[PhrasesOption]] = PhrasesOption
    columns: ClassVar[Mapping[str, Any]] = {"answerable": Number, "reference": Raw}

    def of(self, batch: Batch, column: str, options: Options) -> AnswerabilityFlags:
        """The decisions under the option ``phrases``."""
        return AnswerabilityFlags(_abstained(batch, column, options), answerable(batch, options))


@dataclass(frozen=True, eq=False)
class AnswerabilityAndScore(AnswerabilityFlags):
    """Decisions, and the best score over a row's references, NaN without references."""

    score: Floats


@dataclass(frozen=True)
class AnswerabilityIn(DecisionsIn):
    """Answers, whether their questions are answerable, and their scores by another metric."""

    metric: str = ""

    def of(self, batch: Batch, column: str, options: Options) -> AnswerabilityAndScore:
        """The decisions under the option ``phrases``, and the scores."""
        decided = super().of(batch, column, options)
        return AnswerabilityAndScore(decided.abstained, decided.answerable, _scores(batch, self.metric))


def _abstained(batch: Batch, column: str, options: Options) -> Flags:
    refusals = refusals_in(batch, column, options)
    return REGISTRY["abstained"].function(refusals) > 0


def _scores(batch: Batch, name: str) -> Floats:
    """The scores of a metric of answer and reference, NaN in a table without references."""
    if "reference" not in batch.columns:
        return np.full(batch.n_rows, np.nan)
    return batch.scores(REGISTRY[name], REGISTRY[name].defaults)[0]


def answerable(batch: Batch, options: Options) -> Floats:
    """1 for an answerable question, 0 for an unanswerable one, NaN if unknown.

    The column ``answerable`` decides.  Where it is null, the references of the row decide, and a row without a
    reference is unknown.  In a table without the column, a row without a reference is unanswerable, as in SQuAD 2.0.
    """
    return batch.remember(("can be answered", tuple(options["phrases"])), lambda: _answerable(batch, options))


def _answerable(batch: Batch, options: Options) -> Floats:
    labels = np.full(batch.n_rows, np.nan)
    if "answerable" in batch.columns:
        labels = batch.numbers("answerable").values.copy()
        odd = np.flatnonzero(~np.isnan(labels) & (labels != 0) & (labels != 1))
        if odd.size:
            raise InputError(f"column 'answerable', row {odd[0]}: expected true or false, got {labels[odd[0]]:g}")
    unknown = np.isnan(labels)
    if "reference" not in batch.columns or not unknown.any():
        return labels
    text, owner = batch.text("reference"), batch.owners("reference")
    rows = np.arange(batch.n_rows) if owner is None else owner
    places = np.flatnonzero(unknown[rows] & text.valid[rows])
    references = Batch({"answer": pa.array(text.take(places).strings(), pa.large_string())})
    labels[rows[places] if "answerable" in batch.columns else unknown] = 0.0
    labels[rows[places[~_abstained(references, "answer", options)]]] = 1.0
    return labels


def _with_known_answerability(batch: Batch, options: Options) -> Flags:
    """The rows with known answerability."""
    return ~np.isnan(answerable(batch, options))


def judged_by(name: str) -> Either:
    """The required columns: ``answerable`` or ``reference``; an answerable question needs a score by ``name``."""

    def rows(batch: Batch, options: Options) -> Flags:
        can = answerable(batch, options)
        return (can == 0) | ((can == 1) & ~np.isnan(_scores(batch, name)))

    return Either(_COLUMNS, rows)


_COLUMNS = (("answerable",), ("reference",))
KNOWN_ANSWERABILITY = Either(_COLUMNS, _with_known_answerability)
"""The columns that determine answerability, and the rows for which they do."""
