"""Which scores agree with human labels: ``docs/studies/validity.md`` from the folder ``$FASTMETRICS_DATA/dev``.

::

    FASTMETRICS_DATA=folder scripts/validity
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import fastmetrics as fm

LOW = {"label": "lower"}  # a row labelled 1 is unsupported
OUT = Path(__file__).parent.parent / "docs" / "studies" / "validity.md"
HEAD = """# Do the scores agree with people?

Written by `scripts/validity` from public data sets with human labels, or labels by construction.  Each score is
compared with two naive baselines: the answer's length in words, and *new words*, 1 − the share of the answer's words
that occur in the contexts.  Brackets show 95 % bootstrap confidence intervals.  No rule was trained on the labels, but
the rules of `hallucination` were written while reading errors in one half of each data set.  All rows of a group, for
example a right and a wrong answer to one question, are in the same half.  *Held out* is the other half alone.  It was
used to compare variants of the rules, so it is a check, not a blind test.

## Hallucination: ROC AUC

Higher scores should go with the label "unsupported"; 0.5 is chance.

"""
FACES = """
On `halueval_qa`, length alone nearly separates the classes, so an AUC there says little about any score.  Dialogue and
edited summaries are hard because the wrong answers use the contexts' own words.  On `summedits` neither score is better
than chance, though the share of unsupported numbers and dates alone is (0.54 and 0.59 in the two halves).  On
`begin_grounding` plain word overlap is the better score.  There, two in five of the unsupported answers that score at
most 0.2 ask a question or make a guess; by definition these claim nothing, though every word is new.  If such sentences
were checked too, the score would come close to overlap there (0.93), and fall below it on `summedits`.  The 207 rows of
`mtrag_human_eval` are too few to distinguish the two.

## Relevance, completeness and writing: Spearman correlation

The label is the mean of human ratings; higher is better for both.

"""
TAIL = """
In short, these scores are cheap checks of form.  If a correlation is below about 0.2, or below that of the answer's
length, do not use the score in place of human ratings.
"""


def new_words(answer: pa.ChunkedArray, contexts: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """1 - the share of the answer's words that occur in the contexts."""
    shares = []
    from fastmetrics.text import tokens

    own = tokens(answer.combine_chunks())
    joined = tokens(pa.array([" ".join(texts or []) for texts in contexts.to_pylist()]))
    for words, known in zip(own, joined, strict=True):
        held = set(known or [])
        shares.append(1 - sum(word in held for word in words) / len(words) if words else 0.0)
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
ASKED = ("relevance", "keyword_completeness", "writing_completeness", "length_score", "overall_quality")


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


def grounded(folder: Path) -> str:
    """The AUC of each score that should detect unsupported answers."""
    heads = ("data", "rows", "labelled", "hallucination", "held out", "new words", "length")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, label in GROUNDED.items():
        table = load(folder, name)
        scores = {
            "hallucination": fm.hallucination(table["answer"], table["contexts"]),
            "new words": new_words(table["answer"], table["contexts"]),
            "length": fm.answer_words(table["answer"]),
        }
        kept = ~np.isnan(scores["hallucination"])
        labels = np.asarray(label(table).to_numpy(), np.float64)[kept]
        found = fm.validate({k: v[kept] for k, v in scores.items()}, {"label": labels}, positive=1, better=LOW)
        apart = np.array([is_held_out(row) for row in table.select(["group", "id"]).to_pylist()])[kept]
        alone = fm.validate(
            {"h": scores["hallucination"][kept][apart]}, {"label": labels[apart]}, positive=1, better=LOW
        )
        cells = [interval(found[score].auc) for score in scores]
        cells.insert(1, interval(alone["h"].auc))
        lines.append(f"| {name} | {len(labels):,} | {labels.mean():.0%} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def interval(estimate: Any) -> str:
    """A value with its confidence interval."""
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def rated(folder: Path) -> str:
    """The correlation of each score with each rating."""
    lines = []
    for name, labels in RATED.items():
        table = load(folder, name)
        asked = "question" in table.column_names
        names = [score for score in ("relevance", "keyword_completeness", *WRITING) if asked or score not in ASKED]
        scores = fm.score(table, metrics=[*names, "answer_words"])
        lines += [f"\n### {name} ({table.num_rows:,} rows)\n", "| score | " + " | ".join(labels) + " |"]
        lines.append("|---" * (len(labels) + 1) + "|")
        found = {label: fm.validate(scores.drop_columns(["id"]), {label: table[label]}) for label in labels}
        for score in (*names, "answer_words"):
            cells = [interval(found[label][score].spearman) for label in labels]
            lines.append(f"| {score} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    folder = Path(os.environ["FASTMETRICS_DATA"]) / "dev"
    OUT.parent.mkdir(exist_ok=True)
    notes = OUT.with_name("validity_errors.md")
    errors = f"\nErrors of `hallucination`, row by row: [{notes.name}]({notes.name}).\n"
    OUT.write_text(HEAD + grounded(folder) + errors + FACES + rated(folder) + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
