"""Fitting a score to labels: what scikit-learn predicts is what the file gives, and what a fit says of its labels."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import fastmetrics as fm
from fastmetrics.fitting.evaluation import HeldOut, Ranking
from fastmetrics.fitting.labelled_rows import LabelledRows, folds_of
from fastmetrics.metrics import semantic
from fastmetrics.metrics.fitted_file import load
from fastmetrics.stats.figures import Influence
from fastmetrics.vectors.embedder import Embedder
from tests.reference import fitted as reference
from tests.support.program import program

WORDS = ("the", "tower", "opened", "in", "1889", "Paris", "is", "old", "a", "city")


def table(n=240, seed=0, grouped=True):
    """Answers of which those with more of the reference's words are labelled good more often."""
    rng = np.random.default_rng(seed)
    answers, references, labels, judged = [], [], [], []
    for _ in range(n):
        reference_words = rng.choice(WORDS, 5)
        overlap = rng.random()
        own = [word if rng.random() < overlap else "xyz" for word in reference_words]
        answers.append(" ".join([*own, *["more"] * rng.integers(0, 4)]))
        references.append(" ".join(reference_words))
        labels.append(int(rng.random() < 1 / (1 + np.exp(6 - 12 * overlap))))
        judged.append(None if rng.random() < 0.1 else float(rng.integers(1, 6)))
    columns = {"answer": answers, "reference": references, "good": labels, "judge_x": judged}
    return columns | ({"topic": [f"t{row // 4}" for row in range(n)]} if grouped else {})


def judged(n=60, **columns):
    """Labels of two classes, and two scores of which the first follows them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    return {"good": labels, "judge_a": labels + rng.normal(size=n), "judge_b": rng.normal(size=n), **columns}


FEATURES = ["token_f1", "answer_words", "judge_x"]
GRADES = [1 + 2 * good + len(answer) % 2 for good, answer in zip(*map(table(120).get, ("good", "answer")), strict=True)]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "mine.toml"
    return fm.fit(table(), label="good", group="topic", metrics=FEATURES, output=path), path


def test_the_file_is_a_metric_with_the_scores_of_plain_python(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    result, path = fitted
    rows = table(50, seed=5)
    scored = fm.score(rows, [str(path), "token_f1", "answer_words"])
    features = zip(*(scored[name].to_pylist() for name in ("token_f1", "answer_words")), rows["judge_x"], strict=True)
    assert [feature.name for feature in load(path).features] == FEATURES
    assert scored["mine"].to_pylist() == [reference.score(result.text, row) for row in features]
    assert fm.validate({"mine": scored["mine"]}, rows["good"])["mine"].auc.value > 0.8


def test_the_figures_are_stored_and_drawn(fitted):
    result, path = fitted
    stored, evaluation, axes = load(path), result.evaluation, result.plot(Figure())
    assert stored.evaluation["ranking"]["value"] == evaluation.ranking.value
    assert (stored.labels["rows"], stored.labels["groups"]) == (240, 60)
    assert evaluation.ranking.low < evaluation.ranking.value < evaluation.ranking.high
    assert [list(axes.lines[0].get_data()[at]) for at in (0, 1)] == [
        [getattr(part, name) for part in evaluation.curve] for name in ("score", "label")
    ]
    shown = result.to_arrow()
    assert shown["name"].to_pylist() == ["mine", *FEATURES, "words of the reference"]
    assert shown["ranking_low"][0].as_py() == evaluation.ranking.low


@pytest.mark.parametrize("form", ["arrow", "file", "preset", "flags"])
def test_the_same_rows_give_the_same_fit(form, fitted, tmp_path):
    rows, options = table(), {"label": "good", "group": "topic", "metrics": FEATURES}
    if form == "arrow":
        rows, options = pa.table(rows), {**options, "threads": 2}
    elif form == "file":
        pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
        rows = tmp_path / "rows.parquet"
    elif form == "preset":
        rows, options = {**rows, "response": rows.pop("answer")}, {**options, "schema": "ragas"}
    else:
        rows["good"] = ["yes" if good else "no" for good in rows["good"]]
    [text, expected] = [each.text.partition("[labels]") for each in (fm.fit(rows, **options), fitted[0])]
    assert text[0].replace('name = "fitted"', 'name = "mine"') == expected[0]
    assert text[2].partition("[evaluation")[2] == expected[2].partition("[evaluation")[2]


def test_another_seed_is_another_fit(fitted):
    other = fm.fit(table(), label="good", group="topic", metrics=FEATURES, seed=1)
    assert other.evaluation.ranking != fitted[0].evaluation.ranking


@pytest.mark.parametrize("grades", [False, True])
def test_the_file_gives_what_scikit_learn_predicts(tmp_path, grades):
    """Each score within its outer quantiles, flags of missing and undefined values, standardised."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(4)
    x = [None if chance < 0.1 else math.nan if chance < 0.2 else 10 * chance for chance in rng.random(200)]
    y = rng.normal(size=200).tolist()
    truth = np.array([5.0 if one is None or math.isnan(one) else one for one in x]) + np.array(y)
    labels = np.round(truth) if grades else (truth + rng.normal(size=200) > 5).astype(float)
    path = tmp_path / "mine.toml"
    result = fm.fit({"x": x, "y": y, "good": labels}, label="good", metrics="x,y", output=path)
    columns = []
    for values in (x, y):
        known = np.array([one is not None and not math.isnan(one) for one in values])
        numbers = np.array([one if is_known else 0.0 for one, is_known in zip(values, known, strict=True)])
        within = np.clip(numbers, *np.quantile(numbers[known], [0.02, 0.98]))
        columns += [np.where(known, within, within[known].mean())]
        columns += [[one is None for one in values], [one is not None and math.isnan(one) for one in values]]
    columns = np.array(columns, float).T
    strength = float(result.model.labels["settings"].removeprefix("strength="))
    model = make_pipeline(StandardScaler(), Ridge(1 / strength) if grades else LogisticRegression(C=strength))
    if grades:
        expected = np.clip(
            model.fit(columns, labels / labels.std()).predict(columns) * labels.std(), labels.min(), None
        )
        expected = expected.clip(max=labels.max())
    else:
        expected = model.fit(columns, labels).predict_proba(columns)[:, 1]
    found = fm.score({"x": x, "y": y}, str(path))["mine"].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_grades_are_ranked(tmp_path):
    path = tmp_path / "grade.toml"
    result = fm.fit(table(120) | {"grade": GRADES}, label="grade", metrics=FEATURES, output=path)
    scored = np.array(fm.score(table(120), str(path))["grade"])
    assert (result.evaluation.measure, result.model.bounds) == ("spearman", (1.0, 4.0))
    assert 1 <= scored.min() < scored.max() <= 4


@pytest.mark.parametrize(("classes", "groups"), [(2, "whole"), (2, "rows"), (2, "shuffled"), (9, "whole")])
def test_no_group_is_on_two_sides_and_folds_are_alike(classes, groups):
    rng = np.random.default_rng(0)
    numbers = {"whole": np.sort(rng.integers(0, 40, 300)), "rows": np.arange(300), "shuffled": rng.permutation(300)}
    labels = (rng.random(300) < 0.3).astype(float) if classes == 2 else rng.integers(0, classes, 300).astype(float)
    folds = folds_of(labels, numbers[groups], 0)
    assert all(len(set(folds[numbers[groups] == group])) == 1 for group in set(numbers[groups].tolist()))
    shares = [(labels[folds == fold] > 0).mean() for fold in range(5)]
    assert np.ptp(shares) < (0.1 if groups == "whole" else 0.02)


def test_no_row_is_scored_by_a_fit_that_saw_its_label():
    rng = np.random.default_rng(0)
    labels = (rng.random(120) < 0.5).astype(float)
    rows = LabelledRows(labels, True, np.arange(120), {"noise": (rng.random(120), np.ones(120, np.bool_))}, False)
    folds = folds_of(labels, rows.groups, 0)
    other = replace(rows, labels=np.where(folds == 0, 1 - labels, labels))
    before, after = (HeldOut.of(some, folds, 0, 0.95).scores for some in (rows, other))
    assert np.array_equal(before == after, folds == 0)


@pytest.mark.parametrize("auc", [0.5, 0.77, 0.98])
def test_the_interval_of_a_fitted_figure_has_twice_the_variance(auc):
    n, value, added = 30, 2 * auc - 1, np.zeros(0)
    influence = np.random.default_rng(2).normal(size=n)
    figure = Ranking(value, Influence(value, influence - influence.mean(), None, added, added))
    rows = HeldOut(LabelledRows(np.zeros(n), True, np.arange(n), {}, False), np.zeros(n), [], np.zeros(n), 0.95)
    once, twice = (rows.estimate(figure, fitted=fitted) for fitted in (False, True))
    reaches = [math.atanh(2 * bound - 1) - math.atanh(value) for bound in (once.high, twice.high)]
    assert reaches[1] == pytest.approx(math.sqrt(2) * reaches[0])
    assert twice.low < auc < twice.high <= 1


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.002, 0.1, "more"), (-0.1, 0.0099, "enough"), (-0.1, 0.01, "unclear"), (0, 1, "unclear")],
)
def test_verdicts_on_more_labels(fitted, low, high, verdict):
    evaluation = fitted[0].evaluation
    gain = replace(evaluation.learning_gain, low=low, high=high)
    assert verdict in replace(evaluation, learning_gain=gain).learning_verdict.id


def test_high_labels_may_be_bad(tmp_path):
    path = tmp_path / "bad.toml"
    result = fm.fit(judged(), label="good", metrics="judge_a", better={"good": "lower"}, output=path)
    assert (result.model.better, load(path).better) == ("lower", "lower")


def test_grades_from_a_value_on_are_positive():
    rows, options = table(120), {"label": "good", "metrics": FEATURES}
    fit = fm.fit({**rows, "good": GRADES}, positive=3, **options).evaluation
    assert fit == fm.fit({**rows, "good": [int(grade >= 3) for grade in GRADES]}, **options).evaluation
    assert fit.measure == "auc"


SOME = [None if row % 10 == 0 else label for row, label in enumerate(table()["good"])]
NOISE = np.random.default_rng(5).integers(0, 2, 60)
FITS = {
    "classes": (table(240) | {"good": SOME, "question": [f"q{row // 2}" for row in range(240)]}, "good", FEATURES, {}),
    "grades": (table(120) | {"grade": GRADES, "same": [1.0] * 120}, "grade", [*FEATURES, "same"], {"group": "topic"}),
    "noise": (judged(good=NOISE), "good", ["judge_b"], {}),
    "a leak": (judged(leak=np.asarray(judged()["good"]) + np.arange(60) / 1e6), "good", ["judge_b", "leak"], {}),
    "reversed": (table(120) | {"bad": [1 - good for good in table(120)["good"]]}, "bad", ["token_f1"], {}),
    "cuts": (table(240), "good", FEATURES, {"promises": fm.stats.CutPromises(precision=0.99, recall=0.5, risk=0.4)}),
}


@pytest.mark.parametrize("name", FITS)
def test_what_is_printed(name, golden):
    rows, label, metrics, options = FITS[name]
    result = fm.fit(rows, label=label, metrics=metrics, **options)
    golden(f"fit_{name.replace(' ', '_')}.txt", f"{result}\n\nrecommended: {result.recommended}")


@pytest.mark.parametrize(("figure", "sign"), [("auc", 1), ("auc", -1), ("spearman", 1), ("spearman", -1)])
def test_a_metric_with_holes_is_stated_over_the_rows_that_have_it(figure, sign):
    rows = judged(90)
    grades = rows["good"] if figure == "auc" else [good + row % 3 for row, good in enumerate(rows["good"])]
    scores = [None if row % 5 == 0 else math.nan if row == 1 else sign * one for row, one in enumerate(rows["judge_a"])]
    found = fm.fit({**rows, "good": grades, "judge_a": scores}, label="good", metrics=["judge_a", "judge_b"])
    one, other = found.evaluation.singles
    alone = getattr(
        fm.validate({"judge_a": scores, "good": grades}, label="good", metrics="judge_a")["judge_a"], figure
    )
    expected = alone.value if sign > 0 else (1 if figure == "auc" else 0) - alone.value
    assert (one.scored, other.scored, one.ranking_of_scored) == (71, 90, pytest.approx(expected))
    assert one.ranking_of_scored > one.ranking.value
    assert f"judge_a {expected:.3f} (71 of 90 rows)" in " ".join(str(found).split())
    assert "judge_b 0" not in " ".join(found.remarks())


def test_only_undeclared_directions_look_reversed():
    rows = table(120) | {"bad": [1 - good for good in table(120)["good"]]}
    assert fm.fit(rows, label="bad", metrics="token_f1").looks_reversed
    assert not fm.fit(rows, label="bad", metrics="token_f1", better={"bad": "lower"}).looks_reversed


def test_rows_of_one_question_are_one_group():
    rows, asked = judged(topic=np.arange(60) // 4), [None, *(f"q{row // 2}" for row in range(59))]
    for group, n in ((None, 58), ("question", 0), ("topic", 28)):
        result = fm.fit({**rows, "question": asked}, label="good", metrics="judge_a", group=group)
        assert result.model.labels["repeated_questions"] == n


@pytest.mark.parametrize("grades", [False, True])
def test_a_score_that_hardly_varies_is_fitted(grades):
    """In many folds every value is the same; the mean of the labels is then all there is to learn."""
    rows = {"judge_x": [1.0] + [0.0] * 59, "label": [row % 3 + row % 2 if grades else row % 3 % 2 for row in range(60)]}
    result = fm.fit(rows, label="label", metrics="judge_x")
    assert result.recommended is None
    np.testing.assert_allclose([part.score for part in result.evaluation.curve], np.mean(rows["label"]), atol=0.15)


HALF, THIRD = np.arange(60) % 2 == 0, np.arange(60) % 3 == 0
ONE_CLASS = {"topic": np.arange(60) // 6, "good": (np.arange(60) < 30).astype(int)}
MOST_ROWS = {"topic": np.maximum(np.arange(60) - 39, 0)}


@pytest.mark.parametrize(
    "columns",
    [
        {"judge_b": np.where(THIRD, np.inf, judged()["judge_b"])},
        *[{"judge_b": np.where(THIRD, 1.7e308, judged()["judge_b"])}, {"judge_b": np.where(HALF, np.inf, -np.inf)}],
        *[{"judge_b": judged()["judge_b"] * 1e-310}, ONE_CLASS, MOST_ROWS, {**MOST_ROWS, "good": np.arange(60) % 4}],
    ],
)
def test_all_figures_are_finite(columns):
    """Scores may be infinite; groups may hold one class or most rows, so that parts of the learning curve do."""
    group = "topic" if "topic" in columns else None
    found = fm.fit(judged(**columns), label="good", group=group, metrics="judge_a,judge_b").evaluation
    figures = [*(single.error for single in found.singles), *(point.ranking for point in found.learning)]
    assert np.isfinite([figure.value for figure in figures]).all()


def test_figures_without_spread_have_no_interval():
    result = fm.fit(judged(judge_a=[None] * 20 + [1.0] * 40), label="good", metrics="judge_a")
    alone = result.evaluation.best.ranking
    assert (alone.value, alone.note.id, math.isnan(alone.low)) == (0.5, "agree_equally", True)
    assert "nan" not in str(result)


@pytest.mark.parametrize(
    ("stem", "name"), [("id", "fitted_id"), ("judge_a", None), ("1st", "fitted_1st"), ("a" * 120, "a" * 100)]
)
def test_a_file_of_any_name_is_a_metric(stem, name, tmp_path):
    path = tmp_path / f"{stem}.toml"
    fm.fit(judged(), label="good", metrics="judge_b", output=path)
    assert fm.score(judged(), str(path)).column_names == [name or "fitted_judge_a"]


def ranked(n=60):
    """Rankings with judgements, of which a third has no relevant document."""
    rng = np.random.default_rng(3)
    retrieved = [[f"d{x}" for x in rng.permutation(8)[:4]] for _ in range(n)]
    relevant = [[] if row % 3 == 0 else [f"d{x}" for x in rng.integers(0, 8, 2)] for row in range(n)]
    return {"retrieved_ids": retrieved, "relevant_ids": relevant, "good": rng.integers(0, 2, n).tolist()}


def test_the_file_stores_the_rule_for_rows_without_relevant_documents(tmp_path, full):
    path, metrics = tmp_path / "mine.toml", "ndcg@3,reciprocal_rank(no_relevant='undefined')"
    fm.fit(ranked(), label="good", metrics=metrics, no_relevant="zero", output=path)
    names = ["ndcg@3(no_relevant='zero')", "reciprocal_rank(no_relevant='undefined')"]
    assert [feature.name for feature in load(path).features] == names
    assert [feature.spread.shares[-1] > 0 for feature in load(path).features] == [False, True]
    plain = tmp_path / "plain.toml"
    fm.fit(ranked(), label="good", metrics="ndcg@3", output=plain)
    assert [feature.name for feature in load(plain).features] == ["ndcg@3"]
    if full:
        suite = fm.fit(ranked(), label="good", suites="retrieval", no_relevant="zero")
        assert all("no_relevant='zero'" in feature.name for feature in suite.model.features)


@pytest.mark.parametrize(
    ("column", "plain", "written", "options"),
    [
        ("reference", lambda text: [text, "old"], lambda text: json.dumps([text, "old"]), {"lists": "reference"}),
        ("answer", str, lambda text: f"<think>{' '.join(WORDS)}</think>{text}", {"strip_thoughts": True}),
    ],
)
def test_texts_are_read_as_by_score(column, plain, written, options):
    rows, how = table(60, grouped=False), {"label": "good", "metrics": "token_f1"}
    plain, other = (rows | {column: list(map(change, rows[column]))} for change in (plain, written))
    fits = fm.fit(plain, **how), fm.fit(other, **options, **how), fm.fit(other, **how)
    expected, read, unread = (fit.text.partition("[labels]")[0] for fit in fits)
    assert read == expected != unread


def test_the_file_stores_the_name_of_the_embedder(tmp_path, monkeypatch):
    vectors = {"wordllama": 1.0, "minilm": -1.0}
    asked = []

    def embedder_of(options):
        asked.append(options["embedder"])
        return Embedder(lambda texts: [[1.0, len(text) * vectors[options["embedder"]]] for text in texts])

    monkeypatch.setattr(semantic, "embedder_of", embedder_of)
    path, rows = tmp_path / "mine.toml", table(grouped=False)
    options = {"label": "good", "metrics": "semantic_similarity,token_f1"}
    fm.fit(rows, embedder="minilm", output=path, **options)
    assert load(path).labels["embedder"] == "minilm"
    scored = fm.score(rows, str(path))
    assert scored.equals(fm.score(rows, str(path), embedder="minilm"))
    assert set(asked) == {"minilm"}
    with pytest.raises(fm.errors.OptionError, match=r"'minilm'.*'wordllama'"):
        fm.score(rows, str(path), embedder="wordllama")
    unused = fm.fit(rows, embedder="minilm", label="good", metrics="token_f1")
    assert "embedder" not in unused.model.labels


def test_a_fit_without_metrics_reads_grounding_and_contexts_as_the_reference_stay_contexts():
    rows = table(60)
    rows["contexts"] = [[one] for one in rows.pop("reference")]
    alone, both = (fm.fit(rows, label="good", columns=columns) for columns in (None, {"reference": "contexts"}))
    assert {"novel_word_rate", "vocabulary_score"} <= {one.name for one in alone.model.features}
    assert {"token_f1", "novel_word_rate"} <= {one.name for one in both.model.features}
    assert alone.evaluation.naive == "words of the contexts"
    weak = fm.fit(table(60), label="good", metrics="judge_x").evaluation  # the naive score ranks better
    assert (weak.naive, weak.best.name) == ("words of the reference", "judge_x")


def test_the_commands_draw(tmp_path):
    pq.write_table(pa.table({**judged(), "id": range(60)}), tmp_path / "rows.parquet")
    words = (tmp_path / "rows.parquet", "--label", "good", "--plot")
    for command in (("fit", "--metrics", "judge_a"), ("validate", tmp_path / "rows.parquet", "--metrics", "judge_a")):
        done = program(*command[:1], *words, tmp_path / f"{command[0]}.svg", *command[1:])
        assert (done.code, done.err) == (0, "")
    assert [("mean good" in (tmp_path / f"{name}.svg").read_text()) for name in ("fit", "validate")] == [True, False]
