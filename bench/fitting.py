"""A fit to many labelled rows, and the time of a fitted score beside that of its metrics, on made rows.

::

    python -m bench.fitting

First a fit to 2,000 rows with 1,000 columns of scores.  Then questions of 10 words, answers of 30, two contexts of 40,
and 30 metrics that are computed from the texts.  The fits are timed by the clock and by the processor.  The fitted
score and its metrics alone are scored in turns, on one thread; their times are those of the processor, so that other
programs count less.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from bench import data
from bench.compare import RESULTS
from bench.machine import machine

METRICS = (
    "keyword_recall",
    "token_cosine",
    "token_f1",
    "token_precision",
    "token_recall",
    "jaccard",
    "answer_length",
    "answer_words",
    "squad_f1",
    "rouge1_precision",
    "rouge1_recall",
    "rouge2_precision",
    "rouge2_recall",
    "rouge3_f1",
    "rougeL_precision",
    "rougeL_recall",
    "rougeLsum_f1",
    "bleu",
    "chrf",
    "tfidf_cosine",
    "keyword_completeness",
    "drift",
    "hallucination",
    "answer_relevance",
    "coherence",
    "writing_completeness",
    "structure_score",
    "vocabulary_score",
    "diversity_score",
    "repetition_score",
)


PIECE = 100_000
"""Rows that are in memory at a time."""


def rows(n: int, seed: int = 0) -> pa.Table:
    """Made rows: the more words of its contexts an answer repeats, the more often it is labelled good."""
    rng = np.random.default_rng(seed)
    words = data.vocabulary("latin", 0)
    contexts, answers, questions = words.draw(rng, n, 80), words.draw(rng, n, 30), words.draw(rng, n, 10)
    copied = rng.random(n)
    answers = np.where(rng.random(answers.shape) < copied[:, None], contexts[:, :30], answers)
    questions[:, :3] = answers[:, :3]
    passages = words.write(rng, contexts.reshape(2 * n, 40))
    return pa.table(
        {
            "question": words.write(rng, questions),
            "answer": words.write(rng, answers),
            "reference": words.write(rng, contexts[:, 10:40]),
            "contexts": pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * 2), passages),
            "good": (copied + rng.normal(scale=0.4, size=n) > 0.5).astype(np.float64),
        }
    )


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result of a call, and its seconds by the clock and by the processor."""
    start, used = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - start, time.process_time() - used


def wide(n: int = 2_000, columns: int = 1_000) -> dict[str, Any]:
    """A fit to few rows with many columns of scores, of which one in a hundred depends on the label."""
    rng = np.random.default_rng(0)
    scores = rng.random((columns, n))
    good = scores[::100].mean(axis=0) + rng.normal(scale=0.1, size=n) > 0.5
    table = pa.table({f"score_{number}": scores[number] for number in range(columns)} | {"good": good.astype(float)})
    fitted, seconds, used = timed(lambda: fm.fit(table, label="good", metrics=table.column_names[:-1]))
    return {
        "rows": n,
        "columns": columns,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "auc": round(fitted.evaluation.ranking.value, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def race(path: Path, n: int) -> dict[str, Any]:
    """The processor's seconds for the fitted score and for its metrics alone, piece by piece in turns."""
    totals = {"metrics": 0.0, "fitted": 0.0}
    for number in range(-(-n // PIECE)):
        table = rows(min(PIECE, n - number * PIECE), seed=number + 1)
        turns = [("metrics", list(METRICS)), ("fitted", [str(path)])]
        for name, metrics in turns if number % 2 else turns[::-1]:
            _, _, used = timed(lambda table=table, metrics=metrics: fm.score(table, metrics, threads=1))
            totals[name] += used
    return {
        "rows": n,
        "seconds_of_metrics": round(totals["metrics"], 1),
        "seconds_of_fitted": round(totals["fitted"], 1),
        "speed": round(totals["metrics"] / totals["fitted"], 3),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fitting", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--labelled", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    table = rows(options.labelled)
    result: dict[str, Any] = {"name": "fitting", "machine": machine(), "metrics": len(METRICS)}
    result["wide_fit"] = wide()  # first: memory is that of the process
    print(result["wide_fit"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        fm.score(table.slice(0, 2000), METRICS, threads=1)  # compiles what is not yet compiled
        fitted, seconds, used = timed(lambda: fm.fit(table, label="good", metrics=METRICS, output=path))
        result["fit"] = {
            "rows": table.num_rows,
            "seconds": round(seconds, 1),
            "processor_seconds": round(used, 1),
            "auc": round(fitted.evaluation.ranking.value, 3),
        }
        print(result["fit"])
        fm.score(table.slice(0, 2000), str(path), threads=1)
        result["scoring"] = race(path, options.rows)
    print(result["scoring"])
    (RESULTS / "fitting.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
