"""Rows for tests of frames: every kind of absent value, and the scores that ``fm.score`` gives them."""

import pyarrow as pa

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from tests.support import every_metric

ROWS = {
    "id": ["a", "b", "c", "d", "e"],
    "answer": ["in Paris", None, "", "Rome, Италия", "\U0001f600 Oslo"],
    "reference": [["Paris", "Rome"], ["x"], [], None, ["Oslo", "oslo"]],
    "question": ["Where?", "Why?", "", None, "How far is Oslo?"],
    "user": [1, 2, 3, None, 5],
}
METRICS = "token_f1,squad_f1(version=2),rougeL_f1(stemmer=True),answer_relevance"
ROW_METRICS = sorted(name for name, metric in REGISTRY.items() if metric.corpus is None)
WITHOUT_EMBEDDER = [name for name in ROW_METRICS if "embedder" not in REGISTRY[name].defaults]


def scores(table=None, metrics=METRICS):
    """The scores of ``fm.score``, as bits: NaN equals NaN, and differs from null."""
    scored = fm.score(pa.table(ROWS) if table is None else table, metrics)
    return {name: bits(scored[name].to_pylist()) for name in scored.column_names if name != "id"}


def bits(values):
    """Values that can be compared: numbers by their bits, so that NaN equals NaN."""
    return [value if value is None or isinstance(value, str) else float(value).hex() for value in values]


def columns_of(name, rows=12):
    """Made columns for a metric, in the order in which it takes them."""
    made = every_metric.columns(name, rows)
    return {column: made[column] for column in REGISTRY[name].needs if column in made}
