"""The metrics, one file per family.  Importing this package declares them all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import pyarrow as pa

from fastmetrics.base.column_names import is_axis
from fastmetrics.base.errors import UnknownNameError, shown
from fastmetrics.metrics.judge_scores import JudgedMetric
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS, Metric
from fastmetrics.metrics.plugins import load_entry_points
from fastmetrics.metrics.source_names import instead, named

SUITES: Mapping[str, tuple[str, ...]] = {
    "lexical": ("lexical", "squad", "abstention"),
    "matching": ("matching", "choices", "numbers", "math_match"),
    "edit_distance": ("edit_distance", "ter"),
    "structure": ("structure",),
    "tools": ("tool_calls",),
    "answerability": ("abstention", "answerability", "risk"),
    "grounding": ("abstention", "grounding", "citations"),
    "generation": ("rouge", "bleu", "chrf", "corpus_chrf", "tfidf"),
    "verdict": ("hallucination", "verdict"),
    "novelty": ("novelty",),
    "writing": ("writing_components", "writing"),
    "retrieval": ("retrieval", "retrieval_consistency"),
    "semantic": ("semantic", "response_consistency", "embedding_geometry"),
    "latency_and_cost": ("latency_and_cost", "rater_agreement"),
}
"""Families of metrics by name; ``core`` is the families in ``CORE`` without ``FURTHER``, ``all`` is every family."""

CORE = ("lexical", "retrieval", "semantic", "latency_and_cost")
"""The suites computed by default: all but those that take long to compile or run."""

FURTHER = ("jaccard", "politeness")
"""Metrics of these suites that are computed on request only: they say nothing about whether an answer is good."""

COSTLY = "grounding"
"""The suite whose metrics embed text; it is computed only on request."""

_TEXTS = (*(f"rouge{kind}_f1(tokenizer='by_script')" for kind in "12L"), "bleu")
_REPEATS = ("response_exact_match_rate", "response_semantic_consistency")

TIERS: Mapping[str, tuple[str, ...]] = {
    "tier0": ("embedding_geometry",),
    "tier1": (
        *(f"hit_rate@{k}" for k in (1, 5, 10)),
        "reciprocal_rank",
        *(f"{name}@{k}" for name in ("retrieval_recall", "retrieval_precision") for k in (1, 3, 5, 10)),
        *("ndcg@5", "ndcg@10", "retrieval_consistency"),
    ),
    "tier2": ("judge_answer_faithfulness", "judge_answer_relevance", "judge_correctness", *_REPEATS, *_TEXTS),
    "tier3": (
        *("judge_e2e", "semantic_similarity", "dot_similarity", "euclidean_distance"),
        *_REPEATS,
        *_TEXTS,
    ),
    "primary": (
        *("judge_answer_faithfulness", "overlap_faithfulness", "grounding_overlap", "token_f1", "total_tokens"),
        *("latency_ms", "abstained", "idk_citations", "exact_match(tokenizer='plain')"),
    ),
}
"""The suites of the RAG benchmark's tables, and of the RAG project's: metrics of several families with their cut-offs,
and corpus metrics.
"""

FAMILIES = (
    *dict.fromkeys(family for families in SUITES.values() for family in families),
    "judge_scores",
    "local_models",
)
"""The modules that declare metrics, in the order of lists."""

ONE_FUNCTION = {"rouge": "rouge"}
"""Families of metrics that differ by a number or a part, with the public function that computes them all."""

for _family in FAMILIES:
    importlib.import_module(f"fastmetrics.metrics.{_family}")


def _family_of(metric: str) -> int:
    """The place of a metric's family in lists; that of a user's metric is behind all."""
    module = REGISTRY[metric].function.__module__
    names = [f"fastmetrics.metrics.{family}" for family in FAMILIES]
    return names.index(module) if module in names else len(names)


# Another module may have imported a family before: lists have the order of the families all the same.
_metrics = sorted(REGISTRY.items(), key=lambda item: _family_of(item[0]))
REGISTRY.clear()
REGISTRY.update(_metrics)
_spellings = sorted(SPELLINGS.items(), key=lambda item: _family_of(item[1]))
SPELLINGS.clear()
SPELLINGS.update(_spellings)
load_entry_points()


def required_columns(metric: Metric) -> str:
    """The columns that a metric needs, in words.

    >>> required_columns(REGISTRY["token_f1"]), required_columns(REGISTRY["semantic_similarity"])
    ('answer, reference', 'answer_embedding, reference_embedding')
    """
    alternatives = "" if metric.rows.either is None else str(metric.rows.either).replace("'", "")
    return ", ".join(filter(None, [*metric.required, alternatives]))


def optional_columns(metric: Metric) -> list[str]:
    """The columns that a metric reads where a table has them."""
    sets = () if metric.rows.either is None else metric.rows.either.sets
    return sorted(metric.optional - {column for group in sets for column in group})


def list_metrics() -> pa.Table:
    """The metrics, those of plugins too, as a table: what each needs, and how to read it.

    The columns are ``name``, ``family``, ``level`` (``row`` or ``corpus``), ``better`` (null without a direction), the
    bounds ``low`` and ``high``, the ``columns`` it needs, the ``optional`` ones, and the first line of its docs.

    >>> import fastmetrics as fm, pyarrow.compute as pc
    >>> found = fm.metrics.list_metrics()
    >>> found.filter(pc.equal(found["name"], "token_f1")).select(["family", "better", "columns"]).to_pylist()
    [{'family': 'lexical', 'better': 'higher', 'columns': 'answer, reference'}]
    """
    return pa.Table.from_pylist(
        [
            {
                "name": metric.name,
                "family": metric.function.__module__.rpartition(".")[2].replace("_", " "),
                "level": metric.level,
                "better": metric.better,
                "low": float(metric.bounds[0]),
                "high": float(metric.bounds[1]),
                "columns": required_columns(metric),
                "optional": optional_columns(metric),
                "summary": metric.summary.replace("`", ""),
            }
            for metric in REGISTRY.values()
        ]
    )


def function_of(name: str) -> str:
    """The public function that computes the metric ``name``.

    >>> function_of("rouge2_f1"), function_of("jaccard")
    ('rouge', 'jaccard')
    """
    return ONE_FUNCTION.get(REGISTRY[name].function.__module__.rpartition(".")[2], name)


def functions() -> list[str]:
    """The metrics that are public functions: those whose name is a Python identifier, without numbered families."""
    return [name for name in REGISTRY if name.isidentifier() and function_of(name) == name]


def lookup(name: str, cut: bool = False) -> Metric | None:
    """The metric with the name, alias or label ``name``, in any letter case; None if unknown.

    Some names, such as ``precision``, are unambiguous only with a cut-off; ``cut`` says whether one follows.
    """
    spellings = (name, f"{name}@k") if cut else (name,)
    for spelling in spellings:
        if spelling in SPELLINGS:
            return REGISTRY[SPELLINGS[spelling]]
        for one in named(spelling, "metric"):
            return REGISTRY[one.spec]
    return None


def find(name: str, cut: bool = False) -> Metric:
    """Like ``lookup``, but also the metric of a judge's column; raises ``UnknownNameError`` for an unknown name.

    >>> find("jacard")
    Traceback (most recent call last):
    fastmetrics.base.errors.UnknownNameError: unknown metric 'jacard'; did you mean 'jaccard'?
    >>> find("MRR").name, find("precision", cut=True).name
    ('reciprocal_rank', 'retrieval_precision')
    """
    metric = lookup(name, cut)
    if metric is None and is_axis(name):  # the scores of a judge by a rubric of the user's
        return JudgedMetric.of(name)
    if metric is None:
        own = "a metric of your own needs --plugin FILE, in Python metrics.load_plugin"
        listing = f"`fastmetrics metrics`, in Python metrics.list_metrics(), lists all {len(REGISTRY)}; {own}"
        raise UnknownNameError(f"unknown metric {shown(name)}; {instead(name) or listing}")
    return metric


def suite(name: str) -> list[Metric]:
    """The metrics of a suite of families: its usual metrics, and all metrics of ``COSTLY``; ``core`` lacks ``FURTHER``.

    >>> [metric.name for metric in suite("latency_and_cost")]
    ['latency_ms', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'rater_agreement']

    Raises ``UnknownNameError`` for an unknown suite.
    """
    if name not in (*SUITES, "core", "all"):
        raise UnknownNameError.of("suite", name, [*SUITES, *TIERS, "core", "all"])
    parts = {"core": CORE, "all": tuple(SUITES)}.get(name, (name,))
    homes = [f"{__package__}.{family}" for part in parts for family in SUITES[part]]
    members = [metric for metric in REGISTRY.values() if metric.function.__module__ in homes]
    left_out = FURTHER if name == "core" else ()
    return [metric for metric in members if (metric.usual or name == COSTLY) and metric.name not in left_out]
