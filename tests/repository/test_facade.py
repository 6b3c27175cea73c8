"""The public names: what ``dir``, a star import and completion give, and that every documented exception is one."""

from __future__ import annotations

import builtins
import importlib
import inspect
import pydoc
import re
import rlcompleter
from typing import Any

import pytest

import fastmetrics as fm
from fastmetrics.base import errors
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.public_names import CAUGHT, HOMES, IN_ROOMS, MODULES, VERBS, load
from fastmetrics.base.shared_parameters import PARAMETERS, helps
from fastmetrics.cli.commands import all_commands
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.suites import FAMILIES, functions
from tests.support.goldens import refused
from tests.support.public_functions import public


def test_dir_is_all_with_the_rooms() -> None:
    """A room offers its public names, whichever of its modules are loaded, and no other names."""
    rooms = {home.partition(".")[0] for home in IN_ROOMS.values()}
    assert dir(fm) == sorted({*fm.__all__, *rooms, "text", *MODULES})
    assert list(fm.__all__) == sorted(set(fm.__all__))
    for name, home in IN_ROOMS.items():
        importlib.import_module(f"fastmetrics.{home}")
        room = getattr(fm, home.partition(".")[0])
        assert name in dir(room)
        assert getattr(room, name) is load(name)
    with pytest.raises(
        AttributeError, match=r"^module 'fastmetrics.stats' has no attribute 'kappa'; did you mean 'coh"
    ):
        _ = fm.stats.kappa  # type: ignore[attr-defined]


def test_a_star_import_takes_all_names() -> None:
    names: dict[str, Any] = {}
    exec("from fastmetrics import *", names)
    del names["__builtins__"]
    assert names == {name: getattr(fm, name) for name in fm.__all__}


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("fm.token_", ["fm.token_cosine", "fm.token_f1", "fm.token_precision", "fm.token_recall"]),
        ("fm.o", ["fm.overall_accuracy", "fm.overall_quality", "fm.overlap_faithfulness"]),
        ("fm.Col", []),
        ("fm.stats.co", ["fm.stats.cohen_kappa"]),
        ("fm.lo", ["fm.logs"]),
        ("fm.H", []),
    ],
)
def test_names_are_completed(typed: str, names: list[str]) -> None:
    """As at a prompt, which reads ``dir``; what the package itself imports is not offered."""
    completer = rlcompleter.Completer({"fm": fm})
    assert [match.rstrip("()") for match in completer.attr_matches(typed)] == names  # type: ignore[no-untyped-call]


def test_every_exception_is_public() -> None:
    """Those of the module ``errors`` are those of its tree; public functions document no others."""
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.FastmetricsError | errors.ScoreWarning)
    }
    assert classes == set(re.findall(r"[─ ](\w+(?:Error|Warning))\b(?= )", f" {errors.__doc__}"))
    assert set(CAUGHT) <= classes
    documented = {
        name
        for function in public().values()
        for sentence in re.findall(r"[Rr]aises? .*?(?:\.\s|$)", inspect.getdoc(function) or "", re.DOTALL)
        for name in re.findall(r"``(\w+Error)``", sentence)
    }
    assert documented - set(dir(builtins)) <= classes
    assert {"ColumnError", "OptionError", "OutputError", "ServiceError"} <= documented


def test_an_exception_is_caught_by_its_public_name() -> None:
    refused(fm.errors.ColumnError, "token_f1 answer", fm.score, {"text": ["a"]}, metrics="token_f1")
    with pytest.raises(fm.FastmetricsError):
        fm.score({"answer": ["a"]}, metrics="token_f2")


def test_a_numbered_family_is_one_function() -> None:
    """Names of ROUGE are for ``metrics=``; an attribute of such a name says which function computes it."""
    family = [name for name in REGISTRY if name.startswith("rouge")]
    assert len(family) == 33
    assert [name for name in fm.__all__ if name.startswith("rouge")] == ["rouge"]
    scores = fm.rouge(
        ["the cat sat"], ["the cat"], types=list(dict.fromkeys(name.partition("_")[0] for name in family))
    )
    assert set(scores) == set(family) == set(fm.score({"answer": ["a b"], "reference": ["b"]}, family).column_names)
    with pytest.raises(
        AttributeError, match=r"no attribute 'rouge2_f1': it is a name of a metric; fm\.rouge computes it$"
    ):
        _ = fm.rouge2_f1  # type: ignore[attr-defined]


FUNCTIONS = public()
DATA = (
    "table scores runs rankings judged labels log folder vectors queries chunks pilot ratings first second questions "
    "faq faq_questions contests qrels inputs paths output run result path store knowledge function statuses "
    "milliseconds shown id n c k confidence quality candidates references index database"
)
"""Names of parameters that are data: rows, columns, files and where to write."""
ASKED = "metric metrics measures rubrics bot embedder model require types of settings rules column"
"""Names of parameters for what is asked of the data, which follow them."""


POSITIONAL = ("Index", "match", "model_client", "tokenizer", "ModelReply", "ModelRequest")
"""What a client of a model is given, and names of registered functions."""


def test_options_are_keyword_only() -> None:
    """Positional are the data, and what is asked of them: columns by their names, or names that stand for one thing."""
    columns = {*DATA.split(), *COLUMNS} - set(ASKED.split())
    for name in set(FUNCTIONS) - set(POSITIONAL):
        data = columns | {"model"} if name == "cost" else columns  # a column: the model that answered
        parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
        names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert set(names) <= {*data, *ASKED.split()}, name
        assert names == [one for one in names if one in data] + [one for one in names if one not in data], name
        assert sum(one not in data for one in names) <= 1 + (name in ("JudgeSettings", "embed", "classifier")), name


@pytest.mark.parametrize("name", sorted(HOMES))
def test_help_shows_plain_types_and_each_parameter_once(name: str) -> None:
    function = load(name)
    shown = pydoc.render_doc(function, renderer=pydoc.plaintext)
    if inspect.isfunction(function):
        assert not re.search(r"Annotated|Help\(|shared\.", shown.partition("\n\n")[2].partition("\n")[0])
        meanings = shown.partition(f" {PARAMETERS}\n")[2]
        assert {each: len(re.findall(rf"^ +{each}: ", meanings, re.M)) for each in helps(function)} == dict.fromkeys(
            helps(function), 1
        )


def test_every_family_and_every_public_name_is_there() -> None:
    declared = {name for family in FAMILIES for name in _declared(family)}
    assert declared == set(REGISTRY)
    assert {"__version__", *VERBS, *CAUGHT, *functions()} == set(fm.__all__)
    for name in fm.__all__:
        assert callable(getattr(fm, name)) or name == "__version__"
    with pytest.raises(AttributeError, match=r"^module 'fastmetrics' has no attribute 'nonsense'$"):
        _ = fm.nonsense


def _declared(family: str) -> list[str]:
    home = f"fastmetrics.metrics.{family}"
    importlib.import_module(home)
    return [name for name, metric in REGISTRY.items() if metric.function.__module__ == home]


def test_every_public_function_has_an_example() -> None:
    """The examples run with the tests; a function can have two names."""
    named = {name: getattr(fm, name) for name in REGISTRY if not name.isidentifier()}
    for name, function in {**FUNCTIONS, **named}.items():
        described = inspect.getdoc(function) or ""
        called = rf"\b{function.__name__}[.(]" if name.isidentifier() else re.escape(name)
        assert ">>> " in described, name
        assert re.search(called, described), name


OF_SOURCES = {"project": 42, "topic_coverage": 42}
"""Seeds that the source of a formula fixes."""


def test_the_default_seed_is_zero() -> None:
    """In functions and commands alike, except where a source has its own."""
    calls = {name: load(name) for name in HOMES}
    commands = {
        {"logs topics": "topic_coverage", "vectors project": "project"}.get(name, name): call
        for name, call in all_commands().items()
    }
    for functions_ in (calls, commands):
        seeds = {
            name: parameters["seed"].default
            for name, call in functions_.items()
            if "seed" in (parameters := inspect.signature(call).parameters)
        }
        assert {name: seed for name, seed in seeds.items() if seed != 0} == OF_SOURCES
        assert len(seeds) > len(OF_SOURCES)
