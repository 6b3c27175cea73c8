"""What statistics refuse."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError, UnknownColumnError, UnknownNameError
from fastmetrics.stats.prediction_powered import powered_mean
from tests.support.goldens import errors_of

NAN = math.nan
REPEATED: dict[str, Any] = {"id": [1, 1, 2, 2], "m": [0.1, 0.2, 0.3, 0.4]}
RATERS = {"ann": [1, 2, 3], "bob": [1, 2, 2], "cat": [None, 1, 4]}
CERTAIN = {"confidence": [0.9, 0.1], "answer": ["a", "b"], "reference": ["a", "a"]}


def words(order: Any, weights: str = "linear") -> Any:
    return fm.stats.cohen_kappa(["good", "poor"], ["fair", "poor"], weights=weights, order=order)


CONTESTS: list[tuple[Any, ...]] = [
    *[([],), ([("a", "b", None)],), ([("a", "b", "a")], "b", "a")],
    *[([("a", "b", "tie"), ("b", "c", "b")], "c", "a, b"), ([("a", "b", "tie"), ("c", "d", "tie")], "a, b | c, d")],
    *[([("a", "a", "a")], "contest 0", "a"), ([("a", "b", "c")], "contest 0", "c")],
]
"""Contests that give no strengths, and what the message names."""

ERRORS: list[tuple[Any, ...]] = [
    *[
        (f"{rate.__name__} {n, c, k}", lambda rate=rate, n=n, c=c, k=k: rate(n, c, k), error)
        for rate in (fm.stats.pass_at_k, fm.stats.pass_hat_k)
        for n, c, k, error in ((3, 4, 1, InputError), (3, -1, 1, InputError), (3, 1, 0, OptionError))
    ],
    *[
        (f"repeats: {name}", lambda change=change: fm.compare([REPEATED | change, REPEATED], metrics="m"), error, *said)
        for name, change, error, *said in (
            ("twice", {"repeat": [1, 1, 2, 2]}, InputError, "1", "row 1"),
            ("two questions", {"question": ["a", "b", "c", "c"]}, InputError, "row 1", "question"),
            ("a missing id", {"id": [1, 1, 2, None]}, InputError, "id"),
        )
    ],
    ("repeats: none", lambda: fm.results.repeats({"id": [1, 2], "m": [0.0, 1.0]}), InputError),
    # raters
    ("kappa: weights", lambda: fm.stats.cohen_kappa([1], [1], weights="cubic"), OptionError, "weights"),  # type: ignore[arg-type]
    ("kappa: lengths", lambda: fm.stats.cohen_kappa([1], [1, 2]), InputError, "1, 2"),
    ("kappa: numbers and words", lambda: fm.stats.cohen_kappa([1], ["a"]), ColumnError),
    ("kappa: lists", lambda: fm.stats.cohen_kappa([[1]], [[1]]), ColumnError),
    *[
        (f"kappa: order {order}", lambda order=order: words(order), OptionError, "order")
        for order in (
            *[["poor", "good"], ["poor", "fair", "good", "poor"], [], "poor", [1], ["poor", "fair", None, "good"]],
        )
    ],
    *[
        (
            *[f"kappa: {weights} without order", lambda weights=weights: words(None, weights), OptionError],
            *["weights", "order"],
        )
        for weights in ("linear", "quadratic")
    ],
    (
        "kappa: order of words for numbers",
        lambda: fm.stats.cohen_kappa([1, 2], [1, 5], weights="quadratic", order=["1", "2", "5"]),
        OptionError,
        "order",
    ),
    *[
        (
            f"alpha: {level}",
            lambda level=level, rows=rows: fm.stats.krippendorff_alpha(rows, level=level),
            OptionError,
            "level",
        )
        for level, rows in (
            ("rank", [[1], [1]]),
            ("ratio", [[1, 3], [2, 3]]),
            ("ordinal", [["a"], ["b"]]),
            ("interval", [["a"], ["b"]]),
        )
    ],
    ("alpha: nothing", lambda: fm.stats.krippendorff_alpha([]), InputError),
    ("raters: unknown", lambda: fm.stats.agreement(RATERS, raters=["anne", "bob"]), UnknownColumnError, "anne", "ann"),
    ("raters: no names", lambda: fm.stats.agreement([[1], [1]], raters=["ann"]), OptionError, "raters"),
    ("raters: a note", lambda: fm.stats.agreement({**RATERS, "note": ["a"] * 3}), ColumnError, "raters"),
    ("raters: a text", lambda: fm.stats.agreement({"ann": "yes", "bob": ["yes"]}), ColumnError, "ann"),
    ("clusters: lengths", lambda: fm.stats.agreement(RATERS, clusters=[1, 2]), InputError, "3", "2"),
    # judges
    *[
        (f"range {span}", lambda span=span: fm.stats.judge_consistency([[1, 2]], range=span), OptionError, "range")
        for span in ((5, 1), (1, 1), (NAN, 1), (0, math.inf))
    ],
    ("tolerance", lambda: fm.stats.judge_consistency([[1, 2]], tolerance=-1), OptionError, "tolerance"),
    ("ragged repeats", lambda: fm.stats.judge_consistency([[1, 2], [1]]), ColumnError, "1", "2"),
    ("decisions: 2", lambda: fm.stats.judge_decisions([1, 0], [1, 2]), InputError, "labels", "row 1", "2"),
    ("decisions: lengths", lambda: fm.stats.judge_decisions([1], [1, 0]), InputError, "shown", "labels"),
    ("pairwise: rows", lambda: fm.stats.pairwise(["A", "A"], ["A", "A"], rows=[1]), InputError, "rows", "2", "1"),
    ("pairwise: identical", lambda: fm.stats.pairwise(["A"], ["B"], identical=[True, False]), InputError, "identical"),
    ("pairwise: C", lambda: fm.stats.pairwise(["A", "A"], ["A", "C"]), InputError, "row 1", "C"),
    ("pairwise: lengths", lambda: fm.stats.pairwise(["A"], ["A", "B"]), InputError, "1", "2"),
    *[
        (f"contests {played}", lambda played=played: fm.stats.bradley_terry(played), InputError, *said)
        for played, *said in CONTESTS
    ],
    # estimates
    *[
        (f"powered_mean {scores} {labels}", lambda s=scores, t=labels: powered_mean(s, t), InputError, *said)
        for scores, labels, *said in (
            ([1, 2], [1]),
            ([1, math.inf], [1, 2], "row 1", "score"),
            ([1, 2], [-math.inf, 2], "row 0", "label"),
            ([1, NAN], [NAN, 2], "1"),
        )
    ],
    *[
        (f"confidence {one}", lambda one=one: powered_mean([1, 2], [1, 2], one), OptionError, "confidence")
        for one in (0, 1, NAN, "95")
    ],
    # risk
    *[
        (f"quality {name}", lambda name=name: fm.score(CERTAIN, f"aurc(quality={name!r})"), OptionError, "quality")
        for name in ("latency_ms", "hallucination", "bleu", "corpus_bleu", "abstained", "semantic_similarity")
    ],
    ("quality token_f", lambda: fm.score(CERTAIN, "aurc(quality='token_f')"), OptionError, "token_f", "token_f1"),
    ("aurc: no confidence", lambda: fm.score({"answer": ["a"], "reference": ["a"]}, "aurc"), ColumnError, "confidence"),
    ("aurc: columns of its quality", lambda: fm.aurc([0.9], ["a"], quality="hit_rate@1"), TypeError, "retrieved_ids"),
    *[
        (f"risk of {quality}", lambda quality=quality: fm.stats.risk_coverage([1.0], [quality]), InputError, "quality")
        for quality in (1.1, -0.1, math.inf)
    ],
    ("risk: lengths", lambda: fm.stats.risk_coverage([1.0, 2.0], [1.0]), ColumnError, "confidence", "quality"),
    # tables of scores
    ("statistics: p101", lambda: fm.summarize({"m": [1.0]}, statistics={"m": ["p101"]}), UnknownNameError, "p101"),
    (
        "parts in another order",
        lambda: fm.summarize([pa.table({"a": [1.0], "b": [2.0]}), pa.table({"b": [1.0], "a": [2.0]})]),
        ColumnError,
        "'b', 'a'",
    ),
]

test_errors = errors_of(ERRORS)
