"""Which scores agree with human labels: ``docs/studies/validity.md`` from the folder ``$FASTMETRICS_DATA/dev``.

::

    FASTMETRICS_DATA=folder scripts/study validity

The figures are in ``bench/results/validity.json``; ``--page`` writes the page from them alone.
"""

from __future__ import annotations

import argparse
import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import fastmetrics as fm
from scripts.studies import validity_texts as texts
from scripts.studies.validity_fits import stored_section
from tests.reference import claims

Scores = NDArray[np.float64]
Flags = NDArray[np.bool_]

THRESHOLD = 0.5
"""Where the verdict fails an answer."""
SHARES = {"a half": (1, 2), "two thirds": (2, 3), "three quarters": (3, 4), "all": (1, 1)}
LOW = {"label": "lower"}  # a row labelled 1 is unsupported
ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "studies" / "validity.md"
RESULTS = ROOT / "bench" / "results" / "validity.json"


def new_words(answer: pa.ChunkedArray, contexts: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """1 - the share of the answer's words that occur in the contexts."""
    shares = []
    from fastmetrics.text import tokens

    own = tokens(answer.combine_chunks())
    joined = tokens(pa.array([" ".join(texts or []) for texts in contexts.to_pylist()]))
    for words, joined_words in zip(own, joined, strict=True):
        words_of_row = set(joined_words or [])
        shares.append(1 - sum(word in words_of_row for word in words) / len(words) if words else 0.0)
    return np.array(shares)


def is_below(name: str, limit: float) -> Callable[[pa.Table], Any]:
    """Whether a graded label is below a limit."""
    return lambda table: pc.less(table[name], limit)


GROUNDED: dict[str, Callable[[pa.Table], Any]] = {
    "halueval_qa": lambda table: table["label_hallucinated"],
    "halueval_dialogue": lambda table: table["label_hallucinated"],
    "summedits": lambda table: pc.invert(table["label_consistent"]),
    "begin_grounding": lambda table: pc.equal(table["human_label"], "Not fully attributable"),
    "mtrag_human_eval": is_below("human_faithfulness_mean", 3.5),
}
RATED = {
    "haluquestqa": ("human_relevance", "human_completeness", "human_factuality", "human_overall"),
    "summeval_scores": ("human_coherence", "human_consistency", "human_fluency", "human_relevance"),
    "mtrag_human_eval": ("human_naturalness_mean", "human_appropriateness_mean", "human_completeness_mean"),
    "alce_utility": ("human_utility",),
}
WRITING = (
    "coherence",
    "writing_completeness",
    "length_score",
    "structure_score",
    "vocabulary_score",
    "overall_quality",
)
QUESTION_METRICS = (
    "answer_relevance",
    "keyword_completeness",
    "writing_completeness",
    "length_score",
    "overall_quality",
)


def is_held_out(row: dict[str, Any]) -> bool:
    """Whether a row's group was held out while the rules were written."""
    name = row["id"] if row["group"] is None else row["group"]
    return zlib.crc32(str(name).encode()) % 2 == 1


def load(folder: Path, name: str) -> pa.Table:
    """The rows of a data set; for BEGIN, those labelled as attributable or not."""
    table = pq.read_table(folder / f"{name}.parquet")
    if name == "begin_grounding":
        table = table.filter(pc.not_equal(table["human_label"], "Generic"))
    return table


@dataclass(frozen=True)
class Labelled:
    """A data set: its scores by column of the table, whether each row is unsupported, and whether it was held out."""

    name: str
    table: pa.Table
    scores: dict[str, Scores]
    labels: Scores
    apart: Flags

    @property
    def pairs(self) -> list[tuple[str, list[str]]]:
        """The answers with their contexts."""
        contexts = [[text for text in texts if text is not None] for texts in self.table["contexts"].to_pylist()]
        return list(zip(self.table["answer"].to_pylist(), contexts, strict=True))


def labelled(folder: Path) -> list[Labelled]:
    """The data sets whose answers are labelled as supported or not, without rows that have no score."""
    sets = []
    for name, label in GROUNDED.items():
        table = load(folder, name)
        table = table.filter(pa.array(~np.isnan(fm.hallucination(table["answer"], table["contexts"]))))
        columns = table["answer"], table["contexts"]
        scores = {"hallucination": fm.hallucination(*columns), "new words": new_words(*columns)}
        scores["length"] = fm.answer_words(table["answer"])
        apart = np.array([is_held_out(row) for row in table.select(["group", "id"]).to_pylist()])
        sets.append(Labelled(name, table, scores, np.asarray(label(table).to_numpy(), np.float64), apart))
    return sets


def areas(scores: dict[str, Scores], labels: Scores) -> dict[str, Any]:
    """The ROC AUC of each score, with its interval."""
    validated = fm.validate(scores, {"label": labels}, positive=1, better=LOW)
    return {name: validated[name].auc for name in scores}


def grounded(data: Labelled) -> dict[str, Any]:
    """How well each score detects unsupported answers, and how many fail at the verdict's threshold."""
    whole = areas(data.scores, data.labels)
    alone = areas({"held out": data.scores["hallucination"][data.apart]}, data.labels[data.apart])
    scores = data.scores["hallucination"]
    caught, alarms = failed(scores, data.labels)
    return {
        "rows": len(data.labels),
        "labelled": round(float(data.labels.mean()), 3),
        **{name: bounds(whole[name]) for name in data.scores},
        "held out": bounds(alone["held out"]),
        "failed unsupported": round(caught, 3),
        "failed supported": round(alarms, 3),
        "balanced": round(balanced(scores, data.labels), 3),
        "balanced held out": round(balanced(scores[data.apart], data.labels[data.apart]), 3),
    }


def failed(scores: Scores, labels: Scores) -> tuple[float, float]:
    """The share of unsupported and of supported answers above the threshold."""
    return float((scores[labels == 1] > THRESHOLD).mean()), float((scores[labels == 0] > THRESHOLD).mean())


def balanced(scores: Scores, labels: Scores) -> float:
    """Balanced accuracy at the threshold: the mean share of right decisions in both classes."""
    caught, alarms = failed(scores, labels)
    return (caught + 1 - alarms) / 2


def shares(sets: list[Labelled]) -> dict[str, dict[str, float]]:
    """AUC by the share of a claim's words that must occur, by the plain definition, without the held-out rows."""
    found: dict[str, dict[str, float]] = {}
    for words, share in SHARES.items():
        found[words] = {}
        for data in sets:
            pairs = [pair for pair, apart in zip(data.pairs, data.apart, strict=True) if not apart]
            scores = np.array([claims.hallucination(*pair, share=share) for pair in pairs])
            found[words][data.name] = round(areas({"h": scores}, data.labels[~data.apart])["h"].value, 3)
    return found


def bounds(estimate: Any) -> list[float]:
    """A value with its confidence interval."""
    return [round(float(value), 3) for value in (estimate.value, estimate.low, estimate.high)]


def rated(folder: Path) -> dict[str, dict[str, dict[str, list[float]]]]:
    """By data set and rating: the rank correlation of each score with it."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, labels in RATED.items():
        table = load(folder, name)
        has_question = "question" in table.column_names
        names = [
            score
            for score in ("answer_relevance", "keyword_completeness", *WRITING)
            if has_question or score not in QUESTION_METRICS
        ]
        scores = fm.score(table, metrics=[*names, "answer_words"]).drop_columns(["id"])
        found[name] = {}
        for label in labels:
            validated = fm.validate(scores, {label: table[label]})
            found[name][label] = {score: bounds(validated[score].spearman) for score in (*names, "answer_words")}
    return found


def page(results: dict[str, Any]) -> str:
    """The page from the stored figures."""
    areas = ["| data | rows | labelled | hallucination | held out | new words | length |", "|---" * 7 + "|"]
    verdicts = ["| data | unsupported | supported | balanced | held out |", "|---" * 5 + "|"]
    for name, one in results["grounded"].items():
        cells = [shown(one[score]) for score in ("hallucination", "held out", "new words", "length")]
        areas.append(f"| {name} | {one['rows']:,} | {one['labelled']:.0%} | {' | '.join(cells)} |")
        rates = f"{one['failed unsupported']:.0%} | {one['failed supported']:.0%}"
        verdicts.append(f"| {name} | {rates} | {one['balanced']:.3f} | {one['balanced held out']:.3f} |")
    ratings = ["| data | rating | best of these scores | | `overall_quality` | length |", "|---" * 6 + "|"]
    for name, labels in results["rated"].items():
        for label, scores in labels.items():
            best = max((score for score in scores if score != "answer_words"), key=lambda score: scores[score][0])
            overall = shown(scores["overall_quality"]) if "overall_quality" in scores else "–"
            ratings.append(
                f"| {name} | {label} | `{best}` | {shown(scores[best])} | {overall} | {shown(scores['answer_words'])} |"
            )
    tables = {"areas": areas, "verdicts": verdicts, "ratings": ratings}
    return texts.PAGE.format(**{name: "\n".join(lines) for name, lines in tables.items()}) + stored_section()


def shown(values: list[float]) -> str:
    """A value with its confidence interval, as text."""
    return f"{values[0]:.3f} [{values[1]:.3f}, {values[2]:.3f}]"


def main() -> None:
    """Measure, and write the figures and the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the page from the stored figures")
    if not parser.parse_args().page:
        folder = Path(os.environ["FASTMETRICS_DATA"]) / "dev"
        sets = labelled(folder)
        results = {
            "grounded": {data.name: grounded(data) for data in sets},
            "share of words": shares(sets),
            "rated": rated(folder),
        }
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    OUT.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
