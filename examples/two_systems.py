"""Compare two systems that answered the same questions: their summaries, and the rows where they differ most.

::

    python examples/two_systems.py [ANSWERS.jsonl]

The second system is made up here: it gives the first sentence of the first one's answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from pyarrow import Table, json

import fastmetrics as fm

METRICS = ["token_f1", "token_precision", "token_recall", "answer_words"]


def first_sentences(answers: Table) -> Table:
    """The same table with every answer cut after its first full stop."""
    column = answers.column_names.index("answer")
    short = [None if answer is None else answer.split(". ")[0] for answer in answers["answer"].to_pylist()]
    return answers.set_column(column, "answer", [short])


def main(path: str) -> None:
    """Print mean, counts and difference of each metric, then the rows that changed most."""
    answers = json.read_json(path)
    systems = {"long": answers, "short": first_sentences(answers)}
    scores = {name: fm.score(table, metrics=METRICS) for name, table in systems.items()}
    summaries = {name: fm.summarize(table) for name, table in scores.items()}

    print(f"{'metric':16}{'long':>10}{'short':>10}{'change':>10}{'rows':>8}{'no score':>10}")
    for metric in METRICS:
        long, short = (summaries[name][metric] for name in ("long", "short"))
        without = short.n_missing + short.n_undefined
        print(f"{metric:16}{long.mean:10.4f}{short.mean:10.4f}{short.mean - long.mean:+10.4f}{short.n:8}{without:10}")

    change = np.subtract(scores["short"]["token_f1"].to_numpy(), scores["long"]["token_f1"].to_numpy())
    print("\nWhere token_f1 changed most:")
    for row in np.argsort(-np.abs(np.nan_to_num(change)), kind="stable")[:5].tolist():
        print(f"{answers['id'][row]}  {change[row]:+.2f}  {systems['short']['answer'][row]}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("answers.jsonl")))
