"""What looks like structure in a column of text: lists as tools print them, records, chats, texts joined by a pipe.

A text is one text unless its column was declared to hold lists (``lists``), or is read at a path (``columns``): an
answer or a passage may well be a list.  What looks like structure is counted, and a note names the option that reads
it.  Numbers, flags and lists of one text are read as text.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import (
    BRACE,
    BRACKET,
    PIPE,
    Flags,
    Ints,
    Text,
    array_of_strings,
    arrow_numbers,
    as_lists,
    decoded,
    few_texts,
    is_list,
    is_list_view,
    is_number,
    is_text,
    known_true,
    numpy_values,
    side_by_side,
)
from fastmetrics.base.errors import ColumnError, InputError

# The structures that a text may show: how it looks, and what reads it.


_QUOTED = r'(?:"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*')"
_ITEM = rf"(?:{_QUOTED}|None|null|nan)"
_ATOM = rf"{_QUOTED}|[^\s,\[\]'\"()]+"
_LIST = rf"(?s)^\[\s*(?:{_QUOTED}(?:(?:\s*,\s*|\s+){_ITEM})*)?\s*\]\s*$"
"""A list of quoted texts, as JSON and Python print it, or NumPy, which puts spaces in place of commas."""


@dataclass(frozen=True)
class Structure:
    """How texts look that hold more than one text.

    ``kinds`` are those of the columns in which it is noticed, ``sign`` what each such text has: most columns have none
    of them, which was seen when their texts were checked.  ``pattern`` is a regular expression of Arrow and ``never``
    one that no such text matches.  A note says that texts ``are`` so, from the share ``least`` of the rows on, and
    which ``option`` reads them, in Python and on the command line; ``{name}`` is the column of the user, ``{column}``
    the canonical one.
    """

    kinds: tuple[str, ...]
    sign: int
    pattern: str
    are: tuple[str, str]
    option: str
    never: str | None = None
    least: float = 0.0

    def note(self, column: str, name: str, rows: int) -> str:
        """The note on ``rows`` texts of a column."""
        option = self.option.format(name=name, column=column)
        return f"{name}: {rows:,} {self.are[rows != 1]}, and each was read as one text; {option}"


STRUCTURES: Mapping[str, Structure] = {
    "lists": Structure(
        ("text", "texts"),
        BRACKET,
        _LIST,
        ("text is a list, as JSON, Python or NumPy writes it", "texts are lists, as JSON, Python or NumPy writes them"),
        "lists={name!r} (--lists {name}) reads the lists",
    ),
    "chats": Structure(
        ("text", "texts"),
        BRACKET,
        r'(?s)^\[\s*\{.*"role"\s*:.*\}\s*\]\s*$',
        ("text is a history of messages in JSON", "texts are histories of messages in JSON"),
        "columns={{{column!r}: '{name}[turn=last].answer'}} (--columns '{column}={name}[turn=last].answer') reads "
        "the last answer",
    ),
    "records": Structure(
        ("text", "texts"),
        BRACKET,
        r'(?s)^\[\s*\{\s*"(?:[^"\\]|\\.)*"\s*:.*\}\s*\]\s*$',
        ("text is a list of objects in JSON", "texts are lists of objects in JSON"),
        "columns={{{column!r}: '{name}[].FIELD'}} (--columns '{column}={name}[].FIELD') reads a field of each",
        never=r'(?s)"role"\s*:',
    ),
    "objects": Structure(
        ("text", "texts"),
        BRACE,
        r'(?s)^\{\s*"(?:[^"\\]|\\.)*"\s*:.*\}\s*$',
        ("text is an object in JSON", "texts are objects in JSON"),
        "columns={{{column!r}: '{name}.FIELD'}} (--columns {column}={name}.FIELD) reads a field of them",
    ),
    "pipes": Structure(
        ("texts",),
        PIPE,
        r"\S \| \S|\S\|\|\S|\S \|\| \S|[\pL\pN]{2}\|[\pL\pN]",
        ("text has parts between pipes", "texts have parts between pipes"),
        "lists='{name}=|' (--lists '{name}=|') reads them as lists",
        never=r"(?m)^\s*\|.*\|\s*$|-\|-|-\+-",  # a table
        least=0.5,
    ),
}
"""The structures by name; a text is of the first that it looks like."""


def looks(column: pa.Array, text: Text, kind: str) -> dict[str, Flags]:
    """The rows of a column of this kind whose one text looks like a structure, by its name.

    ``text`` is the view of the column's strings.

    >>> from fastmetrics.base.arrays import text_of_arrow
    >>> column = pa.array(['["Paris", "Rome"]', "[1]", None, '{"answer": "Rome"}', "['it' 'is']"])
    >>> found = looks(column, text_of_arrow(column, "reference"), "texts")
    >>> {name: rows.tolist() for name, rows in found.items()}
    {'lists': [True, False, False, False, True], 'objects': [False, False, False, True, False]}
    """
    if text.groups is not None or not text.all_signs & (BRACKET | BRACE | PIPE):  # the rows are lists already
        return {}
    found: dict[str, Flags] = {}
    for name, structure in STRUCTURES.items():
        places = text.with_sign(structure.sign)
        if kind in structure.kinds and len(places) and (rows := _matching(column, places, structure)).size:
            found[name] = np.zeros(len(text), np.bool_)
            found[name][rows] = True
    return found


def _matching(column: pa.Array, places: Ints, structure: Structure) -> Ints:
    """Those of some rows that look like a structure."""
    texts = few_texts(column, places)
    matches = numpy_values(known_true(pc.match_substring_regex(texts, structure.pattern)))
    if structure.never is not None and matches.any():
        matches = matches & ~numpy_values(known_true(pc.match_substring_regex(texts, structure.never)))
    return places[matches]


# Reading texts that are lists.


_TOKEN = re.compile(
    rf"(?s)(?P<gap>\s*,?\s*)(?:(?P<open>(?:array\()?\[)|(?P<close>\](?:,\s*dtype=[\w<>]+)?\)?)|(?P<item>{_ATOM}))"
)
"""A part of a printed list, and what divides it from the one before; NumPy prints arrays in lists as ``array([…])``."""
_NOTHING = ("None", "null", "nan", "NaN")


def printed_list(text: str) -> list[Any] | None:
    """The items of a list as JSON, Python or NumPy prints it, lists among them; None for any other text.

    >>> printed_list("['Paris' 'Paris, France']"), printed_list("['a', None]"), printed_list("[1 2]"), printed_list("a")
    (['Paris', 'Paris, France'], ['a', None], [1, 2], None)
    """
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return _parsed(text.strip())
    return items if isinstance(items, list) else None


def _parsed(text: str) -> list[Any] | None:
    """The items of a list that is not JSON; None for any other text."""
    whole: list[Any] = []
    inside, at, follows = [whole], 0, False
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (follows and not token["gap"] and token["close"] is None):
            return None
        if token["close"] is not None:
            inside.pop()
        elif token["open"] is not None:
            inside[-1].append([])
            inside.append(inside[-1][-1])
        else:
            inside[-1].append(_value(token["item"]))
            if inside[-1][-1] is _UNREAD:
                return None
        at, follows = token.end(), token["open"] is None
        if not inside or (len(inside) == 1 and at < len(text)):
            return None
    return whole[0] if len(inside) == 1 and len(whole) == 1 and isinstance(whole[0], list) else None


_UNREAD: Any = object()


def _value(token: str) -> Any:
    """An item of a printed list; quoted texts next to each other are two items, not one as in Python."""
    if token in _NOTHING:
        return None
    if token == "...":  # NumPy leaves out the middle of a long array
        return _UNREAD
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escape sequences that Python does not know
            return ast.literal_eval(token)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _UNREAD


def text_list(text: str, separator: str = "") -> list[str | None] | None:
    """The texts of one that is a list, or whose parts a separator divides; a list of one for any other text.

    None for white space.

    >>> text_list('["Paris", "Rome"]'), text_list("['it' 'is']"), text_list("Paris"), text_list("a | b", "|")
    (['Paris', 'Rome'], ['it', 'is'], ['Paris'], ['a', 'b'])

    Raises ``ValueError`` for a text that begins with a bracket and is not a list of texts.
    """
    stripped = text.strip()
    if separator:
        return [part.strip() for part in text.split(separator) if part.strip()] or None
    if not stripped.startswith("["):
        return [text] if stripped else None
    items = printed_list(stripped)
    if items is None or not all(item is None or isinstance(item, str) for item in items):
        raise ValueError(f"expected a list of texts in JSON, got {text[:40]!r}")
    return items


def as_text_lists(column: pa.Array, name: str, kind: str = "texts", separator: str = "") -> pa.Array:
    """A column of texts that are lists as a column of lists, of the items of its ``kind``; of another type as it is.

    Raises ``InputError`` for a text that begins with a bracket and is not a list, and for items of another kind.
    """
    column = decoded(column)
    if not is_text(column.type):
        return column
    try:
        if kind in ("text", "texts"):
            texts = [None if text is None else text_list(text, separator) for text in column.to_pylist()]
            return pa.array(texts, pa.list_(pa.string()))
        items = [None if text is None else _items(text, separator) for text in column.to_pylist()]
        if kind == "id_groups" and any(isinstance(item, list) for row in items for item in row or ()):
            return pa.array(
                [None if row is None else [i if isinstance(i, list) else [i] for i in row] for row in items]
            )
        if kind in ("ids", "id_groups"):
            whole = all(isinstance(item, int) for row in items if row for item in row)
            return pa.array(items if whole else _in_text(items), pa.list_(pa.int64() if whole else pa.string()))
        return pa.array(items)
    except (ValueError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"column {name!r}: {error}") from None


def _items(text: str, separator: str) -> list[Any] | None:
    """The items of a text that is a list, or whose parts a separator divides; None for white space."""
    if separator:
        return text_list(text, separator)
    if not text.strip():
        return None
    items = printed_list(text)
    if items is None:
        raise ValueError(f"expected a list as JSON, Python or NumPy writes it, got {text[:40]!r}")
    return items


def _in_text(rows: list[list[Any] | None]) -> list[list[Any] | None]:
    return [None if row is None else [None if item is None else str(item) for item in row] for row in rows]


# Reading texts that are flags.


_YES = "true yes y t 1 1.0 ja wahr oui vrai si sí sì sim да истина evet pass passed 是 はい 예"
_NO = "false no n f 0 0.0 nein falsch non faux não nao нет ложь hayır fail failed 否 いいえ 아니요"
_FLAGS = {word: words == _YES for words in (_YES, _NO) for word in words.split()}
FLAGS = "true or false (also yes/no, ja/nein, oui/non, si/no, да/нет, pass/fail, 1/0)"


def flag_of(text: str) -> bool:
    """The flag that a word is, in any case.

    >>> flag_of("Yes"), flag_of(" нет "), flag_of("FAIL")
    (True, False, False)

    Raises ``ValueError`` for any other text, with what was expected.
    """
    found = _FLAGS.get(text.strip().casefold())
    if found is None:
        raise ValueError(f"expected {FLAGS}, got {text[:40]!r}; write this value as true or false")
    return found


def as_flags(column: pa.Array, name: str) -> pa.Array:
    """A column of texts as flags, a blank one as null; of another type as it is.

    Raises ``InputError`` for a text that is no flag.
    """
    column = decoded(column)
    if not is_text(column.type):
        return column
    known: dict[str, bool | None] = {}
    for text in pc.unique(column).drop_null().to_pylist():
        try:
            known[text] = flag_of(text) if text.strip() else None
        except ValueError as error:
            row = pc.index(column, pa.scalar(text, column.type)).as_py()
            raise InputError(f"column {name!r}: {error}", row=row) from None
    return pa.array([None if text is None else known[text] for text in column.to_pylist()], pa.bool_())


# Reading numbers, flags and lists of one text as text.


def is_value(type_: pa.DataType) -> bool:
    """Whether the type holds values that are read as text: numbers and flags."""
    return is_number(type_) or bool(pt.is_boolean(type_))


def number_text(value: Any) -> str:
    """A number or flag as text, as :func:`as_text` writes it.

    >>> number_text(42.0), number_text(True), number_text(0.5)
    ('42', 'true', '0.5')
    """
    return str(value) if type(value) is int else str(pa.scalar(value).cast(pa.string()))


def as_texts(column: pa.Array, name: str, kind: str) -> pa.Array:
    """A column that is to hold text (of the ``kind`` text or texts) with its numbers, flags and lists of one as text.

    Raises ``InputError`` for a list of several texts where one is expected.

    >>> [as_texts(pa.array(values), "answer", "text").to_pylist() for values in ([42, None], [["a"], []])]
    [['42', None], ['a', None]]
    """
    column = decoded(column)
    if is_value(column.type):
        return column.cast(pa.string())
    if not is_list(column.type):
        return column
    if is_value(column.type.value_type):
        column = column.cast(pa.list_(pa.string()))
    if kind != "text":
        return column
    sizes = numpy_values(pc.list_value_length(column), null=0)
    if (sizes > 1).any():
        row = int(np.argmax(sizes > 1))
        what = f"{sizes[row]} {of_likelihoods(column[row].as_py())}".rstrip()
        raise InputError(f"column {name!r}: expected one text, got a list of {what}", row=row)
    ends = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    empty = pa.array(sizes == 0)
    return column.flatten().take(pa.array(ends, mask=np.asarray(empty)))


_SIGNED = re.compile(r"-(\d|inf)|[-0.]+$")
NO_ANSWERS = "are no answers: name a column of texts, or log what the model generates"


def of_likelihoods(value: Any) -> str:
    """What a message says of the log-likelihoods of choices: numbers up to 0, each alone or with a flag.

    >>> [of_likelihoods(value)[:16] for value in ([-0.5, -2.25], [["-0.5", "False"], ["0", "True"]], ["-0.5", "False"])]
    ['log-likelihoods,', 'log-likelihoods,', 'log-likelihoods,']
    >>> of_likelihoods(["Paris", "Rome"]), of_likelihoods([1, 2]), of_likelihoods(["-1", "not"])
    ('', '', '')
    """
    items = value if isinstance(value, list) else []
    if len(items) == 2 and str(items[1]).lower() in ("true", "false"):
        items = items[:1]
    numbers = [item[0] if isinstance(item, list) and item else item for item in items]
    if not numbers or not all(_SIGNED.match(str(number)) for number in numbers):
        return ""
    return f"log-likelihoods, which {NO_ANSWERS}"


# Choices of multiple-choice questions: lists of texts, or texts with their labels.


_LABELS = ("label", "labels", "key", "letter")
_TEXTS = ("text", "texts", "content", "value")
"""The fields of objects that hold the labels and the texts of choices."""


def as_choices(column: pa.Array, name: str) -> dict[str, pa.Array]:
    """The columns ``choices`` and, where the choices have labels, ``choice_labels``, from a column of any of its forms.

    These are lists of texts or numbers, a struct of a list of texts and one of labels, as of ARC, a list of structs of
    both, or a struct with a field for each choice, whose name is the label.

    >>> arc, keyed = pa.array([{"text": ["Rome", "Bonn"], "label": ["1", "2"]}]), pa.array([{"A": "Rome", "B": "Bonn"}])
    >>> {name: column.to_pylist() for name, column in as_choices(arc, "choices").items()}
    {'choices': [['Rome', 'Bonn']], 'choice_labels': [['1', '2']]}
    >>> [column.to_pylist() for column in as_choices(keyed, "choices").values()]
    [[['Rome', 'Bonn']], [['A', 'B']]]

    Raises ``ColumnError`` for structs without texts.
    """
    column = decoded(column)
    if is_list(column.type) and pt.is_struct(column.type.value_type):
        lists = as_lists(column)
        texts, labels = (_field(lists.values, names) for names in (_TEXTS, _LABELS))
        if texts is None:
            raise ColumnError(f"column {name!r}: expected choices with a field 'text', got {column.type}")
        mask = lists.is_null() if lists.null_count else None
        found = {"choices": texts} | ({} if labels is None else {"choice_labels": labels})
        return {
            name: pa.ListArray.from_arrays(lists.offsets, as_texts(items, name, "text"), mask=mask)
            for name, items in found.items()
        }
    if not pt.is_struct(column.type):
        return {"choices": as_texts(column, name, "texts")}
    texts, labels = _field(column, _TEXTS), _field(column, _LABELS)
    if texts is not None and is_list(texts.type):
        found = {"choices": texts} | ({} if labels is None else {"choice_labels": labels})
        return {name: as_texts(items, name, "texts") for name, items in found.items()}
    fields = [field.name for field in column.type]
    try:
        texts = side_by_side([pc.struct_field(column, place) for place in range(len(fields))])
    except ColumnError as error:
        raise ColumnError(
            f"column {name!r}: expected a list of texts, or an object of texts and labels as {{'text': […], 'label': "
            f"[…]}} or {{'A': …}}, got {column.type}; columns (--columns) can name a path within, as {name}.FIELD"
        ) from error
    given = numpy_values(texts.values.is_valid())  # a question may have fewer choices than another
    names = np.tile(np.arange(len(fields)), len(column))
    labels = array_of_strings(fields).take(arrow_numbers(names, pa.int64(), ~given))
    return {"choices": texts, "choice_labels": pa.ListArray.from_arrays(texts.offsets, labels)}


def _field(structs: pa.Array, names: tuple[str, ...]) -> pa.Array | None:
    """The first field of structs that has one of these names."""
    fields = [field.name for field in structs.type]
    found = [name for name in names if name in fields]
    return pc.struct_field(structs, fields.index(found[0])) if found else None


# Reading objects and lists as JSON.


def as_json(column: pa.Array, *, several: bool) -> pa.Array:
    """A column that is to hold JSON: text as it is, and all other values written as JSON.

    A column of lists of texts is as it is too where a row may hold ``several`` values.  Arrow has the same fields in
    every struct, so those that are null are left out.

    >>> as_json(pa.array([{"a": 1.5, "b": None}, {"b": ["x"]}]), several=True).to_pylist()
    ['{"a": 1.5}', '{"b": ["x"]}']
    """
    column = decoded(column)
    type_ = column.type
    listed = is_list(type_) and (is_text(type_.value_type) or pt.is_null(type_.value_type))
    if is_text(type_) or pt.is_null(type_) or (listed and several):
        return column
    values = [_json_value(value, type_) for value in column.to_pylist(maps_as_pydicts="lossy")]
    texts = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return array_of_strings(texts)


def shown_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column in Python, without the fields of structs that are null: no row may have given them.

    >>> shown_values(pa.array([[{"name": "clock", "day": None}, {"day": 1}], None]))
    [[{'name': 'clock'}, {'day': 1}], None]
    """
    if not pt.is_nested(column.type):
        return list(column.to_pylist())
    return [_json_value(value, column.type) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _json_value(value: Any, type_: pa.DataType) -> Any:
    """A value as JSON has it, without the fields of structs that are null."""
    if value is None:
        return None
    if pt.is_struct(type_):
        fields = ((field, value[field.name]) for field in type_)
        return {field.name: _json_value(inner, field.type) for field, inner in fields if inner is not None}
    if is_list(type_) or is_list_view(type_):
        return [_json_value(item, type_.value_type) for item in value]
    if pt.is_map(type_):
        return {str(key): _json_value(item, type_.item_type) for key, item in value.items()}
    return value
