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
import pyarrow.parquet as pq

import fastmetrics as fm

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "studies" / "abstention.md"
RESULTS = ROOT / "bench" / "results" / "abstention.json"
NAIVE = "i don't know"
LABELLED = Path(__file__).parent / "abstention_read.tsv"
SHOWN = ("all", "en", "ru", "de", "zh")
TEXT = """# Which answers abstain

From `nomiracl_answers` (11 models, 17 languages; `scripts/study abstention`). Each model was told to answer
from ten passages or to say that it does not know; people judged whether a passage contains the answer. *Naive*
is the share of answers that contain the words "I don't know"; `abstained` is the metric.
`bench/results/abstention.json` has all languages.

{rates}

Both count {both:,} answers as abstentions, only the naive rule {naive:,}, only `abstained` {metric:,}. Of 50 of
these disagreements that were read (`scripts/studies/abstention_read.tsv`), the naive rule is right on
{naive_right}, `abstained` on {metric_right}; three rules were added after this reading, before which it was
right on 40. The naive rule takes repeated instructions for an abstention and misses "the answer is not in the
passages".

- A statement before an "I don't know" is an answer, unless it is about the passages or the question. After one,
  more sentences still abstain, unless one contains a word of contrast or what is not known is only a part ("I
  don't know exactly.").
- Still wrong: "Instead, the passages tell of …" looks like an answer; so does a question of more than eight
  words that is repeated first; answers that go through the passages one by one do not abstain if one passage is
  a yes.
- The phrases are English and Russian; `phrases` replaces them. A summary notes answers in other scripts from 5
  % of the rows on: here {noted:,} of {scored:,}. An "I don't know" in German or Spanish counts as an answer and
  is not noted.
- `idk_citations` finds {cited:,} abstaining sentences with a citation in {citing:,} answers, of which
  {abstaining:,} abstain as a whole.
"""


def main() -> None:
    """Write the results and the page."""
    rows = pq.read_table(Path(os.environ["FASTMETRICS_DATA"]) / "dev" / "nomiracl_answers.parquet")
    ours = np.asarray(fm.abstained(rows["answer"])) > 0
    texts = [
        (text or "").lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for text in rows["answer"].to_pylist()
    ]
    naive = np.array([NAIVE in text for text in texts])
    cited = np.asarray(fm.idk_citations(rows["answer"])) > 0
    noted, scored = json.loads(fm.score(rows, "abstained").schema.metadata[b"fastmetrics"])["cautions"]["abstained"]
    place = {name: row for row, name in enumerate(rows["id"].to_pylist())}
    read = [line.split("\t")[:2] for line in LABELLED.read_text("utf-8").splitlines()]
    right = {
        kind: sum(bool(says[place[name]]) == (verdict == "yes") for name, verdict in read)
        for kind, says in (("naive_right", naive), ("metric_right", ours))
    }
    results = {
        "rates": _rates(rows, ours, naive),
        "both": int((ours & naive).sum()),
        "naive": int((naive & ~ours).sum()),
        "metric": int((ours & ~naive).sum()),
        **right,
        "noted": noted,
        "scored": scored,
        "cited": int(np.asarray(fm.idk_citations(rows["answer"])).sum()),
        "citing": int(cited.sum()),
        "abstaining": int((cited & ours).sum()),
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    OUT.write_text(TEXT.format(**{**results, "rates": _table(results["rates"])}), "utf-8")


def _rates(rows: Any, ours: Any, naive: Any) -> dict[str, dict[str, float]]:
    """By language: rows with and without an answer in the passages, and the share that abstains by both rules."""
    answerable = np.array(rows["label_answerable"].to_pylist(), np.bool_)
    languages = np.array(rows["lang"].to_pylist())
    rates: dict[str, dict[str, float]] = {}
    for language in ["all", *sorted(set(languages.tolist()))]:
        within = (languages == language) | (language == "all")
        rates[language] = {}
        for name, kind in (("answerable", answerable), ("unanswerable", ~answerable)):
            here = within & kind
            rates[language] |= {name: int(here.sum())}
            if here.any():
                shares = {"naive": naive[here].mean(), "abstained": ours[here].mean()}
                rates[language] |= {f"{name}_{rule}": round(float(share), 3) for rule, share in shares.items()}
    return rates


def _table(rates: dict[str, dict[str, float]]) -> str:
    lines = [
        "| language | answerable rows | naive | `abstained` | unanswerable rows | naive | `abstained` |",
        "|---|---|---|---|---|---|---|",
    ]
    for language in SHOWN:
        one = rates[language]
        cells = [
            f"{one[kind]:,} | {one[f'{kind}_naive']:.3f} | {one[f'{kind}_abstained']:.3f}"
            for kind in ("answerable", "unanswerable")
        ]
        lines.append(f"| {language} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
