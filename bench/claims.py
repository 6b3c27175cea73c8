"""The verdict and the writing scores against their plain-Python definitions, on made rows.

::

    python -m bench.claims --rows 40000

Questions of 10 words, answers of 60, three contexts of 100; a word in thirty is a number, a
date or a time, as in real passages (two to five in a hundred are).  Times are
those of one thread; the plain definitions, which are the tests' own, get a few hundred rows.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from bench import data
from bench.compare import RESULTS, Side, contest
from bench.machine import machine
from tests.reference import claims, writing

SUITES = {
    "verdict": ("answer_relevance", "keyword_completeness", "hallucination", "hallucination_risk", "verdict"),
    "writing": (
        "coherence",
        "writing_completeness",
        "length_score",
        "structure_score",
        "vocabulary_score",
        "overall_quality",
    ),
}
VALUES = [
    "1,000",
    "1889",
    "5 Jan 2024",
    "50 %",
    "$3.5 million",
    "15:00",
    "seven",
    "was released in",
    "costs",
    "However,",
]
TURNS = 5


def rows(n: int, seed: int = 0) -> pa.Table:
    """Made questions, answers and contexts, the answers partly copied from the contexts."""
    rng = np.random.default_rng(seed)
    words = data.vocabulary("latin", seed)
    contexts = words.draw(rng, n, 300)
    answers = words.draw(rng, n, 60)
    answers[:, :40] = contexts[:, 50:90]
    questions = answers[:, :10]
    strings = {"question": questions, "answer": answers}
    columns: dict[str, Any] = {name: _spiced(words.write(rng, table), rng) for name, table in strings.items()}
    passages = _spiced(words.write(rng, contexts.reshape(3 * n, 100)), rng)
    columns["contexts"] = pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * 3), passages)
    return pa.table(columns)


def _spiced(texts: pa.Array, rng: np.random.Generator) -> pa.Array:
    """The texts with a value in the place of about every thirtieth word."""
    spiced = []
    for text in texts.to_pylist():
        words = text.split()
        for place in np.flatnonzero(rng.random(len(words)) < 1 / 30):
            words[place] = VALUES[rng.integers(len(VALUES))]
        spiced.append(" ".join(words))
    return pa.array(spiced)


def plain_verdict(row: dict[str, Any]) -> None:
    """Everything the suite scores, each once."""
    claims.verdict(row["question"], row["answer"], row["contexts"])


def plain_writing(row: dict[str, Any]) -> None:
    """Everything the suite scores, each once."""
    writing.overall_quality(row["question"], row["answer"])


PLAIN: dict[str, Callable[[dict[str, Any]], None]] = {"verdict": plain_verdict, "writing": plain_writing}


def race(suite: str, table: pa.Table, few: int) -> dict[str, Any]:
    """Both sides in turns, by the processor's clock."""
    metrics = list(SUITES[suite])
    sample = table.slice(0, few).to_pylist()
    fm.score(table.slice(0, 2000), metrics, threads=1)
    ours = Side(f"the {suite} suite, one thread", table.num_rows)
    plain = Side("plain Python (tests/reference)", few)
    for _ in range(TURNS):
        start = time.process_time()
        fm.score(table, metrics, threads=1)
        ours.seconds.append(time.process_time() - start)
        start = time.process_time()
        for row in sample:
            PLAIN[suite](row)
        plain.seconds.append(time.process_time() - start)
    return contest(f"{suite} suite", ours, plain)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--plain", type=int, default=200)
    options = parser.parse_args()
    table = rows(options.rows)
    result = {
        "name": "claims and writing",
        "machine": machine(),
        "results": [race(suite, table, options.plain) for suite in SUITES],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "claims.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for entry in result["results"]:
        print(f"{entry['name']}: {entry['ours']['rows_per_second']:,} rows/s, {entry['ratio']} x plain Python")


if __name__ == "__main__":
    main()
