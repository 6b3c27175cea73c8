"""The report's page on retrieval: curves of metrics over cut-offs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from tests.reporting.test_report import read


def drawn(rows):
    random = np.random.default_rng(0)
    ids = [[f"d{one}" for one in random.permutation(12)[: random.integers(1, 9)]] for _ in range(2 * rows)]
    made = zip(ids[:rows], ids[rows:], strict=True)
    return [{"id": f"q{at}", "retrieved_ids": one, "relevant_ids": other} for at, (one, other) in enumerate(made)]


def test_retrieval_page_has_curves_or_is_omitted(tmp_path):
    table = pa.Table.from_pylist(drawn(40))
    scores = fm.score(table, "ndcg@1,ndcg@5,recall@3")
    fm.report({"new <b>": scores}, tmp_path / "r.html", texts=table, baseline=scores)
    page, reader, data = read(tmp_path / "r.html")
    assert 'data-page="retrieval"' in page
    [curve] = data["charts"]
    assert (curve["name"], curve["x"], [one["name"] for one in curve["lines"]]) == (
        "ndcg@k", [1, 5], ["run 1", "new <b>"],
    )  # fmt: skip
    summary = fm.summarize(scores)
    assert curve["lines"][1]["y"] == [float(f"{summary[name].mean:.6g}") for name in ("ndcg@1", "ndcg@5")]
    assert "recall@k" not in page
    assert "b" not in reader.tags
    kept = table.append_column("token_f1", pa.array(np.linspace(0, 1, 40)))
    fm.report({"kept": kept}, tmp_path / "kept.html")
    assert 'data-page="retrieval"' not in read(tmp_path / "kept.html")[0]
