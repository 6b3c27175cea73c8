"""JSON by validity, field and value, and code as normalised text, against the plain definition."""

import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.batch import Batch, Unread
from tests.reference import lexical, structure
from tests.support import strategies

SPACE = st.sampled_from(["", "", "", " ", "\n", "\t\r "])
PIECES = [
    *("", "a", "A", "é", r"\u00e9", r"\u0061", r"\n", r"\\", r"\"", r"\/", "日本", "😀", r"\ud83d\ude00", r"\ud800"),
    *(r"\udc00", r"\ud800\ud800\udc00", "a" * 7, "a" * 8, "a" * 17, r"abcdefgh\u00e9", "the cat sat", r"\b\f\r\t"),
    "\u2028",
    *(r"\u0000", "İ"),
]
STRINGS = st.lists(st.sampled_from(PIECES), max_size=3).map(lambda pieces: '"' + "".join(pieces) + '"')
NUMBERS = st.sampled_from(
    [
        *("0", "-0", "0.0", "0e5", "1", "1.0", "1e0", "10e-1", "100", "1E+2", "-1.5", "-15e-1", "0.1", "0.10", "0.3"),
        *("123456789012345678901234567890", "1.23456789012345678901234567890e29", "1e400", "10e399", "5e-324"),
        *("9" * 400, "9" * 399 + "8", "1e999999999999999", "1e" + "9" * 30, "1e-" + "9" * 30),
    ]
)
KEYS = st.sampled_from(['"a"', r'"\u0061"', '"b"', '"c"', *(f'"{number}"' for number in range(12))]) | STRINGS


def _joined(opening: str, closing: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, max_size=14).map(lambda items: opening + ",".join(items) + closing)


def _spaced(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    pieces = [part if not isinstance(part, str) else st.just(part) for part in parts]
    return st.tuples(SPACE, *pieces, SPACE).map("".join)


JSON = st.recursive(
    STRINGS | NUMBERS | st.sampled_from(["true", "false", "null", "{}", "[ ]"]),
    lambda inner: _joined("[", "]", _spaced(inner)) | _joined("{", "}", _spaced(KEYS, SPACE, ":", SPACE, inner)),
    max_leaves=12,
)
WRONG = st.sampled_from(
    [
        *("", " ", "{", "[1,]", '{"a":1,}', "{'a': 1}", '{"a" 1}', "NaN", "-Infinity", "tru", "nulll", "01", "1."),
        *("1e", "+1"),
        *(".5", "-", '"\t"', '"', r'"\x"', r'"\u12"', '"\\', "[1 2]", "1 2", "[1}", '{"a"}', "{1:2}", "]"),
        *("/**/1", "\ufeff1"),
    ]
)
TEXTS = JSON | WRONG | strategies.texts
FIELDS: dict[tuple[Any, ...], structure.Field] = {
    ("a",): lambda stated, wanted: lexical.token_f1(stated, [wanted]),
    ("b",): None,
    ("c", None): lambda stated, wanted: lexical.token_f1(stated, [wanted]),
    ("c", None, "a"): None,
    (None, "a"): lambda stated, wanted: lexical.token_f1(stated, [wanted]),
}
RULES = "a=token_f1, b=ignore, c[]=token_f1, c[].a=ignore, [].a=token_f1"
OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"lists": "any"}, {}),
    ({"absolute": 0.5}, {}),
    ({"fields": RULES}, {"fields": FIELDS}),
    ({"fields": RULES, "lists": "any", "relative": 0.1}, {"fields": FIELDS}),
]


def _numbers(scores: list[float | None]) -> Any:
    return np.array([np.nan if score is None else score for score in scores])


@given(st.lists(st.none() | TEXTS, max_size=8))
@example(["[" * 300 + "]" * 300 + " ", "[" * 300 + "]" * 299])
def test_what_is_json(texts: list[str | None]) -> None:
    np.testing.assert_array_equal(fm.json_valid(texts), _numbers([structure.json_valid(text) for text in texts]))


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=2)), max_size=5))
@example([('{"a":1,"a":{"b":"x"}}', ['{"a":{"b":"x"}}']), ("[1,1,2]", ["[2,1,1]"]), ("[[1],[2]]", ["[[2],[1]]"])])
@example([('{"\\ud800":1,"\\udc00":2,"a":3}', ['{"\ufffd":2,"a":3.0}']), ("[null]", ["[null]", "x"]), ("{}", ["[]"])])
@pytest.mark.parametrize("options", OPTIONS)
def test_fields_of_any_row(options: Any, rows: list[tuple[Any, Any]]) -> None:
    given_options, plain = options[0], {**options[0], **options[1]}
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    for name, more in (
        ("json_match", {}),
        ("json_match", {"strict": True}),
        ("json_match", {"extra": False}),
        ("json_f1", {}),
    ):
        expected = [getattr(structure, name)(*row, **plain, **more) for row in rows]
        scores = getattr(fm, name)(answers, references, **given_options, **more)
        np.testing.assert_allclose(scores, _numbers(expected), rtol=1e-14)


def _written(value: Any, rng: random.Random, style: int) -> str:
    """JSON of one line, with few or with any spaces, or with all escapes; sometimes a key is repeated."""
    space = rng.choice(["", " ", "\n\t"]) if style == 2 else ""
    if isinstance(value, dict):
        members = [*value.items(), *rng.sample([*value.items()], int(rng.random() < 0.03 and len(value) > 0))]
        texts = [
            f"{json.dumps(key, ensure_ascii=style == 3)}{space}: {_written(value[key], rng, style)}"
            for key, _ in members
        ]
        return "{" + space + f",{space}".join(texts) + space + "}"
    if isinstance(value, list):
        return f"[{', '.join(_written(item, rng, style) for item in value)}]"
    return json.dumps(value, ensure_ascii=style == 3)


def _value(rng: random.Random, levels: int) -> Any:
    kind = rng.random() if levels else 1.0
    if kind < 0.2:
        return {key: _value(rng, levels - 1) for key in rng.sample(MANY_KEYS, rng.randint(0, 9))}
    if kind < 0.35:
        return [_value(rng, levels - 1) for _ in range(rng.randint(0, 4))]
    return rng.choice([0, 1, 1.0, 12, 123, 0.5, True, None, "", "12", "é", 'a"b\n', "a text of many words " * 4])


def _altered(value: Any, rng: random.Random, share: float) -> Any:
    """A value of which some parts are left out, others, added, or in another order."""
    if rng.random() < share:
        return _value(rng, 2)
    if isinstance(value, list):
        return [_altered(item, rng, share) for item in value if rng.random() > share]
    if not isinstance(value, dict):
        return value
    keys = [key for key in value if rng.random() > share] + rng.sample(MANY_KEYS, int(rng.random() < share))
    if rng.random() < share:
        rng.shuffle(keys)
    return {key: _altered(value.get(key), rng, share) for key in keys}


MANY_KEYS = [
    *"abcdefgh",
    *("é", "a\n", "a key of more than sixteen bytes", "a key of more than sixteen letters"),
    *map(str, range(70)),
]


def test_answers_that_are_like_their_references() -> None:
    rng = random.Random(5)
    rows: list[tuple[str, str]] = []
    for _ in range(600):
        wanted = {key: _value(rng, 2) for key in rng.sample(MANY_KEYS, rng.choice([3, 12, 12, 80]))}
        style = rng.choice([0, 0, 2, 3])
        reference = rows[-1][1] if rows and rng.random() < 0.1 else _written(wanted, rng, style)
        stated = _written(_altered(wanted, rng, rng.choice([0, 0.03, 0.2])), rng, rng.choice([style, style, 0, 2, 3]))
        place = rng.randrange(len(stated)) if rng.random() < 0.1 else len(stated)
        rows.append((stated[:place] + stated[place + rng.randint(0, 1) :], reference))
    answers, references = map(list, zip(*rows, strict=True))
    for extra in (True, False):
        expected = _numbers([structure.json_match(answer, [text], extra=extra) for answer, text in rows])
        assert 0.1 < np.mean(expected == 1) < 0.5
        np.testing.assert_allclose(fm.json_match(answers, references, extra=extra), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("answer", "reference", "options", "score"),
    [
        ('{"b": 2, "a": 12}', '{"b": 2, "a": 1}', {}, 0.5),
        ('{"b": 2, "a": 1}', '{"b": 2, "a": 12}', {}, 0.5),
        ('{"a": 1, "b": 2, "a": 3}', '{"a": 1, "b": 2}', {}, 0.5),
        ('{"a": 3, "b": 2, "a": 1}', '{"a": 1, "b": 2}', {}, 1),
        ('{"x": 1, "x": 2, "a": 1}', '{"a": 1}', {}, 0.5),
        ('{"a": 1, "b": 2}x', '{"a": 1, "b": 2}', {}, 0),
        ('{"a": 1, "b": 2', '{"a": 1, "b": 2}', {}, 0),
        ('{"a": 1, "b": [2, {"c": 3}]}  ', ' {"a": 1, "b": [2, {"c": 3}]}', {}, 1),
        ('{"a": 1, "b": 2, }', '{"a": 1, "b": 2, "c": 3}', {}, 0),
        ("[" * 70 + "1" + "]" * 70, "[" * 70 + "1, 2" + "]" * 70, {}, 0.5),
        ('{"a": 1, "b": [1, 2]}', '{"b": [1.0, 2e0], "a": 10e-1}', {}, 1),
        ('{"a": "é"}', r'{"a": "\u00e9"}', {}, 1),
        ('{"a": 1}', '{"a": "1"}', {}, 0),
        ('{"a": 1}', '{"a": "1"}', {"fields": "a=number_match"}, 1),
        ('{"a": 1, "b": 2}', '{"a": 1}', {}, 0.5),
        ('{"a": 1, "b": 2}', '{"a": 1}', {"extra": False}, 1),
        ('{"a": 1, "b": 2}', '{"a": 1}', {"fields": "b=ignore"}, 1),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 3}', {"strict": True}, 0),
        ("[1, 2]", "[2, 1]", {}, 0),
        ("[1, 2]", "[2, 1]", {"lists": "any"}, 1),
        ('[{"x": 1, "y": 9}, {"x": 2}]', '[{"x": 2}, {"x": 1, "y": 8}]', {"lists": "any"}, 2 / 3),
        ("3.15", "3.14", {"absolute": 0.02}, 1),
        ("98", "100", {"relative": 0.01}, 0),
        ("9" * 400, "9" * 399 + "8", {}, 0),
        ("9" * 400, "9" * 399 + "8", {"relative": 1.0}, np.nan),  # beyond floats
        ("1e400", "10e399", {}, 1),
        ("{}", "{}", {}, 1),
        ('{"a": []}', '{"a": [1]}', {}, 0),
        ("{'a': 1}", '{"a": 1}', {}, 0),
        ("", '{"a": 1}', {}, 0),
        ('{"a": 1}', "{'a': 1}", {}, np.nan),
        ('{"a": 1}', '{"a": 1}', {"fields": "a=ignore"}, np.nan),
        ('{"a": NaN}', '{"a": null}', {}, 0),
        ('{"a": 1}', ["x", '{"a": 2}', '{"a": 1}'], {}, 1),
    ],
)
def test_worked_fields(answer: str, reference: Any, options: dict[str, Any], score: float) -> None:
    np.testing.assert_allclose(fm.json_match([answer], [reference], **options)[0], score)


def test_f1_counts_a_wrong_value_twice() -> None:
    reference = ['{"from": "Rome", "to": "Paris", "day": "Monday"}'] * 3
    answers = ['{"from": "Rome", "to": "Oslo", "day": "Monday"}', '{"from": "Rome", "to": "Paris"}', "Rome"]
    np.testing.assert_allclose(fm.json_f1(answers, reference), [2 / 3, 0.8, 0])


def test_depth_and_size_cost_time_in_proportion() -> None:
    deep = "[" * 100_000 + "1" + "]" * 100_000
    wide = "{" + ",".join(f'"{number}": {number}' for number in range(100_000)) + "}"
    turned = "{" + ",".join(f'"{number}": {number}' for number in reversed(range(100_000))) + "}"
    equal = "[" + ",".join(["0"] * 100_000) + "]"
    chain = '{"b":0,"a":' * 50_000 + "0" + "}" * 50_000
    answers, references = [deep, wide, equal, chain], [deep, turned, equal, chain]
    assert fm.json_valid(answers).tolist() == [1.0] * 4
    for lists in ("ordered", "any"):
        assert fm.json_match(answers, references, lists=lists).tolist() == [1.0] * 4
    with pytest.warns(fm.ScoreWarning, match="1 of 1 rows .* more than 100 levels"):
        assert np.isnan(fm.json_match([deep], ["1"])[0])


def test_objects_and_lists_are_read_as_json(tmp_path: Path) -> None:
    values = [{"a": 1, "b": None}, {"a": 2, "b": ["x", "y"]}]
    answers, references = pa.array(values), ['{"a": 1}', '{"b": ["x", "y"], "a": 2}']
    assert fm.json_match(answers, references).tolist() == [1.0, 1.0]
    assert fm.json_match(references, answers).tolist() == [1.0, 1.0]
    path = tmp_path / "rows.jsonl"
    mixed: list[Any] = [{"a": 1}, ["x", 1], "{}", 5, "no"]
    path.write_text(
        "".join(json.dumps({"id": n, "answer": value, "reference": value}) + "\n" for n, value in enumerate(mixed))
    )
    assert fm.score(path, "json_match")["json_match"].to_pylist() == [
        *(1.0, 1.0, 1.0, 1.0),
        pytest.approx(np.nan, nan_ok=True),
    ]


def test_several_references_are_a_list_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"answer": '{"a": 2}', "reference": {"a": 2}},
        {"answer": '{"a": 2}', "reference": ['{"a": 1}', '{"a": 2}']},
    ]
    for order in (rows, rows[::-1]):
        path.write_text("".join(json.dumps(row) + "\n" for row in order))
        assert fm.score(path, "json_match")["json_match"].to_pylist() == [1.0, 1.0]


FENCED = (
    "hold a fence of Markdown, which is no JSON; "
    "extract=['code', 'whole'] (--extract code --extract whole) reads both those and bare ones"
)
LISTED = "; a list that is one reference is written as a text: json.dumps(list)"
NO_LIST = "have a list of texts as reference of which none is JSON" + LISTED
WHOLE_LIST = "have an answer that is the whole list of references" + LISTED
NO_JSON = "have a reference that is no JSON"
TOO_DEEP = "hold JSON of more than 100 levels"
BEYOND = "hold a number beyond the range of floats, which cannot be compared as near"
NEAR = {"relative": 0.1}


@pytest.mark.parametrize(
    ("answer", "reference", "options", "score", "reason"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}', {}, 0, FENCED),
        ('\n  ```\n{"a": 1}\n```', '{"a": 1}', {}, 0, FENCED),
        ('Here it is:\n```JSON\n{"a": 1}\n```\nDone.', '{"a": 1}', {}, 0, FENCED),
        ('```json\n{"a": 1}\n```', '{"a": 1}', {"extract": "code"}, 1, None),
        ('{"a": "```x```"}', '{"a": "```x```"}', {}, 1, None),
        ('["a", "b"]', ["a", "b"], {}, np.nan, NO_LIST),
        ("no", ["{'a': 1}", "x"], {}, np.nan, NO_LIST),
        (' ["1", "2"]', ["1", "2"], {}, np.nan, WHOLE_LIST),
        ('["1", "3"]', ["1", "2"], {}, 0, None),
        ("2", ["1", "2"], {}, 1, None),
        ('["a", "b"]', '["a", "b"]', {}, 1, None),
        ('{"a": 1}', "{'a': 1}", {}, np.nan, NO_JSON),
        ("no", "NaN", {}, np.nan, NO_JSON),
        ("[" * 101 + "]" * 101, "[]", {}, np.nan, TOO_DEEP),
        ("[" * 101 + "]" * 101, "[" * 101 + "]" * 101, {}, 1, None),
        ("[" * 101 + "]" * 100, "[" * 101 + "]" * 101, {}, 0, None),
        ('["' + "[" * 200 + '"]', "[1]", {}, 0, None),
        ("[1e999999]", "[1]", NEAR, np.nan, BEYOND),
        ("1", "-1e400", {"absolute": 5}, np.nan, BEYOND),
        ("9" * 5000, "9" * 4999 + "8", NEAR, np.nan, BEYOND),
        ("9" * 5000, "9" * 5000, NEAR, 1, None),
        ("1e999999", "1e999999", {}, 1, None),
        ("1e999999", "1e999998", {}, 0, None),
        ('{"id": 12345678901234567, "x": 0.5}', '{"id": 12345678901234568, "x": 5e-1}', {}, 0.5, None),
        ('{"n": ' + "7" * 4400 + ', "a": 1}', '{"a": 1.0, "n": ' + "7" * 4399 + "8}", {}, 0.5, None),
    ],
)
def test_what_cannot_be_read_is_said(answer: str, reference: Any, options: Any, score: float, reason: str) -> None:
    rows = {
        "answer": ["```\n1\n```" if options.get("extract") else "1", answer],
        "reference": pa.array([["1"], reference] if isinstance(reference, list) else ["1", reference]),
    }
    for name in ("json_match", "json_f1"):
        metric = f"{name}({', '.join(f'{key}={value}' for key, value in options.items() if key != 'extract')})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scored = fm.score(rows, metric.replace("()", ""), extract=options.get("extract"))
        (column,) = scored.column_names
        np.testing.assert_allclose(scored[column].to_pylist(), [1, score])
        found = fm.summarize(scored)[column]
        assert found.n_unread == np.isnan(score)
        assert dict(found.unread) == (
            {} if reason is None else {reason: {"rows": 1, "first": 1, "scored": int(reason == FENCED)}}
        )


def test_a_field_that_its_metric_cannot_read_is_unread() -> None:
    @fm.metric(bounds=(0, 1), better="higher", unread=lambda batch, options: [Unread("are odd", _odd(batch), "even")])
    def even_match(answer: str, reference: str) -> float:
        return float(answer == reference)

    answers = ['{"a": "x", "b": 1}', '{"a": "odd", "b": 1}', '{"a": 2, "b": 1}']
    with pytest.warns(fm.ScoreWarning, match=r"1 of 3 rows \(first: row 1\) hold a field whose texts are odd"):
        found = fm.json_match(answers, ['{"a": "x", "b": 1}'] * 3, fields="a=even_match")
    np.testing.assert_array_equal(found, [1, np.nan, 0.5])


def _odd(batch: Batch) -> Any:
    return np.array([text == "odd" for text in batch.columns["answer"].to_pylist()])


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "s": {"type": "string", "pattern": "^x+$"}, "t": {"$ref": "#/$defs/t"}},
    "required": ["a"],
    "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
}


def test_a_schema_by_text_mapping_or_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    answers = ['{"a": 1}', '{"a": 1.5}', '{"a": 1, "s": "xy"}', "{}", '{"a": 1, "t": [[], [[]]]}', '{"a": 1', None]
    for schema in (SCHEMA, json.dumps(SCHEMA), str(path)):
        np.testing.assert_array_equal(fm.json_valid(answers, schema=schema), [1, 0, 0, 0, 1, 0, np.nan])  # type: ignore[arg-type]
    path.write_text('{"required": ["b"]}')
    assert fm.json_valid(['{"a": 1}', '{"b": 1}'], schema=str(path)).tolist() == [0.0, 1.0]
    path.write_text(json.dumps(SCHEMA))
    deep = [f'{{"a": 1, "t": {"[" * levels}{"]" * levels}}}' for levels in (98, 100, 100_000)]
    np.testing.assert_array_equal(fm.json_valid(deep, schema=str(path)), [1, np.nan, np.nan])


SQL_PIECES = st.sampled_from(
    [
        *("SELECT", "select", "Name", "name", " ", "\n", "\t", ",", "*", "=", "<", ">=", "'Rome'", "'rome'"),
        *("'it''s'", '"Col"'),
        *("`t`", "1.5", "(", ")", ";", "-- x\n", "/* y */", "/*", "--", "'", "é", "É", "/", "-", "a$1"),
    ]
)


@given(st.lists(st.tuples(st.lists(SQL_PIECES, max_size=8), st.lists(SQL_PIECES, max_size=8)), max_size=6))
@example([(["SELECT", " ", "Name", ";"], ["select", "\n", "name", ";", ";"]), (["'Rome'"], ["'rome'"]), ([";"], [])])
def test_any_sql(rows: list[tuple[list[str], list[str]]]) -> None:
    pairs = [("".join(answer), "".join(reference)) for answer, reference in rows]
    pairs += [
        (answer, " ".join(reference)) for answer, (_, reference) in zip([pair[1] for pair in pairs], rows, strict=True)
    ]
    scores = fm.sql_match([answer for answer, _ in pairs], [reference for _, reference in pairs])
    assert scores.tolist() == [structure.sql_match(answer, [reference]) for answer, reference in pairs]


@pytest.mark.parametrize(
    ("answer", "reference", "language", "score"),
    [
        ("def f(x):\n  return 2*x", "def f(x):  # twice\n\n    return 2 * x\n", "python", 1),
        ("if a:\n  b\nc", "if a:\n  b\n  c", "python", 0),
        ("if a:\n\tb\n\tif c:\n\t\td\ne", "if a:\n    b\n    if c:\n        d\ne", "python", 1),
        ("f(a,\n  b)", "f(a, b)", "python", 1),
        ("a = 1 + \\\n 2", "a = 1 + 2", "python", 1),
        ("a\nb", "a b", "python", 0),
        ("s = 'a # b'", "s = 'a  # b'", "python", 0),
        ('"""a\n"b" """\nc', '"""a\n"b" """ # d\nc', "python", 1),
        ('"""a"""', '"""a """', "python", 0),
        (r"'\'' # x", r"'\''", "python", 1),
        ("int f() { return 1; } // one", "int f()\n{\n  /* two */ return 1;\n}", "c", 1),
        ("char c = 'a';", "char c = 'A';", "c", 0),
        ('s = "// no comment";', 's = "";', "c", 0),
        ("A", "a", "c", 0),
        ("", "", "python", 1),
        ("'open", "'open ", "python", 0),
        ("/* open", "", "c", 1),
    ],
)
def test_code_without_layout(answer: str, reference: str, language: Any, score: float) -> None:
    assert fm.code_match([answer], [reference], language=language).tolist() == [score]


def test_the_fields_that_fail_are_counted_by_path() -> None:
    references = ['{"a": 1, "b": {"c": true, "d": []}, "i": [{"p": 1}, {"p": 2}]}'] * 4 + ["no JSON", None]
    answers = [
        '{"a": 1.0, "b": {"c": 1, "d": []}, "i": [{"p": 1}, {"p": 3}, {"p": 4}]}',
        '{"b": {"c": true, "d": {}}, "i": [{"p": 1}, {"p": 2}], "x": null}',
        "none",
        None,
        "{}",
        "{}",
    ]
    found = fm.metrics.json_fields(answers, references)
    assert [tuple(line.values()) for line in found.to_pylist()] == [
        ("i[].p", 3, 1, 2, 1, 0),
        ("a", 1, 0, 2, 0, 1),
        ("b.c", 1, 1, 1, 0, 0),
        ("b.d", 1, 1, 1, 0, 1),
        ("x", 0, 0, 0, 1, 1),
    ]
    for answer in answers[:2]:
        counts = fm.metrics.json_fields([answer], references[:1]).drop_columns(["path", "row"]).to_pandas().sum()
        assert counts["equal"] / counts.sum() == pytest.approx(fm.json_match([answer], references[:1])[0])
    assert fm.metrics.json_fields([{"a": 1}], [{"a": 2}])["wrong"].to_pylist() == [1]
    assert fm.metrics.json_fields([], []).num_rows == 0


IN_FENCE = ["1 of 4 rows (first: row 1) hold a fence of Markdown, which is no JSON"]
FIELD_OPTIONS = [
    ({}, IN_FENCE),
    ({"extract": "code"}, ["3 of 4 rows (first: row 0) have no answer by code"]),
    ({"extract": "whole"}, IN_FENCE),
    ({"extract": ["code", "whole"]}, []),
    ({"lists": "any"}, IN_FENCE),
    ({"relative": 0.1}, IN_FENCE),
    ({"fields": "t=ignore"}, IN_FENCE),
    ({"fields": {"t": "cover_match"}, "lists": "any", "absolute": 1.0, "extract": ["code", "regex:(?s)(.*)"]}, []),
]


@pytest.mark.parametrize(("options", "unread"), FIELD_OPTIONS)
def test_fields_are_those_of_the_score_with_its_options(options, unread):
    index = ["k1", "k2", "k3", "k4"]
    answers = [
        '{"n": 9.5, "t": "the cat", "l": [1, 2]}',
        '```json\n{"n": 10}\n```',
        "no",
        '{"l": [2, 1, {"x": 3}], "t": {}}',
    ]
    references = ['{"n": 10, "t": "cat", "l": [2, 1]}', '{"n": 10}', '{"n": 1}', '{"l": [1, 2], "t": [3]}']
    answer = pd.Series(answers, index=index)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fm.metrics.json_fields(answer, pd.Series(references, index=index)[::-1], **options)
    advice = ", and lack all fields; extract=['code', 'whole'] reads both those and bare ones"
    assert [str(one.message) for one in caught] == [f"json_fields: {one}{advice}" for one in unread]
    if found["row"].null_count < found.num_rows:
        assert found["id"].to_pylist() == [None if row is None else index[row] for row in found["row"].to_pylist()]
    for one, other in zip(answers, references, strict=True):
        counts = (
            fm.metrics.json_fields([one], [other], **options).to_pandas()[["equal", "wrong", "missing", "extra"]].sum()
        )
        [score] = fm.json_match([one], [other], **options)
        assert counts["equal"] / counts.sum() == pytest.approx(score, nan_ok=True)
