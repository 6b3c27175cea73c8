"""Validation by which way is better, of scores of any kind, of rows in groups, and matched by row labels."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import typer
from sklearn import metrics as sk
from typer.testing import CliRunner

import fastmetrics as fm
from fastmetrics.cli.commands import load
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.results.summary import summarize
from fastmetrics.stats.association import associate

GOOD = [1, 1, 0, 1, 0, 0]
LOW = [0.0, 0.2, 0.9, 0.1, 0.1, 1.0]
HIGH = [1 - score for score in LOW]


@pytest.mark.parametrize("name", sorted({m.better: name for name, m in REGISTRY.items() if m.level == "row"}.values()))
def test_correct_metric_has_high_auc_in_either_direction(name: str) -> None:
    lower = REGISTRY[name].better == "lower"
    found = fm.validate({name: LOW if lower else HIGH}, GOOD)[name]
    assert (found.better, found.opposed) == (REGISTRY[name].better, lower)
    assert found.auc.value == pytest.approx(sk.roc_auc_score(GOOD, HIGH))
    assert found.pearson.value == pytest.approx(np.corrcoef(LOW if lower else HIGH, GOOD)[0, 1])
    called = [
        score <= found.decision.threshold if lower else score >= found.decision.threshold
        for score in (LOW if lower else HIGH)
    ]
    assert found.f1.value == pytest.approx(sk.f1_score(GOOD, called))


def test_metric_options_and_lower_is_better_labels() -> None:
    bad = [1 - good for good in GOOD]
    scores = {"hallucination(window=5)": LOW, "latency_ms": LOW, "token_f1": HIGH, "mine": LOW, "answer_words": LOW}
    found = fm.validate(scores, {"bad": bad}, better={"bad": "lower"})
    auc = {name: metric.auc.value for name, metric in found.items()}
    right = sk.roc_auc_score(bad, LOW)
    assert auc == pytest.approx(dict.fromkeys(scores, right))
    assert {name for name, metric in found.items() if metric.opposed} == {"token_f1"}
    assert "low scores count as positive, by the declared directions: token_f1" in str(found)
    good = fm.validate(scores, GOOD, better={"mine": "lower"})
    assert {name for name, metric in good.items() if metric.opposed} == {
        "hallucination(window=5)",
        "latency_ms",
        "mine",
    }
    assert good["answer_words"].better is None
    assert good["answer_words"].auc.value == pytest.approx(sk.roc_auc_score(GOOD, LOW))
    assert good["answer_words"].auc.value == pytest.approx(1 - good["mine"].auc.value)
    table = good.to_arrow().to_pydict()
    assert table["better"] == ["lower", "lower", "higher", "lower", None]
    assert table["opposed"] == [True, True, False, True, False]
    lines = str(good).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("mine")] == ["lower", "≤"]
    assert [line.split()[1] for line in lines if line.startswith("token_f1")] == ["higher", "≥"]


def test_fixed_threshold_follows_the_better_direction() -> None:
    found = fm.validate({"drift": [score / 5 for score in LOW]}, GOOD, thresholds={"drift": 0.02})["drift"]
    assert found.decision.threshold == 0.02
    assert found.decision.recall == sk.recall_score(GOOD, [score <= 0.1 for score in LOW])
    assert found.agreement is None


SCORES = {"passed": [True, False, None, True], "stars": [5, 1, 3, None], "fit": [0.875, 0.125, 0.5, 0.75]}
FORMS = {
    "dict": dict,
    "pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.table,
    "rows": lambda columns: pl.DataFrame(columns).to_dicts(),
    "batches": lambda columns: pa.table(columns).to_batches(max_chunksize=2),
    "narrow": lambda columns: pa.table({**columns, "stars": pa.array(columns["stars"], pa.uint8())}),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_integers_and_booleans_are_scores(form: str) -> None:
    table = FORMS[form]({"id": [4, 3, 2, 1], **SCORES, "why": ["a", "b", "c", "d"]})
    summary = fm.summarize(table)
    assert {name: (metric.mean, metric.n, metric.n_missing) for name, metric in summary.items()} == {
        "passed": (2 / 3, 3, 1),
        "stars": (3.0, 3, 1),
        "fit": (0.5625, 4, 0),
    }
    if form != "objects":
        assert summary.notes == []
    found = fm.validate(table, {"id": [1, 2, 3, 4], "label": [1, 0, 0, 1]})
    assert list(found) == list(SCORES)
    assert (found["passed"].n, found["passed"].auc.value) == (3, 1.0)
    assert found["passed"].agreement is not None
    assert (found["stars"].n, found["stars"].auc.value) == (3, 1.0)


def test_ids_labels_and_other_columns_are_not_scores() -> None:
    frame = pd.DataFrame({"QID": [1, 2], "rank": [2**60, 1], "label": [1, 0], "fit": [0.5, 0.1]}, index=[7, 8])
    assert list(fm.summarize(frame)) == ["rank", "label", "fit"]
    assert list(fm.validate(frame, frame, label="label")) == ["rank", "fit"]
    assert list(fm.validate(frame, frame, label="label", metrics="label,fit")) == ["label", "fit"]
    assert list(fm.validate(frame, frame, label="label", on="rank")) == ["fit"]
    scores = fm.score({"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "c"]}, "token_f1,corpus_bleu,bleu")
    kept = scores.append_column("year", pa.array([2024, 2025])).append_column("mine", pa.array([0.5, 1.0]))
    assert list(fm.summarize(kept)) == ["token_f1", "bleu", "mine"]


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_mixed_object_column_is_excluded_and_named(kind: type) -> None:
    rows = {"fit": [0.5, 1.0], "meta": [1, {"a": 2}], "label": [0, 1]}
    summary = fm.summarize(kind(rows))
    assert list(summary) == ["fit", "label"]
    assert summary.notes == ["left out: column 'meta': row 0 is int, row 1 is dict; expected one type"]
    found = fm.validate(kind(rows), [0, 1], metrics=["fit"])
    assert "left out: column 'meta'" in str(found)


def test_integer_scores_in_files(tmp_path: Path) -> None:
    for suffix in ("parquet", "jsonl"):
        path = tmp_path / f"scores.{suffix}"
        frame = pd.DataFrame({"id": [1, 2, 3], "passed": [True, False, True], "stars": [3, 4, 5]})
        frame.to_parquet(path) if suffix == "parquet" else frame.to_json(path, orient="records", lines=True)
        summary = summarize(path)
        assert {name: metric.mean for name, metric in summary.items()} == {"passed": 2 / 3, "stars": 4.0}


def test_rows_of_a_group_belong_together(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    sessions = [f"s{number:02}" for number in generator.integers(0, 15, 90)]
    scores = pa.table({"id": range(90), "fit": generator.random(90), "session": sessions})
    label = (generator.random(90) < 0.5).astype(float)
    order = generator.permutation(90)
    labels = pa.table({"id": np.arange(90)[order], "good": label[order]})
    groups = np.unique(sessions, return_inverse=True)[1]
    expected = associate(scores["fit"], label, positive=1, clusters=groups)
    found = fm.validate(scores, labels, cluster="session")
    assert (found["fit"].auc, found["fit"].kendall) == (expected.auc, expected.kendall)
    assert (found.cluster, found.n_clusters) == ("session", 15)
    assert "95 % intervals over 15 groups of 'session'" in str(found)
    assert found["fit"].auc != fm.validate(scores, labels)["fit"].auc
    for column in (
        sessions,
        pd.Categorical(sessions),
        pl.Series(sessions).cast(pl.Enum(sorted(set(sessions)))),
        groups,
    ):
        beside = pd.DataFrame({"id": range(90), "good": label}).assign(session=column).iloc[order]
        again = fm.validate(scores.drop_columns(["session"]), beside, label="good", cluster="session")
        assert again["fit"].auc == expected.auc
    named = tmp_path / "scores.parquet", tmp_path / "labels.csv"
    scores.to_pandas().to_parquet(named[0])
    labels.to_pandas().to_csv(named[1], index=False)
    app = typer.Typer()
    app.command()(load("validate"))
    options = ["--cluster", "session", "--better", "fit=lower", "--json"]
    fields = json.loads(CliRunner().invoke(app, [*map(str, named), *options]).stdout)
    assert (fields["n_clusters"], fields["metrics"]["fit"]["opposed"]) == (15, True)
    assert fields["metrics"]["fit"]["auc"]["value"] == pytest.approx(1 - expected.auc.value)
    wrong = CliRunner().invoke(app, [*map(str, named), "--better", "fit"])
    assert str(wrong.exception) == "--better 'fit': expected NAME=lower or NAME=higher"


def test_one_group_gives_no_interval() -> None:
    scores = {"id": ["a", "b", "c"], "fit": [0.1, 0.2, 0.3]}
    one = fm.validate(scores, [1, 0, 1])["fit"]
    alone = fm.validate({**scores, "of": [1, 1, 1]}, [1, 0, 1], cluster="of")["fit"]
    for name in ("pearson", "spearman", "kendall", "auc", "f1"):
        assert getattr(alone, name).value == getattr(one, name).value
        assert math.isnan(getattr(alone, name).low)
        assert math.isnan(getattr(alone, name).high)


ANSWERS = pd.DataFrame(
    {"answer": ["a b", "c", "a c", "d"], "reference": ["a b", "a b", "a b", "a b"], "label": [1, 0, 1, 0]},
    index=["p", "q", "r", "s"],
)


def test_frames_without_ids_are_matched_by_row_labels() -> None:
    scores = fm.score(ANSWERS, "token_f1")
    for labels in (ANSWERS[["label"]], ANSWERS["label"], pa.Table.from_pandas(ANSWERS[["label"]])):
        found = fm.validate(scores, labels)
        assert (found.joined_by, found["token_f1"].auc.value) == ("position", 1.0)
    for given in (scores, scores.to_pandas()):
        for labels in (ANSWERS[["label"]].iloc[[2, 0, 3, 1]], ANSWERS["label"].sort_index(ascending=False)):
            found = fm.validate(given, labels)
            assert (found.joined_by, found["token_f1"].auc.value) == ("row labels", 1.0)
    elsewhere = ANSWERS[["label"]].reset_index(drop=True)
    assert fm.validate(scores.to_pandas().reset_index(drop=True), elsewhere).joined_by == "position"
    assert fm.validate(scores, ANSWERS["label"].tolist()).joined_by == "position"
    twice = ANSWERS.set_axis(["p", "q", "q", "s"])
    assert fm.validate(fm.score(twice, "token_f1"), twice["label"]).joined_by == "position"


def test_ids_take_precedence_over_row_labels() -> None:
    frame = ANSWERS.assign(id=[1, 2, 3, 4])
    mixed = frame[["id", "label"]].set_axis(pd.Index([1, "a", 2, "b"], dtype=object))
    assert fm.validate(fm.score(frame, "token_f1"), mixed.iloc[::-1]).joined_by == "id"


def test_the_strongest_of_many_noise_metrics_is_not_beyond_chance() -> None:
    """Each interval of 95 % excludes 0.5 for some of 60 noise metrics; that of the strongest allows for the choice."""
    generator = np.random.default_rng(2)
    label, excluded, shown = np.repeat([0, 1], 40), 0, 0
    for _ in range(10):
        found = fm.validate({f"m{place}": generator.random(80) for place in range(60)}, label)
        excluded += any(one.auc.low > 0.5 or one.auc.high < 0.5 for one in found.values())
        assert found.best is not None
        shown += found.best.beyond_chance
        assert ("none of them is shown to rank better than chance" in str(found.notes)) == (
            not found.best.beyond_chance
        )
    assert (excluded >= 7, shown <= 2) == (True, True)
    assert fm.validate({"m": generator.random(80)}, label).best is None


def test_reversed_labels_are_said_to_be_so() -> None:
    generator = np.random.default_rng(4)
    bad = np.repeat([0, 1], 30)
    lengths = generator.random(60), 2 * generator.random(60)
    scores = {"token_f1": (1 - bad + lengths[0]) / 2, "rouge1_f1": (1 - bad + lengths[1]) / 3}
    found = fm.validate(scores, {"hallucinated": bad})
    assert found.looks_reversed
    assert found.notes[-1].startswith("labels look reversed: higher is better of token_f1, but it has AUC 0 [0, ")
    assert found.notes[-1].endswith("if low values of 'hallucinated' are good, state it (better: hallucinated=lower)")
    assert not fm.validate(scores, {"hallucinated": bad}, better={"hallucinated": "lower"}).looks_reversed
    graded = fm.validate(scores, {"faults": bad + generator.integers(0, 3, 60)})
    assert graded.looks_reversed
    assert graded.best is not None
    assert graded.best.measure == "spearman"
