"""The public names: what ``dir``, a star import and completion give, and that every documented exception is one."""

from __future__ import annotations

import builtins
import inspect
import re
import rlcompleter
from typing import Any

import pytest

import fastmetrics as fm
from fastmetrics import errors


def test_dir_is_all() -> None:
    assert dir(fm) == list(fm.__all__) == sorted(set(fm.__all__))


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
        ("fm.Col", ["fm.ColumnError"]),
        ("fm.H", []),
    ],
)
def test_names_are_completed(typed: str, names: list[str]) -> None:
    """As at a prompt, which reads ``dir``; neither modules nor what the package itself imports are offered."""
    completer = rlcompleter.Completer({"fm": fm})
    assert [match.rstrip("()") for match in completer.attr_matches(typed)] == names  # type: ignore[no-untyped-call]


def test_every_exception_is_public() -> None:
    """Those of the module ``errors``, those of its tree, and those that public functions document are the same."""
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.FastmetricsError)
    }
    public = {
        name for name in fm.__all__ if inspect.isclass(value := getattr(fm, name)) and issubclass(value, Exception)
    }
    assert public == classes == set(re.findall(r"[─ ](\w+Error)\b(?= )", f" {errors.__doc__}"))
    assert public == set(fm.EXCEPTIONS)
    documented = {
        name
        for public_name in fm.__all__
        for sentence in re.findall(
            r"[Rr]aises? .*?(?:\.\s|$)", inspect.getdoc(getattr(fm, public_name)) or "", re.DOTALL
        )
        for name in re.findall(r"``(\w+Error)``", sentence)
    }
    assert documented - set(dir(builtins)) <= public
    assert {"ColumnError", "OptionError", "OutputError", "ServiceError"} <= documented


def test_an_exception_is_caught_by_its_public_name() -> None:
    with pytest.raises(fm.ColumnError, match=r"^token_f1 needs the column 'answer'"):
        fm.score({"text": ["a"]}, metrics="token_f1")
    with pytest.raises(fm.FastmetricsError):
        fm.score({"answer": ["a"]}, metrics="token_f2")
