"""What a fit refuses."""

from pathlib import Path

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    UnknownNameError,
)
from tests.fitting.test_fit import FEATURES, judged, table
from tests.support.goldens import errors_of

CutPromises = fm.stats.CutPromises


def fit(rows=None, /, **options):
    columns = {name: options.pop(name) for name in ("topic", "leak") if name in options} | (
        {"good": options.pop("good")} if "good" in options else {}
    )
    return lambda: fm.fit((rows or table()) | columns, **{"label": "good", "metrics": FEATURES, **options})


def existing(**options):
    def call():
        Path("mine.toml").touch()
        fm.fit(judged(), label="good", metrics="judge_a", output="mine.toml", **options)

    return call


def without_scikit_learn():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("importlib.util.find_spec", lambda name: None)
        fm.fit(judged(), label="good")


APART = judged(topic=[*(np.arange(20) // 4), *range(20, 60)], good=[1] * 20 + [0] * 40)
CUTS = {"group": "topic", "metrics": "judge_a", "promises": CutPromises(precision=0.9)}
F1 = fm.token_f1(table()["answer"], table()["reference"]).tolist()
ERRORS = [
    # labels
    ("one class", fit(good=[1] * 240), InputError, "good", "240", "1"),
    ("12 rows", fit(table(12)), InputError, "good", "12", "30"),
    ("29 rows", fit(judged(29), metrics="judge_a"), InputError, "good", "29", "30"),
    ("5 positive rows", fit(good=[1] * 5 + [0] * 235), InputError, "good", "5", "240"),
    ("9 negative rows", fit(good=[0] * 9 + [1] * 231), InputError, "good", "9", "10"),
    ("no labels", fit(good=[None] * 240), InputError, "good", "0"),
    ("text", fit(good=["yes", "maybe"] * 120), InputError, "1", "maybe"),
    ("an infinite label", fit(good=[0.0, float("inf"), *[0.0] * 238]), ColumnError, "good", "1"),
    ("a huge label", fit(judged(good=[*range(59), 1e307]), metrics="judge_a"), InputError, "good", "59", "1e+307"),
    ("an unknown label", fit(label="god"), UnknownNameError, "god", "good"),
    ("a file of labels", fit(label="labels.csv"), UnknownNameError, "labels.csv", "join"),
    (
        "classes for cuts",
        fit(good=list(range(240)), promises=CutPromises(recall=0.9)),
        OptionError,
        "recall",
        "positive",
    ),
    # groups
    ("positive rows in 3 groups", fit(good=[int(n < 12) for n in range(240)], group="topic"), InputError, "topic", "3"),
    ("two groups", fit(topic=["a", "b"] * 120, group="topic"), InputError, "topic", "2", "10"),
    ("groups that are lists", fit(topic=[["a"]] * 240, group="topic"), ColumnError, "topic"),
    ("an unknown group", fit(group="topik"), UnknownNameError, "topik", "topic"),
    ("39 rows with cuts", fit(table(39), promises=CutPromises(precision=0.9)), InputError, "good", "13", "26"),
    # all of the groups with positive rows can be kept apart: an error before the evaluation
    *((f"cuts, seed {seed}", fit(APART, seed=seed, **CUTS), InputError, "good", "positive") for seed in range(3)),
    # metrics
    ("an unknown metric", fit(metrics="token_f9"), UnknownNameError, "token_f9", "token_f1"),
    ("a metric of all rows", fit(metrics="corpus_bleu"), OptionError, "corpus_bleu"),
    ("the label", fit(metrics="good"), ColumnError, "good"),
    ("the group", fit(metrics="topic", group="topic"), ColumnError, "topic"),
    ("one value", fit(metrics="politeness"), InputError, "politeness"),
    ("a copy", fit(leak=table()["good"], metrics="leak"), InputError, "leak", "good", "metrics"),
    ("a copy upside down", fit(leak=[5 - 2 * n for n in table()["good"]], metrics="leak"), InputError, "leak", "good"),
    ("a metric that is the label", fit(good=F1), InputError, "token_f1", "good"),
    (
        "a copy of the grades",
        fit(judged(good=np.arange(60) % 5 + 1, leak=np.arange(60) % 5 / 4), metrics="judge_a,leak", positive=4),
        InputError,
        "leak",
        "good",
    ),
    # options
    (
        "validate: classes for cuts",
        lambda: fm.validate({"f1": range(300)}, [n % 4 for n in range(300)], promises=CutPromises(precision=0.9)),
        OptionError,
        "precision",
        "positive",
    ),
    ("positive", fit(positive="1"), OptionError, "positive", "1"),
    ("threads", fit(threads=0), OptionError, "threads", "0"),
    ("confidence", fit(confidence=1.0), OptionError, "confidence", "1.0"),
    ("promises", fit(promises={"precision": 0.9}), OptionError, "promises", "CutPromises"),
    ("better", fit(better={"god": "lower"}), UnknownNameError, "god", "good"),
    ("a direction", fit(better={"good": "up"}), OptionError, "better", "up"),
    ("embedder", fit(embedder=len), OptionError, "embedder"),
    ("schema", fit(schema="ragass"), UnknownNameError, "ragass", "ragas"),
    ("the suffix", fit(output="mine.json"), OptionError, "output", "toml"),
    ("the name of a metric", fit(output="token_f1.toml"), OptionError, "output", "token_f1"),
    ("a file that exists", existing(), OutputError, "mine.toml"),
    *(
        (f"{name} {share}", lambda given={name: share}: CutPromises(**given), OptionError, name)
        for name in ("precision", "recall", "risk")
        for share in (0.0, 1.0, -1, float("nan"), "0.9")
    ),
    ("an extra", without_scikit_learn, MissingExtraError, "scikit-learn", "fit"),
    ("a score of a file that is none", lambda: fm.score(judged(), "no.toml"), FileFormatError, "no.toml"),
]

test_errors = errors_of(ERRORS)
