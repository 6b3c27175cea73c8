"""Columns of every kind of container give the same result in every public function."""

import functools

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError
from tests.support.column_kinds import TABLES, kinds
from tests.support.every_metric import CASES, READERS
from tests.support.public_functions import CALLS, EXCEPTIONS, as_plain, public

NAMES = sorted(set(CALLS) - set(CASES) | set(CALLS) & set(READERS))
"""Functions of columns and tables; of the metrics of rows, one for each way of reading columns."""
TYPED = ("Polars", "pandas nullable", "pandas Arrow")
"""Kinds besides those of Arrow that have a type even without rows."""


def test_every_public_name_is_called_or_excepted():
    called = {name.partition(" ")[0] for name in CALLS}
    assert set(public()) == {*called, *EXCEPTIONS}
    assert not called & set(EXCEPTIONS)


def result(one, columns):
    """What the function returns, or the text of its error."""
    try:
        return as_plain(one.call(columns) if one.tables else one.call(**columns))
    except (FastmetricsError, AssertionError) as error:
        return str(error)


@functools.cache
def expected(name):
    one = CALLS[name]
    return as_plain(one.call(one.columns) if one.tables else one.call(**one.columns))


def some(names, name, full):
    """All kinds, or every third of them, from another one on for each function."""
    return names if full else names[NAMES.index(name) % 3 :: 3]


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_every_kind_give_the_same_result(name, full):
    one = CALLS[name]
    forms = {column: kinds(values, seed) for seed, (column, values) in enumerate(one.columns.items())}
    for kind in some([*dict.fromkeys(kind for form in forms.values() for kind in form)], name, full):
        columns = {column: form.get(kind, form["list"]) for column, form in forms.items()}
        assert result(one, columns) == expected(name), kind


@pytest.mark.parametrize("name", [name for name in NAMES if not CALLS[name].tables])
def test_columns_of_few_rows_give_the_same_result_or_error(name, full):
    one = CALLS[name]
    forms = {column: kinds(values, seed) for seed, (column, values) in enumerate(one.columns.items())}
    names = some([*dict.fromkeys(kind for form in forms.values() for kind in form)], name, full)
    for n in (0, 1, 2, 5):
        first = result(one, {column: form["Arrow"][:n] for column, form in forms.items()})
        for kind in names if n else [kind for kind in names if kind in TYPED or kind.startswith("Arrow")]:
            columns = {column: form.get(kind, form["Arrow"])[:n] for column, form in forms.items()}
            assert result(one, columns) == first, (kind, n)


@pytest.mark.parametrize("name", [name for name in NAMES if CALLS[name].tables])
def test_tables_of_every_kind_give_the_same_result(name, full):
    for kind in some([*TABLES], name, full):
        assert result(CALLS[name], TABLES[kind](CALLS[name].columns)) == expected(name), kind


def test_null_text_has_no_characters_whatever_lies_beneath():
    """The introduction of an answer without a question is judged by the answer's own words."""
    answers, questions = ["The tower was built. In conclusion, the tower."] * 2, ["machine learning", None]
    coded = kinds(questions)
    plain = fm.introduction_score(answers, questions)
    for kind in ("Arrow dictionary", "pandas categories", "Polars categories"):
        assert fm.introduction_score(answers, coded[kind]).tolist() == plain.tolist(), kind
