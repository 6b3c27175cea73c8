"""The weights of ``overall_quality`` from a fit to human grades."""

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.writing import PARTS
from tests.support.fitted_models import features, written


def table(n=80):
    """Answers of several lengths to one kind of question, and grades that follow their length score alone."""
    rng = np.random.default_rng(0)
    words = ("however", "this", "explains", "language", "sophisticated", "models", "and", "data", "it", "therefore")
    answers = [" ".join(rng.choice(words, size)) + "." for size in rng.integers(2, 30, n)]
    questions = ["What explains language models?"] * n
    grades = 1 + 4 * fm.length_score(questions, answers)
    return {"question": questions, "answer": answers, "grade": (grades + rng.normal(0, 0.3, n)).tolist()}


def test_weights_are_those_of_the_fit(tmp_path):
    rows, path = table(), tmp_path / "quality.toml"
    result = fm.fit(rows, label="grade", metrics=list(PARTS), learner="weights", output=path)
    weights = tuple(feature.weight for feature in result.model.features)
    assert sum(weights) == pytest.approx(1)
    assert weights[PARTS.index("length_score")] == max(weights)
    columns = rows["question"], rows["answer"]
    fitted = fm.overall_quality(*columns, weights=str(path))
    np.testing.assert_array_equal(fitted, fm.overall_quality(*columns, weights=weights))
    name = parse(f"overall_quality(weights={str(path)!r})").name
    path.unlink()  # the name of the score has the weights
    np.testing.assert_array_equal(fm.score(rows, name).column(0).to_numpy(), fitted)


def test_a_score_of_other_metrics_has_no_weights(tmp_path):
    other = written(tmp_path, features=features(["token_f1"]))
    with pytest.raises(
        fm.errors.OptionError, match="is a fitted score \\(splines\\) of token_f1; expected one of coherence"
    ):
        fm.overall_quality(["q"], ["a"], weights=str(other))
    with pytest.raises(fm.errors.FileFormatError, match="cannot be read"):
        fm.overall_quality(["q"], ["a"], weights=str(tmp_path / "none.toml"))
