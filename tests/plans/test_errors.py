"""What a plan of metrics and the metadata of scores refuse."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, InputError, OptionError, UnknownNameError
from tests.support.goldens import errors_of

ROWS = {"question": ["q", "q"], "answer": ["a", "b"], "reference": ["a", "a"]}
JUDGES = ("judge_answer_faithfulness", "judge_answer_relevance", "judge_correctness", "judge_e2e")
DECLARED: dict[str, Any] = {"spec": "x", "better": "lower", "bounds": [0, 1], "statistics": []}
DECLARED |= {"labels": {}, "reading": None}
COUNTS: dict[str, Any] = {"labelled": 5, "inputs": [{"name": "x", "shares": [1.0], "counts": [1, 2]}]}


def stored(**metadata: Any) -> pa.Table:
    """A table of scores with this metadata."""
    table = pa.table({"id": range(5), "own": [0.5] * 5})
    return table.replace_schema_metadata({"fastmetrics": json.dumps(metadata)})


def turned() -> Any:
    runs = [stored(declared={"own": {**DECLARED, "better": better}}) for better in ("lower", "higher")]
    return fm.compare(dict(zip("ab", runs, strict=True)), metrics="own")


ERRORS: list[tuple[Any, ...]] = [
    ("suite: unknown", lambda: fm.score(ROWS, suites="tier4"), UnknownNameError, "tier4", "tier0"),
    ("suite: no column", lambda: fm.score({"answer": ["a"]}, suites="tier1"), ColumnError, "tier1", "retrieved_ids"),
    ("suite: option", lambda: fm.score(ROWS, suites="tier2(tokeniser='unicode')"), UnknownNameError, "tokenizer"),
    ("suite: value", lambda: fm.score(ROWS, suites="tier2(tokenizer='words')"), OptionError, "tokenizer", "words"),
    ("scorer: a metric of all rows", lambda: fm.scorer("response_exact_match_rate")(pa.table(ROWS)), OptionError,
     "response_exact_match_rate"),
    *[(f"{name} beyond", lambda name=name: fm.score({name: [None, 5.5]}, name), InputError, name, "5.5")
     for name in JUDGES],
    ("two declarations", turned, OptionError, "declared.own.better", "lower", "higher"),
    *[(f"declared: {said}", lambda said=said: fm.gate(stored(declared=said), "own >= 0"), FileFormatError)
     for said in (7, [], {"own": 7}, {"own": {}}, {"own": {**DECLARED, "better": "lowr"}}, {"own": None})],
    *[(f"drift: {entry}", lambda entry=entry: fm.summarize(stored(drift={"mine": entry})), FileFormatError)
     for entry in (COUNTS, {"labelled": "five", "inputs": []}, {"inputs": []}, [])],
    ("cautions", lambda: fm.summarize(stored(cautions={"own": [1]})), FileFormatError, "cautions"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
