"""Fitted scores with numbers of their own, for tests of what reads them."""

import numpy as np

from fastmetrics.metrics.fitted_file import Curve, Feature, FittedModel, ScoreShares, text_of
from fastmetrics.stats.promises import Threshold

SPREAD = ScoreShares(np.array([0.2, 0.5]), np.array([0.3, 0.3, 0.4, 0.0, 0.0]))
CUTS = {"precision": Threshold(0.95, 0.95, 0.6, 100, 98), "recall": Threshold(0.9, 0.95, 0.4, 50, 48)}


def curve(knots=(0.0, 0.5, 1.0), heights=(-1.0, 0.2, 1.0)):
    """A curve through a few points."""
    return Curve(np.array(knots), np.array(heights), 0.1, -0.7)


def features(names):
    """Features by name; names that begin with ``judge`` are columns."""
    return [Feature(name, name.startswith("judge"), SPREAD, curve()) for name in names]


def model(names=("token_f1", "judge_x"), **changes):
    """A fitted score of these features."""
    values = {
        "name": "mine",
        "kind": "logistic",
        "better": "higher",
        "bounds": (0.0, 1.0),
        "intercept": -0.3,
        "features": features(names),
        "thresholds": {},
        "labels": {"column": "good", "rows": 100},
        "evaluation": {"measure": "auc"},
        "version": "0.1",
    }
    return FittedModel(**{**values, **changes})


def written(folder, name="mine.toml", **changes):
    """The path of the file of a fitted score."""
    path = folder / name
    path.write_text(text_of(model(**changes)), encoding="utf-8")
    return path
