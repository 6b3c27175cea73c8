"""Score a DataFrame and look at its worst rows, and at the rows without a score.

::

    python examples/worst_rows.py [ANSWERS.jsonl]

Needs pandas.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import fastmetrics as fm


def main(path: str) -> None:
    """Print a summary, the five worst answers, and how many rows have no score."""
    answers = pd.read_json(path, lines=True)
    scores = fm.score(answers, metrics=["token_f1", "keyword_recall", "abstained"])
    print(fm.summarize(scores), end="\n\n")

    scored = answers[["id", "question", "answer"]].join(scores.to_pandas().drop(columns="id"))
    worst = scored[scored["abstained"] == 0].nsmallest(5, ["token_f1", "keyword_recall"])
    for row in worst.itertuples():
        print(f"{row.id}  token_f1={row.token_f1:.2f}\n    {row.question}\n    {row.answer}")

    unscored = scored["token_f1"].isna().sum()
    print(f"\n{unscored} rows have no token_f1: their answer or reference is missing")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("answers.jsonl")))
