"""Answers in JSON, by validity, field and value, and in a programming language, as normalised text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints, Memo, Text, arrow_texts
from fastmetrics.base.column_names import listed, split
from fastmetrics.base.columns import as_array, by_index, ids_of_series
from fastmetrics.base.errors import ColumnError, FastmetricsError, MissingExtraError, OptionError, warn_of
from fastmetrics.base.options import Choice, NotAllowedError, Real
from fastmetrics.base.paths import EVERY, parse
from fastmetrics.base.patterns import UserPattern
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.text_structure import as_json
from fastmetrics.kernels.code_text import PYTHON, SQL, C, same_code
from fastmetrics.metrics.batch import Batch, Options, Raw, Unread
from fastmetrics.metrics.json_values import (
    ABSENT,
    DEEP,
    IGNORED,
    INVALID,
    Compared,
    Comparison,
    Near,
    Step,
    beyond_floats,
    compared,
    is_json,
    pieces,
    read,
)
from fastmetrics.metrics.metric import REGISTRY, Metric, metric
from fastmetrics.metrics.parameters import aligned
from fastmetrics.tables.encoders import DEPTH
from fastmetrics.text.extraction import extracted
from fastmetrics.text.tokenize import frozen

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

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of each text."""
        return pieces(self.text)

    @cached_property
    def valid(self) -> Flags:
        """Whether each text is JSON."""
        return np.fromiter(map(is_json, self.pieces), np.bool_, len(self))

    def fit(self, schema: str) -> Floats:
        """Whether each text fits a schema; NaN for those that cannot be taken apart."""

        def make() -> Floats:
            validator = _validator(schema)
            return np.array([_fits(validator, piece) for piece in self.pieces], np.float64)

        return self.memo.remember(("schema", schema), make)

    @cached_property
    def fenced(self) -> Flags:
        """Whether each text holds a fence of Markdown and is no JSON."""
        return np.fromiter((b"```" in piece and not is_json(piece) for piece in self.pieces), np.bool_, len(self))

    def compared(
        self, reference: Documents, fields: str | None, lists: str, absolute: float, relative: float
    ) -> Compared:
        """What is found with these options of a metric."""

        def make() -> Compared:
            rules, how = rules_of(fields), Near(float(absolute), float(relative), any_order=lists == "any")
            return compared(self.pieces, reference.pieces, rules.fields, rules.metrics, how)

        return self.memo.remember((fields, lists, absolute, relative), make, reference)


@dataclass(frozen=True)
class JsonIn:
    """Texts of JSON; objects and lists are written as such.  ``kind`` is ``jsons`` if a row may have several texts."""

    kind: str

    def of(self, batch: Batch, column: str, options: Options) -> Documents:
        """The column's texts."""
        return batch.remember(("documents", column), lambda: Documents(batch.text(column)))


Json = Annotated[Documents, JsonIn("json")]
Jsons = Annotated[Documents, JsonIn("jsons")]


def _fenced(answer: Documents) -> Unread:
    """The answers in a fence, which count as wrong."""
    return Unread(_FENCED, answer.fenced, _EITHER.format(" (--extract code --extract whole)"), scored=True)


_FENCED = "hold a fence of Markdown, which is no JSON"
_EITHER = "extract=['code', 'whole']{} reads both those and bare ones"


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
    """The rules of fields as steps of paths, and the metric of each rule from 1 on, with its options."""

    fields: Step | None
    metrics: tuple[tuple[Metric, Options], ...]


@functools.cache
def rules_of(text: str | None) -> Rules:
    """The rules that a text states; raises ``NotAllowedError`` with the reason if it is none."""
    if text is None:
        return Rules(None, ())
    root, metrics = Step(), []
    for entry in split(text):
        path, found, rule = (part.strip() for part in entry.partition("="))
        if not found or not path or not rule:
            raise NotAllowedError(f"{entry!r} has no rule behind an equals sign")
        step = root
        for key in _steps(path):
            step = step.next.setdefault(key, Step())
        if rule != "ignore":
            metrics.append(_metric_of(rule))
        step.rule = IGNORED if rule == "ignore" else len(metrics)
    return Rules(root, tuple(metrics))


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
    from fastmetrics.metrics.score_names import parse as score_of  # which imports this module

    try:
        score = score_of(spec)
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
    rules_of,
    lambda rules: ", ".join(f"{path}={rule}" for path, rule in rules.items()),
)
FieldOption = Annotated[str | None, _RULES, "fields that are ignored, or compared by a metric of texts"]
Lists = Annotated[str, Choice("ordered", "any"), "whether items of lists are compared in their order, or in any"]
Absolute = Annotated[float, Real(0.0, 1e300), "by how much numbers may differ"]
Relative = Annotated[float, Real(0.0, 1e6), "by what share of the reference's number numbers may differ, as in 0.01"]


# Metrics of the fields of JSON.


def _whole_lists(answer: Documents, references: Documents) -> Flags:
    """The rows whose answer is JSON of a list of all the texts that are its references."""
    found, groups = np.zeros(len(answer), np.bool_), references.text.groups
    assert groups is not None
    for row, piece in enumerate(answer.pieces):
        if piece.lstrip().startswith(b"["):
            texts = [text.decode() for text in references.pieces[groups[row] : groups[row + 1]]]
            found[row] = read(piece, exact=False) == texts != []
    return found


def _cannot_compare(batch: Batch, options: Options) -> Iterator[Unread]:
    """The rows whose reference is no JSON, those that ``compared`` cannot tell, and fenced answers."""
    answer, reference = (JsonIn("json").of(batch, name, options) for name in ("answer", "reference"))
    owner = batch.owners("reference")
    ours = answer if owner is None else aligned(batch, "answer", JsonIn("json"), options, owner)
    found = ours.compared(reference, *(options[name] for name in ("fields", "lists", "absolute", "relative")))
    known = batch.with_item("reference", found.known)
    if owner is not None:
        advice = "a list that is one reference is written as a text: json.dumps(list)"
        yield Unread("have a list of texts as reference of which none is JSON", ~known, advice)
        yield Unread("have an answer that is the whole list of references", _whole_lists(answer, reference), advice)
    yield Unread("have a reference that is no JSON", ~known)
    for some in found.unread:
        yield replace(some, rows=batch.with_item("reference", some.rows))
    yield _fenced(answer)


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
    unread=_cannot_compare,
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

    An answer that is no JSON scores 0; NaN and Infinity are none.  Undefined (NaN) if no field is left; unread if the
    reference is no JSON, of more than 100 levels, or numbers beyond floats are to be near.

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
    unread=_cannot_compare,
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


# Which fields fail, over a table.


def json_fields(
    answer: Annotated[Any, Help("The answers.")],
    reference: Annotated[Any, Help("The expected JSON of each answer.")],
    *,
    extract: Annotated[Sequence[str] | str | None, Help("Where the JSON stands in the answers: code,whole.")] = None,
    fields: Annotated[Any, Help("Fields that are ignored, or compared by a metric: title=token_f1,id=ignore.")] = None,
    lists: Annotated[Literal["ordered", "any"], Help("Whether items of lists are compared in order.")] = "ordered",
    absolute: Annotated[float, Help("By how much numbers may differ.")] = 0.0,
    relative: Annotated[float, Help("By what share of the reference's number numbers may differ.")] = 0.0,
) -> pa.Table:
    """The fields behind ``json_match``, by path over all rows, those that fail most often first.

    Columns: ``path`` (``items[].price`` for that of any item), how many fields of it are ``equal``, ``wrong`` (another
    value), ``missing`` from the answer, and ``extra`` in it, and the ``row`` of the first that fails, with its ``id``
    where pandas series have an index that tells rows apart.  Fields and options are those of ``json_match``; one that
    a metric compares is equal where the metric is 1.  An answer that is no JSON lacks all fields, and a warning counts
    those in a fence of Markdown, which ``extract=["code", "whole"]`` reads beside bare ones, or those in which
    ``extract`` finds nothing.  Rows without an answer or a reference, or whose reference is no JSON, are left out.

    >>> found = json_fields(['{"city": "Rome", "day": 1}', '{"city": "Oslo"}'], ['{"city": "Rome", "day": 2}'] * 2)
    >>> found.to_pylist()[0]
    {'path': 'day', 'equal': 0, 'wrong': 1, 'missing': 1, 'extra': 0, 'row': 0}

    Raises ``ColumnError`` for columns of different lengths or of another type, ``OptionError`` for an invalid option.
    """
    given = {"extract": extract, "fields": fields, "lists": lists, "absolute": absolute, "relative": relative}
    options = REGISTRY["json_match"].options({name: value for name, value in given.items() if value is not None})
    raw = {"answer": answer, "reference": reference}
    ids = ids_of_series(answer, reference)
    columns = {name: as_json(as_array(one, name), several=False) for name, one in by_index(raw).items()}
    if len(columns["answer"]) != len(columns["reference"]):
        sizes = f"{len(columns['answer'])} answers, {len(columns['reference'])} references"
        raise ColumnError(f"columns differ in length: {sizes}")
    ways = listed(options.get("extract"))
    if extract is not None:
        columns["answer"] = extracted(columns["answer"], ways)
    rules, comparison = rules_of(options["fields"]), Comparison(Near(absolute, relative, any_order=lists == "any"))
    fields_of_rows: list[tuple[int, str, str | int]] = []
    unread: dict[str, list[int]] = {_FENCED: [], f"have no answer by {', '.join(ways)}": []}
    for row, both in enumerate(zip(columns["answer"].to_pylist(), columns["reference"].to_pylist(), strict=True)):
        if None in both:
            continue
        texts = [text.encode("utf-8", "surrogatepass") for text in both]
        is_exact = bool(rules.metrics or beyond_floats(texts).any())
        made, wanted = (read(text, exact=is_exact) for text in texts)
        if wanted is INVALID or wanted is DEEP:
            continue
        comparison.row = row
        for what, is_so in zip(unread, (b"```" in texts[0], ways and not texts[0]), strict=True):
            if made is INVALID and is_so:
                unread[what].append(row)
        made = ABSENT if made is INVALID or made is DEEP else made
        fields_of_rows += ((row, *one) for one in comparison.fields(made, wanted, rules.fields))
    in_part = comparison.settled(rules.metrics, len(columns["answer"]))[1] if comparison.open else np.zeros(0)
    counts: dict[str, dict[str, int]] = {}
    for row, path, found in fields_of_rows:
        kind = found if isinstance(found, str) else "equal" if in_part[found] >= 1 else "wrong"
        of_path = counts.setdefault(path.removeprefix("."), dict.fromkeys(_COUNTED, 0))
        of_path[kind] += 1
        if kind != "equal":
            of_path.setdefault("row", row)
    for what, rows in unread.items():
        if rows:
            some = f"{len(rows):,} of {len(columns['answer']):,} rows (first: row {rows[0]:,})"
            warn_of([f"json_fields: {some} {what}, and lack all fields; {_EITHER.format('')}"])
    failed = {path: sum(of_path[kind] for kind in _COUNTED[1:]) for path, of_path in counts.items()}
    lines = [{"path": path, **counts[path]} for path in sorted(counts, key=lambda path: (-failed[path], path))]
    types = {"path": pa.string(), **dict.fromkeys((*_COUNTED, "row"), pa.int64())}
    table = pa.Table.from_pylist(lines, pa.schema(types))
    return table if ids is None else table.append_column("id", ids.take(table["row"]))


_COUNTED = ("equal", "wrong", "missing", "extra")


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
        _check_patterns(parsed)
    except (ValueError, RecursionError, jsonschema.SchemaError) as error:
        raise NotAllowedError(str(error).partition("\n")[0]) from error
    limited = jsonschema.validators.extend(kind, {"pattern": _pattern})
    return limited(parsed, registry=referencing.Registry())


def _check_patterns(schema: Any) -> None:
    """Raise ``NotAllowedError`` for a keyword ``pattern`` that RE2 cannot compile."""
    if isinstance(schema, dict) and isinstance(schema.get("pattern"), str):
        UserPattern(schema["pattern"])
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _check_patterns(part)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Any:
    """The keyword ``pattern``, in linear time."""
    import jsonschema

    if isinstance(instance, str) and not UserPattern(pattern).is_in(arrow_texts([instance]))[0]:
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


_SCHEMA = Readable("a JSON Schema, as text or as the path of a file", _validator, json.dumps)
Schema = Annotated[str | None, _SCHEMA, "a JSON Schema that the answer must fit, or the path of its file"]


def _fits(validator: Any, text: bytes) -> float:
    """Whether a text fits a schema; NaN if it cannot be taken apart."""
    value = read(text, exact=True)
    if value is INVALID or value is DEEP:
        return 0.0 if value is INVALID else np.nan
    from referencing.exceptions import Unresolvable

    try:
        return float(validator.is_valid(json.loads(text)))
    except Unresolvable as error:
        raise OptionError(f"json_valid: the schema's $ref {error.ref!r} leads to no place within it") from error
    except ValueError:  # an integer of thousands of digits
        return np.nan


def _cannot_check(batch: Batch, options: Options) -> Iterator[Unread]:
    """The answers that are too deep or hold too long integers for a schema, and fenced ones."""
    answer = JsonIn("json").of(batch, "answer", options)
    if options["schema"] is not None:
        fits = answer.fit(options["schema"])
        yield Unread(f"hold JSON of more than {DEPTH} levels, or an integer of more than 4,300 digits", np.isnan(fits))
    yield _fenced(answer)


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
    unread=_cannot_check,
)
def json_valid(answer: Json, *, schema: Schema = None) -> Floats:
    """1 if the answer is JSON, and fits a schema if there is one, else 0.

    JSON is that of RFC 8259, so NaN, Infinity, comments, single quotes, a comma at the end and text around it make an
    answer invalid; numbers may have any length and lists any depth.  ``extract=["code", "whole"]`` takes JSON out of
    Markdown, where it stands in it.

    ``schema`` is a JSON Schema, as text or as the path of a file, which the package jsonschema checks, one answer after
    the other; ``$ref`` leads to places within it only.  An answer of more than 100 levels is unread then.

    >>> import fastmetrics as fm
    >>> fm.json_valid(['{"a": 1}', "{'a': 1}", "NaN", "[[[1e400]]]", ""])
    array([1., 0., 0., 1., 0.])
    >>> fm.json_valid(['{"a": 1}', '{"a": "x"}'], schema='{"properties": {"a": {"type": "number"}}}')
    array([1., 0.])
    """
    return answer.valid.astype(np.float64) if schema is None else answer.fit(schema)


# Code as normalised text.


_LANGUAGES = {"python": PYTHON, "c": C}


def _same_code(answer: Text, reference: Text, language: int) -> Floats:
    ours, theirs = ((frozen(text.data), frozen(text.starts), frozen(text.stops)) for text in (answer, reference))
    return same_code(*ours, *theirs, language)


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
    references any is enough.  ``extract=["code", "whole"]`` takes the SQL out of Markdown, where it stands in it.

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
    other words scores 0.  Of several references any is enough.  ``extract=["code", "whole"]`` takes code out of
    Markdown, where it stands in it.

    >>> import fastmetrics as fm
    >>> answers = ["def f(x):  # twice\\n  return 2*x", "def f(y):\\n    return 2 * y"]
    >>> fm.code_match(answers, ["def f(x):\\n    return 2 * x"] * 2)
    array([1., 0.])
    """
    return _same_code(answer, reference, _LANGUAGES[language])
