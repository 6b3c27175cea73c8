"""What the functions of results refuse."""

from __future__ import annotations

import math
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    UnknownColumnError,
    UnknownNameError,
)
from tests.support.goldens import errors_of
from tests.support.program import jsonl, program

N = 24
IDS = [f"q{n}" for n in range(N)]
OTHER_IDS = [f"x{n}" for n in range(N)]
F1 = [n % 7 / 7 for n in range(N)]
TEXT = {"language": ["en", "ru"] * (N // 2), "question": [f"What is {n}?" for n in range(N)]}
OLD: dict[str, Any] = {
    "id": IDS,
    "token_f1": F1,
    "hallucination": F1[::-1],
    "session": [f"s{n // 4}" for n in range(N)],
}
OLD = {**OLD, **TEXT}
NEW = {**OLD, "token_f1": F1[::-1]}
OWN = {"id": IDS, "own": F1}
BARE = {name: column for name, column in OLD.items() if name != "id"}
SHORT = {name: column[1:] for name, column in BARE.items()}
ANSWERS = {"id": ["q0", "q1"], "answer": ["a b", "c"], "latency_ms": [5.0, 6.0]}
ROWS = {"id": [1, 2], "answer": ["the cat sat on", "a b c d"], "reference": ["the cat sat on", "a b c e"]}
KEPT, NOT_KEPT = (fm.score(ROWS, "corpus_bleu,bleu", keep_counts=keep) for keep in (True, False))
JUDGED = {"id": ["a", "b"], "judge_x": [1.0, 2.0], "judge_x_status": ["ok", "ok"]}
TWO = {"f1": [0.1, 0.5], "id": ["a", "b"]}
CLASSES = {"label": ["a", "b"], "expected_label": ["a", "a"]}
NESTED = [{"out": {"label": "a"}, "gold": "a"}]
PATHS = {"predicted": "out.label", "expected": "gold"}
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}
RANKINGS = {"poor": {"q1": {"d1": 1.0, "d2": 2.0}}, "good": {"q1": {"d1": 2.0, "d2": 1.0}}}
NUMBERS = {"id": [1, 2], "bleu": [0.1, 0.2]}
PRICES = {"token_f1": [0.5, 1.0], "p": ["1.234,50", "2"]}
COUNTS = [[1, 2], ["a", "b"], [[1, 2], [1]], [[1.5, 2], [1, 2]], [[1, None], [1, 2]], [{"a": 1}, {"a": 2}]]
FRAME = pd.DataFrame({"answer": ["a b", "c"], "reference": ["a b"] * 2, "label": [1, 0]}, index=["p", "q"])
FRAME_SCORES = fm.score(FRAME, "token_f1")
MIXED = {"meta": [1, {"a": 2}]}
GROUPED = {"id": ["b", "a"], "good": [1, 0], "session": ["s", None], "lists": [["s"], []]}
PILOT = [{"id": IDS, "m": F1}, {"id": IDS, "m": F1[::-1]}]
FLAGS = [{"id": IDS, "exact_match": [0.0, 1.0] * (N // 2)}, {"id": IDS, "exact_match": [1.0] * N}]


def compare(other: Any = NEW, old: Any = OLD, **options: Any) -> Any:
    return lambda: fm.compare({"old": old, "new": other}, **options)


def of_systems(names: list[Any]) -> Any:
    return fm.compare({"id": [1, 1], "s": names, "m": [1, 2]}, system="s")


def counted(counts: Any, **options: Any) -> Any:
    """Runs of a corpus metric, with the counts of one row in 13 numbers and with others."""
    old = {**NUMBERS, "corpus_bleu.counts": [[1] * 13] * 2}
    return lambda: fm.compare([old, {**NUMBERS, "corpus_bleu.counts": counts}], metrics="corpus_bleu")


def gate(rule: str, scores: Any = NEW, **options: Any) -> Any:
    return lambda: fm.gate(scores, rule, **{"baseline": OLD, **options})


def power(pilot: Any = None, **options: Any) -> Any:
    return lambda: fm.power(pilot, **options)


def validate(labels: Any, scores: Any = TWO, **options: Any) -> Any:
    return lambda: fm.validate(scores, labels, **options)


DRAWN = fm.sample(OLD, budget=9, for_="judge_x", using="token_f1")
SCORED_DRAWN = DRAWN.append_column("judge_x", DRAWN["token_f1"])


def drawn(scores: Any = OLD, **options: Any) -> Any:
    return here(lambda: fm.sample(scores, **{"budget": 9, "for_": "judge_x", "using": "token_f1", **options}))


def put_back(scores: Any = OLD, judged: Any = SCORED_DRAWN, **columns: Any) -> Any:
    for name, values in columns.items():
        judged = judged.set_column(judged.column_names.index(name), name, pa.array(values))
    return here(lambda: fm.with_sample(scores, judged))


def estimated(**columns: Any) -> Any:
    table = fm.with_sample(OLD, SCORED_DRAWN).to_pydict()
    return here(lambda: fm.summarize({**table, **{name: change(table[name]) for name, change in columns.items()}}))


def worst(scores: Any = OLD, metric: Any = "token_f1", **options: Any) -> Any:
    return lambda: fm.worst_rows(scores, metric, **options)


def rankings(runs: Any = RANKINGS, qrels: Any = QRELS, **options: Any) -> Any:
    return lambda: fm.results.compare_rankings(runs, qrels, **options)


def classes(rows: Any = CLASSES, **options: Any) -> Any:
    return lambda: fm.classification(rows, **options)


def asserted(scores: Any, *rules: str, **options: Any) -> Any:
    return lambda: fm.scoring.assert_scores(scores, *rules, **options)


def by_rules(text: str) -> Any:
    """A gate by a file of rules."""

    def call() -> Any:
        Path("rules.toml").write_text(text)
        return fm.gate(OLD, rules="rules.toml")

    return call


def files() -> None:
    """Files of each table here: of scores, labels, rankings, and a folder of three runs."""
    for name, table in {"old": OLD, "new": NEW, "own": OWN, "judged": JUDGED}.items():
        pq.write_table(pa.table(table), f"{name}.parquet")
    pq.write_table(pa.table({**NEW, "id": OTHER_IDS}), "other.parquet")
    pq.write_table(pa.table({**OLD, "id": [*IDS[1:], None]}), "null.parquet")
    jsonl(Path("rows.jsonl"), *({"id": n, "answer": "in Paris", "reference": "in Paris"} for n in range(9)))
    for folder in ("runs", "empty", "timed"):
        Path(folder).mkdir(exist_ok=True)
    for day in (1, 2, 3):
        fm.score("rows.jsonl", output=f"runs/day-{day}.parquet", metrics="token_f1", overwrite=True)
    Path("4.csv").write_text("id,label\n7,1\n8,0\n")
    Path("empty.csv").touch()
    Path("cut.parquet").write_bytes(b"no Parquet")
    Path("a.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    Path("short.csv").write_text("id,label\n007,1\n008\n")
    Path("bytes.csv").write_bytes(b"id,label\n007,1\n\xff,1\n")
    Path("bad.jsonl").write_text('{"id": "007", "label": 1}\n{"id":')
    Path("answers.csv").write_text("id,answer,reference\n1,42,42\n2,7,8\n")
    Path("comments.csv").write_text("id,comment\n1,good\n2,3\n")
    Path("file").touch()
    Path("a.run").write_text("q1 Q0 d1 1 2.0 t\n")
    Path("qrels").write_text("q1 0 d1 1\n")


def here(call: Any) -> Any:
    """A call that reads the files."""

    def made() -> Any:
        files()
        return call()

    return made


def command(*words: object) -> Any:
    return here(lambda: program(*words))


def timed() -> Any:
    """A folder of a run that stores when it began and of one that does not."""
    files()
    with mock.patch("fastmetrics.scoring.score_runs.now", return_value="2026-01-09T00:00:00"):
        fm.score("rows.jsonl", output="timed/a.parquet", metrics="token_f1", times=True)
    fm.score("rows.jsonl", output="timed/untimed.parquet", metrics="token_f1")
    return fm.gate("timed", "token_f1 >= 0.6", latest=True)


def without(package: str) -> Any:
    def call() -> Any:
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            return getattr(fm.summarize(OLD), f"to_{package}")()

    return call


def with_meta(text: str) -> pa.Table:
    return pa.table({"a": [1.0]}).replace_schema_metadata({"fastmetrics": text})


MATCH = ("match", "--columns", "question=id", "-o", "m.csv")
GATED = ("gate", "own.parquet", "-r", "own >= 0")
RULES = {
    **{"token_f1.mean => 0.6": "15", "token_f1.mean !> 0.6": "15", "token_f1 >= 0.6.5": "16"},
    **{"token_f1.mean 0.6": "18", "token_f1 >= high": "13", ">= 0.6": "1", "token_f1 >= 0.6 were a=b": "17"},
    **{"token_f1 >= 0.6 where a": "23", "token_f1 >= 0.6 where a=b, c": "27"},
}
"""Rules that cannot be read, and the character that says so."""
FILES_OF_RULES = {
    **{"requires = []": "require", "require = 1": "require", "require = [1]": "require", "": "rules.toml"},
    **{'[[rule]]\nname = "x"': "require", '[[rule]]\nrequire = "a >= 1"\nlimit = 2': "limit"},
    **{"require = ": "rules.toml", 'require = ["a => 1"]': "character"},
}
LIMITS = {
    **{"token_f1.drop <= 2": "0.02", "token_f1.drop.point <= 2": "0.02", "token_f1 <= 2": "0.02"},
    **{"token_f1.p95.low >= -1": "token_f1", "token_f1 >= 60": "0.6", "token_f1.share_missing <= 5": "0.05"},
}
"""Rules that every score meets or none, and the limit that was meant."""
SEVERAL = {
    "gate": lambda: fm.gate("runs", "token_f1 >= 0.6"),
    "baseline": lambda: fm.gate("runs/day-1.parquet", "token_f1.drop <= 0.6", baseline="runs"),
    "compare": lambda: fm.compare(["runs/day-1.parquet", "runs"]),
    "worst_rows": lambda: fm.worst_rows("runs", "token_f1"),
    "summarize_by": lambda: fm.results.summarize_by("runs/*.parquet"),
    "histograms": lambda: fm.results.histograms("runs"),
}

ERRORS: list[tuple[Any, ...]] = [
    # compare: runs that cannot be paired
    ("no shared id", compare({**NEW, "id": OTHER_IDS}), InputError, "q0", "x0", "pairing"),
    ("a missing id", compare({**NEW, "id": [*IDS[1:], None]}), InputError, "23"),
    ("ids that are fractions", compare({**NEW, "id": np.arange(N) / 2}), ColumnError, "double"),
    *(
        (f"without ids: {how} of other lengths", compare(SHORT, BARE, pairing=how), InputError, "24", "23", "on")
        for how in ("id", "position")
    ),
    ("one run without ids", compare(NEW, BARE), ColumnError, "old", "pairing"),
    *(
        (f"other questions by position: {name}", call, InputError, "row 0", "24", "a column named id", "on=")
        for name, call in {
            "compare": compare({**BARE, "question": ["?"] * N}, BARE),
            "gate": gate("token_f1.delta > 0", {**BARE, "question": ["?"] * N}, baseline=BARE),
            "worst_rows": worst({**BARE, "question": ["?"] * N}, baseline=BARE),
            "report": lambda: fm.report([BARE, {**BARE, "question": ["?"] * N}], "page.html"),
        }.items()
    ),
    *(
        (f"another question in one row: {name}", lambda pair=pair: fm.compare(pair), InputError, "q7", "1")
        for name, pair in {
            "there": [OLD, {**OLD, "question": [*TEXT["question"][:7], "Why?", *TEXT["question"][8:]]}],
            "back": [{**OLD, "question": [*TEXT["question"][:7], "Why?", *TEXT["question"][8:]]}, OLD],
        }.items()
    ),
    *(
        (f"{of}: {name}", lambda call=call, runs=runs: call(runs), InputError, of)
        for of, call in (("runs", fm.compare), ("pilot", lambda runs: fm.power(runs, delta=0.1)))
        for name, runs in (("a list of one run", [OLD]), ("one run", pa.table(OLD)))
    ),
    ("compare: a number as a run", lambda: fm.compare([OLD, 5]), ColumnError, "run 2", "int"),
    # compare: options
    ("on with pairing none", compare(pairing="none", on="id"), OptionError, "on", "pairing"),
    ("on with pairing position", compare(pairing="position", on="id"), OptionError, "on", "pairing"),
    ("clusters with wilcoxon", compare(tests="wilcoxon", cluster="session"), OptionError, "session", "fisher", "t"),
    ("margin", compare(margin=0.0), OptionError, "margin", "0.0"),
    ("main: unknown", compare(main="token_f2"), UnknownNameError, "token_f2"),
    ("main: no direction", compare(OWN, OWN, main="own"), OptionError, "own"),
    ("tests", compare(tests="fischer"), UnknownNameError, "fischer", "fisher"),
    ("correction", compare(correction="bonferoni"), OptionError, "correction", "bonferoni"),
    ("confidence", compare(confidence=1.0), OptionError, "confidence", "1.0"),
    ("baseline", compare(baseline="odl"), UnknownNameError, "odl", "old"),
    ("by", compare(by="langage"), UnknownColumnError, "langage", "language"),
    ("by a number", compare(by=[1]), OptionError, "by"),
    ("better", compare(better={"token_f1": "more"}), OptionError, "higher", "lower"),
    ("better: a word", compare(better="lower"), OptionError, "better"),
    ("threads", compare(threads=-1), OptionError, "threads", "-1"),
    ("resamples", compare(resamples=0), OptionError, "resamples", "0"),
    ("cluster", compare(cluster="sesion"), UnknownColumnError, "sesion"),
    ("on a list", compare(on=["group"]), OptionError, "on"),
    ("segments", compare(by="language", segments=5), ColumnError, "segments", "int"),
    ("a metric that a run lacks", compare(OWN, metrics="token_f1"), UnknownNameError, "token_f1", "new"),
    ("no shared scores", compare(OWN), ColumnError, "old", "token_f1", "new", "own"),
    ("compare: answers", compare(ANSWERS, ANSWERS, metrics="token_f1"), UnknownNameError, "old", "token_f1", "score"),
    *(
        (f"systems named by {names}", lambda names=names: of_systems(names), error, "s")
        for names, error in (([[0.2], [0.9]], ColumnError), ([0.2, math.nan], InputError), ([0.2, None], InputError))
    ),
    ("command: runs without shared ids", command("compare", "old.parquet", "other.parquet"), 3, "--pairing"),
    # compare: counts of corpus metrics
    (
        "no counts",
        lambda keep=KEPT, bare=NOT_KEPT: fm.compare([keep, bare], metrics="corpus_bleu"),
        ColumnError,
        "--keep-counts",
    ),
    *((f"counts {counts}", counted(counts), ColumnError, "corpus_bleu.counts") for counts in COUNTS),
    ("counts of another length", counted([[1, 2]] * 2), OptionError, "2", "13"),
    ("a corpus metric without counts", compare(metrics="aurc"), ColumnError, "aurc"),
    ("an unknown corpus metric", compare(metrics="corpus_blue"), UnknownNameError, "corpus_blue"),
    # rankings
    ("one ranking", rankings({"a": {}}), InputError, "one"),
    ("no ranking", rankings([]), InputError, "none"),
    ("rankings: a path", rankings("run.txt"), InputError, "rankings"),
    ("rankings: a list of tables", rankings([{}, {}]), InputError, "rankings"),
    ("rankings: a path twice", rankings(["a.txt", "a.txt"]), OptionError, "a.txt"),
    ("rankings: baseline", rankings(baseline="god"), UnknownNameError, "god", "good"),
    ("rankings: measures", rankings(measures="mrrr"), UnknownNameError, "mrrr", "mrr"),
    ("rankings: tests", rankings(tests="z"), UnknownNameError, "z", "fisher"),
    ("rankings: threads", rankings(threads=0), OptionError, "threads", "0"),
    ("command: no judgements", command("compare", "a.run", "a.run"), 3, "a.run", "--qrels"),
    ("command: two forms of output", command("compare", "a.run", "file", "--json", "--latex"), 2, "--json", "--latex"),
    ("command: one ranking", command("compare", "a.run", "--qrels", "qrels"), 3, "one"),
    # gate: rules
    *((f"rule {rule}", gate(rule), OptionError, at) for rule, at in RULES.items()),
    *((f"limit {rule}", gate(rule), OptionError, meant) for rule, meant in LIMITS.items()),
    *((f"rules {text!r}", by_rules(text), FileFormatError, name) for text, name in FILES_OF_RULES.items()),
    ("no file of rules", lambda: fm.gate(OLD, rules="missing.toml"), FileFormatError, "missing.toml"),
    ("an unknown metric", gate("token_fl >= 0.6"), UnknownNameError, "token_fl", "token_f1"),
    ("a percentile", gate("token_f1.p101 >= 0.6"), UnknownNameError, "token_f1.p101"),
    ("an unknown segment", gate("token_f1 >= 0 where language=fr"), ColumnError, "language", "fr"),
    ("an unknown segment of changes", gate("drop <= 0 where language=fr"), ColumnError, "language", "fr"),
    ("an unknown column", gate("token_f1 >= 0 where langage=ru"), UnknownColumnError, "langage"),
    ("a column of lists", gate("token_f1 >= 0 where g=1", {**NEW, "g": [[1]] * N}), ColumnError, "g", "list"),
    ("no baseline", gate("token_f1.drop <= 0", baseline=None), OptionError, "baseline"),
    ("an unknown change", gate("token_f2.drop <= 0"), UnknownNameError, "token_f2", "token_f1"),
    ("no rule", lambda: fm.gate(OLD), OptionError, "rule"),
    ("a reading behind a space", gate("token_f1 min >= 0.6"), UnknownNameError, "token_f1.min"),
    *((f"equality: {rule}", gate(rule), OptionError, "expected") for rule in ("token_f1.drop == 0", "delta == 0")),
    *(
        (f"no margin: {rule}", gate(rule), OptionError, "expected")
        for rule in ("token_f1.equivalent >= 0.01", "token_f1.not_worse == 0.01", "token_f1.equivalent <= 0")
    ),
    ("equivalence at 0.5", gate("token_f1.equivalent <= 0.01", confidence=0.5), OptionError, "confidence"),
    *(
        (f"no direction: {rule}", gate(rule, OWN, baseline=OWN), OptionError, "own", "better")
        for rule in ("own.drop <= 0.1", "own.drop.point <= 0.1", "own.not_worse <= 0.1", "drop <= 0.1")
    ),
    ("no metric for a limit", gate("drop <= 0.02", ANSWERS, baseline=ANSWERS), UnknownNameError, "latency_ms"),
    *(
        (f"gate: answers, {rule}", gate(rule, ANSWERS), UnknownNameError, "score")
        for rule in ("token_f1 >= 0.5", "token_f1.drop <= 0.5")
    ),
    ("gate: another metric", gate("token_f1 >= 0.5", {**ANSWERS, "chrf": [1, 2]}), UnknownNameError, "token_f1"),
    *(
        (f"gate: no counts, {rule}", gate(rule, NOT_KEPT, baseline=NOT_KEPT), error, "corpus_bleu")
        for rule, error in (
            ("corpus_bleu.drop <= 100", ColumnError),
            ("corpus_bleu >= 0 where id=1", ColumnError),
            ("corpus_bleu.low >= 0", ColumnError),
            ("corpus_bleu.p95 >= 0", UnknownNameError),
        )
    ),
    ("gate: a number as the baseline", gate("token_f1 > 0", baseline=7), ColumnError, "baseline", "int"),
    ("gate: cluster", gate("token_f1 > 0", cluster=5), OptionError, "cluster", "5"),
    ("latest of a table", gate("token_f1 > 0", latest=True), OptionError, "latest"),
    ("latest of nothing", gate("token_f1 > 0", "nowhere", latest=True), FileFormatError, "nowhere"),
    ("assert_scores: a number", asserted(5, "token_f1 > 0"), ColumnError, "int"),
    ("assert_scores: two paths", asserted(["a.csv", "b.csv"], "token_f1 > 0"), InputError, "2"),
    ("assert_scores: a limit", asserted(OLD, "token_f1 >= 0.9", "hallucination < 2"), OptionError, "hallucination"),
    ("assert_scores: not met", asserted(OLD, "token_f1 >= 0.9", "token_f1.n > 2"), AssertionError, "token_f1 >= 0.9"),
    ("assert_scores: answers", asserted(ROWS, "exact_match > 0.5", "bleu > 0"), AssertionError, "exact_match > 0.5"),
    ("assert_scores: a drop", asserted(NEW, "token_f1.drop <= 0", baseline=OLD), AssertionError, "drop"),
    # gate: folders
    *((f"several runs: {name}", here(call), OptionError, "3") for name, call in SEVERAL.items()),
    ("command: several runs", command("gate", "runs", "-r", "token_f1 >= 0.6"), 2, "--latest"),
    ("a run without a time", timed, OptionError, "untimed.parquet"),
    ("a folder without runs", here(gate("token_f1 >= 0.6", "empty", latest=True)), OptionError, "empty"),
    (
        "no earlier run",
        here(gate("delta.point >= 0", "runs/day-1.parquet", baseline="runs", last=3)),
        OptionError,
        "runs",
    ),
    *(
        (f"last of {name}", here(gate("token_f1 > 0", "runs", baseline=of, last=3, latest=True)), OptionError, "last")
        for name, of in (("no baseline", None), ("a table", OLD))
    ),
    ("command: no rule", command("gate", "old.parquet"), 2, "--require"),
    ("command: a rule", command("gate", "old.parquet", "-r", "token_f1.mean => 0.6"), 2, "15"),
    ("command: no baseline", command("gate", "old.parquet", "-r", "token_f1.drop <= 0.1"), 2, "--baseline"),
    ("command: no folder", command(*GATED, "--junit", "nowhere/out.xml"), 4, "nowhere"),
    ("command: two texts", command(*GATED, "--json", "-", "--markdown", "-"), 2, "--json"),
    ("command: a direction", command(*GATED, "--better", "own=lowr"), 2, "lowr"),
    ("command: no direction", command(*GATED[:2], "--baseline", *GATED[1:3], "own.drop < 1"), 2, "--better"),
    ("trend: unknown metric", here(lambda: fm.trend("runs", "token_f2")), UnknownNameError, "token_f2", "token_f1"),
    ("command: unknown metric of a trend", command("runs", "trend", "runs", "token_f2"), 2, "token_f2"),
    ("list_runs: no folder", lambda: fm.results.list_runs("nowhere"), FileFormatError, "nowhere"),
    ("a long name", here(lambda: fm.score("rows.jsonl", output="o.parquet", name="x" * 300)), OptionError, "name"),
    # summaries
    ("summarize: a number", lambda: fm.summarize(3), InputError, "int"),
    ("summarize: a list of numbers", lambda: fm.summarize([1.0]), InputError, "item 0"),
    ("summarize: lengths", lambda: fm.summarize({"a": [1.0], "b": [1.0, 2.0]}), ColumnError, "a", "b", "1", "2"),
    ("summarize: other score columns", lambda: fm.summarize([pa.table(OWN), pa.table(OLD)]), ColumnError, "own"),
    ("summarize: a name twice", lambda: fm.summarize(pa.table([[1.0], [2.0]], names=["a", "a"])), ColumnError, "a"),
    ("summarize: metadata", lambda: fm.summarize(with_meta("[1]")), FileFormatError),
    *(
        (f"statistic {name}", lambda asked={"own": [name]}: fm.summarize(OWN, statistics=asked), UnknownNameError, name)
        for name in ("median", "p101")
    ),
    *(
        (f"labels {labels}", lambda labels=labels: fm.summarize(OLD, labels=labels), OptionError, "2")
        for labels in (
            {"token_f1.mean": "quality", "hallucination.mean": "quality"},
            {"token_f1.mean": "quality", "token_f1.std": "quality"},
            {"token_f1.mean": "hallucination.max"},
        )
    ),
    ("summarize_by: by", lambda: fm.results.summarize_by(OLD, by="langage"), UnknownColumnError, "langage"),
    ("summarize_by: metrics", lambda: fm.results.summarize_by(OLD, metrics="token_f2"), UnknownNameError, "token_f1"),
    *(
        (
            f"{view.__name__}: a column of texts",
            lambda view=view: view(PRICES, metrics="p"),
            UnknownNameError,
            "numbers",
        )
        for view in (fm.summarize, fm.results.summarize_by, fm.results.histograms)
    ),
    ("score: a column", lambda: fm.score([{"answer": "a", "own": 1}], "own"), UnknownNameError, "judge_own", "keep="),
    ("flags: a number", lambda: fm.results.summarize_by({"retries": [0, 50]}, flags="retries"), InputError, "1", "50"),
    ("flags: unknown", lambda: fm.results.summarize_by(OWN, flags="retries"), UnknownNameError, "retries"),
    ("side_by_side: no runs", lambda: fm.results.side_by_side([]), InputError),
    ("primary_table: no runs", lambda: fm.results.primary_table([]), InputError),
    *(
        (f"primary_table: {name} alone", lambda name=name: fm.results.primary_table({"a": {name: [1.0]}}), ColumnError)
        for name in ("rougeL_f1", "exact_match(tokenizer='plain')")
    ),
    ("correlations: one metric", lambda: fm.results.correlations(OLD, metrics="token_f1"), ColumnError, "two"),
    *(
        (f"{view.__name__}: metrics", lambda view=view: view(OLD, metrics="token_f2"), UnknownNameError, "token_f2")
        for view in (fm.results.correlations, fm.results.histograms)
    ),
    *(
        (f"{view.__name__}: no file", lambda view=view: view("none.parquet"), FileFormatError, "none.parquet")
        for view in (fm.results.correlations, fm.results.histograms, fm.results.primary_table)
    ),
    ("a frame of a mapping", lambda: pd.DataFrame(fm.summarize({"token_f1": [0.1, 0.2]})), TypeError, "to_pandas"),
    *((f"without {name}", without(name), MissingExtraError, name) for name in ("pandas", "polars")),
    *((f"command: summarize {name}", command("summarize", name), 3, name) for name in ("answers.csv", "comments.csv")),
    ("no_relevant in a name", lambda: fm.score(ROWS, "mrr(no_relevant='skip')"), OptionError, "no_relevant"),
    ("no_relevant", lambda: fm.score(ROWS, "mrr", no_relevant="skip"), OptionError, "no_relevant", "skip"),
    ("command: no_relevant", command("score", "rows.jsonl", "-o", "o.csv", "--no-relevant", "skip"), 2, "skip"),
    *(
        (f"against: {name}", lambda call=call: call(against="last"), OptionError, "against", "last")
        for name, call in {
            "retrieval_consistency": partial(fm.retrieval_consistency, ["q"], [["a"]]),
            "response_exact_match_rate": partial(fm.response_exact_match_rate, ["q"], ["q"]),
        }.items()
    ),
    # classification
    ("classification: extract", classes(extract="labels"), UnknownNameError, "labels"),
    *(
        (f"classification: columns {names}", classes({name: ["a"] for name in names}), ColumnError, names[0])
        for names in (["guess", "expected_label"], ["label"])
    ),
    *(
        (f"classification: {given}", classes(NESTED, **(PATHS | given)), UnknownColumnError, *given.values())
        for given in ({"predicted": "out.lable"}, {"by": "lang"}, {"cluster": "doc"})
    ),
    ("classification: objects", classes(NESTED, **(PATHS | {"predicted": "out"})), ColumnError, "out"),
    ("classification: lists", classes({"label": [["a", "b"]], "expected_label": ["a"]}), InputError, "2"),
    (
        "classification: nothing to draw",
        lambda: classes({"label": [None], "expected_label": ["a"]})().plot(),
        InputError,
    ),
    # power
    ("power: nothing asked", power(between=1.0), OptionError, "delta", "margin", "n"),
    ("power: two asked", power(between=1.0, delta=0.1, n=5), OptionError, "delta", "margin", "n"),
    ("power: no variance", power(delta=0.1), OptionError, "between"),
    ("power: between", power(between=-1.0, delta=0.1), OptionError, "between", "-1.0"),
    ("power: delta", power(between=1.0, delta=0.0), OptionError, "delta", "0.0"),
    ("power: repeats", power(between=1.0, delta=0.1, repeats=2), OptionError, "within"),
    ("power: repeats of a pilot", power(PILOT, metrics="m", delta=0.1, repeats=3), OptionError, "within"),
    ("power: within", power(between=1.0, delta=0.1, within=(1, 2, 3)), OptionError, "within"),
    ("power: cluster", power(between=1.0, delta=0.1, cluster="group"), OptionError, "cluster"),
    ("power: a small pilot", power([{"id": [1, 2], "m": [1.0, None]}] * 2, delta=0.1), InputError, "m", "1"),
    ("power: a large delta", power(FLAGS, delta=2.0), OptionError, "delta", "exact_match", "0.02"),
    ("power: a large margin", power(FLAGS, margin=2.0), OptionError, "margin", "exact_match", "0.02"),
    ("power: baseline", power({"one": OLD, "two": NEW}, n=60, baseline="four"), UnknownNameError, "four", "one"),
    ("command: power", command("power", "old.parquet", "new.parquet"), 2, "--delta"),
    # judges
    ("judge_report: no judge", lambda: fm.judge_report(OWN), ColumnError),
    ("judge_report: by", lambda: fm.judge_report(JUDGED, by="langage"), UnknownColumnError, "by", "langage"),
    ("judge_report: label", lambda: fm.judge_report(JUDGED, {**TWO, "y": [1, 2]}), ColumnError, "label", "f1", "y"),
    ("judge_report: other ids", lambda: fm.judge_report(JUDGED, {"id": ["p1"], "a": [1]}), InputError, "id"),
    ("judge_report: words as labels", lambda: fm.judge_report(OLD, labels=["yes"]), ColumnError, "run 1"),
    ("command: ranges", command("judge", "report", "judged.parquet", "--ranges", "judge_x=5"), 2, "judge_x"),
    ("command: no judge", command("judge", "report", "own.parquet"), 3, "own"),
    # validate
    ("validate: lengths", validate([1, 0, 1]), ColumnError, "2", "3"),
    ("validate: no ids", validate({"c": [1, 0]}, on="id"), UnknownColumnError, "id"),
    ("validate: an id twice", validate({"id": ["a", "a"], "c": [1, 0]}), InputError, "id", "a"),
    ("validate: fractions as ids", validate({"f1": [1, 0]}, on="f1"), ColumnError, "f1", "double"),
    ("validate: two labels", validate({"c": [1, 0], "d": [1, 0]}), ColumnError, "c", "d"),
    ("validate: words", validate({"c": ["good", "bad"]}), ColumnError, "label", "c"),
    ("validate: lists", validate({"c": [["yes"], ["no"]]}), ColumnError, "label"),
    ("validate: label", validate({"correct": [1, 0]}, label="corect"), UnknownColumnError, "corect", "correct"),
    ("validate: words named", validate({"c": ["good", "bad"]}, label="c"), InputError, "row 0", "c"),
    (
        *["validate: raters", validate({"c": ["no"] * 2, "d": ["yes", "maybe"]}, raters=["c", "d"]), InputError],
        *["row 1", "d"],
    ),
    ("validate: metrics", validate([1, 0], metrics=["f2"]), UnknownNameError, "f2", "f1"),
    ("validate: metrics, a number", validate([1, 0], metrics=[1]), OptionError, "metrics"),
    ("validate: metrics, no list", validate([1, 0], metrics=5), OptionError, "metrics", "5"),
    ("score: metrics, no list", lambda: fm.score({"answer": ["a"], "reference": ["a"]}, 5), OptionError, "5"),
    ("validate: thresholds", validate([1, 0], thresholds={"f2": 1.0}), UnknownNameError, "f2"),
    *(
        (f"validate: {option}", validate([1, 0], **option), OptionError, *option)
        for option in ({"positive": "x"}, {"positive": math.nan}, {"thresholds": {"f1": "x"}}, {"confidence": 1.0})
    ),
    ("validate: an infinite label", validate([1.0, math.inf]), ColumnError, "label", "row 1"),
    ("validate: text", validate(["a"] * 2), ColumnError, "labels", "string"),
    ("validate: better", validate([1, 0], better={"mine": "lower"}), UnknownNameError, "mine", "label", "f1"),
    ("validate: a direction", validate([1, 0], better={"label": "down"}), OptionError, "label", "down"),
    (
        *["validate: mixed scores", validate([0, 1], {**TWO, **MIXED}, metrics=["meta"]), ColumnError, "meta"],
        *["row 0", "row 1"],
    ),
    ("validate: mixed labels", validate(MIXED, label="meta"), ColumnError, "meta", "row 0"),
    ("validate: cluster", validate(GROUPED, cluster="sesion"), UnknownColumnError, "cluster", "sesion", "session"),
    ("validate: a null group", validate(GROUPED, cluster="session"), ColumnError, "session", "row 1"),
    ("validate: lists as groups", validate(GROUPED, label="good", cluster="lists"), ColumnError, "lists"),
    (
        "validate: another index",
        lambda: fm.validate(FRAME_SCORES, FRAME["label"].reset_index(drop=True)),
        ColumnError,
        "on",
    ),
    ("command: labels of other ids", command("validate", "old.parquet", "4.csv"), 3, "q0", "7"),
    # samples
    ("sample: more than all", drawn(budget=25), OptionError, "budget", "24"),
    ("sample: below the strata", drawn(budget=3, by="language"), OptionError, "budget", "4", "2"),
    ("sample: budget 0", drawn(budget=0), OptionError, "budget", "0"),
    ("sample: an unknown column", drawn(using="token_f2"), UnknownNameError, "token_f2", "token_f1"),
    ("sample: no column", drawn(using=[]), OptionError, "using"),
    ("sample: an unknown segment", drawn(by="lang"), UnknownColumnError, "lang", "language"),
    ("sample: no ids", drawn(BARE), ColumnError, "on"),
    ("sample: an id twice", drawn({"id": ["a", "a"], "token_f1": [0.1, 0.2]}, budget=1), InputError, "1"),
    ("sample: a pilot of one value", drawn(pilot={**OLD, "judge_x": [1.0] * N}), InputError, "judge_x", "pilot"),
    ("sample: a pilot without the column", drawn(pilot=NEW), UnknownNameError, "judge_x"),
    ("sample: a pilot of other ids", drawn(pilot={"id": ["x1"], "judge_x": [1.0]}), InputError, "x1"),
    ("sample: added to another seed", drawn(seed=1, judged=SCORED_DRAWN), InputError, "judged"),
    ("sample: added without scores", drawn(judged=DRAWN), ColumnError, "judge_x"),
    ("with_sample: no sample", put_back(judged=pa.table(OLD)), ColumnError, "sample"),
    ("with_sample: no scores", put_back(judged=DRAWN), ColumnError, "judge_x"),
    ("with_sample: another table", put_back(NEW), InputError, "another table"),
    ("with_sample: other ids", put_back({**OLD, "id": OTHER_IDS}), InputError, "another table"),
    ("with_sample: no rows", put_back(judged=SCORED_DRAWN.slice(0, 0)), InputError, "judge_x_sample"),
    *(
        (f"with_sample: a sample of {one}", put_back(judge_x_sample=[one] * 9), InputError, "judge_x_sample")
        for one in ("gold", '{"seed": 1}', "[]")
    ),
    ("with_sample: rows lost", put_back(judged=SCORED_DRAWN.slice(1)), InputError, "24"),
    ("with_sample: rows twice", put_back(judged=pa.concat_tables([SCORED_DRAWN] * 2)), InputError, "once"),
    *[
        (f"with_sample: probability {one}", put_back(judge_x_inclusion=[0.5, one, *[0.5] * 7]), InputError, "row 1")
        for one in (0.0, 1.5, -0.1, math.nan)
    ],
    ("estimate: probability 0", estimated(judge_x_inclusion=lambda x: [0.0, *x[1:]]), InputError, "row 0"),
    ("estimate: drawn by nothing", estimated(judge_x_inclusion=lambda x: [None] * N), InputError, "judge_x"),
    ("estimate: repeats", estimated(id=lambda x: ["q0", *x[:-1]]), InputError, "judge_x"),
    ("command: sample without a budget", command("sample", "old.parquet", "-o", "s.csv"), 2, "--budget", "--judged"),
    ("command: sample for nothing", command("sample", "old.parquet", "--budget", "5", "-o", "s.csv"), 2, "--for"),
    # rows
    ("worst_rows: metric", worst(metric="token_f2"), UnknownNameError, "token_f2"),
    ("worst_rows: a list", worst(metric=["token_f1"]), OptionError, "metric"),
    ("worst_rows: n", worst(n=0), OptionError, "n", "0"),
    ("worst_rows: answers, a number", worst(answers=5), ColumnError, "answers", "int"),
    ("worst_rows: answers without ids", worst(answers={"answer": ["a"]}), ColumnError, "id"),
    ("worst_rows: other answers", worst(answers=[{"id": "z", "answer": "a"}]), InputError, "q0"),
    ("worst_rows: answers of two runs", worst(answers={"id": [*IDS, *IDS], "answer": ["a"] * 48}), InputError, "2"),
    ("worst_rows: answers by position", worst(BARE, answers={"answer": ["a"] * 23}), InputError, "24", "23"),
    ("worst_rows: a baseline by position", worst(BARE, baseline=SHORT), InputError, "24", "23"),
    ("worst_rows: on", worst(answers={"answer": ["a"]}, on="question"), UnknownColumnError, "question"),
    ("worst_rows: segment", worst(by="language", segment="language=rus"), UnknownNameError, "language=ru"),
    ("worst_rows: by", worst(by="langage", segment="language=ru"), UnknownColumnError, "langage"),
    ("worst_rows: segment alone", worst(segment="language=ru"), OptionError, "segment", "by"),
    ("worst_rows: keep", worst(keep="topic"), UnknownColumnError, "topic"),
    ("worst_rows: no direction", worst(OWN, "own"), OptionError, "own", "better"),
    ("worst_rows: a direction", worst(OWN, "own", better={"own": "lowr"}), OptionError, "lowr"),
    ("worst_rows: other questions", worst(NEW, baseline={**OLD, "question": ["?"] * N}), InputError, "24"),
    *(
        (f"command: no direction {more}", command("summarize", "own.parquet", "--worst", "own", *more), 2, "--better")
        for more in ((), ("--best",))
    ),
    (
        *["keep: the ids", lambda: fm.score({**ROWS, "nr": [1, 2]}, columns={"id": "nr"}, keep="id"), ColumnError],
        *["id", "nr"],
    ),
    # files
    *(
        (f"command: validate {name}", command("validate", "old.parquet", name), 3, name, *names)
        for name, names in {
            **{"empty.csv": (), "no.csv": (), "a.xls": (), "cut.parquet": (), "short.csv": ("row 1", "2", "1")},
            **{"bytes.csv": ("row 1", "id", "--encoding"), "bad.jsonl": ("line 2",)},
        }.items()
    ),
    *(
        (f"command: match {name}", command(*MATCH, name, "answers.csv"), 3, name)
        for name in ("empty.csv", "no.csv", "short.csv", "bytes.csv", "bad.jsonl")
    ),
    ("an index below a file", here(lambda: fm.Index.build(np.eye(3)).save("file/index")), OutputError, "index"),
    ("a number as a log", lambda: fm.logs.check_dataset(5), ColumnError, "int"),
    ("match: a number", lambda: fm.match(5, {}), ColumnError, "questions", "int"),
]

test_errors = errors_of(ERRORS)
