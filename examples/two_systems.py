"""Compare two systems that answered the same questions: is the difference real, and in which rows is it greatest.

::

    python examples/two_systems.py [ANSWERS.jsonl OTHER.jsonl]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from pyarrow import compute, json

import fastmetrics as fm

warnings.simplefilter("ignore", fm.ScoreWarning)  # some rows are in scripts without spaces, on purpose

METRICS = ["token_f1", "token_precision", "token_recall", "answer_words"]


def main(first: str, second: str) -> None:
    """Print the comparison of each metric, then the rows that changed most."""
    answers = {"long": json.read_json(first), "brief": json.read_json(second)}
    scores = {name: fm.score(table, metrics=METRICS) for name, table in answers.items()}
    print(fm.compare(scores, better={"answer_words": "lower"}))

    both = scores["long"].join(
        scores["brief"].join(answers["brief"].select(["id", "answer"]), "id"), "id", right_suffix="_brief"
    )
    change = compute.subtract(both["token_f1_brief"], both["token_f1"])
    both = both.append_column("change", change).filter(compute.is_finite(change))
    both = both.append_column("size", compute.abs(both["change"])).sort_by(
        [("size", "descending"), ("id", "ascending")]
    )
    print("\nWhere token_f1 changed most:")
    for row in both.slice(0, 5).to_pylist():
        print(f"{row['id']}  {row['change']:+.2f}  {row['answer']}")


if __name__ == "__main__":
    beside = Path(__file__).parent
    main(
        *(sys.argv[1:3] if len(sys.argv) > 2 else map(str, (beside / "answers.jsonl", beside / "brief_answers.jsonl")))
    )
