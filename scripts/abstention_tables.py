"""Who abstains, by language, beside one phrase alone: ``docs/studies/abstention.md`` from ``$FASTMETRICS_DATA/dev``.

::

    FASTMETRICS_DATA=folder scripts/abstention
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm

OUT = Path(__file__).parent.parent / "docs" / "studies" / "abstention.md"
NAIVE = "i don't know"
READ = Path(__file__).parent / "abstention_read.tsv"
HEAD = """# Which answers abstain

Written by `scripts/abstention` from `nomiracl_answers` (11 models, 17 languages; each was told to answer from ten
passages or to say that it does not know; people judged whether a passage answers). *Naive* is the share of answers that
hold the words "I don't know" anywhere; `abstained` is the metric.

"""
FLAWS = """
## What was decided

An "I don't know" that is followed by more sentences still abstains, however long they are, unless one of them turns
with a word like "however". A rule that takes a long second sentence for an answer was considered and left: nearly all
such sentences here say *why* there is no answer (in 27 of 30 abstaining answers of 22 or more words that were read).
What that costs: an "I don't know" followed by an answer without any word of contrast counts as abstaining.

What still goes wrong, by the list above: sentences like "Instead, the passages tell of …" and "However, they do mention
…" turn to no answer, but look like it; a question repeated before the "I don't know" is taken for an answer where it
has more than eight words; answers that go through the passages one by one do not abstain if one of them is a yes.
"""


def main() -> None:
    """Write the page."""
    rows = pq.read_table(Path(os.environ["FASTMETRICS_DATA"]) / "dev" / "nomiracl_answers.parquet")
    ours = np.asarray(fm.abstained(rows["answer"])) > 0
    lower = [
        (text or "").lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for text in rows["answer"].to_pylist()
    ]
    naive = np.array([NAIVE in text for text in lower])
    text = [HEAD, _rates(rows, ours, naive), _citations(rows, ours), _read(rows, ours, naive), FLAWS]
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
            rates = [f"{one[here].mean():.3f}" if here.any() else "" for one in (naive, ours)]
            cells += [f"{here.sum():,}", *rates]
        lines.append(f"| {' | '.join(cells)} |\n")
    both, alone, other = (int(flags.sum()) for flags in (ours & naive, naive & ~ours, ours & ~naive))
    lines.append(
        f"\nBoth say so of {both:,} answers, the naive one alone of {alone:,}, `abstained` alone of {other:,}.\n"
    )
    return "".join(lines)


def _citations(rows: pa.Table, ours: Any) -> str:
    cited = np.asarray(fm.idk_citations(rows["answer"]))
    with_one = int((cited > 0).sum())
    also = int(((cited > 0) & ours).sum())
    return (
        '\n## An "I don\'t know" with a citation\n\n'
        f"`idk_citations` finds {int(cited.sum()):,} such sentences in {with_one:,} answers, {also:,} of which abstain "
        "as a whole.\n"
    )


def _read(rows: pa.Table, ours: Any, naive: Any) -> str:
    place = {name: row for row, name in enumerate(rows["id"].to_pylist())}
    lines = [
        "\n## Fifty disagreements, read\n\n",
        "Drawn at random: 25 answers that only the naive list takes for abstaining, 25 that only the metric did.\n",
        "*Read*: whether the answer, read as a whole, abstains. Three rules were made after this reading, so that\n",
        "the last column flatters the metric; before them it was right on 40.\n\n",
        "| row | what it is | read | naive | `abstained` |\n|---|---|---|---|---|\n",
    ]
    right = {"naive": 0, "ours": 0}
    entries = [line.split("\t") for line in READ.read_text("utf-8").splitlines()]
    for name, verdict, kind in entries:
        row = place[name]
        says = [bool(naive[row]), bool(ours[row])]
        right["naive"] += says[0] == (verdict == "yes")
        right["ours"] += says[1] == (verdict == "yes")
        cells = [f"`{name}`", kind, verdict, *("yes" if one else "no" for one in says)]
        lines.append(f"| {' | '.join(cells)} |\n")
    total = f"\nOf these {len(entries)}, the naive list is right on {right['naive']}, `abstained` on {right['ours']}.\n"
    return "".join(lines) + total


if __name__ == "__main__":
    main()
