"""Abstention by language, compared with a single phrase: ``docs/studies/abstention.md`` from ``$FASTMETRICS_DATA/dev``.

::

    FASTMETRICS_DATA=folder scripts/study abstention
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm

OUT = Path(__file__).parents[2] / "docs" / "studies" / "abstention.md"
NAIVE = "i don't know"
LABELLED = Path(__file__).parent / "abstention_read.tsv"
HEAD = """# Which answers abstain

Written by `scripts/study abstention` from `nomiracl_answers` (11 models, 17 languages). Each model was told to answer
from ten passages or to say that it does not know; people judged whether a passage contains the answer. *Naive* is the
share of answers that contain the words "I don't know"; `abstained` is the metric.

"""
FLAWS = """
## Decisions

A statement before an "I don't know" is an answer, unless it is about the passages or the question. After one, more
sentences of any length still abstain, unless one contains a word of contrast like "however", or what is not known is
only a part ("I don't know exactly."). A rule that treats any long second sentence as an answer was considered and
rejected: nearly all such sentences here explain *why* there is no answer (in 27 of 30 abstaining answers of 22 or more
words that were read).

Remaining errors in the list above:

- Sentences like "Instead, the passages tell of …" and "However, they do mention …" give no answer, but look like one.
- A question of more than eight words, repeated before the "I don't know", is treated as an answer.
- Answers that go through the passages one by one do not abstain if one passage is a yes.
"""


def main() -> None:
    """Write the page."""
    rows = pq.read_table(Path(os.environ["FASTMETRICS_DATA"]) / "dev" / "nomiracl_answers.parquet")
    ours = np.asarray(fm.abstained(rows["answer"])) > 0
    lower = [
        (text or "").lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for text in rows["answer"].to_pylist()
    ]
    naive = np.array([NAIVE in text for text in lower])
    parts = [_rates(rows, ours, naive), _languages(rows), _citations(rows, ours), _labelled(rows, ours, naive)]
    text = [HEAD, *parts, FLAWS]
    OUT.write_text("".join(text), "utf-8")


def _rates(rows: pa.Table, ours: Any, naive: Any) -> str:
    answerable = np.array(rows["label_answerable"].to_pylist(), np.bool_)
    langs = np.array(rows["lang"].to_pylist())
    lines = [
        "| language | answerable rows | naive | `abstained` | unanswerable rows | naive | `abstained` |\n",
        "|---|---|---|---|---|---|---|\n",
    ]
    for lang in ["all", *sorted(set(langs.tolist()))]:
        within = (langs == lang) | (lang == "all")
        cells = [lang]
        for kind in (answerable, ~answerable):
            here = within & kind
            rates = [f"{predicted[here].mean():.3f}" if here.any() else "" for predicted in (naive, ours)]
            cells += [f"{here.sum():,}", *rates]
        lines.append(f"| {' | '.join(cells)} |\n")
    both, alone, other = (int(flags.sum()) for flags in (ours & naive, naive & ~ours, ours & ~naive))
    lines.append(
        f"\nBoth count {both:,} answers as abstentions, only the naive rule {alone:,}, only `abstained` {other:,}.\n"
    )
    return "".join(lines)


def _languages(rows: pa.Table) -> str:
    counts = json.loads(fm.score(rows, "abstained").schema.metadata[b"fastmetrics"])["cautions"]["abstained"]
    noted, scored = counts
    return (
        "\n## Languages\n\n"
        "The built-in phrases are English and Russian. A summary counts the answers whose letters are mostly neither\n"
        "Latin nor Cyrillic, and notes them from 5 % of the rows on: here "
        f"{noted:,} of {scored:,} ({100 * noted / scored:.1f} %), as the\n"
        "models answered questions in 17 languages mostly in English. The script of a text is read at no cost, its\n"
        'language is not: an "I don\'t know" in German, Spanish or Ukrainian counts as an answer and is not noted.\n'
        "The option `phrases` replaces the phrases; with it, nothing is noted.\n"
    )


def _citations(rows: pa.Table, ours: Any) -> str:
    cited = np.asarray(fm.idk_citations(rows["answer"]))
    with_one = int((cited > 0).sum())
    also = int(((cited > 0) & ours).sum())
    return (
        '\n## An "I don\'t know" with a citation\n\n'
        f"`idk_citations` finds {int(cited.sum()):,} such sentences in {with_one:,} answers; {also:,} of these "
        "answers abstain as a whole.\n"
    )


def _labelled(rows: pa.Table, ours: Any, naive: Any) -> str:
    place = {name: row for row, name in enumerate(rows["id"].to_pylist())}
    lines = [
        "\n## Fifty disagreements, read\n\n",
        "A random sample: 25 answers that only the naive rule counted as abstaining, 25 that only the metric did.\n",
        "*Read*: whether the answer as a whole abstains. Three rules were added after this reading, so the last\n",
        "column is biased in favour of the metric; before, it was right on 40.\n\n",
        "| row | description | read | naive | `abstained` |\n|---|---|---|---|---|\n",
    ]
    right = {"naive": 0, "ours": 0}
    entries = [line.split("\t") for line in LABELLED.read_text("utf-8").splitlines()]
    for name, verdict, kind in entries:
        row = place[name]
        says = [bool(naive[row]), bool(ours[row])]
        right["naive"] += says[0] == (verdict == "yes")
        right["ours"] += says[1] == (verdict == "yes")
        cells = [f"`{name}`", kind, verdict, *("yes" if flag else "no" for flag in says)]
        lines.append(f"| {' | '.join(cells)} |\n")
    total = f"\nOf these {len(entries)}, the naive rule is right on {right['naive']}, `abstained` on {right['ours']}.\n"
    return "".join(lines) + total


if __name__ == "__main__":
    main()
