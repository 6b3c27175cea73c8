"""Score some rows of a DataFrame, join the scores to their rows, and look at the worst ones and at those without one.

::

    python examples/worst_rows.py [ANSWERS.jsonl]

Needs pandas.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pandas as pd

import fastmetrics as fm

warnings.simplefilter("ignore", fm.ScoreWarning)  # some rows are in scripts without spaces, on purpose


def main(path: str) -> None:
    """Print a summary, the five worst answers, and how many rows have no score."""
    answers = pd.read_json(path, lines=True)
    informed = answers[answers["contexts"].str.len() > 0]
    scores = fm.score(informed, metrics="token_f1,keyword_recall,abstained")
    print(fm.summarize(scores), end="\n\n")

    # The scores have the row labels of the rows they belong to, so pandas joins them, whatever was left out or sorted.
    # In Polars: answers.join(polars.from_arrow(scores), on="id", how="left").
    scored = answers[["id", "question", "answer"]].join(scores.to_pandas().drop(columns="id"))
    worst = scored[scored["abstained"] == 0].nsmallest(5, ["token_f1", "keyword_recall"])
    for row in worst.itertuples():
        print(f"{row.id}  token_f1={row.token_f1:.2f}\n    {row.question}\n    {row.answer}")

    unscored = scored.loc[informed.index, "token_f1"].isna().sum()
    print(f"\n{unscored} of {len(informed)} rows have no token_f1: their answer or reference is missing")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("answers.jsonl")))
