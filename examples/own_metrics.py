"""Metrics of one's own, beside those of the package.

::

    python examples/own_metrics.py
    fastmetrics score examples/answers.jsonl -o scores.parquet --plugin examples/own_metrics.py -m token_f1,cites_all
    fastmetrics metrics --plugin examples/own_metrics.py cites_all

The first metric is called once a row with Python values, which is easy and slow; the second with whole columns.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import json

import fastmetrics as fm

warnings.simplefilter("ignore", fm.ScoreWarning)  # some rows are in scripts without spaces, on purpose


@fm.metric(bounds=(0, 1), better="higher", source="the support team's guide")
def cites_all(answer: str, contexts: list[str], *, pattern: str = r"\[(\d+)\]") -> float | None:
    """Share of the contexts that the answer cites; undefined for a row without contexts."""
    if not contexts:
        return None
    cited = {int(number) for number in re.findall(pattern, answer)}
    return len(cited & set(range(1, len(contexts) + 1))) / len(contexts)


@fm.metric(bounds=(0, np.inf), better="lower", source="the support team's guide")
def exclamations(answer: pa.StringArray) -> NDArray[np.float64]:
    """Number of exclamation marks in the answer."""
    counts = pc.count_substring(answer, "!").fill_null(0)
    return np.asarray(counts.to_numpy(zero_copy_only=False), np.float64)


def main() -> None:
    """Score the example rows with both, and with a metric of the package."""
    table = json.read_json(Path(__file__).with_name("answers.jsonl"))
    print(fm.summarize(fm.score(table, metrics=["cites_all", "exclamations", "token_f1"])))


if __name__ == "__main__":
    main()
