"""The names of columns: every input column with its aliases, kind and meaning; a judge's columns; lists of names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fastmetrics.base.conversations import LastTurn
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownNameError
from fastmetrics.base.paths import Names, spelled
from fastmetrics.base.presets import Preset, presets, recognised
from fastmetrics.base.token_counts import COUNTS, aliases, counts_beside

# Every input column: its canonical name, aliases, kind and meaning.
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


_ALL = (
    Column("id", "id", "identifies the row; copied to the scores", ("query_id", "qid", "sample_id")),
    Column("question", "text", "the question", ("query", "prompt", "user_input", "input")),
    Column(
        "answer",
        "text",
        "the system's answer",
        (
            "response",
            "prediction",
            "predictions",
            "output",
            "actual_output",
            "generated_text",
            "completion",
            "generated_answer",
        ),
    ),
    Column("answer_call", "id", "the model call that gave the answer; rows of one value share the call"),
    Column(
        "reference",
        "texts",
        "the correct answer, or a list of correct answers",
        (
            "references",
            "ground_truth",
            "ground_truths",
            "expected_output",
            "expected_answer",
            "reference_answer",
            "gold",
            "target",
        ),
    ),
    Column(
        "contexts",
        "texts",
        "the passages given to the system; a single string is a list of one",
        ("retrieved_contexts", "retrieval_context", "retrieved_context", "documents"),
    ),
    Column(
        "context_ids",
        "ids",
        "one id per context, which an answer may cite instead of the context's number",
        ("document_ids",),
    ),
    Column("retrieved_ids", "ids", "ids of the retrieved documents, best first", ("retrieved_context_ids",)),
    Column("retrieved_scores", "numbers", "one score per retrieved id"),
    Column(
        "relevant_ids",
        "id_groups",
        "ids of the relevant documents, or groups of them, of each of which any is enough",
        ("reference_context_ids", "retrieval_gt", "qrels"),
    ),
    Column("relevance", "numbers", "one grade per relevant id; absent = all 1"),
    Column(
        "choices",
        "texts",
        "the texts of the choices of a multiple-choice question, A first, or objects of texts and labels; `[A, B, C]` "
        "reads several columns",
        ("options",),
    ),
    Column("choice_labels", "texts", "the labels of the choices, where a number or another letter than A is the first"),
    Column(
        "messages",
        "any",
        "a conversation: messages of the user, the assistant and tools as APIs have them; `answer`, `question` and "
        "`tool_calls` are those of its last turn if the table has no column of their own",
        ("conversation", "conversations", "dialogue", "dialog"),
    ),
    Column(
        "tool_calls",
        "any",
        "the calls of tools that the system made: names, calls in the shape of OpenAI, Anthropic or MCP, or messages",
        ("tools_called", "actual_tool_calls", "predicted_trajectory"),
    ),
    Column(
        "expected_tool_calls",
        "any",
        "the calls of tools that are expected, in the same shapes",
        ("reference_tool_calls", "expected_tools", "reference_trajectory"),
    ),
    Column(
        "success",
        "flag",
        "whether the task of the row, or of its session, was done",
        ("succeeded", "task_success", "goal_achieved", "resolved", "solved"),
    ),
    Column("answerable", "flag", "whether the question can be answered", ("label_answerable",)),
    Column(
        "confidence",
        "number",
        "the system's confidence in its answer, on any scale; larger is more confident",
        ("answer_confidence", "confidence_score", "certainty"),
    ),
    Column(
        "latency_ms",
        "number",
        "milliseconds from request to answer; a name that says so, such as `latency_s` or `duration`, holds seconds",
        ("latency", "duration_ms", "latency_s", "latency_seconds", "duration", "duration_s", "duration_seconds"),
    ),
    *(
        Column(name, "amounts", f"{meaning}; a list for several rounds", aliases(name))
        for name, meaning in {
            "prompt_tokens": "tokens of the prompt, as the model counts them",
            "completion_tokens": "tokens of the answer, as the model counts them",
            "total_tokens": "tokens of prompt and answer together",
            "cache_read_tokens": "tokens of the prompt that were read from a cache",
            "cache_write_tokens": "tokens of the prompt that were written to a cache",
            "reasoning_tokens": "tokens of the answer that are the model's reasoning",
        }.items()
    ),
    Column("model", "text", "the model that answered, by whose prices tokens are paid", ("model_name", "model_id")),
    Column("cost", "amounts", "what the answer cost", ("cost_usd", "total_cost", "totalcost")),
    Column(
        "session_id",
        "id",
        "the conversation that the row belongs to",
        ("session", "conversation_id", "dialog_id", "dialogue_id", "thread_id", "chat_id"),
    ),
    Column("turn", "number", "the row's position within its session", ("turn_id", "turn_index", "turn_number")),
    Column(
        "round",
        "number",
        "the number of the row's round, for questions with several rounds",
        ("round_index", "round_number"),
    ),
    Column("timestamp", "time", "when the question was asked", ("created_at", "datetime", "asked_at")),
    Column(
        "rating",
        "number",
        "the user's rating of the answer; larger is better",
        ("user_rating", "feedback", "stars"),
    ),
    Column("answer_embedding", "vector", "embedding of the answer"),
    Column("reference_embedding", "vectors", "embedding of the reference, or a list of one per reference"),
    Column("question_embedding", "vector", "embedding of the question"),
    Column("embedding", "vector", "embedding whose geometry is measured", ("embeddings", "vector", "vectors")),
    Column("ratings", "numbers", "ratings of the row by several raters, in a fixed order; null for no rating"),
    Column("judge_answer_faithfulness", "number", "a judge's score of faithfulness, from 0 to 1"),
    Column("judge_answer_relevance", "number", "a judge's score of the relevance to the question, from 0 to 1"),
    Column("judge_correctness", "number", "a judge's score of correctness, from 1 to 5"),
    Column("judge_e2e", "number", "a judge's score of the answer as a whole, from 0 to 1"),
)

SECONDS = "latency_s"
"""The name of the column of latencies in ``columns`` if it holds seconds, whatever its own name."""


def milliseconds_in(name: str, columns: Mapping[str, str] | None = None, others: Iterable[str] = ()) -> float | None:
    """The milliseconds in a unit of a column of latencies; None if nothing says what it is.

    ``columns`` say it, or else its name, or the ``others`` of its table by which a tool is recognised.

    >>> milliseconds_in("duration"), milliseconds_in("metrics.latency_ms"), milliseconds_in("latency")
    (1000.0, 1.0, None)
    >>> milliseconds_in("latency", {"latency_s": "latency"}), milliseconds_in("latency", {"latency_ms": "latency"})
    (1000.0, 1.0)
    >>> milliseconds_in("latency", others=["session_id", "release", "environment", "bookmarked", "latency"])
    1000.0
    """
    last = name.lower().rpartition(".")[2].strip('"')
    if SECONDS in (columns or {}) or last == "duration" or last.endswith(("_s", "_sec", "_seconds")):
        return 1000.0
    if last.endswith("_ms") or "latency_ms" in (columns or {}):
        return 1.0
    tool = recognised({*others})
    return 1000.0 if tool is not None and tool.paths.get(SECONDS) == name else None


COLUMNS: dict[str, Column] = {column.name: column for column in _ALL}
"""The columns by name: those of the package, and those that metrics of plugins declare."""

BUILT_IN = frozenset(COLUMNS)


def is_id(name: str) -> bool:
    """Whether a column of this name identifies the rows.

    >>> is_id("Query_ID"), is_id("answer")
    (True, False)
    """
    return name.lower() in ("id", *COLUMNS["id"].aliases)


REPEAT = "repeat"
"""The column that numbers several answers to one question."""


def is_repeat(name: str) -> bool:
    """Whether a column of this name numbers several answers to one question.

    >>> is_repeat("Repeat"), is_repeat("id")
    (True, False)
    """
    return name.lower() == REPEAT


def is_system(name: str) -> bool:
    """Whether a column of this name names the system that answered.

    >>> is_system("System"), is_system("systems")
    (True, False)
    """
    return name.lower() == "system"


_PARAMETERS = frozenset(
    ("model", "temperature", "top_p", "top_k", "min_p", "max_tokens", "reasoning_effort", "prompt_version")
)


def is_setting(name: str) -> bool:
    """Whether a column of this name says how an answer came about: its system, or a parameter of the model.

    Rows of one id that differ in it are no repeats of each other.

    >>> is_setting("Temperature"), is_setting("system"), is_setting("seed")
    (True, True, False)
    """
    return is_system(name) or name.lower() in _PARAMETERS


def is_round(name: str) -> bool:
    """Whether a column of this name numbers the rounds of an answer, of which each is a row.

    >>> is_round("Round_Index"), is_round("rounds")
    (True, False)
    """
    return name.lower() in ("round", *COLUMNS["round"].aliases)


_PRICE = re.compile(r"(.+_)?(cost|price)(_.+)?", re.IGNORECASE)


def is_price(name: str) -> bool:
    """Whether a column of this name has the price of an answer.

    >>> is_price("cost_usd"), is_price("api_cost"), is_price("accosted")
    (True, True, False)
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
    mapping, rivals = found_columns(present if isinstance(present, Names) else Names(present), columns, schema)
    check_rivals(rivals, COLUMNS if needed is None else needed)
    return mapping


def found_columns(
    names: Names, columns: Mapping[str, str] | None, schema: str | None
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """What :func:`resolve` finds, and the names that fit a column equally well, which :func:`check_rivals` refuses."""
    mapping = _explicit_columns(names, columns, schema)
    used = set(mapping.values())
    free = [name for name in names if name not in used]
    fitting, rivals = _fitting(free), {}
    for column in COLUMNS.values():
        if column.name not in mapping:
            found = _best(column, fitting[column.name]) if column.name in fitting else []
            also = {"contexts": "reference", "messages": "tool_calls"}.get(column.name)
            if not found and also in mapping:
                found = _fitting([mapping[also]]).get(column.name, [])  # contexts as the reference are contexts still
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
    return {name: mapping[name] for name in COLUMNS if name in mapping}, rivals


def check_rivals(rivals: Mapping[str, Sequence[str]], needed: Collection[str]) -> None:
    """Raise ``ColumnError`` if several names fit one of the ``needed`` columns."""
    for column, names in rivals.items():
        if column in needed:
            both, way = " and ".join(map(repr, names)), Argument("columns", {column: ...})
            raise ColumnError(f"columns {both} both match {column!r}; choose one with ", way)


def _fitting(names: Iterable[str]) -> dict[str, list[str]]:
    """The names that fit a canonical column, by its name: this name or an alias, in any case."""
    columns: dict[str, list[str]] = {}
    for column in COLUMNS.values():
        for spelling in (column.name, *column.aliases):
            columns.setdefault(spelling, []).append(column.name)
    fitting: dict[str, list[str]] = {}
    for name in names:
        for canonical in columns.get(name.lower(), ()):
            fitting.setdefault(canonical, []).append(name)
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


def passed_over(present: Iterable[str], mapping: Mapping[str, str]) -> dict[str, list[str]]:
    """The ``present`` columns that also match a canonical column that ``mapping`` takes from another one.

    >>> passed_over(["answer", "response"], {"answer": "answer"})
    {'answer': ['response']}
    """
    used = set(mapping.values())
    fitting = _fitting(name for name in present if name not in used)
    return {name: fitting[name] for name in mapping if name in fitting}


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
            raise UnknownNameError.of("column", canonical, COLUMNS)
        if name not in names:
            nearest = names.unknown(name) if names else f"no column {name!r}"
            raise ColumnError(Argument("columns", {canonical: name}), ": ", nearest)
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


def listed(names: str | Iterable[str] | None) -> list[str]:
    """Names as a list: a string is split as on the command line, other values are unchanged.

    >>> listed("token_f1,jaccard"), listed(["a,b"]), listed(None)
    (['token_f1', 'jaccard'], ['a,b'], [])
    """
    if names is not None and not isinstance(names, Iterable):
        raise OptionError(f"expected a name or a list of names, got {names!r}")
    return split(names) if isinstance(names, str) else list(names or ())


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


def distinct(names: str | Iterable[str] | None) -> list[str]:
    """Names as a list, as by :func:`listed`, each once.

    >>> distinct("t,fisher,t")
    ['t', 'fisher']
    """
    return list(dict.fromkeys(listed(names)))
