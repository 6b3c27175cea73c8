"""Rules for scores: how they are read, what meets them, what the program returns, and the rows that failed them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.results.gate_rules import parse_rule, read_rules
from tests.support.program import program

N = 200
RNG = np.random.default_rng(11)
VALUES = (0.02 + 0.95 * RNG.random(N)).round(3)
SCORES = pa.table(
    {
        "id": range(N),
        "token_f1": pa.array([None if n % 10 == 0 else value for n, value in enumerate(VALUES)]),
        "latency_ms": pa.array(np.arange(N, dtype=float)),
        "hallucination": VALUES,
        "language": ["en", "ru", "zh", "ru"] * (N // 4),
    }
)
DEFINED = np.array([value for n, value in enumerate(VALUES) if n % 10])


def value(rule, scores=SCORES, **options):
    (found,) = fm.gate(scores, rule, **{"unpaired": "ignore", **options})
    return found.value


def test_the_figures_are_those_of_the_summary():
    assert value("token_f1 >= 0") == value("token_f1.mean >= 0") == pytest.approx(DEFINED.mean(), rel=1e-12)
    assert value("token_f1.min >= 0") == DEFINED.min()
    assert value("token_f1.n >= 0") == N - 20
    assert value("token_f1.share_missing <= 10%") == 0.1
    assert value("latency_ms.p95 < 800") == np.percentile(np.arange(N), 95)
    assert value("latency_ms.p12.5 < 800") == np.percentile(np.arange(N), 12.5)
    russian = DEFINED[[SCORES["language"][n].as_py() == "ru" for n in range(N) if n % 10]]
    assert value("token_f1 >= 0 where language=ru") == pytest.approx(russian.mean(), rel=1e-12)


def test_labels_and_corpus_metrics_are_figures(tmp_path):
    rows = [{"id": n, "answer": "I don't know." if n < 3 else "in Paris", "reference": "in Paris"} for n in range(12)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "scores.parquet", metrics="abstained,corpus_bleu")
    summary = fm.summarize(tmp_path / "scores.parquet")
    rate = next(name for name in summary.figures if "abstain" in name and name != "abstained.mean")
    for name in ("corpus_bleu", rate):
        (found,) = fm.gate(tmp_path / "scores.parquet", f"{name} > 0")
        assert (found.value, found.met, found.n) == (summary.figures[name], True, 12)


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        *[("token_f1.n >= 180", True), ("token_f1.n > 180", False), ("token_f1.n <= 180", True)],
        *[("token_f1.n < 180", False), ("token_f1.n == 180", True), ("token_f1.n == 181", False)],
        *[("token_f1 >= 0 with n >= 181", False), ("token_f1 >= 0 with n >= 180", True)],
        ("token_f1 >= 0 where language=zh with n >= 51", False),
    ],
)
def test_a_rule_is_met_or_not(rule, met):
    assert fm.gate(SCORES, rule).passed is met


def test_an_undefined_figure_meets_no_rule():
    nothing = pa.table({"token_f1": pa.array([None] * 9, pa.float64())})
    undefined = pa.table({"token_f1": pa.array([math.nan] * 9, pa.float64())})
    for compare in ("<=", ">=", "<", ">", "=="):
        for scores, unpaired in ((nothing, "ignore"), (undefined, "worst"), (undefined, "ignore")):
            (found,) = fm.gate(scores, f"token_f1 {compare} 0.5 with n >= 0", unpaired=unpaired)
            assert (math.isnan(found.value), found.met, found.reason) == (True, False, "undefined over 0 rows")


_LESS = [None if one is None else one - 0.02 + 0.01 * (n % 3) for n, one in enumerate(SCORES["token_f1"].to_pylist())]
WORSE = SCORES.set_column(1, "token_f1", pa.array(_LESS)).set_column(3, "hallucination", pa.array(VALUES + 0.02))


def test_changes_are_judged_by_the_worse_bound():
    found = fm.compare({"base": SCORES, "new": WORSE}, tests="t")["token_f1"]
    middle = (-found.delta - found.low) / 2
    for rule, met in [
        *[(f"token_f1.drop <= {-found.low + 1e-6:.6f}", True), (f"token_f1.drop <= {middle:.6f}", False)],
        *[(f"token_f1.drop <= {-found.delta:.6f}", False), (f"token_f1.delta >= {found.low - 1e-6:.6f}", True)],
        *[(f"token_f1.delta >= {found.delta - 1e-6:.6f}", False), ("hallucination.drop <= 0.038", True)],
        *[("hallucination.drop <= 0.019", False), ("hallucination.delta <= 0.019", False)],
        ("hallucination.delta >= 0.001", True),
    ]:
        result = fm.gate(WORSE, rule, baseline=SCORES)
        assert result.passed is met, rule
        assert result[0].low <= result[0].value <= result[0].high
    assert {one.metric for one in fm.gate(WORSE, "drop <= 3%", baseline=SCORES)} == {
        "token_f1",
        "latency_ms",
        "hallucination",
    }


def test_rules_speak_of_segments():
    each = fm.gate(SCORES, "token_f1 >= 0 where language=*")
    assert [one.segment for one in each] == ["language=en", "language=ru", "language=zh"]
    assert sum(one.n for one in each) == N - 20
    large = fm.gate(SCORES, "token_f1 >= 0 where language=* with n >= 60")
    assert [one.segment for one in large] == ["language=ru"]
    assert any("2 segments of fewer than 60 rows skipped" in note for note in large.notes)
    changed = fm.gate(
        WORSE, ["token_f1.drop <= 0.05 where language=*", "token_f1.drop <= 0.001 where language=ru"], baseline=SCORES
    )
    assert [(one.segment, one.met) for one in changed] == [
        ("language=en", True),
        ("language=ru", True),
        ("language=zh", True),
        ("language=ru", False),
    ]


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        rule = parse_rule(text)
    except OptionError:
        return
    assert math.isfinite(rule.limit)


@given(
    st.sampled_from(["token_f1", "ndcg@10", "squad_f1(version=2)", "a.b"]), st.floats(-1e9, 1e9), st.integers(1, 10**6)
)
def test_what_is_written_is_read_again(name, limit, least):
    rule = parse_rule(f"{name}.p99.9 <= {limit!r} where a b=c d , e=f with n >= {least:,}")
    assert (rule.metric, rule.reading, rule.limit, dict(rule.where), rule.least) == (
        *[name, "p99.9", limit, {"a b": "c d", "e": "f"}, least],
    )


RULES = """
require = ["token_f1 >= 0.3", "token_f1.n >= 1"]
[[rule]]
name = "Russian holds up"
require = "token_f1 >= 0.99"
where = { language = "ru" }
n = 20
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(SCORES, "scores.parquet")
    pq.write_table(WORSE, "worse.parquet")
    (tmp_path / "gates.toml").write_text(RULES)
    return tmp_path


def test_rules_in_toml(files):
    rules = read_rules("gates.toml")
    assert [(rule.metric, rule.limit, dict(rule.where), rule.least, rule.name) for rule in rules] == [
        ("token_f1", 0.3, {}, None, None),
        ("token_f1", 1, {}, None, None),
        ("token_f1", 0.99, {"language": "ru"}, 20, "Russian holds up"),
    ]


def test_the_program_ends_with_1_where_a_rule_is_not_met(files):
    done = program("gate", "scores.parquet", "-r", "token_f1 >= 0.3", "-r", "latency_ms.p95 < 800")
    assert (done.code, "scores passed: 2 checks met" in done.out) == (0, True)
    failed = program("gate", "scores.parquet", "--rules", "gates.toml", "--junit", "out.xml")
    assert failed.code == 1
    assert "FAILED: 1 of 3 checks not met" in failed.out
    assert "FAILED" in failed.out.splitlines()[0]  # the verdict, then the rules
    assert "Russian holds up" in failed.out.splitlines()[3]
    suite = ElementTree.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    (failure,) = suite.findall("testcase/failure")
    assert "expected >= 0.99" in failure.get("message")
    assert sorted(path.name for path in files.iterdir()) == ["gates.toml", "out.xml", "scores.parquet", "worse.parquet"]


def test_junit_holds_any_text():
    found = fm.gate({"a\x00<b": [0.1]}, "a\x00<b >= 1")
    assert ElementTree.fromstring(found.to_junit().split("\n", 1)[1]).find("testcase").get("classname") == "a\ufffd<b"


def test_assert_scores_names_failed_rules():
    fm.scoring.assert_scores(SCORES, "token_f1 >= 0.3", "latency_ms.max < 200")
    answers = {"answer": ["in Paris", "no"] * 4, "reference": ["in Paris", "yes"] * 4}
    fm.scoring.assert_scores(answers, "token_f1 >= 0.5", "exact_match == 0.5")


def test_an_absolute_limit_for_all_metrics_leaves_out_those_without_bounds():
    rng = np.random.default_rng(0)
    old = {"id": range(300), "token_f1": rng.random(300), "latency_ms": rng.gamma(4.0, 100.0, 300)}
    new = {**old, "latency_ms": rng.gamma(4.0, 100.0, 300)}
    found = fm.gate(new, ["drop <= 0.02", "drop.point <= 15%"], baseline=old)
    assert [one.title for one in found] == [
        "drop <= 0.02 · token_f1",
        *(f"drop.point <= 15% · {m}" for m in ("token_f1", "latency_ms")),
    ]
    assert found.passed
    assert "drop <= 0.02: not latency_ms, without bounds; a limit in % covers them" in found.notes


def test_a_rule_that_is_not_met_names_its_worst_rows_and_segment():
    languages = ["en", "ru", "de"] * 20
    scores = {"id": [f"q{n}" for n in range(60)], "language": languages, "place": range(60)}
    f1 = [0.9 - 0.5 * (one == "ru") - 0.001 * n for n, one in enumerate(languages)]
    old = pa.table({**scores, "token_f1": [0.95] * 60})
    new = pa.table({**scores, "token_f1": f1})
    for rule, baseline in (("token_f1 >= 0.9", None), ("token_f1.drop <= 0.02", old), ("token_f1.p50 >= 0.95", None)):
        found = fm.gate(new, [rule, "token_f1.n >= 60"], baseline=baseline)
        assert found[0].places.rows == ["q58", "q55", "q52", "q49", "q46"]
        mean = np.mean([value - (0.95 if baseline else 0) for value in f1[1::3]])
        assert found[0].places.segment == f"language=ru ({'drop' if baseline else 'mean'} {abs(mean):.4f} over 20 rows)"
        line = f"worst for {rule}: the segment {found[0].places.segment}; the rows q58, q55, q52, q49, q46"
        assert line in found.remarks()
        assert found.to_dict()["checks"][0]["worst_rows"] == ["q58", "q55", "q52", "q49", "q46"]
        assert (found[1].places.rows, found[1].places.segment) == ((), None)


def test_rows_without_a_score_that_count_as_the_worst_are_named():
    base = {"id": [f"q{n}" for n in range(40)], "token_recall": [1.0] * 40, "lang": ["bad"] * 10 + ["de"] * 30}
    new = {**base, "token_recall": [None] * 10 + [1.0] * 29 + [0.5]}
    drop, mean = fm.gate(new, ["token_recall.drop.point <= 0.02", "token_recall >= 0.95"], baseline=base).checks
    for check in (drop, mean):
        assert check.places.rows == ["q0", "q1", "q2", "q3", "q4"]
        assert check.places.segment.startswith("lang=bad")
    one = fm.gate({**base, "token_recall": [1.0] * 39 + [0.0]}, "token_recall.drop.point <= 0.02", baseline=base)
    assert one.checks[0].places.rows == ["q39"]


def test_three_files_in_one_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": ["![x](http://a.b/c)", *"bcdefgh"], "token_f1": [0.0, *[0.9] * 7]}), "s.parquet")
    files = ("--json", "g.json", "--markdown", "g.md", "--junit", "g.xml")
    done = program("gate", "s.parquet", "-r", "token_f1 >= 0.95", *files)
    assert (done.code, done.out) == (1, str(fm.gate("s.parquet", "token_f1 >= 0.95")) + "\n")
    assert json.loads(Path("g.json").read_text())["passed"] is False
    assert "![x]" in Path("g.md").read_text()
    assert "](" not in Path("g.md").read_text()
    assert ElementTree.parse("g.xml").getroot().get("failures") == "1"
    assert program("gate", "s.parquet", "-r", "token_f1 >= 0.95", "--json", "-", "--markdown", "-").code == 2


ABSENT = [
    # rows with a score of 1, rows that are gone, the rule, its exit code: few rows fail only where the gone ones tell
    *[(4, 0, "token_f1 >= 0.9", 6), (4, 1, "token_f1 >= 0.9", 1), (4, 1, "token_f1 >= 0.8", 6)],
    *[(3, 1, "token_f1 >= 0.9", 6), (0, 5, "token_f1 >= 0.9", 1), (4, 116, "token_f1.drop.point <= 0.02", 1)],
    *[(4, 116, "token_f1.low >= 0.5", 1), (4, 116, "token_f1 >= 0.9 with unpaired=ignore", 6)],
    *[(4, 6, "token_f1 >= 0.9 with n >= 11", 6), (4, 7, "token_f1 >= 0.9 with n >= 11", 1)],
    *[(4, 16, "token_f1.equivalent <= 0.5", 1), (4, 16, "token_f1.drop <= 0.9", 6)],
]


@pytest.mark.parametrize(("n", "gone", "rule", "code"), ABSENT)
def test_rows_that_are_gone_fail_a_rule_that_has_too_few_others(tmp_path, n, gone, rule, code):
    table = pa.table({"id": range(n + gone), "token_f1": [1.0] * (n + gone)})
    pq.write_table(table, tmp_path / "old.parquet")
    pq.write_table(table.slice(0, n), tmp_path / "new.parquet")
    done = program("gate", tmp_path / "new.parquet", "--baseline", tmp_path / "old.parquet", "-r", rule)
    assert (done.code, "with a score, expected" in " ".join(done.out.split())) == (code, code == 6), done.out


@pytest.mark.parametrize(("n", "code"), [(4, 6), (5, 1), (6, 1)])
def test_too_few_rows_have_a_code_of_their_own(tmp_path, n, code):
    pq.write_table(pa.table({"token_f1": [0.1 * row for row in range(n)]}), tmp_path / "s.parquet")
    assert program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9").code == code
    assert program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9", "-r", "token_f1.n >= 100").code == 1


def test_files_of_an_input_that_cannot_be_read(tmp_path):
    (tmp_path / "s.parquet").write_bytes(b"cut")
    for old in ("g.xml", "g.json", "g.md"):
        (tmp_path / old).write_text("of last night")
    files = ("--junit", tmp_path / "g.xml", "--json", tmp_path / "g.json", "--markdown", tmp_path / "g.md")
    done = program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9", *files)
    assert (done.code, done.out) == (3, "")
    told, error = json.loads((tmp_path / "g.json").read_text()), done.err[len("error: ") : -1]
    assert (told["passed"], told["verdict"], told["error"], told["checks"]) == (False, "not checked", error, [])
    assert (tmp_path / "g.md").read_text() == f"### ❌ {tmp_path}/s.parquet not checked\n\n{error}\n"
    assert json.loads(program("gate", tmp_path / "s.parquet", "-r", "f1 > 0", "--json", "-").out)["error"] == error
    told = program("gate", tmp_path / "s.parquet", "--json", tmp_path / "g.json")
    assert (told.code, "--require" in json.loads((tmp_path / "g.json").read_text())["error"]) == (2, True)
    suite = ElementTree.parse(tmp_path / "g.xml").getroot()
    assert (suite.get("errors"), suite.find("testcase/error").get("message")) == ("1", done.err[len("error: ") : -1])
