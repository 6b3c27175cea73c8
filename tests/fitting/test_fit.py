"""Fitting a score to labels: what scikit-learn predicts is what the file gives, and bad labels are errors."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import fastmetrics as fm
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.fitting.evaluation import FoldRanking, held_out, ranking_estimate
from fastmetrics.fitting.labelled_rows import LabelledRows, folds_of
from fastmetrics.metrics import semantic
from fastmetrics.metrics.fitted_file import load
from fastmetrics.stats.figures import Influence
from fastmetrics.vectors.embedder import Embedder
from tests.reference import fitted as reference

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


FEATURES = ["token_f1", "answer_words", "judge_x"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "mine.toml"
    return fm.fit(table(), label="good", group="topic", metrics=FEATURES, output=path), path


@pytest.mark.slow
def test_the_file_is_a_metric_with_the_scores_of_plain_python(fitted):
    result, path = fitted
    rows = table(50, seed=5)
    scored = fm.score(rows, [str(path), "token_f1", "answer_words"])
    features = zip(*(scored[name].to_pylist() for name in ("token_f1", "answer_words")), rows["judge_x"], strict=True)
    assert [feature.name for feature in load(path).features] == FEATURES
    assert scored["mine"].to_pylist() == [reference.score(result.text, row) for row in features]
    area = fm.validate({"mine": scored["mine"]}, rows["good"])["mine"].auc
    assert area.value > 0.8


@pytest.mark.slow
def test_the_figures_are_printed_and_stored(fitted):
    result, path = fitted
    printed = str(result)
    for text in ("AUC", "Brier", "fitted gains", "words of the reference", "calibration error", "60 groups of 'topic'"):
        assert text in printed
    stored = load(path)
    assert stored.evaluation["ranking"]["value"] == result.evaluation.ranking.value
    assert stored.labels["rows"] == 240
    assert stored.labels["groups"] == 60
    assert json.loads(result.to_json())["recommended"] in ("mine", "token_f1")
    low, value, high = (getattr(result.evaluation.ranking, name) for name in ("low", "value", "high"))
    assert low < value < high


@pytest.mark.slow
def test_the_chart_is_the_calibration_and_the_table_the_metrics_alone(fitted):
    result, _ = fitted
    axes = result.plot(Figure())
    curve = result.evaluation.curve
    assert list(axes.lines[0].get_xdata()) == [part.score for part in curve]
    assert list(axes.lines[0].get_ydata()) == [part.label for part in curve]
    table = result.to_arrow()
    assert table["name"].to_pylist() == ["mine", *(single.name for single in result.evaluation.singles)]
    assert table["ranking_low"][0].as_py() == result.evaluation.ranking.low


@pytest.mark.slow
def test_a_fit_is_repeatable(fitted):
    result, _ = fitted
    again = fm.fit(pa.table(table()), label="good", group="topic", metrics=FEATURES, threads=2)
    assert again.text.replace('name = "fitted"', 'name = "mine"') == result.text
    other = fm.fit(table(), label="good", group="topic", metrics=FEATURES, seed=1)
    assert other.text != again.text


def test_files_are_fitted_like_tables(tmp_path, fitted):
    pq.write_table(pa.table(table()), tmp_path / "labelled.parquet")
    from_file = fm.fit(tmp_path / "labelled.parquet", label="good", group="topic", metrics=FEATURES)
    assert from_file.text.replace('name = "fitted"', 'name = "mine"') == fitted[0].text


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
    rows = table(120)
    rows["grade"] = [
        1 + 2 * good + (len(answer) % 2) for good, answer in zip(rows["good"], rows["answer"], strict=True)
    ]
    path = tmp_path / "grade.toml"
    result = fm.fit(rows, label="grade", metrics=FEATURES, output=path)
    assert result.evaluation.measure == "spearman"
    assert result.model.bounds == (1.0, 4.0)
    scored = np.array(fm.score(rows, str(path))["grade"])
    assert 1 <= scored.min() < scored.max() <= 4


def test_no_group_is_on_two_sides():
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 40, 300))
    labels = (rng.random(300) < 0.3).astype(float)
    folds = folds_of(labels, groups, 0)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups.tolist()))
    shares = [labels[folds == fold].mean() for fold in range(5)]
    assert max(shares) - min(shares) < 0.1
    alone = folds_of(labels, np.arange(300), 0)
    assert max(np.bincount(alone[labels > 0])) - min(np.bincount(alone[labels > 0])) <= 1


def test_classes_are_dealt_out_whatever_the_numbers_of_the_groups():
    rng = np.random.default_rng(1)
    labels = (rng.random(300) < 0.3).astype(float)
    folds = folds_of(labels, rng.permutation(300), 0)
    assert np.ptp(np.bincount(folds[labels > 0])) <= 1


def test_no_row_is_scored_by_a_fit_that_saw_its_label():
    rng = np.random.default_rng(0)
    labels = (rng.random(120) < 0.5).astype(float)
    scores = {"noise": (rng.random(120), np.ones(120, np.bool_))}
    rows = LabelledRows(labels, True, np.arange(120), scores, False)
    folds = folds_of(labels, rows.groups, 0)
    other = replace(rows, labels=np.where(folds == 0, 1 - labels, labels))
    before, after = (held_out(some, (0.0, 1.0), 0, folds).scores for some in (rows, other))
    assert np.array_equal(before[folds == 0], after[folds == 0])
    assert not np.array_equal(before[folds > 0], after[folds > 0])


def test_verdicts_on_more_labels(fitted):
    evaluation = fitted[0].evaluation
    gain = evaluation.learning_gain
    assert gain is not None
    for low, high, verdict in ((0.002, 0.1, "more labels would help"), (-0.1, 0.004, "more labels would not help")):
        assert replace(evaluation, learning_gain=replace(gain, low=low, high=high)).learning_verdict.startswith(verdict)
    unclear = replace(evaluation, learning_gain=replace(gain, low=-0.1, high=0.1)).learning_verdict
    assert unclear.startswith("whether more labels would help is not clear")


def test_high_labels_may_be_bad(tmp_path):
    path = tmp_path / "bad.toml"
    result = fm.fit(table(), label="good", metrics=FEATURES, better={"good": "lower"}, output=path)
    assert (result.model.better, load(path).better) == ("lower", "lower")


def test_grades_from_a_value_on_are_positive():
    rows = table(120)
    grades = [1 + 2 * good + (len(answer) % 2) for good, answer in zip(rows["good"], rows["answer"], strict=True)]
    fits = [
        fm.fit({**rows, "good": labels}, label="good", metrics=FEATURES, **options).evaluation
        for labels, options in ((grades, {"positive": 3}), ([int(grade >= 3) for grade in grades], {}))
    ]
    assert [fit.measure for fit in fits] == ["auc", "auc"]
    assert fits[0].ranking == fits[1].ranking


def changed(**columns):
    return {**table(), **columns}


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        (changed(good=[1] * 240), {}, fm.errors.InputError, "all 240 labels are 1"),
        (table(12), {}, fm.errors.InputError, "12 labelled rows are too few"),
        (changed(good=[1] * 5 + [0] * 235), {}, fm.errors.InputError, "only 5 of 240 rows are positive"),
        (
            changed(good=[int(row < 12) for row in range(240)]),
            {"group": "topic"},
            fm.errors.InputError,
            "in 3 of 60 groups",
        ),
        (
            changed(good=["yes", "no"] * 120),
            {},
            fm.errors.ColumnError,
            r"holds text \('yes', 'no'\).*convert the classes",
        ),
        (changed(good=[None] * 240), {}, fm.errors.InputError, "0 labelled rows"),
        (changed(good=[float("inf"), *[0.0] * 239]), {}, fm.errors.InputError, "row 0 holds an infinite"),
        (changed(topic=["a", "b"] * 120), {"group": "topic"}, fm.errors.InputError, "too few groups of 'topic'"),
        (
            changed(topic=[["a"]] * 240),
            {"group": "topic"},
            fm.errors.ColumnError,
            "'topic': expected groups that are texts",
        ),
        (
            table(39),
            {"promises": fm.stats.CutPromises(precision=0.9)},
            fm.errors.InputError,
            "without the 13 rows that are kept apart for the cuts: 26 lab",
        ),
        (table(), {"label": "god"}, fm.errors.UnknownNameError, "did you mean 'good'"),
        (table(), {"metrics": "token_f9"}, fm.errors.UnknownNameError, "token_f9"),
        (table(), {"metrics": "corpus_bleu"}, fm.errors.OptionError, "depends on all rows"),
        (table(), {"metrics": "good"}, fm.errors.ColumnError, "is the label"),
        (table(), {"metrics": "politeness"}, fm.errors.InputError, "the same in all labelled rows"),
        (table(), {"positive": "1"}, fm.errors.OptionError, "positive"),
        (table(), {"threads": 0}, fm.errors.OptionError, "threads"),
        (table(), {"promises": {"precision": 0.9}}, fm.errors.OptionError, "expected a CutPromises"),
        (table(), {"output": "mine.json"}, fm.errors.OptionError, "suffix .toml"),
        (table(), {"output": "token_f1.toml"}, fm.errors.OptionError, "is a metric"),
        (
            changed(good=list(range(240))),
            {"promises": fm.stats.CutPromises(recall=0.9)},
            fm.errors.OptionError,
            "labels of two classes",
        ),
    ],
)
def test_bad_labels_and_options_are_errors(rows, options, error, message):
    with pytest.raises(error, match=message):
        fm.fit(rows, **{"label": "good", "metrics": FEATURES, **options})


@pytest.mark.parametrize("copy", [lambda x: x, lambda x: 5 - 2 * x])
def test_a_copy_of_the_label_is_named(copy):
    rows = table()
    rows["leak"] = [copy(label) for label in rows["good"]]
    with pytest.raises(fm.errors.InputError, match=r"'leak' is a copy of the label 'good'"):
        fm.fit(rows, label="good", metrics=[*FEATURES, "leak"])
    labels = fm.token_f1(rows["answer"], rows["reference"]).tolist()
    with pytest.raises(fm.errors.InputError, match=r"'token_f1' is a copy of the label 'grade'"):
        fm.fit({**rows, "grade": labels}, label="grade", metrics=FEATURES)


def test_rows_without_a_label_are_left_out():
    rows = table()
    rows["good"] = [None if row % 10 == 0 else label for row, label in enumerate(rows["good"])]
    result = fm.fit(rows, label="good", metrics=FEATURES)
    assert result.model.labels["rows"] == 216
    assert "24 rows without a label left out" in str(result)


@pytest.mark.slow
def test_repeated_questions_are_noted():
    rows = {**table(), "question": [f"q{row // 2}" for row in range(240)]}
    assert "240 rows have a question that is in several groups" in " ".join(
        fm.fit(rows, label="good", metrics=FEATURES).remarks()
    )
    assert "in several groups" not in str(fm.fit(rows, label="good", metrics=FEATURES, group="question"))


def test_a_preset_names_the_columns(fitted):
    columns = {**table(), "response": table()["answer"]}
    del columns["answer"]
    result = fm.fit(columns, label="good", group="topic", metrics=FEATURES, schema="ragas")
    assert result.text.replace('name = "fitted"', 'name = "mine"') == fitted[0].text
    with pytest.raises(fm.errors.UnknownNameError, match="ragass"):
        fm.fit(columns, label="good", metrics=FEATURES, schema="ragass")


def test_noise_is_called_noise():
    rows = table()
    rows["good"] = np.random.default_rng(3).integers(0, 2, 240).tolist()
    result = fm.fit(rows, label="good", metrics=FEATURES)
    assert not result.evaluation.beats_best
    assert result.recommended is None
    assert result.model.labels["settings"] == "strength=0.001"
    assert "nothing here ranks better than the best single metric" in str(result)


@pytest.mark.slow
def test_a_score_needs_no_scikit_learn(fitted, tmp_path):
    program = (
        "import sys\nsys.modules['sklearn'] = None\nimport fastmetrics as fm\n"
        f"print(fm.score({{'answer': ['a'], 'reference': ['a'], 'judge_x': [1.0]}}, {str(fitted[1])!r})['mine'][0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < 1


def test_an_existing_file_is_kept(fitted):
    with pytest.raises(fm.errors.OutputError, match="exists"):
        fm.fit(table(), label="good", metrics=FEATURES, output=fitted[1])


@pytest.mark.parametrize("grades", [False, True])
def test_a_score_that_hardly_varies_is_fitted(grades):
    """In many folds every value is the same; the mean of the labels is then all there is to learn."""
    rows = {"judge_x": [1.0] + [0.0] * 59, "label": [row % 3 + row % 2 if grades else row % 3 % 2 for row in range(60)]}
    result = fm.fit(rows, label="label", metrics="judge_x")
    assert "judge_x does not rank better than chance" in str(result)
    means = [part.score for part in result.evaluation.curve]
    np.testing.assert_allclose(means, np.mean(rows["label"]), atol=0.15)


def judged(n=60, **columns):
    """Labels of two classes, and two scores of which the first follows them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    return {"good": labels, "judge_a": labels + rng.normal(size=n), "judge_b": rng.normal(size=n), **columns}


ONE_CLASS = {"topic": np.arange(60) // 6, "good": (np.arange(60) < 30).astype(int)}
MOST_ROWS = {"topic": np.maximum(np.arange(60) - 39, 0)}


@pytest.mark.slow
@pytest.mark.parametrize("columns", [ONE_CLASS, MOST_ROWS, {**MOST_ROWS, "good": np.arange(60) % 4}])
def test_groups_of_one_class_and_of_most_rows_are_fitted(columns):
    """Some parts of the learning curve then have one class, or one group."""
    result = fm.fit(judged(**columns), label="good", group="topic", metrics="judge_a,judge_b")
    assert all(np.isfinite([point.ranking.value for point in result.evaluation.learning]))


def test_infinite_and_huge_scores_are_fitted():
    third = np.arange(60) % 3 == 0
    changes = [
        lambda scores: np.where(third, np.inf, scores),
        lambda scores: np.where(third, 1.7e308, scores),
        lambda scores: np.where(np.arange(60) % 2 == 0, np.inf, -np.inf),
        lambda scores: scores * 1e-310,
    ]
    for changed in changes:
        rows = judged()
        rows["judge_b"] = changed(np.asarray(rows["judge_b"]))
        result = fm.fit(rows, label="good", metrics="judge_a,judge_b")
        assert np.isfinite([single.error.value for single in result.evaluation.singles]).all()


def test_huge_labels_are_an_error():
    with pytest.raises(fm.errors.InputError, match=r"up to 1e\+100, row 59 holds 1e\+307"):
        fm.fit(judged(good=[*range(59), 1e307]), label="good", metrics="judge_a")


def test_figures_without_spread_have_no_empty_brackets():
    rows = judged(judge_a=[None] * 20 + [1.0] * 40)
    result = fm.fit(rows, label="good", metrics="judge_a")
    assert "nan" not in str(result)
    alone = result.evaluation.best.ranking
    assert (alone.value, alone.note) == (0.5, "no interval: all rows agree equally")


@pytest.mark.slow
def test_a_best_metric_that_is_chance_is_called_so():
    rows = judged(good=np.random.default_rng(5).integers(0, 2, 60))
    assert "does not rank better than chance either" in " ".join(
        str(fm.fit(rows, label="good", metrics="judge_b")).split()
    )
    assert "than chance" not in str(fm.fit(judged(200), label="good", metrics="judge_a"))


def test_a_copy_of_the_grades_is_named():
    rows = judged(good=np.arange(60) % 5 + 1, leak=np.arange(60) % 5 / 4)
    with pytest.raises(fm.errors.InputError, match=r"'leak' is a copy of the label 'good'"):
        fm.fit(rows, label="good", metrics="judge_a,leak", positive=4)


def test_a_metric_that_is_almost_a_copy_is_noted():
    rows = judged(leak=np.asarray(judged()["good"]) + np.arange(60) / 1e6)
    remarks = " ".join(fm.fit(rows, label="good", metrics="judge_b,leak").remarks())
    assert "leak: the order is that of the labels; check that no label was made from it" in remarks


@pytest.mark.parametrize("stem", ["id", "judge_a", "1st", "a" * 120])
def test_a_file_of_any_name_is_a_metric(stem, tmp_path):
    path = tmp_path / f"{stem}.toml"
    fm.fit(judged(), label="good", metrics="judge_b", output=path)
    assert fm.score(judged(), str(path)).num_columns == 1


def test_rows_that_are_not_kept_apart_have_both_classes():
    """All of the groups with positive rows can be kept apart; this is an error before the evaluation."""
    rows = judged(topic=np.arange(60), good=np.zeros(60, int))
    rows["topic"][:20] = np.arange(20) // 4
    rows["good"][:20] = 1
    for seed in range(3):
        with pytest.raises(fm.errors.InputError, match=r"kept apart for the cuts: .* positive"):
            fm.fit(
                rows,
                label="good",
                group="topic",
                metrics="judge_a",
                promises=fm.stats.CutPromises(precision=0.9),
                seed=seed,
            )


def ranked(n=60):
    """Rankings with judgements, of which a third has no relevant document."""
    rng = np.random.default_rng(3)
    retrieved = [[f"d{x}" for x in rng.permutation(8)[:4]] for _ in range(n)]
    relevant = [[] if row % 3 == 0 else [f"d{x}" for x in rng.integers(0, 8, 2)] for row in range(n)]
    return {"retrieved_ids": retrieved, "relevant_ids": relevant, "good": rng.integers(0, 2, n).tolist()}


@pytest.mark.slow
def test_the_file_stores_the_rule_for_rows_without_relevant_documents(tmp_path):
    path, metrics = tmp_path / "mine.toml", "ndcg@3,reciprocal_rank(no_relevant='undefined')"
    fm.fit(ranked(), label="good", metrics=metrics, no_relevant="zero", output=path)
    names = ["ndcg@3(no_relevant='zero')", "reciprocal_rank(no_relevant='undefined')"]
    assert [feature.name for feature in load(path).features] == names
    assert [feature.spread.shares[-1] > 0 for feature in load(path).features] == [False, True]
    plain = tmp_path / "plain.toml"
    fm.fit(ranked(), label="good", metrics="ndcg@3", output=plain)
    assert [feature.name for feature in load(plain).features] == ["ndcg@3"]
    suite = fm.fit(ranked(), label="good", suites="retrieval", no_relevant="zero")
    assert all("no_relevant='zero'" in feature.name for feature in suite.model.features)


@pytest.mark.slow
def test_lists_are_read_as_by_score():
    rows = table(grouped=False)
    renamed = {"answer": rows["answer"], "reference": [json.dumps([text]) for text in rows["reference"]]}
    renamed["good"] = rows["good"]
    options = {"label": "good", "metrics": "token_f1,answer_words"}
    fitted = fm.fit(renamed, lists="reference", **options)
    assert fitted.text.partition("[labels]")[0] == fm.fit(rows, **options).text.partition("[labels]")[0]


@pytest.mark.slow
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
    with pytest.raises(
        fm.errors.OptionError, match=r"mine\.toml: fitted with the embedder 'minilm'.*embedder='wordllama'"
    ):
        fm.score(rows, str(path), embedder="wordllama")
    unused = fm.fit(rows, embedder="minilm", label="good", metrics="token_f1")
    assert "embedder" not in unused.model.labels
    with pytest.raises(fm.errors.OptionError, match="expected the name of a model"):
        fm.fit(rows, embedder=len, **options)


@pytest.mark.parametrize("auc", [0.5, 0.77, 0.98])
def test_the_interval_of_a_fitted_figure_has_twice_the_variance(auc):
    n, value, added = 30, 2 * auc - 1, np.zeros(0)
    influence = np.random.default_rng(2).normal(size=n)
    influence -= influence.mean()
    figure = FoldRanking(value, Influence(value, influence, None, added, added), True)
    once, twice = (ranking_estimate(figure, 0.95, fitted=fitted) for fitted in (False, True))
    reaches = [math.atanh(2 * bound - 1) - math.atanh(value) for bound in (once.high, twice.high)]
    assert reaches[1] == pytest.approx(math.sqrt(2) * reaches[0])
    assert twice.low < auc < twice.high <= 1


def test_a_fit_without_scikit_learn_names_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"scikit-learn.*\[fit\]"):
        fm.fit({"answer": ["a"], "label": [1]}, label="label")


def test_thoughts_are_left_out_on_request():
    plain = table(60, grouped=False)
    thoughtful = plain | {"answer": [f"<think>{' '.join(WORDS)}</think>{answer}" for answer in plain["answer"]]}
    fitted = fm.fit(thoughtful, label="good", metrics="token_f1", strip_thoughts=True)
    assert fitted.evaluation == fm.fit(plain, label="good", metrics="token_f1").evaluation
    assert fitted.evaluation != fm.fit(thoughtful, label="good", metrics="token_f1").evaluation


def test_labels_that_contradict_the_metrics_look_reversed():
    rows = table(120)
    rows["bad"] = [1 - good for good in rows.pop("good")]
    result = fm.fit(rows, label="bad", metrics="token_f1")
    assert result.looks_reversed
    assert any(note.startswith("labels look reversed: higher is better of") for note in result.remarks())
    assert not fm.fit(rows, label="bad", metrics="token_f1", better={"bad": "lower"}).looks_reversed


def test_a_fit_without_metrics_reads_grounding_and_contexts_as_the_reference_stay_contexts():
    rows = table(120)
    rows["contexts"] = [[one] for one in rows.pop("reference")]
    alone = fm.fit(rows, label="good")
    assert {"novel_word_rate", "vocabulary_score"} <= {one.name for one in alone.model.features}
    both = fm.fit(rows, label="good", columns={"reference": "contexts"})
    names = {one.name for one in both.model.features}
    assert {"token_f1", "novel_word_rate"} <= names
