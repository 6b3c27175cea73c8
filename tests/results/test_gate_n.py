"""The number of rows of a check: that of the rows which its rule reads, not of the table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm

N = 60
MISSING = {n for n in range(N) if n % 4 == 1}
"""The rows of the scores without an answer."""
NEW = range(N, N + 9)
"""The rows that the baseline lacks."""
OLD_MISSING = {n for n in range(N) if n % 5 == 2}
LANGUAGES = ("en", "en", "ru")


def answers(rows, missing):
    """A table of answers, whose confidence is missing in further rows."""
    return pa.Table.from_pylist(
        [
            {
                "id": f"q{n:03}",
                "language": LANGUAGES[n % 3],
                "answer": None if n in missing else f"the cat sat on mat {n % 7}",
                "reference": f"the cat sat on mat {n % 6}",
                "confidence": None if n in (4, 8) else n % 10 / 10,
            }
            for n in rows
        ]
    )


def scores(tmp_path, name, table, **options):
    rows, path = tmp_path / f"{name}_rows.parquet", tmp_path / f"{name}.parquet"
    pq.write_table(table, rows)
    given = {"metrics": "token_f1,bleu,corpus_bleu,corpus_chrf,aurc", "keep": ["id", "language"], **options}
    fm.score(rows, output=path, **given)
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["sums", "counts of rows"])
def runs(tmp_path_factory, request):
    """The scores and the baseline, with or without the counts of corpus metrics for each row."""
    folder = tmp_path_factory.mktemp("gate")
    new = answers([*range(N), *NEW], MISSING)
    old = answers(range(N), OLD_MISSING)
    return [scores(folder, name, table, keep_counts=request.param) for name, table in (("new", new), ("old", old))]


SCORED = {n for n in [*range(N), *NEW] if n not in MISSING}
BOTH = {n for n in range(N) if n not in MISSING | OLD_MISSING}
ENGLISH = {n for n in SCORED if LANGUAGES[n % 3] == "en"}
"""Every rule, and the rows that it reads."""
RULES = {
    "token_f1 >= 0": SCORED,
    "token_f1.min >= 0": SCORED,
    "token_f1.low >= 0": SCORED,
    "token_f1 >= 0 where language=en": ENGLISH,
    "token_f1.low >= 0 where language=en": ENGLISH,
    "token_f1.delta.point >= -1": BOTH,
    "token_f1.drop <= 1": BOTH,
    "token_f1.drop <= 1 where language=en": BOTH & ENGLISH,
    "corpus_bleu >= 0": SCORED,
    "corpus_chrf >= 0": SCORED,
    "aurc >= 0": SCORED - {4, 8},
}
WITH_COUNTS = {
    "corpus_bleu.drop <= 100": BOTH,
    "corpus_chrf >= 0 where language=en": ENGLISH,
    "corpus_chrf.low >= 0": SCORED,
}


def check_n(rule, rows, scores, **options):
    ignoring = f"{rule} with unpaired=ignore"
    for least, met in ((len(rows), True), (len(rows) + 1, False)):
        (one,) = fm.gate(scores, f"{ignoring}, n >= {least}", **options)
        assert (one.n, one.met, one.to_dict()["n"]) == (len(rows), met, len(rows))
        assert met or one.reason.startswith(f"{len(rows)} rows with a score, expected at least {least}")
        assert f"n = {len(rows)}" in one.basis
        (one,) = fm.gate(scores, ignoring, min_n=least, **options)
        assert (one.n, one.met) == (len(rows), met)


@pytest.mark.parametrize(("rule", "rows"), RULES.items(), ids=RULES)
def test_n_is_that_of_the_rows_that_a_rule_reads(runs, rule, rows):
    scores, baseline = runs
    if "drop" not in rule and "delta" not in rule:
        check_n(rule, rows, scores)
    check_n(rule, rows, scores, baseline=baseline)


@pytest.mark.parametrize(("rule", "rows"), WITH_COUNTS.items(), ids=WITH_COUNTS)
def test_n_of_counted_rows(runs, rule, rows, request):
    if "sums" in request.node.name:
        return
    check_n(rule, rows, runs[0], baseline=runs[1])


def test_n_of_metrics_that_read_stored_lists(tmp_path):
    rows = [{"id": n, "ratings": None if n < 8 else [n % 3, (n + n % 2) % 3]} for n in range(30)]
    path = scores(tmp_path, "rated", pa.Table.from_pylist(rows), metrics="rater_agreement", keep=["id"])
    rule = "rater_agreement.alpha_nominal >= -1"
    check_n(rule, set(range(8, 30)), path)
    found = fm.gate(path, rule)
    assert (found.passed, found[0].n_worst) == (False, 8)
    assert "8 rows have no score" in found[0].reason


def test_rows_that_miss_an_input_of_a_corpus_metric_are_not_passed_over(runs):
    for rule in ("corpus_bleu >= 0", "corpus_chrf >= 0", "aurc >= 0"):
        (one,) = fm.gate(runs[0], rule)
        assert (one.met, one.n_worst) == (False, N + len(NEW) - len(RULES[rule]))
        assert "have no score" in one.reason
