"""What results show, whole: in a terminal, in Markdown, as LaTeX and JUnit where there are any, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.goldens import Golden, rounded
from tests.support.named_tables import ANSWERS, CLASSES, NEW, OLD, PAIRED, PEOPLE, QRELS, RANKINGS, judged
from tests.support.program import program

RUNS = {"old": OLD, "new": NEW}
RULES = [
    *["token_f1.drop <= 0.1", "exact_match.low >= 0.5", "exact_match.delta.point >= 0", "token_f1 >= 0.1"],
    *["token_f1 >= 0.9", "hallucination.drop <= 0.001", "latency_ms.p95 < 300", "latency_ms.drop <= 20%"],
    *["token_f1 >= 0.5 where language=*", "token_f1.low >= 0.5 where language=ru", "exact_match.equivalent <= 0.01"],
    *["token_f1.drop <= -0.01", "token_f1.low >= 0.65", "token_f1 >= 0.67", "token_f1.equivalent <= 0.03"],
    *["token_f1.n >= 59", "token_f1.share_missing <= 5%", "drop <= 0.3", "latency_ms.p95.high <= 10"],
]
SKEWED = np.random.default_rng(3).exponential(size=80) ** 4
PART = {"id": range(80), "lang": ["a", "b"] * 40, "m": np.arange(80) / 80}
ONE_SIDE = {"a": {"id": range(6), "token_f1": [0.0, 0.2, 0.4, 0.6, 0.8, None]}}
ONE_SIDE["b"] = {"id": range(6), "token_f1": [None, None, 0.5, 0.7, 0.9, 1.0]}
THREE = {name: {"id": range(40), "token_f1": np.arange(40) / 80 + 0.3 * (name == "c")} for name in "cab"}
THREE["b"] = {"id": range(41), "token_f1": [*THREE["b"]["token_f1"], 0.5]}
TWO_JUDGES = {"id": [1, 2], "judge_a": [1.0, 2.0], "judge_b": [1.0, 2.0]}
TWO_JUDGES |= {f"judge_{name}_status": ["ok"] * 2 for name in "ab"}
RATERS = {"ann": [1, 2, 4, 1, 2, 4, 4, None], "bob": [2, 2, 3, 1, 2, 4, 4, None]}
GOOD = {"id": PEOPLE["id"], "good": [n % 3 > 0 for n in range(40)]}
METRICS = "token_f1,exact_match(tokenizer='plain'),abstained,latency_ms,total_tokens,corpus_bleu"
MANY = {f"m{n}": np.random.default_rng(n).random(40) for n in range(8)}
REPEATED = {"id": [n // 3 for n in range(30)], "exact_match": [float(n % 4 > 0) for n in range(30)]}
SMALL: dict[str, Any] = {"resamples": 500, "bootstrap": 300}


def scored(metrics: str = METRICS) -> pa.Table:
    return fm.score(ANSWERS, metrics, keep_counts="corpus" in metrics)


def skewed(**options: Any) -> Any:
    return fm.compare({"old": PART, "new": {**PART, "m": PART["m"] + SKEWED}}, better={"m": "higher"}, **options)


def unpaired() -> Any:
    return fm.compare({"old": OLD, "new": NEW.slice(0, 40)}, pairing="none", metrics="token_f1", **SMALL)


RESULTS = {
    "summary": lambda: fm.summarize(scored(), labels={"token_f1.mean": "<quality>"}),
    "summarize_by": lambda: fm.results.summarize_by(OLD, by="language", cluster="session"),
    "compare": lambda: fm.compare(RUNS, by="language", margin=0.02, cluster="session", **SMALL),
    "compare_tests": lambda: fm.compare(RUNS, tests="t,wilcoxon,fisher", metrics="token_f1", **SMALL),
    "compare_rows_of_one_side": lambda: fm.compare(ONE_SIDE, **SMALL),
    "compare_three": lambda: fm.compare(THREE, **SMALL),
    "compare_skewed": lambda: skewed(by="lang"),
    "compare_unpaired": unpaired,
    "compare_corpus": lambda: fm.compare({"a": scored(), "b": scored().slice(2)}, **SMALL),
    "compare_rankings": lambda: fm.results.compare_rankings(RANKINGS, QRELS, "mrr,ndcg@2"),
    "compare_rankings_skip": lambda: fm.results.compare_rankings(RANKINGS, QRELS, "mrr", missing="skip"),
    "gate": lambda: fm.gate(NEW, RULES, baseline=OLD),
    "gate_clusters": lambda: fm.gate(NEW.slice(3), RULES[:2], baseline=OLD, cluster="session", unpaired="ignore"),
    "gate_same": lambda: fm.gate(OLD, "token_f1.drop <= 0.001", baseline=OLD),
    "gate_passed": lambda: fm.gate(NEW, "exact_match >= 0.2"),
    "side_by_side": lambda: fm.results.side_by_side({"old": OLD, "a rather long name of a run": scored()}),
    "primary_table": lambda: fm.results.primary_table({"new": PAIRED, "old": scored()}),
    "correlations": lambda: fm.results.correlations({**MANY, "same": np.ones(40)}),
    "histograms": lambda: fm.results.histograms(OLD),
    "judge_report": lambda: fm.judge_report(
        {"a_rather_long_name": judged(3), "two": judged(4)}, PEOPLE, by="language", positive=4
    ),
    "judge_report_alone": lambda: fm.judge_report(TWO_JUDGES),
    "validate": lambda: fm.validate(OLD, GOOD, cluster="session"),
    "validate_raters": lambda: fm.validate({"f1": np.arange(8) / 8}, RATERS, raters=["ann", "bob"]),
    "power": lambda: fm.power(RUNS, metrics="token_f1,exact_match", delta=0.02),
    "power_of_n": lambda: fm.power(between=0.25, n=787),
    "power_of_a_margin": lambda: fm.power(between=0.25, margin=0.05),
    "repeats": lambda: fm.results.repeats(REPEATED, k=2),
    "classification": lambda: fm.classification(CLASSES, by="part"),
}
"""A result of each kind."""


def trend() -> Any:
    for name, right in (("c", 10), ("a", 20), ("b", 30)):
        rows = {"id": range(40), "answer": ["yes"] * right + ["no"] * (40 - right), "reference": ["yes"] * 40}
        fm.score(pa.table(rows), "token_f1", output=f"runs/{name}.parquet", name=f"run {name}")
    return fm.trend("runs", "token_f1")


RESULTS["trend"] = trend
NARROW = {"side_by_side", "correlations", "judge_report", "power", "power_of_n", "trend", "summarize_by", "histograms"}
"""Results that fit into 80 columns."""


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_shown(name: str, golden: Golden) -> None:
    Path("runs").mkdir()
    result = RESULTS[name]()
    parts = {"Terminal": str(result), "Markdown": result.to_markdown()}
    for form, method in (("LaTeX", "to_latex"), ("JUnit", "to_junit")):
        if hasattr(result, method):
            parts[form] = getattr(result, method)()
    parts["JSON"] = "\n".join(lines(rounded(result.to_dict())))
    golden(f"{name}.txt", "\n\n".join(f"==== {form}\n{text.rstrip()}" for form, text in parts.items()))
    for part in (parts["Terminal"], parts["Markdown"]):
        assert not {"\x1b", "\u202e"} & {*part}
    assert max(map(len, parts["Terminal"].splitlines())) <= 80 or name not in NARROW


def lines(value: Any, at: str = "") -> list[str]:
    """Each field of a JSON value in a line: a record of a list in one, as long as it is."""
    if isinstance(value, dict) and at.count(" ") < 1:
        return [line for name, part in value.items() for line in lines(part, f"{at}{name} ")]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [f"{at}{json.dumps(part, ensure_ascii=False)}" for part in value]
    return [f"{at}{json.dumps(value, ensure_ascii=False)}"]


COMMANDS = {
    "worst": ("summarize", "new.parquet", "--worst", "token_f1", "-n", 2),
    "worst_changes": ("summarize", "new.parquet", "--worst", "token_f1", "--baseline", "old.parquet", "-n", 2),
    "best": ("summarize", "new.parquet", "--worst", "hallucination", "--best", "-n", 2, "--answers", "answers.parquet"),
    "worst_of_segments": (
        *("summarize", "new.parquet", "--worst", "Token_F1", "--by", "language", "-n", 1),
        *("--answers", "answers.parquet", "--keep", "nr,team of authors"),
    ),
    "worst_without_ids": ("summarize", "bare.parquet", "--worst", "token_f1", "-n", 2, "--answers", "answers.parquet"),
    "rows_of_texts": ("summarize", "scored.parquet", "--worst", "token_f1", "-n", 1, "--answers", "odd.parquet"),
    "runs": ("runs", "list", "runs"),
    "runs_trend": ("runs", "trend", "runs", "token_f1"),
}
"""What only commands print."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_commands_print(name: str, golden: Golden) -> None:
    Path("runs").mkdir()
    trend()
    ids = OLD["id"].to_pylist()
    answers = {"id": ids, "question": [f"Why {one}?" for one in ids], "answer": ["As it is."] * 60, "nr": range(60)}
    odd = {**ANSWERS, "question": ["Long " * 200] * 10, "answer": ["\x1b[31mred\x00\u202e</script>"] * 10}
    tables = {"old": OLD, "new": NEW, "bare": NEW.drop(["id"]), "scored": scored("token_f1"), "odd": odd}
    tables["answers"] = {**answers, "team of authors": [None if n % 2 else "b" for n in range(60)]}
    for file, table in tables.items():
        pq.write_table(pa.table(table) if isinstance(table, dict) else table, f"{file}.parquet")
    done = program(*COMMANDS[name])
    assert (done.code, done.err) == (0, "")
    assert not {"\x1b", "\u202e"} & {*done.out}
    golden(f"command_{name}.txt", done.out)
