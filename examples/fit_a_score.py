"""Fit a score to labels, and score new answers with it.

The labels are made here: an answer is correct if it holds all words of a reference, or a reader forgives it.  Replace
them by labels of your own.

    python examples/fit_a_score.py
"""

from __future__ import annotations

import random
import tempfile
import warnings
from pathlib import Path

import pyarrow.json

import fastmetrics as fm

warnings.simplefilter("ignore", fm.ScoreWarning)  # some rows are in scripts without spaces, on purpose

rows = pyarrow.json.read_json(Path(__file__).parent / "answers.jsonl").to_pylist()
reader = random.Random(1)
for row in rows:
    references = row["reference"] if isinstance(row["reference"], list) else [row["reference"]]
    words = set((row["answer"] or "").lower().split())
    complete = any(set((reference or "").lower().split()) <= words for reference in references)
    row["correct"] = int(complete != (reader.random() < 0.1))

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "correctness.toml")
    fitted = fm.fit(
        rows, label="correct", group="question", metrics="token_f1,keyword_recall,answer_words", output=file
    )
    print(fitted)
    scores = fm.score(rows, [str(file), "token_f1"])
    print(scores.slice(0, 5).to_pylist())
