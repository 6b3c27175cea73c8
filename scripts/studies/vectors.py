"""How well words and embeddings predict human labels: ``docs/studies/vectors.md`` from ``$FASTMETRICS_DATA``.

::

    FASTMETRICS_DATA=folder scripts/study vectors
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import fastmetrics as fm
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.vectors.embedder import Embedder

DATA = Path(os.environ.get("FASTMETRICS_DATA", "."))
OUT = Path(__file__).parents[2] / "docs" / "studies" / "vectors.md"
POTION = f"model2vec:{DATA}/models/potion-base-4m-int8"
MODELS = {"wordllama": "wordllama", "usem3": "usem3", "potion-base-4m": POTION, "minilm": "minilm"}
HEAD = """# Vectors and matches on real rows

Written by `scripts/study vectors` from public data sets. Models whose package was not installed are omitted.

"""


def main() -> None:
    """Write the page."""
    models = {}
    for name, model in MODELS.items():
        try:
            models[name] = Embedder(model)
        except MissingExtraError as error:
            print(f"{name} left out: {error}")
    OUT.write_text("".join([HEAD, _intents(models), _similarity(models), _support(models)]), "utf-8")


def _rows_of(name: str) -> pa.Table:
    return pq.read_table(DATA / "dev" / f"{name}.parquet")


def _table(head: str, lines: list[list[str]]) -> str:
    columns = head.split("|")
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cell.strip() for cell in row)} |\n" for row in rows)


def _intents(models: dict[str, Embedder]) -> str:
    rows = _rows_of("banking77")
    labels, own = np.array(rows["label_intent"].to_pylist()), np.arange(rows.num_rows)
    matches = fm.retrieval.match_faq(rows["question"], rows["question"], 2).index
    nearest = np.where(matches[:, 0] == own, matches[:, 1], matches[:, 0])
    lines = [["token cosine (`fm.retrieval.match_faq`)", f"{np.mean(labels[nearest] == labels):.3f}"]]
    for name, model in models.items():
        ids = fm.vectors.nearest(model.embed(rows["question"]), k=1).ids[:, 0]
        lines.append([name, f"{np.mean(labels[ids] == labels):.3f}"])
    stored = fm.vectors.nearest(_rows_of("banking77_embeddings"), k=1).ids[:, 0]
    lines.append(["the data set's own embeddings", f"{np.mean(labels[stored] == labels):.3f}"])
    text = "Share of {:,} questions whose nearest other question has the same intent, of 77 (`banking77`).\n\n"
    return "## The nearest question\n\n" + text.format(len(labels)) + _table("nearest by | accuracy", lines)


def _similarity(models: dict[str, Embedder]) -> str:
    rows = _rows_of("stsb_images_en_ru")
    lines = []
    for name in ["token_cosine", *models]:
        cells = [name]
        for lang in ("en", "ru"):
            some = rows.filter(pc.equal(rows["lang"], lang))
            pairs = {"answer": some["answer"], "reference": some["question"]}
            metric = name if name == "token_cosine" else "semantic_similarity"
            scores = fm.score(pairs, [metric], embedder=models.get(name))[metric]
            cells.append(f"{_spearman(scores, some['human_similarity']):.3f}")
        lines.append(cells)
    head = "\n## Similar sentences\n\nSpearman correlation with human similarity ratings of {:,} pairs "
    head += "(`stsb_images_en_ru`).\n"
    head += (
        "wordllama, potion and minilm are English models. A model's row is `semantic_similarity` with that model.\n\n"
    )
    return head.format(rows.num_rows) + _table("score | English | Russian", lines)


def _spearman(first: Any, second: Any) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(np.asarray(first, float), np.asarray(second, float)).statistic)


def _support(models: dict[str, Embedder]) -> str:
    from sklearn.metrics import roc_auc_score

    rows = [row for row in _rows_of("expertqa_claims").to_pylist() if row["contexts_have_text"] and row["contexts"]]
    rows = [row for row in rows if row["human_support"] != "N/A"]
    complete = [row["human_support"] == "Complete" for row in rows]
    answers = [re.sub(r"\s*\[\d+\]", "", row["answer"]).strip().rstrip(".") + " [1]." for row in rows]
    contexts = [[" ".join(row["contexts"])] for row in rows]
    lines = []
    for name, model in models.items():
        evidence = grounding_evidence(answers, contexts, embedder=model)
        best = np.full(len(rows), -1.0)
        np.fmax.at(best, evidence["row"].to_numpy(), evidence["cosine"].to_pandas().to_numpy(float))
        lines.append([name, f"{roc_auc_score(complete, best):.3f}", f"{np.mean(best >= 0.65):.3f}"])
    share = f"{np.mean(complete):.0%} of {len(rows):,} of `expertqa_claims` with the passages' text"
    text = "\n## The cited passage\n\nROC AUC of the cosine between a claim and the passage that it cites. "
    text += "Positive claims are those that experts called\n"
    text += f"completely supported ({share}). The last column is the share of\n"
    text += "claims at or above the default `threshold` of 0.65, which does not suit every model.\n\n"
    return text + _table("model | AUC | at or above 0.65", lines)


if __name__ == "__main__":
    main()
