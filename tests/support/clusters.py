"""What tests of Ray and Spark share: many rows, and the lines of the docs that run there."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pyarrow as pa

from tests.support.every_metric import text, texts

METRICS = [
    *("token_f1", "jaccard", "exact_match", "rouge1_f1", "abstained", "latency_ms", "recall@3", "reciprocal_rank"),
    *("tfidf_cosine", "squad_f1(version=2)"),
]


def rows(count: int, seed: int = 0) -> pa.Table:
    """Rows whose scores are of every sort: defined, undefined, missing."""
    chance = random.Random(seed)

    def some(result: object) -> object:
        return None if chance.random() < 0.1 else result

    return pa.table(
        {
            "id": pa.array([f"q{n}" for n in range(count)]),
            "question": pa.array([text(chance) for _ in range(count)]),
            "answer": pa.array([some(text(chance)) for _ in range(count)], pa.string()),
            "reference": pa.array([some(texts(chance)) for _ in range(count)], pa.list_(pa.string())),
            "latency_ms": pa.array([some(chance.lognormvariate(6, 1)) for _ in range(count)], pa.float64()),
            "retrieved_ids": pa.array([chance.sample(range(9), chance.randrange(6)) for _ in range(count)]),
            "relevant_ids": pa.array([chance.sample(range(9), chance.randrange(3)) for _ in range(count)]),
        }
    )


def bits(table: pa.Table) -> dict[str, list[object]]:
    """Every column in order of the id, floats as they are written in hexadecimal, so that NaN equals itself."""
    ordered = table.sort_by("id")
    return {
        name: [value.hex() if isinstance(value, float) else value for value in ordered[name].to_pylist()]
        for name in ordered.schema.names
    }


ROOT = Path(__file__).parents[2]


def snippets(page: str, heading: str) -> list[str]:
    """The Python in a section of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None, heading
    return re.findall(r"^```python\n(.*?)^```$", section[2], re.MULTILINE | re.DOTALL)
