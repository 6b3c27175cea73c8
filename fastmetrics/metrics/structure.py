"""Answers in JSON, by validity, field and value, and in a programming language, as normalised text."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints, Memo, Text, arrow_numbers
from fastmetrics.base.errors import FastmetricsError, MissingExtraError, OptionError
from fastmetrics.base.input_columns import split
from fastmetrics.base.options import Choice, NotAllowedError, Real
from fastmetrics.base.paths import EVERY, parse
from fastmetrics.base.patterns import UserPattern
from fastmetrics.kernels.code_text import PYTHON, SQL, C, same_code
from fastmetrics.kernels.json_reader import Texts, depths
from fastmetrics.kernels.json_trees import (
    EQUAL,
    IGNORED,
    OF_A,
    OF_B,
    OPEN_NUMBER,
    SHARED,
    VALID_A,
    VALID_B,
    Fields,
    Open,
    compare,
)
from fastmetrics.metrics.batch import Batch, Caution, Options, Raw
from fastmetrics.metrics.metric import Metric, metric
from fastmetrics.text.tokenize import SECRET, frozen

# Columns of JSON.


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts of JSON, and how those of two columns compare, for all metrics that ask with the same options."""

    text: Text
    memo: Memo = field(default_factory=Memo, repr=False)

    def __len__(self) -> int:
        return len(self.text)

    def take(self, rows: Ints) -> Documents:
        """The texts ``rows``, which may repeat."""
        return Documents(self.text.take(rows))

    def compared(self, reference: Documents, *options: Any) -> Compared:
        """What ``compared`` finds with these options."""
        return self.memo.of(options, (reference,), lambda: compared(self.text, reference.text, *options))


@dataclass(frozen=True)
class JsonIn:
    """Texts of JSON; objects and lists are written as such.  ``kind`` is ``jsons`` if a row may have several texts."""

    kind: str

    def of(self, batch: Batch, column: str, options: Options) -> Documents:
        """The column's texts."""
        return batch.remember(("documents", column), lambda: Documents(batch.text(column)))


Json = Annotated[Documents, JsonIn("json")]
Jsons = Annotated[Documents, JsonIn("jsons")]


def _texts(text: Text) -> Texts:
    return Texts(*map(frozen, (text.data, text.starts, text.stops)))


def _in_fences(batch: Batch, options: Options, columns: Any) -> Flags:
    """The rows whose answer begins with a fence of Markdown."""
    text = batch.text("answer")
    fenced = text.stops - text.starts >= len(_FENCE)
    for k, byte in enumerate(_FENCE):
        fenced[fenced] = text.data[text.starts[fenced] + k] == byte
    return fenced


_FENCE = b"```"
_FENCED = Caution(
    "begin with a fence of Markdown, which is no JSON",
    "extract='code' (--extract code) takes what is in it",
    _in_fences,
)


# Options that are read: rules of fields, and schemas.


@dataclass(frozen=True)
class Readable:
    """An option that is text, or a mapping of which ``write`` makes text; ``read`` refuses text that is none."""

    what: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]

    def take(self, value: Any) -> str:
        """The text, after it was read once."""
        if isinstance(value, Mapping):
            value = self.write(value)
        if not isinstance(value, str) or not value.strip():
            raise NotAllowedError
        self.read(value)
        return value

    def __str__(self) -> str:
        return self.what


# Fields: which values are compared in another way than as they are.


class Rules(NamedTuple):
    """The rules of fields: their paths for kernels, and the metric of each rule from 1 on, with its options."""

    fields: Fields
    metrics: tuple[tuple[Metric, Options], ...]


@functools.cache
def _rules(text: str) -> Rules:
    """The rules that a text states; raises ``NotAllowedError`` with the reason if it is none."""
    states: dict[tuple[int, str | None], int] = {}
    rules, metrics = [0], []
    for entry in split(text):
        path, found, rule = (part.strip() for part in entry.partition("="))
        if not found or not path or not rule:
            raise NotAllowedError(f"{entry!r} has no rule behind an equals sign")
        state = 0
        for step in _steps(path):
            if (state, step) not in states:
                states[state, step] = len(rules)
                rules.append(0)
            state = states[state, step]
        if rule != "ignore":
            metrics.append(_metric_of(rule))
        rules[state] = IGNORED if rule == "ignore" else len(metrics)
    keys = [b"" if step is None else step.encode() for _, step in states]
    ends = [0, *itertools.accumulate(map(len, keys))]
    starts, stops = (
        [-1 if step is None else end for (_, step), end in zip(states, some, strict=True)]
        for some in (ends[:-1], ends[1:])
    )
    fields = _fields(b"".join(keys), starts, stops, [state for state, _ in states], states.values(), rules)
    return Rules(fields, tuple(metrics))


def _fields(keys: bytes, *arrays: Iterable[int]) -> Fields:
    """Fields of plain values; the last array are the rules."""
    starts, stops, states, targets, rules = (frozen(np.array([*values], np.int64)) for values in arrays)
    return Fields(frozen(np.frombuffer(keys, np.uint8)), starts, stops, states, targets, rules)


def _steps(path: str) -> list[str | None]:
    """The keys of a path, None for any item of a list; raises ``NotAllowedError`` for other paths.

    A path that begins with ``[]`` is one in a list of lists or objects.
    """
    in_list = path.startswith("[")
    try:
        parsed = parse(f"list{path}" if in_list else path)
    except FastmetricsError as error:
        raise NotAllowedError(str(error)) from error
    plain = len(parsed.choices) == 1 and parsed.unless is None and parsed.since is None
    if not plain or not all(isinstance(step, str) or step == EVERY for step in parsed.choices[0]):
        raise NotAllowedError(f"{path!r} is no path of names and []")
    return [step if isinstance(step, str) else None for step in parsed.choices[0][in_list:]]


def _metric_of(spec: str) -> tuple[Metric, Options]:
    """The metric that compares the texts of a field."""
    from fastmetrics.metrics import plan  # which imports this module

    try:
        score = plan.parse(spec)
    except FastmetricsError as error:
        raise NotAllowedError(str(error)) from error
    required = set(score.metric.required)
    if score.metric.corpus is not None or required != {"answer", "reference"} or score.metric.bounds != (0, 1):
        raise NotAllowedError(f"{spec!r} is no metric from 0 to 1 of an answer and a reference alone")
    if score.metric.better != "higher":
        raise NotAllowedError(f"{spec!r} is no metric of which more is better")
    return score.metric, score.options


_RULES = Readable(
    "paths, each with 'ignore' or a metric of answer and reference: 'title=token_f1, id=ignore'",
    _rules,
    lambda rules: ", ".join(f"{path}={rule}" for path, rule in rules.items()),
)
FieldOption = Annotated[str | None, _RULES, "fields that are ignored, or compared by a metric of texts"]
Lists = Annotated[str, Choice("ordered", "any"), "whether items of lists are compared in their order, or in any"]
Absolute = Annotated[float, Real(0.0, 1e300), "by how much numbers may differ"]
Relative = Annotated[float, Real(0.0, 1e6), "by what share of the reference's number numbers may differ, as in 0.01"]


# Comparing two columns of JSON.


class Compared(NamedTuple):
    """Of each pair: whether both texts are JSON, how many values each has, and how many places both; equal values."""

    valid: Flags
    known: Flags
    of_answer: Ints
    of_reference: Ints
    shared: Ints
    equal: Floats


def compared(
    answer: Text, reference: Text, fields: str | None, lists: str, absolute: float, relative: float
) -> Compared:
    """Compare the values of answers with those of references; values that a metric compares are equal in part."""
    rules = _NONE if fields is None else _rules(fields)
    near = absolute > 0 or relative > 0
    found, kept, n = compare(_texts(answer), _texts(reference), frozen(SECRET), rules.fields, lists == "any", near)
    equal = found[:, EQUAL].astype(np.float64)
    if n:
        scores = _open_scores(kept, n, rules.metrics, float(absolute), float(relative))
        equal += np.bincount(kept.rows[:n], scores, len(found))
    valid, known = found[:, VALID_A] == 1, found[:, VALID_B] == 1
    return Compared(valid, known, found[:, OF_A], found[:, OF_B], found[:, SHARED], equal)


_NONE = Rules(_fields(b"", (), (), (), (), [0]), ())


def _open_scores(
    kept: Open, n: int, metrics: Sequence[tuple[Metric, Options]], absolute: float, relative: float
) -> Floats:
    """How equal the open pairs of values are, from 0 to 1."""
    bounds = arrow_numbers(kept.bounds[: 2 * n + 1], pa.int64())
    pieces = pa.Array.from_buffers(pa.large_string(), 2 * n, [None, bounds.buffers()[1], pa.py_buffer(kept.data)])
    scores = kept.equal[:n].astype(np.float64)
    for rule in np.unique(kept.rules[:n]).tolist():
        pairs = np.flatnonzero(kept.rules[:n] == rule)
        texts = [pieces.take(arrow_numbers(2 * pairs + side, pa.int64())) for side in (0, 1)]
        if rule == OPEN_NUMBER:
            stated, wanted = (np.array([float(text) for text in column.to_pylist()]) for column in texts)
            with np.errstate(invalid="ignore", over="ignore"):
                scores[pairs] = np.abs(stated - wanted) <= np.maximum(absolute, relative * np.abs(wanted))
            continue
        chosen, options = metrics[rule - 1]
        of_texts, _ = Batch(dict(zip(("answer", "reference"), texts, strict=True))).scores(chosen, options)
        scores[pairs] = np.where(np.isnan(of_texts), scores[pairs], of_texts)
    return scores


@metric(
    bounds=(0, 1),
    better="higher",
    source="share of equal fields; JSON of RFC 8259",
    cues={
        "json_diff": "JSONDiff of autoevals compares texts by Levenshtein's ratio: "
        "json_match(fields='PATH=levenshtein_ratio')",
        "json_equality": "json_match(strict=True) is 1 for equal JSON only",
        "field_accuracy": "",
        "structured_output": "",
        "json_accuracy": "",
    },
    caution=_FENCED,
)
def json_match(
    answer: Json,
    reference: Jsons,
    *,
    fields: FieldOption = None,
    lists: Lists = "ordered",
    absolute: Absolute = 0.0,
    relative: Relative = 0.0,
    strict: Annotated[bool, "whether all fields must be equal: 1 if they are, else 0"] = False,
    extra: Annotated[bool, "whether fields that only the answer has count as wrong"] = True,
) -> Floats:
    """Share of the fields that are equal in the answer's JSON and the reference's, whatever the order of keys.

    A field is a path with a value: text, number, true, false, null, or an empty object or list.  The score is the
    number of equal fields over that of the paths of either text (``extra=False``: of the reference).  1, 1.0 and 10e-1
    are equal; "é" and "\\u00e9" are; of equal keys the last counts.  Numbers match within ``absolute`` or ``relative``
    · abs(reference).  Of ``lists="any"`` equal items are paired first, the others in their order.

    ``fields="title=token_f1, price=number_match(relative=0.01), items[].id=ignore"`` compares the text of a field by a
    metric, whose score counts in part (undefined: as equal or not), or leaves it out, with all in it.

    An answer that is no JSON scores 0; NaN and Infinity are none.  Undefined (NaN) if the reference is none, or no
    field is left.

    >>> import fastmetrics as fm
    >>> fm.json_match(['{"a": 1, "b": "x"}', '{"b": "x", "a": 1.0}', "a: 1"], ['{"a": 1, "b": "y"}'] * 3)
    array([0.5, 0.5, 0. ])
    >>> fm.json_match(['{"t": "the cat", "n": 10}'], ['{"t": "cat", "n": 9.9}'], fields="t=token_f1", relative=0.1)
    array([0.83333333])
    """
    found = answer.compared(reference, fields, lists, absolute, relative)
    wanted = found.of_reference + (found.of_answer - found.shared if extra else 0)
    right = (found.equal == wanted).astype(np.float64) if strict else found.equal / np.maximum(wanted, 1)
    return np.where(found.known & (~found.valid | (wanted > 0)), np.where(found.valid, right, 0.0), np.nan)


@metric(
    bounds=(0, 1),
    better="higher",
    source="F1 of slots, as of slot filling (Tjong Kim Sang and De Meulder 2003); JSON of RFC 8259",
    cues=["slot_f1", "slot_filling", "entity_f1", "extraction_f1", "structured_output"],
    caution=_FENCED,
)
def json_f1(
    answer: Json,
    reference: Jsons,
    *,
    fields: FieldOption = None,
    lists: Lists = "ordered",
    absolute: Absolute = 0.0,
    relative: Relative = 0.0,
) -> Floats:
    """F1 of the fields of the answer's JSON, each a path with a value, against those of the reference's.

    F1 = 2 · equal / (n + m) with n fields in the answer and m in the reference: a wrong value counts twice, as a false
    and as a missing slot, a field that only one of them has counts once.  Fields and options are those of
    ``json_match``, and so is what is 0 and what is undefined.

    >>> import fastmetrics as fm
    >>> fm.json_f1(['{"city": "Paris", "day": "Monday"}', '{"city": "Paris"}'], ['{"city": "Paris"}'] * 2).round(3)
    array([0.667, 1.   ])
    """
    found = answer.compared(reference, fields, lists, absolute, relative)
    both = found.of_answer + found.of_reference
    right = 2.0 * found.equal / np.maximum(both, 1)
    return np.where(found.known & (~found.valid | (both > 0)), np.where(found.valid, right, 0.0), np.nan)


# Validity, alone and by a schema.


DEEPEST = 100
"""The levels of an answer that a schema is checked with; the checker calls itself for each."""


def _validator(text: str) -> Any:
    """The checker of a schema, or of that in a file as it is now; raises ``NotAllowedError`` if it is none."""
    try:
        return _checker(text if text.lstrip().startswith("{") else Path(text).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise NotAllowedError(str(error)) from error


@functools.cache
def _checker(schema: str) -> Any:
    """The checker of a schema, whose references are resolved within it only."""
    try:
        import jsonschema
        import referencing
    except ImportError as error:
        raise MissingExtraError.of("jsonschema", "schema") from error
    try:
        parsed = json.loads(schema)
        kind = jsonschema.validators.validator_for(parsed, jsonschema.Draft202012Validator)
        kind.check_schema(parsed)
    except (ValueError, RecursionError, jsonschema.SchemaError) as error:
        raise NotAllowedError(str(error).partition("\n")[0]) from error
    limited = jsonschema.validators.extend(kind, {"pattern": _pattern})
    return limited(parsed, registry=referencing.Registry())


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Any:
    """The keyword ``pattern``, each text within limited time."""
    import jsonschema

    if isinstance(instance, str) and not UserPattern("schema", pattern).is_in(instance, 0):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


_SCHEMA = Readable("a JSON Schema, as text or as the path of a file", _validator, json.dumps)
Schema = Annotated[str | None, _SCHEMA, "a JSON Schema that the answer must fit, or the path of its file"]


def _fits(validator: Any, text: Text, levels: Ints, row: int) -> bool:
    if not 0 < levels[row] <= DEEPEST:
        return False
    from referencing.exceptions import Unresolvable

    try:
        return bool(validator.is_valid(json.loads(text.take(np.array([row])).strings()[0])))
    except Unresolvable as error:
        raise OptionError(f"json_valid: the schema's $ref {error.ref!r} leads to no place within it") from error


@metric(
    bounds=(0, 1),
    better="higher",
    source="JSON of RFC 8259; JSON Schema",
    cues={
        "json_correctness": "",
        "is_json": "",
        "valid_json": "",
        "json_schema": "json_valid(schema='schema.json')",
        "schema_adherence": "json_valid(schema='schema.json')",
    },
    caution=_FENCED,
)
def json_valid(answer: Json, *, schema: Schema = None) -> Floats:
    """1 if the answer is JSON, and fits a schema if there is one, else 0.

    JSON is that of RFC 8259, so NaN, Infinity, comments, single quotes, a comma at the end and text around it make an
    answer invalid; numbers may have any length and lists any depth.  ``extract="code"`` takes JSON out of Markdown.

    ``schema`` is a JSON Schema, as text or as the path of a file, which the package jsonschema checks, one answer after
    the other; ``$ref`` leads to places within it only.  An answer of more than 100 levels does not fit.

    >>> import fastmetrics as fm
    >>> fm.json_valid(['{"a": 1}', "{'a': 1}", "NaN", "[[[1e400]]]", ""])
    array([1., 0., 0., 1., 0.])
    >>> fm.json_valid(['{"a": 1}', '{"a": "x"}'], schema='{"properties": {"a": {"type": "number"}}}')
    array([1., 0.])
    """
    levels = depths(_texts(answer.text), frozen(SECRET))
    if schema is None:
        return (levels > 0).astype(np.float64)
    validator = _validator(schema)
    return np.array([float(_fits(validator, answer.text, levels, row)) for row in range(len(levels))], np.float64)


# Code as normalised text.


_LANGUAGES = {"python": PYTHON, "c": C}


def _same_code(answer: Text, reference: Text, language: int) -> Floats:
    return same_code(*_texts(answer), *_texts(reference), language)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Zhong et al. 2017, logical form accuracy",
    cues=["logical_form_accuracy", "sql_exact_match", "text_to_sql", "execution_accuracy", "spider"],
)
def sql_match(answer: Raw, reference: Raw) -> Floats:
    """1 if the answer is the same SQL as the reference but for layout, comments and capitals, else 0.

    Tokens are compared: words in lower case, literals and quoted names ('…', "…", `…`) as they are, other signs one by
    one.  White space, comments (``--``, ``/* */``) and a semicolon at the end do not count.  Nothing is executed: other
    SQL with the same result scores 0, as do aliases of other names or conditions in another order.  Of several
    references any is enough.  ``extract="code"`` takes the SQL out of Markdown.

    >>> import fastmetrics as fm
    >>> fm.sql_match(["select name\\nfrom users where city = 'Rome';"], ["SELECT name FROM users WHERE city='Rome'"])
    array([1.])
    >>> fm.sql_match(["SELECT name FROM users WHERE city='rome'"], ["SELECT name FROM users WHERE city='Rome'"])
    array([0.])
    """
    return _same_code(answer, reference, SQL)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Lu et al. 2021, exact match of CodeXGLUE",
    cues=["code_exact_match", "codebleu", "pass_at_k", "humaneval"],
)
def code_match(
    answer: Raw,
    reference: Raw,
    *,
    language: Annotated[str, Choice("python", "c"), "python, or c for languages with // and /* */"] = "python",
) -> Floats:
    """1 if the answer is the same code as the reference but for layout and comments, else 0.

    Tokens are compared: names and numbers, literals as they are, other signs one by one.  White space and comments do
    not count, but for the lines of Python, and how deep they are indented outside of brackets.  ``language="c"`` is for
    C, Java, JavaScript, Go, Rust and others with ``//`` and ``/* */``.  Nothing is executed: code that does the same in
    other words scores 0.  Of several references any is enough.  ``extract="code"`` takes code out of Markdown.

    >>> import fastmetrics as fm
    >>> answers = ["def f(x):  # twice\\n  return 2*x", "def f(y):\\n    return 2 * y"]
    >>> fm.code_match(answers, ["def f(x):\\n    return 2 * x"] * 2)
    array([1., 0.])
    """
    return _same_code(answer, reference, _LANGUAGES[language])
