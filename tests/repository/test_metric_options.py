"""Every option of every metric counts: a value other than the default changes its scores, or ``WHY`` says why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.options import Choice, Optional, Real, Whole
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.scoring.metric_functions import callable_of
from fastmetrics.text import lexicons
from tests.support.every_metric import CASES, columns
from tests.support.public_functions import CALLS, as_plain, letters

TELLING: dict[str, list[Any]] = {
    "answer": [
        *("The RUNNING cats [1] ran in 1889.", "a-b c_d naïve über x1!", "Привет, мир и кот (1).", "你好 世界", "Yes."),
        *("Cats ran.\n\nCats ran. In short, they ran there.", "Кроме того, он бежал. В заключение, кот бежал."),
        "10 or 12.2",
        *('{"a": 1.2}', '{"l": [1, 2]}', "Машинное обучение растёт. Машинное обучение.", "1"),
        *("one two three four five six seven eight nine runs", "раз два три четыре пять шесть семь восемь девять бег"),
    ],
    "reference": [
        *("the Run cat  RAN", "a b c d naive uber x1", "Привет, мир", "你好世界吗", "yes"),
        *("cats ran", "кот бежал", "12", '{"a": 1}', '{"l": [2, 1]}', "рост", "10"),
        *("one two three four five six seven eight nine run", "раз два три четыре пять шесть семь восемь девять бег"),
    ],
    "question": [
        *("Why did the cats run?", "What is x1?", "Что делает кот?", "?", "Is it so?", "Explain cats.", "Почему кот?"),
        *("How many?", "a", "l", "Объясни машинное обучение. Как оно растёт?", "Опиши кота.", "Count.", "Считай."),
    ],
    "contexts": [
        *(["The cat ran in 1889 over there."], ["a", "b"], ["кот", "Привет"], ["你好"], ["Yes"], ["Cats ran", "no"]),
        *(["кот"], ["12"], ["a"], ["l"], ["Машинное обучение"], ["1"], ["nine"], ["бег"]),
    ],
    "tool_calls": ['[{"name": "f", "arguments": {"a": 1.2}}]', '[{"name": "f", "arguments": {"l": [1, 2]}}]'],
    "expected_tool_calls": ['[{"name": "f", "arguments": {"a": 1}}]', '[{"name": "f", "arguments": {"l": [2, 1]}}]'],
}
"""Rows that tell one spelling from another, behind those that all tests of metrics share."""
CITING = {
    "answer": ["Cats ran [1].", "Zzz [1].", "Dogs (1) sleep.", "I don't know [1].", "Tea and cats [1]."],
    "contexts": [["Cats ran."], ["cats ran"], ["dogs sleep"], ["What"], ["Cats ran and then sat."]],
}
OWN = {
    "choice_match": {"answer": ["B", "C"], "reference": ["2"] * 2, "choices": [["1", "2", "3"]] * 2},
    "aurc": {
        "confidence": [0.1, 0.9],
        "answerable": [True, True],
        "reference": ["cats", "ran"],
        "answer": ["cats", "cats ran"],
    },
    "cost": {"prompt_tokens": [1000, 10], "completion_tokens": [1, 2]},
    **dict.fromkeys(("citation_precision", "citation_recall", "grounding_overlap", "overlap_faithfulness"), CITING),
}
"""Metrics with rows of their own."""
VALUES = {
    "phrases": [("cats ran", "yes")],
    "pattern": [r"\(([0-9]+)\)"],
    "markers": [("cats",)],
    "stop_words": [("cats", "machine", "ran", "learning")],
    "tokenizer": ["char", "unicode", "plain", "split"],
    "embedder": [fm.Embedder(lambda texts: np.ones((len(texts), 2), np.float32))],
    "fields": ["a=ignore"],
    "schema": ['{"required": ["zz"]}'],
    "quality": ["exact_match"],
    "prices": [{"m": {"input": 0.5, "output": 1}}],
    "weights": [(1.0, 0.0, 0.0, 0.0, 0.0)],
}
"""Values of options that are neither numbers nor choices."""
BESIDE = {
    "asian_support": {"normalized": True},
    "prices": {"prices": {"m": {"input": 1, "output": 1}}},
    "smooth_value": {"smooth_method": "floor"},
    "embedder": {"embedder": fm.Embedder(lambda texts: letters(texts) - 0.4)},
}
"""What an option needs beside it, or what its metric needs."""


def others(name: str, option: str) -> Iterator[Any]:
    """Allowed values other than the default."""
    metric = REGISTRY[name]
    allowed, default = metric.allowed[option], metric.defaults[option]
    one = allowed.inner if isinstance(allowed, Optional) else allowed
    if isinstance(one, Choice):
        yield from (value for value in one.values if value != default)
    elif isinstance(default, bool):
        yield not default
    elif isinstance(one, Whole | Real):
        near = 0 if default is None else default
        for value in (near / 2, near + 1, near * 3, near + 0.25, 2, 0.99, 0.1):
            fit = int(value) if isinstance(one, Whole) else float(value)
            if one.low <= fit <= one.high and fit != default:
                yield fit
    else:
        yield from (value for value in VALUES.get(option, ()) if value != default)


def scores(name: str, option: str, **options: Any) -> Any:
    """What the metric returns of shared and telling rows."""
    given = dict(OWN.get(name) or (columns(name, 60) if name in CASES else CALLS[name].columns))
    if name not in OWN and set(given) <= set(TELLING):
        given = {column: [*values, *TELLING[column]] for column, values in given.items()}
    needs = [one for one in REGISTRY[name].defaults if one in (option, "embedder", "prices")]
    beside = {key: value for needed in needs for key, value in BESIDE.get(needed, {}).items()}
    try:
        return as_plain(callable_of(name)(**given, **{**beside, **options}))
    except fm.FastmetricsError as error:
        return str(error)


WHY = {
    "cache": "stores the vectors for the next run: tests/vectors/test_vector_files.py",
    "fitted": "names a file: tests/metrics/test_fitted_scores.py",
    "embedding_geometry seed": "draws from more rows than 4,096: tests/vectors/test_geometry.py",
    "anchor_count window": "is declared with the anchors that all such metrics share",
    **{
        f"{name} {option}": "is declared with the words that all writing scores share; this one reads no list of them"
        for name in ("length_score", "paragraph_score", "diversity_score", "repetition_score")
        for option in ("language", "lexicons")
    },
}
"""Options of metrics that change no score here, by their own name or with that of the metric, and why."""


@pytest.mark.parametrize("family", sorted({metric.function.__module__ for metric in REGISTRY.values()}))
def test_options_of_metrics(family, tmp_path):
    for path in Path(lexicons.__file__).parent.glob("*_en.txt"):
        path_here = tmp_path / path.name
        path_here.write_text("cats\nmachine\n")
        path_here.with_name(path.name.replace("_en", "_ru")).write_text("")
    silent = []
    for name, metric in REGISTRY.items():
        if metric.function.__module__ != family or not (name in CASES or name in CALLS):
            continue
        for option in metric.defaults:
            if option in WHY:
                continue
            before = scores(name, option)
            assert before
            tried = [str(tmp_path)] if option == "lexicons" else others(name, option)
            if all(scores(name, option, **{option: value}) == before for value in tried):
                silent.append(f"{name} {option}")
    expected = [name for name, metric in REGISTRY.items() if metric.function.__module__ == family]
    assert silent == [one for one in WHY if one.partition(" ")[0] in expected]
