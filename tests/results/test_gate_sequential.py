"""Gates that are looked at while rows arrive: bounds of confidence sequences, in rules of every origin."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.stats.mean_interval import confidence_sequence
from tests.support.program import program, unfolded

N = 300
RNG = np.random.default_rng(3)
BEFORE = RNG.beta(4, 2, N)
AFTER = np.clip(BEFORE - 0.01 + RNG.normal(0, 0.05, N), 0, 1)
ORDER = RNG.permutation(N)
OLD = pa.table({"id": ORDER, "token_f1": BEFORE, "latency_ms": RNG.exponential(9, N), "language": ["en", "ru"] * 150})
NEW = OLD.set_column(1, "token_f1", pa.array(AFTER))


def one(rule, scores=NEW, **options):
    (found,) = fm.gate(scores, rule, baseline=OLD, interval="sequential", **options)
    return found


def bounds(found):
    return found.low, found.high


def sequence(values, limits=(-1, 1), confidence=0.95):
    estimate = confidence_sequence(np.asarray(values), limits, confidence)
    return pytest.approx((estimate.low, estimate.high), abs=1e-12)


def test_rules_read_the_sequences_of_rows_in_order_of_arrival():
    compared = fm.compare({"old": OLD, "new": NEW}, metrics="token_f1", interval="sequential")["token_f1"]
    found = one("token_f1.drop <= 0.5")
    assert bounds(found) == (-compared.high, -compared.low)
    assert bounds(found) == sequence(BEFORE - AFTER)
    assert (found.interval, found.met, one(f"token_f1.drop <= {found.high - 1e-9:.12f}").met) == (
        "sequential",
        True,
        False,
    )
    low = one("token_f1.low >= 0.1")
    assert bounds(low) == sequence(AFTER, (0, 1))
    assert bounds(fm.gate(NEW, "token_f1.low >= 0.1", interval="sequential")[0]) == bounds(low)
    russian = one("token_f1.drop <= 0.5 where language=ru")
    assert bounds(russian) == sequence((BEFORE - AFTER)[1::2])
    each = fm.gate(NEW, "token_f1.drop <= 0.5 where language=*", baseline=OLD, interval="sequential")
    assert bounds(each[1]) == bounds(russian)
    two = ["token_f1.drop <= 0.5", "token_f1.low >= 0.1"]
    corrected = fm.gate(NEW, two, baseline=OLD, interval="sequential", correction="bonferroni")
    assert bounds(corrected[0]) == sequence(BEFORE - AFTER, confidence=0.975)


def test_the_output_names_the_interval():
    found = fm.gate(NEW, ["token_f1.drop <= 0.02", "token_f1 >= 0.1"], baseline=OLD, interval="sequential")
    assert "95 % intervals: valid at every look, by betting" in found.remarks()
    assert "token_f1 >= 0.1 read a figure of this look: who stops as soon as it is met passes too often" in unfolded(
        str(found)
    )
    assert (found.to_dict()["interval"], found.to_dict()["checks"][0]["interval"]) == ("sequential", "sequential")


def test_rows_without_a_score_count_as_the_worst_at_their_place():
    scores = NEW.set_column(1, "token_f1", pa.array([None if n == 7 else x for n, x in enumerate(AFTER)]))
    worst = np.where(np.arange(N) == 7, 0, AFTER)
    assert bounds(one("token_f1.drop <= 0.5", scores)) == sequence(BEFORE - worst)
    assert bounds(one("token_f1.low >= 0", scores)) == sequence(worst, (0, 1))
    lacking = NEW.take([n for n in range(N) if n != 7])
    assert bounds(one("token_f1.drop <= 0.5", lacking)) == sequence(BEFORE - worst)
    ignored = np.delete(BEFORE - AFTER, 7)
    assert bounds(one("token_f1.drop <= 0.5", lacking, unpaired="ignore")) == sequence(ignored)


def test_rows_after_the_last_of_the_scores_have_not_arrived():
    found = fm.gate(NEW.slice(0, 120), "token_f1.drop <= 0.5", baseline=OLD, interval="sequential")
    assert bounds(found[0]) == sequence((BEFORE - AFTER)[:120])
    assert (found[0].n, found[0].n_worst) == (120, 0)
    assert "180 rows of the baseline after the last row of the scores are in no rule" in found.notes
    assert fm.gate(NEW.slice(0, 120), "token_f1.drop <= 0.5", baseline=OLD)[0].n_worst == 180
    share = fm.gate(NEW.slice(0, 120), "token_f1.share_unpaired <= 0", baseline=OLD, interval="sequential")
    assert share.passed


def test_few_rows_are_enough_where_they_show_it():
    """The sequence holds for every number of rows, so a rule needs no more than any figure."""
    same = OLD.slice(0, 12)
    assert fm.gate(same, "token_f1.drop <= 1", baseline=same, interval="sequential").passed
    few = fm.gate(same.slice(0, 4), "token_f1.drop <= 1", baseline=same, interval="sequential")
    assert "4 rows with a score, expected at least 5" in few[0].reason


@pytest.mark.slow
def test_false_passes_at_the_boundary_with_a_look_after_every_few_rows(full):
    """A system that is worse by exactly the margin passes at any of 11 looks in at most 2.5 % of the trials."""
    looks, trials = range(10, 301, 29), 120 if full else 40
    wrong, plain = 0, 0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        old = (rng.random(300) < 0.7).astype(float)
        new = np.where(rng.random(300) < 0.1, 1 - old, old)
        new = np.where((old == 1) & (rng.random(300) < 0.06), 0, new)
        margin = 0.7 - (0.7 * 0.9 * 0.94 + 0.3 * 0.1)
        rule = f"exact_match.drop <= {margin:.6f}"
        parts = [[{"id": range(n), "exact_match": scores[:n]} for scores in (old, new)] for n in looks]
        wrong += any(fm.gate(new, rule, baseline=old, interval="sequential").passed for old, new in parts)
        plain += any(fm.gate(new, rule, baseline=old).passed for old, new in parts)
    assert wrong <= 0.025 * trials + 2 * np.sqrt(0.025 * 0.975 * trials)
    assert plain > 2 * wrong  # an interval for one look fails at some look in many more of the trials


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        ("token_f1.drop <= 2%", {}, "state the change itself, as in 'drop <= 0.02', or check the rule without"),
        ("latency_ms.drop <= 5", {}, "read the mean with latency_ms.drop.point, or check the rule without"),
        ("latency_ms.high <= 50", {}, "read the mean with latency_ms, or check the rule without"),
        ("drop <= 0.1", {}, "latency_ms has no interval that holds at every look"),
        ("token_f1.drop <= 0.1", {"pairing": "none"}, "pairing='none': expected 'id' or 'position'"),
        ("token_f1.drop <= 0.1", {"cluster": "language"}, "interval='sequential' cannot be combined with cluster="),
    ],
)
def test_rules_without_a_sequence_are_refused(rule, options, message):
    with pytest.raises(OptionError) as raised:
        one(rule, **options)
    assert message in str(raised.value)


def test_an_interval_of_another_kind_is_refused():
    with pytest.raises(OptionError, match=r"interval='t': expected 'auto' or 'sequential'"):
        fm.gate(NEW, "token_f1.low >= 0.1", interval="t")


def test_several_answers_to_a_question_are_refused_without_pairs():
    with pytest.raises(
        OptionError, match=r"several answers to a question, but interval='sequential' needs independent rows"
    ):
        fm.gate({"id": [1, 1, 2, 2], "token_f1": [0.1, 0.2, 0.3, 0.4]}, "token_f1.low >= 0", interval="sequential")


def test_rejected_rows_have_no_place_in_the_order(tmp_path):
    rows = [json.dumps({"id": n, "answer": "in Paris", "reference": "in Paris"}) for n in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join([*rows[:10], "{", *rows[10:]]) + "\n")
    fm.score(
        tmp_path / "rows.jsonl",
        output=tmp_path / "scores.parquet",
        metrics="token_f1",
        files=fm.FileSettings(on_error="skip"),
    )
    (found,) = fm.gate(tmp_path / "scores.parquet", "token_f1.low >= 0.1", interval="sequential")
    assert found.reason.startswith("no interval: 1 rows that scoring rejected have no place in the order of arrival")
    assert fm.gate(
        tmp_path / "scores.parquet", "token_f1.low >= 0.1 with unpaired=ignore", interval="sequential"
    ).passed


def test_the_program_reads_rules_files(tmp_path):
    for name, table in (("old", OLD), ("new", NEW)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "gates.toml").write_text('require = ["token_f1.drop <= 0.2"]\n')
    command = ("gate", tmp_path / "new.parquet", "--baseline", tmp_path / "old.parquet", "--interval", "sequential")
    done = program(*command, "--rules", tmp_path / "gates.toml", "--json")
    expected = fm.gate(
        tmp_path / "new.parquet",
        rules=tmp_path / "gates.toml",
        baseline=tmp_path / "old.parquet",
        interval="sequential",
    )
    assert (done.code, json.loads(done.out)) == (0, json.loads(expected.to_json()))
    refused = program(*command, "-r", "token_f1.drop <= 2%")
    assert (refused.code, "check the rule without --interval" in refused.err) == (2, True)
