"""Predicted labels against expected ones: equal to scikit-learn, in any order and kind of column, rows without labels,
printed matrices, and the command.
"""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from sklearn import metrics as sk

import fastmetrics as fm
from fastmetrics.results.classification import NOTHING
from fastmetrics.stats.confusion import FIGURES

SUMS = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "macro_f1": lambda y, p: sk.f1_score(y, p, average="macro"),
    "micro_f1": lambda y, p: sk.f1_score(y, p, average="micro"),
    "weighted_f1": lambda y, p: sk.f1_score(y, p, average="weighted"),
    "kappa": sk.cohen_kappa_score,
    "mcc": sk.matthews_corrcoef,
}


def made(rng, n, classes):
    expected = rng.integers(0, classes, n)
    predicted = np.where(rng.random(n) < 0.6, expected, rng.integers(0, classes + 2, n))
    names = np.array([f"class {code}" for code in range(classes + 2)])
    return {"label": names[predicted].tolist(), "expected_label": names[expected].tolist()}


@pytest.mark.parametrize("n", [1, 2, 5, 40, 700])
@pytest.mark.parametrize("classes", [1, 2, 4, 60])
def test_figures_are_those_of_scikit_learn(n, classes):
    rows = made(np.random.default_rng(n + classes), n, classes)
    found = fm.classification(rows)
    expected, predicted = rows["expected_label"], rows["label"]
    labels = sorted({*expected, *predicted})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {name: figure(expected, predicted) for name, figure in SUMS.items()}
        by_class = sk.precision_recall_fscore_support(expected, predicted, labels=labels, zero_division=0)
        matrix = sk.confusion_matrix(expected, predicted, labels=labels)
    assert wanted.keys() == FIGURES.keys()
    assert {name: getattr(found, name).value for name in wanted} == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    own = [(one.precision.value, one.recall.value, one.f1.value, one.n) for one in found.classes]
    np.testing.assert_allclose(np.array(own).T, by_class, atol=1e-12)
    assert found.confusion.labels == labels
    np.testing.assert_array_equal(found.confusion.matrix(), matrix)
    for name in wanted:
        figure = getattr(found, name)
        assert math.isnan(figure.low) or figure.low <= figure.value <= figure.high


def test_the_order_of_rows_does_not_matter():
    rows = made(np.random.default_rng(5), 300, 4)
    rows["part"] = ["a", "b", "b"] * 100
    places = np.random.default_rng(6).permutation(300).tolist()
    mixed = {name: [values[place] for place in places] for name, values in rows.items()}
    first, second = (fm.classification(table, by="part").to_arrow() for table in (rows, mixed))
    assert first.select(["segment", "figure", "n"]) == second.select(["segment", "figure", "n"])
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(first[name].to_numpy(), second[name].to_numpy(), rtol=1e-10)


def test_segments_are_scored_by_themselves():
    rows = made(np.random.default_rng(7), 200, 3)
    rows["part"] = ["a", "b"] * 100
    found = fm.classification(rows, by="part")
    for place, part in enumerate(found.segments):
        alone = fm.classification({name: rows[name][place::2] for name in ("label", "expected_label")})
        assert part.segment == f"part={'ab'[place]}"
        assert (part.n, part.confusion, part.kappa, part.classes) == (100, alone.confusion, alone.kappa, alone.classes)


def test_clusters_widen_the_intervals():
    rows = made(np.random.default_rng(8), 60, 3)
    rows["label"] = [label.replace("3", "0").replace("4", "1") for label in rows["label"]]
    several = {name: values * 5 for name, values in rows.items()} | {"doc": list(range(60)) * 5}
    alone, clustered, wrong = (
        fm.classification(rows),
        fm.classification(several, cluster="doc"),
        fm.classification(several),
    )
    for name in FIGURES:
        one, many = getattr(alone, name), getattr(clustered, name)
        assert many.value == pytest.approx(one.value)
        assert many.high - many.low == pytest.approx(one.high - one.low, rel=0.25)
        assert getattr(wrong, name).high - getattr(wrong, name).low < 0.6 * (one.high - one.low)
    for one, many in zip(alone.classes, clustered.classes, strict=True):
        assert many.f1.value == pytest.approx(one.f1.value)
        assert many.precision.value == pytest.approx(one.precision.value)
        assert many.recall.low < many.recall.value < many.recall.high or many.recall.value in (0, 1)


def test_rare_labels_have_a_note_where_they_weigh_much():
    rows = {"label": ["a", "b"] * 50 + ["c"], "expected_label": ["a", "b", "b", "a"] * 25 + ["c"]}
    found = fm.classification(rows)
    assert "labels with fewer than 5 rows" in found.macro_f1.note
    assert found.macro_f1.note == found.balanced_accuracy.note
    assert found.weighted_f1.note is found.mcc.note is None
    often = {name: values[:-1] for name, values in rows.items()}
    assert fm.classification(often).macro_f1.note is None


def test_intervals_hold_the_mean_over_rare_labels():
    """Of 10 labels, half have 2 to 8 of 300 rows: by the spread of the rows alone, 67 and 71 intervals would hold."""
    rng, recalls = np.random.default_rng(4), np.array([0.95] + [0.3] * 9)
    shares = 1 / np.arange(1, 11) ** 2
    shares /= shares.sum()
    wrong = (1 - np.eye(10)) * shares
    joint = shares[:, None] * (np.diag(recalls) + (1 - recalls)[:, None] * wrong / wrong.sum(axis=1, keepdims=True))
    macro = (2 * np.diag(joint) / (joint.sum(axis=0) + joint.sum(axis=1))).mean()
    held = np.zeros(2, int)
    for _ in range(80):
        cells = rng.choice(100, 300, p=joint.ravel())
        found = fm.classification({"label": cells % 10, "expected_label": cells // 10})
        pairs = ((found.macro_f1, macro), (found.balanced_accuracy, recalls.mean()))
        held += [figure.low <= value <= figure.high for figure, value in pairs]
    assert held.min() >= 74, held


def test_rows_without_a_label_are_counted():
    found = fm.classification({"label": ["a", None, "b", None, "a"], "expected_label": ["a", "a", None, None, "b"]})
    assert (found.n, found.n_no_prediction, found.n_no_label, found.accuracy.value) == (2, 1, 2, 0.5)
    notes = "\n".join(found.remarks())
    assert "1 row without a prediction left out" in notes
    assert "2 rows without an expected label left out" in notes


@pytest.mark.parametrize("columns", [{"label": [], "expected_label": []}, {"label": [None], "expected_label": ["a"]}])
def test_no_rows(columns):
    found = fm.classification(columns)
    assert (found.n, found.classes, found.confusion.cells) == (0, [], [])
    assert all(math.isnan(getattr(found, name).value) for name in FIGURES)
    assert "0 rows" in str(found)
    assert json.loads(found.to_json())["accuracy"]["value"] is None


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ([1, 0, 1, 1], [1.0, 0.0, 0.0, 1.0]),
        ([True, False, True, True], [1, 0, 0, 1]),
        (["True", "False", "true", "True"], [True, False, False, True]),
        ([" 1", "0", "1 ", "1"], [1, 0, 0, 1]),
        ([1.0, 0.0, 1.0, 1.0], pa.array([1, 0, 0, 1], pa.decimal128(3))),
    ],
)
def test_numbers_flags_and_texts_of_one_label_are_equal(predicted, expected):
    found = fm.classification({"label": predicted, "expected_label": expected})
    assert (found.accuracy.value, len(found.classes)) == (0.75, 2)


def test_numbers_are_in_order_of_size():
    found = fm.classification({"label": [10, 9, 2], "expected_label": ["10", "9", "100"]})
    assert found.confusion.labels == ["2", "9", "10", "100"]


def test_labels_are_found_in_texts():
    rows = {
        "answer": ["The sentiment is **Positive**.", "negative", "positive or negative?", "", "\\boxed{negative}"],
        "label": ["positive", "negative", "negative", "positive", "negative"],
    }
    found = fm.classification(rows, extract="label")
    assert (found.predicted, found.expected, found.accuracy.value) == ("answer", "label", 0.6)
    assert found.confusion.count("negative", NOTHING) == found.confusion.count("positive", NOTHING) == 1
    assert "2 rows with a predicted label that no row expects, all wrong: (none) (2)" in found.remarks()
    boxed = fm.classification(rows, extract=["boxed", "regex:^(negative)$"])
    assert (boxed.accuracy.value, boxed.confusion.count("negative", "negative")) == (0.4, 2)


def test_case_counts_unless_it_is_ignored():
    rows = {"label": ["Yes", "no", "NO"], "expected_label": ["yes", "no", "No"]}
    found = fm.classification(rows)
    assert found.accuracy.value == pytest.approx(1 / 3)
    assert "2 rows with an expected label in another case; lowercase=True ignores case" in found.remarks()
    assert fm.classification(rows, lowercase=True).accuracy.value == 1


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        (["label", "expected_label"], ("label", "expected_label")),
        (["Prediction", "Label"], ("Prediction", "Label")),
        (["answer", "label", "reference"], ("answer", "label")),
        (["response", "ground_truth"], ("response", "ground_truth")),
        (["label", "reference"], ("label", "reference")),
        (["y_true", "y_pred"], ("y_pred", "y_true")),
    ],
)
def test_columns_are_found_by_name(columns, wanted):
    found = fm.classification({name: ["a", "b"] for name in columns})
    assert (found.predicted, found.expected) == wanted


def test_named_columns_may_be_paths():
    rows = [{"out": {"label": "a"}, "gold": "a"}, {"out": {"label": "b"}, "gold": "a"}]
    assert fm.classification(rows, predicted="out.label", expected="gold").accuracy.value == 0.5


def test_many_classes_are_folded():
    rows = made(np.random.default_rng(9), 3_000, 1_000)
    found = fm.classification(rows)
    matrix, errors = found.grids()[2:4]
    assert (len(matrix.header), len(matrix.rows)) == (14, 13)
    assert matrix.header[-2].endswith(" others")
    assert matrix.rows[-1][-1] == "3,000"
    assert errors.header[0] == "most frequent errors"
    assert "the 20 most frequent of 9" in "\n".join(found.remarks())
    assert sum(cell["rows"] for cell in found.to_dict()["confusion"]["cells"]) == 3_000
    assert found._repr_html_().count("<tr>") < 80


def test_the_matrix_is_drawn():
    rows = {"label": ["a", "b", "a", "a$x"], "expected_label": ["a", "a", "a", "b"]}
    axes = fm.classification(rows).plot(Figure())
    assert {text.get_position(): text.get_text() for text in axes.texts} == {(0, 0): "2", (2, 0): "1", (1, 2): "1"}
    np.testing.assert_allclose(axes.images[0].get_array()[0], [2 / 3, 0, 1 / 3])
    assert axes.get_title() == "accuracy 0.5000, 4 rows"


@pytest.mark.parametrize(("more", "labels"), [("2.5", ["0", "1", "2.5"]), ("a", ["0", "0.0", "1", "1.0", "a"])])
def test_whole_numbers_of_pandas_are_those_without_decimals(tmp_path, more, labels):
    """Only if all labels are numbers: a text such as a version may mean another thing by 1.0."""
    path = tmp_path / "rows.csv"
    path.write_text(f"label,expected_label\n1.0,1\n0.0,0\n,1\n{more},{more}\n")
    found = fm.classification(path)
    assert found.confusion.labels == labels
    assert found.accuracy.value == pytest.approx(1.0 if more == "2.5" else 1 / 3)
