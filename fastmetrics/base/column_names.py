"""The names of columns: every input column with its aliases, kind and meaning; a judge's columns; lists of names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fastmetrics.base.conversations import LastTurn
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownColumnError, UnknownNameError
from fastmetrics.base.paths import Names, spelled
from fastmetrics.base.presets import Preset, presets, recognised
from fastmetrics.base.token_counts import COUNTS, aliases, counts_beside

# Every input column: its canonical name, aliases, kind and meaning, from ``column_names.toml``.
#
# The rest of the package uses canonical names only; :func:`resolve` finds a column in a user's table.


@dataclass(frozen=True)
class Column:
    """One input column. ``kind`` is one of text, texts, ids, id, number, amounts, numbers, flag, time,
    vector.
    """

    name: str
    kind: str
    meaning: str
    aliases: tuple[str, ...] = ()


SECONDS = "latency_s"
"""The name of the column of latencies in ``columns`` if it holds seconds, whatever its own name."""


_UNIT = re.compile(
    r"[\s(\[,/](?:(?P<s>s|secs?|seconds?|sek|sekunden?|с|сек|секунд[аы]?)"
    r"|ms|msecs?|millis|milliseconds?|millisekunden?|мс|миллисекунд[аы]?)\.?[\])]?$"
)
"""The unit at the end of a header that people wrote."""


def milliseconds_in(name: str, columns: Mapping[str, str] | None = None, others: Iterable[str] = ()) -> float | None:
    """The milliseconds in a unit of a column of latencies; None if nothing says what it is.

    ``columns`` say it, or else its name, or the ``others`` of its table by which a tool is recognised.

    >>> milliseconds_in("duration"), milliseconds_in("metrics.latency_ms"), milliseconds_in("latency")
    (1000.0, 1.0, None)
    >>> milliseconds_in("Dauer (s)"), milliseconds_in("Время, мс"), milliseconds_in("Antwortzeit in Sekunden")
    (1000.0, 1.0, 1000.0)
    >>> milliseconds_in("latency", {"latency_s": "latency"}), milliseconds_in("latency", {"latency_ms": "latency"})
    (1000.0, 1.0)
    >>> milliseconds_in("latency", others=["session_id", "release", "environment", "bookmarked", "latency"])
    1000.0
    """
    last = name.lower().rpartition(".")[2].strip('"')
    unit = _UNIT.search(name.lower().strip('"'))
    in_seconds = last == "duration" or last.endswith(("_s", "_sec", "_seconds")) or (unit and unit["s"])
    if SECONDS in (columns or {}) or in_seconds:
        return 1000.0
    if last.endswith("_ms") or unit or "latency_ms" in (columns or {}):
        return 1.0
    tool = recognised({*others})
    return 1000.0 if tool is not None and tool.paths.get(SECONDS) == name else None


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
COLUMNS: dict[str, Column] = {
    name: Column(name, of["kind"], of["meaning"], aliases(name) if name in COUNTS else tuple(of.get("aliases", ())))
    for name, of in _TABLE.items()
}
"""The columns by name: those of the package, and those that metrics of plugins declare."""

BUILT_IN = frozenset(COLUMNS)


def is_id(name: str) -> bool:
    """Whether a column of this name identifies the rows.

    >>> is_id("Query_ID"), is_id("answer")
    (True, False)
    """
    return name.lower() in _ROLES["id"]


def is_system(name: str) -> bool:
    """Whether a column of this name names the system that answered.

    >>> is_system("System"), is_system("systems")
    (True, False)
    """
    return name.lower() == "system"


_ROLES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", *COLUMNS["id"].aliases),
    "repeat": ("repeat",),
    "round": ("round", *COLUMNS["round"].aliases),
    "setting": (
        *("system", "model", "temperature", "top_p", "top_k", "min_p", "max_tokens", "reasoning_effort"),
        "prompt_version",
    ),
}
"""The names of columns that tell rows apart."""


def roles(names: Sequence[str]) -> dict[str, list[str]]:
    """The columns that tell rows apart, by what they say: the id of a row, which of several answers to one question it
    is (repeat), which of the rounds of an answer, or a setting: its system, or a parameter of the model.

    Rows of one id that differ in a setting are no repeats of each other.

    >>> roles(["Query_ID", "answer", "Repeat", "Round_Index", "Temperature", "system", "seed"])
    {'id': ['Query_ID'], 'repeat': ['Repeat'], 'round': ['Round_Index'], 'setting': ['Temperature', 'system']}
    """
    return {role: [name for name in names if name.lower() in known] for role, known in _ROLES.items()}


_CHECKED = "match|correct|accura|f1|score|error|recall|precision|equal|right"
"""Parts of names of scores that say how right a price in the answer is."""
_PRICE = re.compile(rf"(?!.*({_CHECKED}))((.+_)?(cost|price)s?(_.+)?|.+_(usd|eur|gbp|rub))", re.IGNORECASE)


def is_price(name: str) -> bool:
    """Whether a column of this name has the price of an answer.

    >>> [is_price(name) for name in ("cost_usd", "api_cost", "spent_eur", "accosted", "price_match")]
    [True, True, True, False, False]
    """
    return _PRICE.fullmatch(name) is not None


def adds_up(name: str) -> bool:
    """Whether the numbers of a column of this name add up over the rounds of an answer: tokens and prices.

    >>> adds_up("total_tokens"), adds_up("cost_usd"), adds_up("latency_ms")
    (True, True, False)
    """
    return name in COUNTS or is_price(name)


def resolve(
    present: Iterable[str],
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    needed: Collection[str] | None = None,
) -> dict[str, str]:
    """Which of the ``present`` columns holds each canonical column.

    An explicit ``columns={canonical: yours}`` wins over the preset ``schema``, or the one by which files were
    recognised, and that over detection by name: the canonical name, or else its aliases, whatever their case.  Where
    two names fit equally well - two aliases, or the canonical name and its plural or another case of it - nothing but
    ``columns`` can tell which is meant.  ``columns={"reference": "contexts"}`` gives the contexts two roles.  Of a
    conversation, the last turn has what no column has: ``messages[turn=last].answer``.

    >>> resolve(["Query", "answer", "response", "gold"])
    {'question': 'Query', 'answer': 'answer', 'reference': 'gold'}
    >>> resolve(["output", "response"])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    fastmetrics.base.errors.ColumnError: columns 'output' and 'response' both match 'answer'; choose one with
    columns={'answer': ...}

    Raises ``ColumnError`` for such a column if it is among the ``needed`` ones (by default all), and for a named column
    that is absent, and ``UnknownNameError`` for a canonical name or preset nobody knows.
    """
    mapping, rivals, _ = found_columns(present if isinstance(present, Names) else Names(present), columns, schema)
    check_rivals(rivals, COLUMNS if needed is None else needed)
    return mapping


def found_columns(
    names: Names, columns: Mapping[str, str] | None, schema: str | None
) -> tuple[dict[str, str], dict[str, list[str]], dict[str, list[str]]]:
    """What :func:`resolve` finds, the names that fit a column equally well, which :func:`check_rivals` refuses, and all
    names that fit each column.
    """
    mapping = _explicit_columns(names, columns, schema)
    used = set(mapping.values())
    free = [name for name in names if name not in used]
    fitting, rivals = fitting_names(names), {}
    for column in COLUMNS.values():
        if column.name not in mapping:
            found = [name for name in fitting[column.name] if name not in used] if column.name in fitting else []
            found = _best(column, found) if len(found) > 1 else found
            also = {"contexts": "reference", "messages": "tool_calls"}.get(column.name)
            if not found and also in mapping:
                found = fitting_names([mapping[also]]).get(
                    column.name, []
                )  # contexts as the reference are contexts still
            if len(found) > 1:
                rivals[column.name] = found
            if not found and column.name == "choices":
                found = _side_by_side(free)
            if found:
                mapping[column.name] = found[0]
    mapping |= counts_beside(names, mapping)
    chat = mapping.get("messages", "")
    if chat and ("messages" in (columns or {}) or names.has_messages(chat)):
        path = spelled((chat,)) if chat in list(names) else chat
        mapping = {name: f"{path}[turn=last].{name}" for name in LastTurn._fields} | mapping
    for name, held in mapping.items():
        if held in names.within and COLUMNS[name].kind in ("text", "texts"):
            mapping[name] = f"{spelled((held,))}{names.within[held]}"
    return {name: mapping[name] for name in COLUMNS if name in mapping}, rivals, fitting


def check_rivals(rivals: Mapping[str, Sequence[str]], needed: Collection[str]) -> None:
    """Raise ``ColumnError`` if several names fit one of the ``needed`` columns."""
    for column, names in rivals.items():
        if column in needed:
            both, way = " and ".join(map(repr, names)), Argument("columns", {column: ...})
            raise ColumnError(f"columns {both} both match {column!r}; choose one with ", way)


def fitting_names(names: Iterable[str]) -> dict[str, list[str]]:
    """The names that fit a canonical column, by its name: this name or an alias, in any case."""
    fitting: dict[str, list[str]] = {}
    for name in names:
        lower = name.lower()
        for column in COLUMNS.values():
            if lower == column.name or lower in column.aliases:
                fitting.setdefault(column.name, []).append(name)
    return fitting


def _best(column: Column, fitting: list[str]) -> list[str]:
    """Those of the fitting names that may be meant, best first; more than one only if the choice is ambiguous."""
    if all(name.lower() != column.name for name in fitting):
        return fitting
    own = [name for name in fitting if name.lower().removesuffix("s") == column.name.removesuffix("s")]
    return sorted(own, key=lambda name: (name != column.name, name.lower() != column.name))


_CHOICE = re.compile(r"(?:(?i:(?P<of>option|opt|op|choice|ending)[_ ]?)(?P<sign>[A-Za-z]|[0-9]))|(?P<letter>[A-Z])")
"""The name of a column with one of the choices: A, option_b, choice1, ending0."""


def _side_by_side(names: Iterable[str]) -> list[str]:
    """The path of the choices that stand in several columns, if there are some.

    >>> _side_by_side(["question", "A", "B", "C", "D", "answer"]), _side_by_side(["opa", "opb"]), _side_by_side("AB")
    (['[A, B, C, D]'], ['[opa, opb]'], [])
    """
    series: dict[str, dict[int, str]] = {}
    for name in names:
        found = _CHOICE.fullmatch(name)
        if found is not None:
            sign = found["sign"] or found["letter"]
            series.setdefault(f"{found['of']}{sign.isdigit()}", {})[ord(sign.upper())] = name
    for kind, columns in series.items():
        first = min(columns)
        row = [columns[place] for place in range(first, max(columns) + 1) if place in columns]
        whole = len(row) == len(columns) == max(columns) - first + 1 and chr(first) in "A01"
        if whole and len(row) >= (3 if kind == "NoneFalse" else 2):  # A and B alone may be two systems
            return [f"[{', '.join(spelled((name,)) for name in row)}]"]
    return []


def passed_over(fitting: Mapping[str, Sequence[str]], mapping: Mapping[str, str]) -> dict[str, list[str]]:
    """The unused names ``fitting`` a canonical column that ``mapping`` takes from another one.

    >>> passed_over(fitting_names(["answer", "response"]), {"answer": "answer"})
    {'answer': ['response']}
    """
    used = set(mapping.values())
    over = {name: [other for other in fitting[name] if other not in used] for name in mapping if name in fitting}
    return {name: others for name, others in over.items() if others}


def _explicit_columns(names: Names, columns: Mapping[str, str] | None, schema: str | None) -> dict[str, str]:
    """The column names from the preset and from ``columns``."""
    mapping = _by_schema(names, schema)
    if columns is not None and not isinstance(columns, Mapping):
        raise ColumnError(Argument("columns", columns), ": expected {canonical: yours}")
    if {SECONDS, "latency_ms"} <= (columns or {}).keys():
        raise ColumnError(Argument("columns", columns), f": both 'latency_ms' and {SECONDS!r}; name one of them")
    for canonical, name in (columns or {}).items():
        name = str(name)  # pandas column names may be integers
        canonical = "latency_ms" if canonical == SECONDS else canonical
        if canonical not in COLUMNS:
            if canonical in names and name in COLUMNS:
                right = Argument("columns", {name: canonical})
                raise UnknownNameError(Argument("columns", {canonical: name}), " is reversed: expected ", right)
            raise UnknownNameError.of("column", canonical, [*COLUMNS, SECONDS])
        if name not in names:
            nearest = names.unknown(name) if names else f"no column {name!r}"
            raise UnknownColumnError(Argument("columns", {canonical: name}), ": ", nearest)
        mapping[canonical] = name
    return mapping


def _by_schema(names: Names, schema: str | None) -> dict[str, str]:
    preset = preset_of(names, schema)
    found = {} if preset is None else {name: names.fitting(path) for name, path in preset.columns.items()}
    return {name: path for name, path in found.items() if path is not None}


def preset_of(names: Names, schema: str | None) -> Preset | None:
    """The preset ``schema``, or the one by which files were recognised; raises ``UnknownNameError`` for another."""
    if schema is not None and schema not in presets():
        raise UnknownNameError.of("schema", schema, presets())
    name = schema or names.preset
    return None if name is None else presets().get(name)


def named_columns(names: Names, columns: Mapping[str, str] | None, schema: str | None) -> dict[str, str]:
    """The columns that the preset and ``columns`` name, a latency in seconds as ``latency_s``."""
    own = dict(columns or {})
    preset = preset_of(names, schema)
    found = {} if preset is None else {name: names.fitting(path) for name, path in preset.paths.items()}
    if own.keys() & {SECONDS, "latency_ms"}:
        found = {name: path for name, path in found.items() if name not in (SECONDS, "latency_ms")}
    return {name: path for name, path in found.items() if path is not None} | own


def copied_columns(keep: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """The columns that a run copies, by their names in its output.

    Ids are ``id`` there, unless their own name says that they are ids: readers find them by name.

    >>> copied_columns(["nr", "topic"], {"id": "nr"}), copied_columns(["Query_ID"], {"id": "Query_ID"})
    ({'id': 'nr', 'topic': 'topic'}, {'Query_ID': 'Query_ID'})

    Raises ``ColumnError`` if another column of the name ``id`` is kept.
    """
    ids = columns.get("id")
    renames = ids in keep and not is_id(str(ids))
    if renames and "id" in keep:
        raise ColumnError(
            f"cannot keep the column 'id': the ids, {ids!r}, have this name in the output; rename the column"
        )
    return {"id" if renames and name == ids else name: name for name in keep}


# The names of a judge's columns: ``judge_<axis>`` contains the scores; the names of related columns start with it.


PREFIX = "judge_"
PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY = "_prompt_tokens", "_completion_tokens", "_latency_ms"
COSTS = (PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY)
"""The suffixes of columns with numbers about a judgement that are not scores of answers."""

CALL = "_call"
"""The suffix of the column with the id of a row's first call; rows of the same id share all their calls."""

REPAIRS = "_repairs"
"""The suffix of the column with what was repaired in a reply; empty, and so of no type, if nothing was."""

LATENCIES = "_latencies_ms"
"""The suffix of the column with the latency of each repeat."""


def is_cost(name: str) -> bool:
    """Whether a column contains the cost of a judgement, in tokens or milliseconds.

    >>> is_cost("judge_safety_latency_ms"), is_cost("judge_safety"), is_cost("latency_ms")
    (True, False, False)
    """
    return name.startswith(PREFIX) and name.endswith(COSTS)


def is_axis(name: str) -> bool:
    """Whether a column contains a judge's scores; higher is better in every rubric.

    >>> is_axis("judge_safety"), is_axis("judge_safety_latency_ms")
    (True, False)
    """
    return name.startswith(PREFIX) and not name.endswith(COSTS)


# Parsing lists of names: ``"token_f1,squad_f1(version=2)"``.


def split(text: str) -> list[str]:
    """The items of a comma-separated list; commas within brackets and quotes do not separate.

    >>> split("token_f1, overall_quality(weights=(0.2, 0.8), language='a,b'),jaccard")
    ['token_f1', "overall_quality(weights=(0.2, 0.8), language='a,b')", 'jaccard']
    """
    pieces, depth, quote, start = [], 0, "", 0
    for place, character in enumerate(text):
        if quote:
            ends = character == quote and text[place - 1] != "\\"
            quote = "" if ends else quote
        elif character in "'\"" and depth:
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            pieces.append(text[start:place])
            start = place + 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def listed(names: str | Iterable[str] | None, of: str = "") -> list[str]:
    """Names as a list: a string is split as on the command line, other values are unchanged.

    Raises ``OptionError`` for something else; as the argument ``of`` a function, all have to be texts.

    >>> listed("token_f1,jaccard"), listed(["a,b"]), listed(None)
    (['token_f1', 'jaccard'], ['a,b'], [])
    """
    expected = "expected a name or a list of names"
    if names is not None and not isinstance(names, Iterable):
        raise OptionError(*((Argument(of, names), f": {expected}") if of else (f"{expected}, got {names!r}",)))
    found = split(names) if isinstance(names, str) else list(names or ())
    if of and not all(isinstance(name, str) for name in found):
        raise OptionError(Argument(of, names), f": {expected}")
    return found


def kept_columns(
    keep: str | Iterable[str] | None,
    names: Sequence[str],
    mapping: Mapping[str, str] = MappingProxyType({}),
    made: Collection[str] = (),
) -> list[str]:
    """The columns that ``keep`` lists, also by their canonical names in ``mapping``.

    For ``all``, if no column has that name, they are all ``names`` of the table, but for those of columns that are
    ``made``.

    >>> kept_columns("id,lang", ["id", "lang", "answer"]), kept_columns("all", ["id", "lang", "answer"], made=["lang"])
    (['id', 'lang'], ['id', 'answer'])
    >>> kept_columns("question", ["Вопрос"], {"question": "Вопрос"})
    ['Вопрос']
    """
    columns = listed(keep)
    if columns == ["all"] and "all" not in names:
        return [name for name in names if name not in made]
    return [name if name in names else mapping.get(name, name) for name in columns]


def distinct(names: str | Iterable[str] | None, of: str = "") -> list[str]:
    """Names as a list, as by :func:`listed`, each once.

    >>> distinct("t,fisher,t")
    ['t', 'fisher']
    """
    return list(dict.fromkeys(listed(names, of)))
