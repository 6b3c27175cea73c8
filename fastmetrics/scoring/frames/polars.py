"""Polars: metrics as expressions, and the namespace ``fm`` of its frames.

``fm.polars.token_f1("answer", "reference")`` is an expression, for eager and lazy frames and for streaming: every
metric with one score per row is a function of this module.  ``fm.polars.register()`` adds ``frame.fm.score(...)``,
``frame.fm.with_scores(...)`` and ``frame.fm.token_f1(...)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastmetrics.metrics.metric import Metric
from fastmetrics.metrics.suites import functions
from fastmetrics.scoring.frames.with_scores import (
    FrameAccessor,
    LazyFrameAccessor,
    RowFunction,
    aligned,
    metric_of_name,
    score_of,
)
from fastmetrics.scoring.metric_functions import columns_and_options


def register() -> None:
    """Add the namespace ``fm`` to eager and lazy Polars frames; a second call changes nothing.

    >>> import polars as pl
    >>> import fastmetrics as fm
    >>> fm.polars.register()
    >>> frame = pl.DataFrame({"answer": ["in Paris", None], "reference": ["Paris", "Rome"]})
    >>> frame.fm.with_scores("token_recall")["token_recall"].to_list()
    [1.0, None]
    """
    import polars as pl

    for frame, accessor in ((pl.DataFrame, FrameAccessor), (pl.LazyFrame, LazyFrameAccessor)):
        if not hasattr(frame, "fm"):
            add = pl.api.register_dataframe_namespace if frame is pl.DataFrame else pl.api.register_lazyframe_namespace
            add("fm")(accessor)


def __getattr__(name: str) -> Callable[..., Any]:
    """The expression of a metric: a function of columns (names or expressions) and the metric's options.

    >>> import polars as pl
    >>> import fastmetrics as fm
    >>> frame = pl.LazyFrame({"answer": ["in Paris", None], "reference": ["Paris", "Rome"]})
    >>> frame.select(fm.polars.squad_f1("answer", "reference", version=2)).collect().to_series().to_list()
    [0.6666666666666666, None]
    """
    return functools.partial(expression, metric_of_name(name, __name__))


def __dir__() -> list[str]:
    return ["expression", "register", *functions()]


def expression(metric: str | Metric, *columns: Any, **keywords: Any) -> Any:
    """The expression of a metric, or of a spec such as ``"rouge1_f1(stemmer=True)"``, over columns.

    ``columns`` are names or expressions, in the order of the metric's columns, or by name; ``keywords`` may also set
    options.  Each row has the score of ``fm.score``: null where an input is missing, NaN where the metric is undefined.
    Its name is that of the score.

    Raises ``TypeError`` for columns that are missing or too many, ``UnknownNameError`` for an unknown metric or option,
    and ``OptionError`` for an invalid option and for a metric that needs all rows.  What a column holds is checked when
    the expression is computed.
    """
    import polars as pl

    default = score_of(metric, {})
    present, options = columns_and_options(default.metric, columns, keywords)
    score = RowFunction(score_of(metric, options))
    names = list(present)

    def compute(series: Sequence[Any]) -> Any:
        return pl.Series(score(dict(zip(names, aligned(series), strict=True)), threads=None))

    inputs = [pl.col(column) if isinstance(column, str) else column for column in present.values()]
    scores = pl.map_batches(inputs, compute, return_dtype=pl.Float64, is_elementwise=True)
    return scores.alias(score.score.name)
