"""The numbers of local models, stored in columns, as metrics: entailment, relevance of contexts, BERTScore.

``fastmetrics models`` writes these columns (``models/local_models.py``); each metric is the column itself, with its
bounds and its direction, so that a summary, a comparison and a gate treat it like any other score.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.options import MOST, Whole
from fastmetrics.metrics.batch import Number
from fastmetrics.metrics.metric import metric

RELEVANCE = "context_relevance"
"""The column of a reranker's scores, one for each context."""


@metric(
    bounds=(0, 1),
    better="higher",
    source="SummaC, Laban 2022: a model of entailment on pairs of sentences and passages",
    usual=False,
    cues={"nli": "", "summac": "", "alignscore": ""},
)
def entailment(entailment: Number) -> Floats:
    """The probability, by a local model, that the contexts entail the answer's sentences.

    ``fastmetrics models entailment`` writes the column.

    >>> import fastmetrics as fm
    >>> fm.entailment([0.25, None])
    array([0.25,  nan])
    """
    return entailment.values


@metric(bounds=(0, 1), better="lower", source="a model of entailment", usual=False)
def contradiction(contradiction: Number) -> Floats:
    """The probability, by a local model, that the contexts contradict the answer's sentences.

    ``fastmetrics models entailment`` writes the column, of a model with such a label.

    >>> import fastmetrics as fm
    >>> fm.contradiction([0.25, None])
    array([0.25,  nan])
    """
    return contradiction.values


@metric(
    bounds=(-np.inf, np.inf),
    better="higher",
    source="a cross-encoder of questions and passages (Nogueira 2019)",
    usual=False,
    cues=["reranker", "rerank", "cross_encoder"],
)
def context_relevance(
    context_relevance: list[float],
    *,
    k: Annotated[int | None, Whole(1, MOST), "contexts of each row to count; None for all"] = None,
) -> float | None:
    """The mean relevance to the question of the first ``k`` contexts, by a local reranker; undefined without any.

    ``fastmetrics models rerank`` writes the column: a list with one number for each context, on the model's scale.

    >>> import fastmetrics as fm
    >>> fm.context_relevance([[0.5, 0.25, 0.0], [], None], k=2)
    array([0.375,   nan,   nan])
    """
    first = [number for number in context_relevance[:k] if number is not None]
    return sum(first) / len(first) if first else None


_bert_score = metric(
    bounds=(-np.inf, np.inf),
    better="higher",
    source="BERTScore, Zhang 2020; the package bert-score",
    usual=False,
    cues={"bert_score": "`fastmetrics models bert-score` writes their columns", "bertscore": ""},
)


@_bert_score
def bert_score_precision(bert_score_precision: Number) -> Floats:
    """BERTScore's precision: how well the answer's tokens match the reference's, by the vectors of a local model.

    ``fastmetrics models bert-score`` writes the column.

    >>> import fastmetrics as fm
    >>> fm.bert_score_precision([0.75])
    array([0.75])
    """
    return bert_score_precision.values


@_bert_score
def bert_score_recall(bert_score_recall: Number) -> Floats:
    """BERTScore's recall: how well the reference's tokens are matched in the answer, by the vectors of a local model.

    ``fastmetrics models bert-score`` writes the column.

    >>> import fastmetrics as fm
    >>> fm.bert_score_recall([0.5])
    array([0.5])
    """
    return bert_score_recall.values


@_bert_score
def bert_score_f1(bert_score_f1: Number) -> Floats:
    """BERTScore's F1: the harmonic mean of ``bert_score_precision`` and ``bert_score_recall``.

    ``fastmetrics models bert-score`` writes the column.

    >>> import fastmetrics as fm
    >>> fm.bert_score_f1([0.6])
    array([0.6])
    """
    return bert_score_f1.values
