"""Which scores agree with human labels: ``docs/studies/validity.md`` from the folder ``$FASTMETRICS_DATA/dev``.

::

    FASTMETRICS_DATA=folder scripts/study validity
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
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
OUT = Path(__file__).parents[2] / "docs" / "studies" / "validity.md"


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


def grounded(sets: list[Labelled]) -> str:
    """The AUC of each score that should detect unsupported answers."""
    heads = ("data", "rows", "labelled", "hallucination", "held out", "new words", "length")
    lines = [header(heads)]
    for data in sets:
        whole = areas(data.scores, data.labels)
        alone = areas({"held out": data.scores["hallucination"][data.apart]}, data.labels[data.apart])
        cells = list(map(interval, (whole["hallucination"], alone["held out"], whole["new words"], whole["length"])))
        lines.append(f"| {data.name} | {len(data.labels):,} | {data.labels.mean():.0%} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def verdicts(sets: list[Labelled]) -> str:
    """How many unsupported and supported answers fail at the threshold of the verdict."""
    lines = [header(("data", "unsupported", "supported", "balanced", "held out"))]
    for data in sets:
        scores = data.scores["hallucination"]
        caught, alarms = failed(scores, data.labels)
        cells = [f"{caught:.0%}", f"{alarms:.0%}", f"{balanced(scores, data.labels):.3f}"]
        cells.append(f"{balanced(scores[data.apart], data.labels[data.apart]):.3f}")
        lines.append(f"| {data.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def failed(scores: Scores, labels: Scores) -> tuple[float, float]:
    """The share of unsupported and of supported answers above the threshold."""
    return float((scores[labels == 1] > THRESHOLD).mean()), float((scores[labels == 0] > THRESHOLD).mean())


def balanced(scores: Scores, labels: Scores) -> float:
    """Balanced accuracy at the threshold: the mean share of right decisions in both classes."""
    caught, alarms = failed(scores, labels)
    return (caught + 1 - alarms) / 2


def shares(sets: list[Labelled]) -> str:
    """Agreement by the share of a claim's words that must occur, by the plain definition, without the held-out rows."""
    lines = [header(("share", *(data.name for data in sets), "mean AUC", "mean balanced accuracy"))]
    for words, share in SHARES.items():
        aucs = []
        for data in sets:
            pairs = [pair for pair, apart in zip(data.pairs, data.apart, strict=True) if not apart]
            scores = np.array([claims.hallucination(*pair, share=share) for pair in pairs])
            labels = data.labels[~data.apart]
            aucs.append((areas({"h": scores}, labels)["h"].value, balanced(scores, labels)))
        cells = [f"{area:.3f}" for area, _ in aucs]
        means = np.mean(aucs, axis=0)
        lines.append(f"| {words} | {' | '.join(cells)} | {means[0]:.3f} | {means[1]:.3f} |")
    return "\n".join(lines) + "\n"


def header(names: Sequence[str]) -> str:
    """The head of a table."""
    return f"| {' | '.join(names)} |\n" + "|---" * len(names) + "|"


def interval(estimate: Any) -> str:
    """A value with its confidence interval."""
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def rated(folder: Path) -> str:
    """The correlation of each score with each rating."""
    lines = []
    for name, labels in RATED.items():
        table = load(folder, name)
        has_question = "question" in table.column_names
        names = [
            score
            for score in ("answer_relevance", "keyword_completeness", *WRITING)
            if has_question or score not in QUESTION_METRICS
        ]
        scores = fm.score(table, metrics=[*names, "answer_words"])
        lines += [f"\n### {name} ({table.num_rows:,} rows)\n", "| score | " + " | ".join(labels) + " |"]
        lines.append("|---" * (len(labels) + 1) + "|")
        validated = {label: fm.validate(scores.drop_columns(["id"]), {label: table[label]}) for label in labels}
        for score in (*names, "answer_words"):
            cells = [interval(validated[label][score].spearman) for label in labels]
            lines.append(f"| {score} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    folder = Path(os.environ["FASTMETRICS_DATA"]) / "dev"
    OUT.parent.mkdir(exist_ok=True)
    notes = OUT.with_name("validity_errors.md")
    errors = f"\nErrors of `hallucination`, row by row: [{notes.name}]({notes.name}).\n"
    sets = labelled(folder)
    parts = [
        texts.HEAD,
        grounded(sets),
        errors,
        texts.FACES,
        texts.VERDICTS,
        verdicts(sets),
        texts.VERDICTS_READ,
        texts.SHARE,
        shares(sets),
    ]
    parts += [texts.RATED_HEAD, rated(folder), texts.TAIL, stored_section()]
    OUT.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
