"""What an agent did: whether it called the right tools, in their order and with the right arguments; turns, success."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats, decoded, is_text, text_of_strings
from fastmetrics.base.conversations import user_turns
from fastmetrics.base.errors import InputError, shown
from fastmetrics.base.options import Choice
from fastmetrics.base.text_structure import as_json
from fastmetrics.metrics.batch import Batch, Number, Options
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.structure import Absolute, FieldOption, Lists, Relative, compared

# The calls of a row, in any of the shapes that logs have.


class Call(NamedTuple):
    """A call: the name of the tool, its arguments as JSON, or None if nothing says what they are."""

    name: str
    arguments: str | None


_WRAPPED = ("function", "functionCall", "function_call", "toolUse", "tool_call", "params")
"""The fields of a call that hold its name and arguments: OpenAI's, Gemini's, Bedrock's and MCP's."""
_ARGUMENTS = ("arguments", "args", "input", "input_parameters", "parameters")
"""The names of arguments: OpenAI's and MCP's, those of Gemini and LangChain, Anthropic's and Bedrock's, and others."""
_NAME = re.compile(r"[^\W\d][\w.:/-]*")


def calls_of(value: Any) -> Iterator[Call]:
    """The calls in a value of parsed JSON: a name, a call, a message with calls, or a list of these.

    >>> [call.name for call in calls_of(["search", {"function": {"name": "read", "arguments": "{}"}}])]
    ['search', 'read']
    >>> list(calls_of({"role": "assistant", "content": [{"type": "tool_use", "name": "add", "input": {"a": 1.0}}]}))
    [Call(name='add', arguments='{"a": 1}')]

    Raises ``ValueError`` for any other value.
    """
    if isinstance(value, list):
        for item in value:
            yield from calls_of(item)
    elif isinstance(value, str):
        yield Call(value, None)
    elif not isinstance(value, Mapping):
        raise ValueError(f"expected the name of a tool or a call, got {shown(value)}")
    elif "role" in value or "tool_calls" in value:  # a message
        yield from calls_of(value.get("tool_calls") or value.get("toolCalls") or [])
        content = value.get("content") or value.get("parts")
        blocks = content if isinstance(content, list) else []
        yield from calls_of([block for block in blocks if isinstance(block, Mapping) and _is_call(block)])
    elif _is_call(value):
        yield _call(value)
    elif "type" not in value:  # a block of another type is none; what has no type may be mistyped
        raise ValueError(f"expected a call with a name and arguments, got the fields {', '.join(map(repr, value))}")


def _is_call(value: Mapping[str, Any]) -> bool:
    if any(isinstance(value.get(field), Mapping) and "name" in value[field] for field in _WRAPPED):
        return True
    return isinstance(value.get("name"), str) and value.get("type") in (None, "function", "function_call", *_TYPES)


_TYPES = ("tool_use", "server_tool_use", "mcp_tool_use", "mcp_call", "tool_call", "custom_tool_call")


def _call(value: Mapping[str, Any]) -> Call:
    inner = next((value[field] for field in _WRAPPED if isinstance(value.get(field), Mapping)), value)
    given = next((inner[field] for field in _ARGUMENTS if inner.get(field) is not None), None)
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):  # arguments that a model cut off are compared as text
            given = json.loads(given or "{}")
    if given is None and not any(field in inner for field in _ARGUMENTS):
        return Call(str(inner["name"]), None)
    return Call(str(inner["name"]), _written({} if given is None else given))


def _written(value: Any) -> str:
    """A value as JSON that is equal for equal values: keys in order, 1.0 as 1."""
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read(text: str, column: str, row: int) -> tuple[Call, ...]:
    """The calls in a text of JSON, or a single name."""
    stripped = text.strip()
    if not stripped or _NAME.fullmatch(stripped):
        return (Call(stripped, None),) if stripped else ()
    try:
        return tuple(calls_of(json.loads(stripped)))
    except (ValueError, RecursionError) as error:
        reason = f": {error}" if stripped[:1] in "[{" else ""
        raise InputError(
            f"column {column!r}: expected names of tools, or calls as OpenAI, Anthropic or MCP have them, in JSON; "
            f"got {shown(text)}{reason}",
            row=row,
        ) from None


@dataclass(frozen=True)
class CallsIn:
    """The calls of each row; none for null."""

    kind: str = "json"

    def of(self, batch: Batch, column: str, options: Options) -> NDArray[np.object_]:
        """The column's calls."""

        def make() -> NDArray[np.object_]:
            texts = as_json(decoded(batch.columns[column]), several=False)
            strings = texts.to_pylist() if is_text(texts.type) else [None] * len(texts)
            rows = np.empty(len(strings), object)
            known: dict[str | None, tuple[Call, ...]] = {None: ()}
            for row, text in enumerate(strings):
                if text not in known:
                    known[text] = _read(text, column, row)
                rows[row] = known[text]
            return rows

        return batch.remember(("calls", column), make)


Rows: TypeAlias = NDArray[np.object_]
Made = Annotated[Rows, CallsIn()]
Arguments = Annotated[bool, "whether a call also needs the arguments that are expected, if they are"]
Order = Annotated[
    str,
    Choice("exact", "in_order", "any"),
    "exact: the expected calls and no others; in_order: others may be between; any: in any order, others beside",
]


# Calls that match: by name, and by arguments where a call is expected with some.


def _matched(made: Sequence[Call], expected: Sequence[Call], arguments: bool) -> int:
    """How many calls can be paired with expected ones, each once; the most that can."""
    if not arguments:
        names, wanted = (Counter(call.name for call in calls) for calls in (made, expected))
        return (names & wanted).total()
    ours = Counter(made)
    exact = ours & Counter(call for call in expected if call.arguments is not None)
    left = Counter(call.name for call in (ours - exact).elements())
    anyhow = Counter(call.name for call in expected if call.arguments is None)
    return exact.total() + (left & anyhow).total()


def _same(call: Call, expected: Call, arguments: bool) -> bool:
    if call.name != expected.name:
        return False
    return not arguments or expected.arguments is None or call.arguments == expected.arguments


def _sorted(rows: Rows) -> Rows:
    """The calls of each row in one order, whatever that of the row: by name, and by arguments one after another."""
    ordered = np.empty(len(rows), object)
    for row, calls in enumerate(rows):
        ordered[row] = tuple(sorted(calls, key=_key)) if len(calls) > 1 else calls
    return ordered


def _key(call: Call) -> tuple[str, ...]:
    given = json.loads(call.arguments or "{}")
    pairs = given.items() if isinstance(given, dict) else [("", given)]
    return call.name, *(
        part for key, value in pairs for part in (key, value if isinstance(value, str) else _written(value))
    )


def _in_order(made: Sequence[Call], expected: Sequence[Call], order: str, arguments: bool) -> bool:
    if order == "any":
        return _matched(made, expected, arguments) == len(expected)
    if order == "exact":
        return len(made) == len(expected) and all(map(_same, made, expected, [arguments] * len(made)))
    left = iter(made)
    return all(any(_same(call, wanted, arguments) for call in left) for wanted in expected)


def _counted(made: Rows, expected: Rows, arguments: bool) -> tuple[Floats, Floats, Floats]:
    """Of each row: the calls that match, those made and those expected."""
    pairs = list(zip(made, expected, strict=True))
    counts = [(_matched(*pair, arguments), len(pair[0]), len(pair[1])) for pair in pairs]
    matched, ours, theirs = np.array(counts, np.float64).reshape(len(pairs), 3).T
    return matched, ours, theirs


def _share(part: Floats, whole: Floats, both: Floats) -> Floats:
    """The share; 1 if nothing was called and nothing expected."""
    return np.where(both == 0, 1.0, part / np.maximum(whole, 1))


_SOURCE = "Vertex AI, trajectory metrics; ragas 0.4, ToolCallF1"
_CUES = ["tool_correctness", "tool_use", "function_calling", "trajectory_single_tool_use", "tool_selection"]


@metric(bounds=(0, 1), better="higher", source=_SOURCE, aliases=["trajectory_precision"], cues=_CUES)
def tool_call_precision(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Floats:
    """Share of the calls of tools that are expected.

    P = matched / made. A call matches an expected one by its name and its arguments, which are compared as JSON: the
    order of keys does not count, and 1.0 is 1; with ``arguments=False``, and where only a name is expected, by the name
    alone. Each call matches once. 1 if no call was made and none expected; 0 if none was made but some expected.

    >>> import fastmetrics as fm
    >>> fm.tool_call_precision([["search", "search", "read"]], [["search", "read"]]).round(3)
    array([0.667])
    """
    matched, made, expected = _counted(tool_calls, expected_tool_calls, arguments)
    return _share(matched, made, made + expected)


@metric(bounds=(0, 1), better="higher", source=_SOURCE, aliases=["trajectory_recall"], cues=_CUES)
def tool_call_recall(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Floats:
    """Share of the expected calls of tools that were made.

    R = matched / expected, with the matches of ``tool_call_precision``. 1 if no call was made and none expected; 0 if
    none was expected but some made. With ``arguments=False`` it is deepeval's tool correctness by names.

    >>> import fastmetrics as fm
    >>> fm.tool_call_recall([["search"]], [["search", "read"]])
    array([0.5])
    """
    matched, made, expected = _counted(tool_calls, expected_tool_calls, arguments)
    return _share(matched, expected, made + expected)


@metric(bounds=(0, 1), better="higher", source=_SOURCE, cues=_CUES)
def tool_call_f1(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Floats:
    """F1 of the calls of tools against those expected.

    F1 = 2 · matched / (made + expected), with the matches of ``tool_call_precision``; 1 if no call was made and none
    expected. Ragas' ToolCallF1 takes calls as a set: it is equal where no call is repeated and not both are empty,
    for which it gives 0.

    >>> import fastmetrics as fm
    >>> calls = [[{"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "show", "arguments": {}}]]
    >>> expected = [[{"type": "tool_use", "name": "add", "input": {"b": 2, "a": 1}}]]
    >>> fm.tool_call_f1(calls, expected).round(3)
    array([0.667])
    """
    matched, made, expected = _counted(tool_calls, expected_tool_calls, arguments)
    return _share(2.0 * matched, made + expected, made + expected)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Vertex AI, trajectory_exact_match, trajectory_in_order_match and trajectory_any_order_match",
    cues=["trajectory_exact_match", "trajectory_in_order_match", "trajectory_any_order_match", *_CUES],
)
def tool_call_match(
    tool_calls: Made, expected_tool_calls: Made, *, order: Order = "exact", arguments: Arguments = True
) -> Floats:
    """1 if the expected calls of tools were made, in their order, else 0.

    ``order="exact"`` asks for these calls and no others; with ``"in_order"`` others may be between them, with ``"any"``
    the order does not count either. Calls match as for ``tool_call_precision``.

    >>> import fastmetrics as fm
    >>> calls, expected = [["search", "read", "answer"]] * 2, [["search", "answer"], ["answer", "search"]]
    >>> [fm.tool_call_match(calls, expected, order=order).tolist() for order in ("exact", "in_order", "any")]
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """
    pairs = zip(tool_calls, expected_tool_calls, strict=True)
    return np.array([float(_in_order(*pair, order, arguments)) for pair in pairs], np.float64)


@metric(
    bounds=(0, 1),
    better="higher",
    source="ragas 0.4, ToolCallAccuracy",
    cues=["argument_correctness", *_CUES],
)
def tool_call_accuracy(
    tool_calls: Made,
    expected_tool_calls: Made,
    *,
    order: Order = "exact",
    fields: FieldOption = None,
    lists: Lists = "ordered",
    absolute: Absolute = 0.0,
    relative: Relative = 0.0,
) -> Floats:
    """How far the arguments of the expected calls are right, 0 if the tools themselves are not.

    If the names of the calls fit the expected ones in the ``order`` of ``tool_call_match``, the score is the mean over
    the expected calls of ``json_match(extra=False)`` of their arguments, with its options: the share of the expected
    arguments that are equal. For ``order="exact"`` calls are paired one by one; else each expected call takes in turn,
    of the calls of its name that are left, that whose arguments fit best, all with all (for ``"any"``, both are sorted
    first). A call that is expected by its name alone counts 1. 1 if no call was made and none expected, 0 if only one
    of them is empty.

    Equal to ragas' ToolCallAccuracy where arguments are single values of the same types, which it compares as text: to
    that of ragas 0.4 by default, to that in its repository with ``"in_order"``, and ``"any"`` for
    ``strict_order=False``.

    >>> import fastmetrics as fm
    >>> calls = [[{"name": "weather", "args": {"city": "Paris", "days": 3}}]]
    >>> fm.tool_call_accuracy(calls, [[{"name": "weather", "args": {"city": "Paris", "days": 2}}]])
    array([0.5])
    """
    if order == "any":
        tool_calls, expected_tool_calls = _sorted(tool_calls), _sorted(expected_tool_calls)
    scores = np.array(
        [float(not (made or wanted)) for made, wanted in zip(tool_calls, expected_tool_calls, strict=True)]
    )
    pairs: list[tuple[int, int, int]] = []
    for row, (made, wanted) in enumerate(zip(tool_calls, expected_tool_calls, strict=True)):
        if made and wanted and _in_order(made, wanted, order, arguments=False):
            if order == "exact":
                pairs.extend((row, at, at) for at in range(len(wanted)))
                continue
            named: dict[str, list[int]] = {}
            for place, call in enumerate(made):
                named.setdefault(call.name, []).append(place)
            pairs.extend((row, at, place) for at, call in enumerate(wanted) for place in named[call.name])
    answers = text_of_strings(tool_calls[row][place].arguments or "{}" for row, _, place in pairs)
    references = text_of_strings(expected_tool_calls[row][at].arguments or "{}" for row, at, _ in pairs)
    found = compared(answers, references, fields, lists, absolute, relative)
    shares = np.where(
        found.of_reference > 0, found.equal / np.maximum(found.of_reference, 1), found.known & found.valid
    )
    candidates: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for (row, at, place), share in zip(pairs, shares.tolist(), strict=True):
        free = expected_tool_calls[row][at].arguments is None
        candidates.setdefault((row, at), []).append((1.0 if free else share, place))
    taken: set[tuple[int, int]] = set()
    for (row, _), options in candidates.items():  # in the order of rows, and of the expected calls of a row
        left = [(-share, place) for share, place in options if (row, place) not in taken]
        best, place = min(left, default=(0.0, -1))
        if best < 0:
            taken.add((row, place))
            scores[row] -= best / len(expected_tool_calls[row])
    return scores


# How often tools were called and the user spoke, and whether the user got what they wanted.


@dataclass(frozen=True)
class TurnsIn:
    """The turns of each row's conversation; 0 for null."""

    kind: str = "json"

    def of(self, batch: Batch, column: str, options: Options) -> Floats:
        """The column's turns."""
        texts = as_json(decoded(batch.columns[column]), several=False)
        strings = texts.to_pylist() if is_text(texts.type) else [None] * len(texts)
        return np.array([_turns(text, column, row) for row, text in enumerate(strings)], np.float64)


def _turns(text: str | None, column: str, row: int) -> int:
    if text is None or not text.strip():
        return 0
    try:
        messages = json.loads(text)
        return user_turns(messages if isinstance(messages, list) else [messages])
    except (ValueError, RecursionError) as error:
        expected = f"column {column!r}: expected a list of messages with role and content, in JSON; got {shown(text)}"
        raise InputError(f"{expected}: {error}", row=row) from None


@metric(bounds=(0, np.inf), better=None, source="τ-bench, Vertex AI: steps of a trajectory", cues=["steps", *_CUES])
def tool_call_count(tool_calls: Made) -> Floats:
    """Number of calls of tools.

    >>> import fastmetrics as fm
    >>> fm.tool_call_count([["search", "read"], []])
    array([2., 0.])
    """
    return np.array(list(map(len, tool_calls)), np.float64)


@metric(bounds=(0, np.inf), better=None, source="turns of a dialogue", cues=["turn_count", "conversation_length"])
def turns(messages: Annotated[Floats, TurnsIn()]) -> Floats:
    """Number of turns of a conversation: the messages of the user in it.

    Results of tools are no messages of the user, although Anthropic sends them under that role.

    >>> import fastmetrics as fm
    >>> fm.turns([[{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]])
    array([1.])
    """
    return messages


@metric(
    bounds=(0, 1),
    better="higher",
    source="task success, as of τ-bench (Yao and others 2024)",
    cues=["task_completion", "session_success", "goal_accuracy", "agent_goal_accuracy", "resolution_rate"],
)
def task_success(success: Number) -> Floats:
    """Whether the task was done, as logged: the mean is the success rate.

    ``fastmetrics logs sessions`` has it by session, also where a metric decides, as in ``token_f1 >= 0.5``.

    >>> import fastmetrics as fm
    >>> fm.task_success([True, False, None])
    array([ 1.,  0., nan])
    """
    return success.values
