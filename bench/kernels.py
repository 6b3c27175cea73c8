"""What runs the kernels: calls of the public functions, by family of kernels, on rows made in memory.

``BENCHES`` has a family for each folder of ``fastmetrics/kernels``; a test checks that together they run every file of
kernels.  ``bench/test_kernels.py`` times them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import fastmetrics as fm
from bench import data
from fastmetrics import text
from fastmetrics.scoring.metric_functions import callable_of

Bench = Callable[["Rows"], Any]

DEPTH = 20
"""Documents of a ranking."""
DIM = 32
"""Dimensions of a vector."""
RESAMPLES: dict[str, Any] = {"resamples": 500, "bootstrap": 500, "seed": 0, "threads": 1}


class Rows:
    """``n`` made rows, their vectors, rankings and scores, each made at its first use; files go into ``folder``."""

    def __init__(self, n: int, folder: Path) -> None:
        self.n = n
        self.random = np.random.default_rng(0)
        self.table = data.table(n, contexts=True).combine_chunks()
        self.folder = folder

    def __getitem__(self, name: str) -> Any:
        """A column of the table."""
        return self.table[name].combine_chunks()

    def __call__(self, metric: str, *columns: str, **options: Any) -> Any:
        """A metric of columns, on one thread."""
        return callable_of(metric)(*map(self.__getitem__, columns), threads=1, **options)

    def lines(self, name: str) -> Any:
        """A column with each sentence on a line of its own."""
        return pc.replace_substring(self[name], ". ", ".\n")

    @cached_property
    def vectors(self) -> Any:
        """Two matrices of vectors; half of the second is near the first."""
        drawn = self.random.normal(size=(self.n, DIM)).astype(np.float32)
        return drawn, np.where(np.arange(self.n)[:, None] % 2, drawn + 0.1, self.random.normal(size=drawn.shape))

    @cached_property
    def ids(self) -> tuple[Any, Any]:
        """Ranked and relevant ids of each row, as lists."""
        ranked = [[f"d{n}" for n in row] for row in self.random.integers(0, 200, (self.n, DEPTH)).tolist()]
        return pa.array(ranked), pa.array([row[::5] for row in ranked[1:] + ranked[:1]])

    @property
    def repeated(self) -> Any:
        """Questions, each asked four times."""
        return [f"q{n // 4}" for n in range(self.n)]

    @cached_property
    def judged(self) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
        """A run of ``n / DEPTH`` queries, and judgements of half of its documents and some others."""
        queries = [f"q{n}" for n in range(max(self.n // DEPTH, 3))]
        run = {query: {f"d{n}": float(self.random.random()) for n in range(DEPTH)} for query in queries}
        return run, {query: {f"d{n}": n % 3 for n in range(0, DEPTH + 10, 2)} for query in queries}

    @cached_property
    def runs(self) -> dict[str, Any]:
        """Three systems with scores of the same rows, in five clusters a hundred rows."""
        truth, ids = self.random.random(self.n), np.arange(self.n)
        noise = self.random.normal(0, 0.1, (3, self.n))
        columns = {"id": ids, "group": ids // 20}
        return {
            name: pa.table({**columns, "token_f1": np.clip(truth + vectors, 0, 1)})
            for name, vectors in zip("abc", noise, strict=True)
        }

    @cached_property
    def corpora(self) -> dict[str, str]:
        """Files of two systems' scores, with the counts of corpus metrics that are resampled."""
        names = ["corpus_bleu", "corpus_chrf"]
        for name, answer in (("a", "answer"), ("b", "question")):
            table = pa.table({"id": self["id"], "answer": self[answer], "reference": self["reference"]})
            pq.write_table(table, self.folder / f"{name}.parquet")
            output = self.folder / f"{name}_scores.parquet"
            fm.score(self.folder / f"{name}.parquet", output=output, metrics=names, keep_counts=True, overwrite=True)
        return {name: str(self.folder / f"{name}_scores.parquet") for name in "ab"}


def _convention(name: str) -> Bench:
    return lambda rows: text.tokens(rows["answer"], name)


def _metric_bench(metric: str, **options: Any) -> Bench:
    return lambda rows: rows(metric, "answer", **options)


def _two(metric: str, **options: Any) -> Bench:
    return lambda rows: rows(metric, "answer", "reference", **options)


def _json_lines(rows: Rows) -> Any:
    path = rows.folder / "rows.jsonl"
    if not path.exists():
        rows.table.select(["answer", "contexts"]).to_pandas().to_json(path, orient="records", lines=True)
    return fm.score(path, output=rows.folder / "o.parquet", metrics="answer_words", overwrite=True, threads=1)


def _rank(*measures: str) -> Bench:
    return lambda rows: fm.rank(*rows.judged, measures, threads=1)


def _rank_of_files(rows: Rows) -> Any:
    run, qrels = rows.judged
    files = rows.folder / "run.trec", rows.folder / "qrels.trec"
    if not files[0].exists():
        files[0].write_text("".join(f"{q} Q0 {d} 1 {score} made\n" for q, of in run.items() for d, score in of.items()))
        files[1].write_text("".join(f"{q} 0 {d} {grade}\n" for q, of in qrels.items() for d, grade in of.items()))
    return fm.rank(*map(str, files), measures=["ndcg@10"], threads=1)


def _compare(*systems: str, **options: Any) -> Bench:
    return lambda rows: fm.compare(
        {name: rows.runs[name] for name in systems}, metrics="token_f1", **RESAMPLES, **options
    )


def _validate(rows: Rows) -> Any:
    labels = pa.table({"id": rows.runs["a"]["id"], "label": np.round(4 * rows.runs["a"]["token_f1"].to_numpy())})
    return fm.validate(rows.runs["b"], labels, label="label", metrics="token_f1")


def _alpha(rows: Rows) -> Any:
    ratings = np.round(10 * np.column_stack([rows.runs[name]["token_f1"] for name in "abc"]))
    return fm.stats.krippendorff_alpha(ratings.tolist(), level="ordinal")


def _embed(rows: Rows) -> Any:
    def model(texts: list[str]) -> Any:
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    return fm.Embedder(model, cache=rows.folder / "vectors", revision="1").embed(rows["answer"])


FITTED = """
format = 2
fastmetrics = "0"
name = "fitted"
kind = "logistic"
better = "higher"
bounds = [0.0, 1.0]
intercept = -0.5

[[features]]
column = "token_f1"
knots = [0.0, 0.3, 0.6, 1.0]
heights = [-1.0, 0.1, 0.6, 1.4]
missing = 0.0
undefined = 0.0
edges = [0.5]
shares = [0.5, 0.5, 0.0, 0.0]

[labels]

[evaluation]
"""


def _fitted(rows: Rows) -> Any:
    path = rows.folder / "fitted.toml"
    path.write_text(FITTED, encoding="utf-8")
    return fm.score(rows.runs["a"], str(path), threads=1)


BENCHES: dict[str, dict[str, Bench]] = {
    "text": {
        **{name: _convention(name) for name in ("words", "ascii_words", "light", "plain", "squad")},
        **{name: _metric_bench(name) for name in ("answer_length", "politeness", "abstained")},
        "overall_quality": lambda rows: rows("overall_quality", "question", "answer"),
        "bleu": _two("bleu"),
        "chrf": _two("chrf"),
        "json_lines": _json_lines,
    },
    "pairs": {
        **{name: _two(name) for name in ("exact_match", "cover_match", "token_f1", "squad_f1", "squad_em", "jaccard")},
        **{name: _two(name) for name in ("rouge2_f1", "rougeL_f1", "tfidf_cosine")},
        "rougeLsum_f1": lambda rows: fm.rouge(*map(rows.lines, ("answer", "reference")), types="rougeLsum", threads=1),
        "match_faq": lambda rows: fm.retrieval.match_faq(
            rows["question"], rows["question"].slice(0, 500), 3, threads=1
        ),
    },
    "facts": {
        "hallucination": lambda rows: rows("hallucination", "answer", "contexts"),
        "novelty": lambda rows: fm.score(rows.table.select(["answer", "contexts"]), suites="novelty", threads=1),
        "verdict": lambda rows: rows("verdict", "question", "answer", "contexts"),
        "overlap_faithfulness": lambda rows: rows("overlap_faithfulness", "answer", "contexts"),
    },
    "ranking": {
        "ndcg": lambda rows: fm.ndcg(*rows.ids, k=10, threads=1),
        "retrieval_rbo": lambda rows: fm.retrieval_rbo(rows.repeated, rows.ids[0], threads=1),
        "rank": _rank("ndcg@10", "map", "mrr", "recall@10", "bpref", "infAP", "iprec@0.1"),
        "rank_other_gains": _rank("ERR@10", "RBP", "Compat", "ndcg_rel", "G"),
        "rank of files": _rank_of_files,
    },
    "vectors": {
        "semantic_similarity": lambda rows: fm.semantic_similarity(*rows.vectors, threads=1),
        "geometry": lambda rows: fm.vectors.geometry(rows.vectors[0], threads=1),
        "nearest": lambda rows: fm.vectors.nearest(rows.vectors[0], k=10, threads=1),
        "embedding_cache": _embed,
    },
    "stats": {
        "summarize": lambda rows: fm.summarize(rows.runs["a"]),
        "permutation": _compare("a", "b"),
        "unpaired": _compare("a", "b", pairing="none"),
        "percentile": _compare("a", "b", interval="percentile"),
        "clusters": _compare("a", "b", cluster="group"),
        "three_systems": _compare("a", "b", "c"),
        "corpus_metrics": lambda rows: fm.compare(rows.corpora, **RESAMPLES),
        "validate": _validate,
        "krippendorff_alpha": _alpha,
        "fitted score": _fitted,
    },
}
"""Calls by the family of the kernels that they time."""
