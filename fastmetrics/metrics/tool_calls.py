"""What an agent did: whether it called the right tools, in their order and with the right arguments; turns, success."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints, decoded, is_text, text_of_strings
from fastmetrics.base.conversations import Call, calls_of, user_turns
from fastmetrics.base.errors import InputError, shown
from fastmetrics.base.options import Choice
from fastmetrics.base.text_structure import as_json
from fastmetrics.metrics.batch import Batch, Number, Options, need
from fastmetrics.metrics.json_values import Near, compared, pieces
from fastmetrics.metrics.metric import Corpus, Formula, metric
from fastmetrics.metrics.structure import Absolute, FieldOption, Lists, Relative, rules_of
from fastmetrics.tables.encoders import is_deep

# The calls of a row, as texts.


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


_DECODE = json.JSONDecoder(parse_constant=_refused).decode
_NAME = re.compile(r"[^\W\d][\w.:/-]*")
_PRINTED = re.compile(r"[\[{(\s]*(?:'|[A-Za-z_]\w*\()")
"""The beginning of a list or call as Python prints it: ``[{'name': …`` or ``[ToolCall(name=…``."""
_DEEPEST = 100


def _parsed(text: str) -> Any:
    """The value of a text of JSON; raises ``ValueError`` for any other text, and for one of too many levels."""
    if text.count("[") + text.count("{") > _DEEPEST and is_deep(text.encode("utf-8", "surrogatepass")):
        raise ValueError(f"more than {_DEEPEST} levels of lists and objects")
    return _DECODE(text)


_MANY = 100
"""The calls of a row from which on their arguments are written alike, and compared as texts."""


def _alike(call: Call) -> Call:
    """The call with its arguments in a form that is the same for equal ones: keys in order, 1.0 as 1."""
    name, given = call
    if given is None:
        return call
    with suppress(ValueError):
        return name, json.dumps(_plain(_parsed(given)), ensure_ascii=False, sort_keys=True)
    return call


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read(text: str, column: str, row: int) -> tuple[Call, ...]:
    """The calls in a text of JSON, or a single name."""
    stripped = text.strip()
    if not stripped or _NAME.fullmatch(stripped):
        return ((stripped, None),) if stripped else ()
    try:
        calls = calls_of(_parsed(stripped))
        return tuple(map(_alike, calls) if len(calls) > _MANY else calls)
    except ValueError as error:
        reason = f": {error}" if stripped[:1] in "[{" else ""
        if _PRINTED.match(stripped) and stripped[:1] in "[{(":
            reason = ", as Python prints it; write JSON: json.dumps(calls)"
        raise InputError(
            f"column {column!r}: expected names of tools, or calls as OpenAI, Anthropic or MCP have them, in JSON; "
            f"got {shown(text)}{reason}",
            row=row,
        ) from None


Equal: TypeAlias = Set[tuple[str | None, str | None]]
"""Pairs of different texts of arguments, of a call made and an expected one, that are the same JSON."""


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of each row of a column; ``cache`` has what was found when others were compared with them."""

    rows: Sequence[tuple[Call, ...]]
    cache: dict[tuple[str, Calls, bool], Any] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> Floats:
        """The number of calls of each row."""
        return np.array(list(map(len, self.rows)), np.float64)

    def matched(self, expected: Calls, arguments: bool) -> Floats:
        """How many calls of each row can be paired with expected ones."""
        key = ("matched", expected, arguments)
        if key not in self.cache:
            equal = self.equal(expected, arguments)
            pairs = zip(self.rows, expected.rows, strict=True)
            counts = [_matched(made, wanted, arguments, equal) for made, wanted in pairs]
            self.cache[key] = np.array(counts, np.float64)
        matched: Floats = self.cache[key]
        return matched

    def equal(self, expected: Calls, arguments: bool) -> Equal:
        """The texts of arguments that are the same JSON, of calls of one name in a row; none without ``arguments``."""
        key = ("equal", expected, arguments)
        if key not in self.cache:
            pairs = zip(self.rows, expected.rows, strict=True) if arguments else ()
            doubtful = dict.fromkeys(
                (given, expected)
                for made, wants in pairs
                if made != wants and min(len(made), len(wants)) <= _MANY
                for wanted, expected in wants
                if expected is not None
                for name, given in made
                if name == wanted and given is not None and given != expected
            )
            texts, others = (pieces(text_of_strings(pair[side] for pair in doubtful)) for side in (0, 1))
            found = compared(texts, others)
            same = found.valid & found.known & (found.equal == found.of_answer) & (found.equal == found.of_reference)
            self.cache[key] = {pair for pair, is_same in zip(doubtful, same.tolist(), strict=True) if is_same}
        equal: Equal = self.cache[key]
        return equal


def calls_in(batch: Batch, column: str, options: Options) -> Calls:
    """The calls of each row; none for null."""

    def make() -> Calls:
        texts = as_json(decoded(batch.columns[column]), several=False)
        strings = texts.to_pylist() if is_text(texts.type) else [None] * len(texts)
        known: dict[str | None, tuple[Call, ...]] = {None: ()}
        for row, text in enumerate(strings):
            if text not in known:
                known[text] = _read(text, column, row)
        return Calls([known[text] for text in strings])

    return batch.remember(("calls", column), make)


Made = Annotated[Calls, need(calls_in, kind="json")]
Arguments = Annotated[bool, "whether a call also needs the arguments that are expected, if they are"]
Order = Annotated[
    str,
    Choice("exact", "in_order", "any"),
    "exact: the expected calls and no others; in_order: others may be between; any: in any order, others beside",
]


# Calls that match: by name, and by arguments where a call is expected with some.


def _matched(made: Sequence[Call], expected: Sequence[Call], arguments: bool, equal: Equal) -> int:
    """How many calls can be paired with expected ones, each once; the most that can."""
    if made == expected:
        return len(made)
    if not arguments:
        names, others = (Counter(name for name, _ in calls) for calls in (made, expected))
        return (names & others).total()
    if min(len(made), len(expected)) > _MANY:
        pairs = Counter(made) & Counter(call for call in expected if call[1] is not None)
        unpaired, hits = list((Counter(made) - pairs).elements()), pairs.total()
    else:
        unpaired, hits = list(made), 0
        for wanted in expected:
            if wanted[1] is not None:
                at = next((at for at, call in enumerate(unpaired) if _same(call, wanted, True, equal)), None)
                if at is not None:
                    del unpaired[at]
                    hits += 1
    free = Counter(name for name, given in expected if given is None)
    return hits + (free & Counter(name for name, _ in unpaired)).total() if free else hits


def _same(call: Call, expected: Call, arguments: bool, equal: Equal) -> bool:
    (name, given), (wanted, wanted_given) = call, expected
    if name != wanted or not arguments or wanted_given is None or given == wanted_given:
        return name == wanted
    return (given, wanted_given) in equal


def _in_order(made: Sequence[Call], expected: Sequence[Call], order: str, arguments: bool, equal: Equal) -> bool:
    if made == expected:
        return True
    if order == "any":
        return _matched(made, expected, arguments, equal) == len(expected)
    if order == "exact":
        pairs = zip(made, expected, strict=False)
        return len(made) == len(expected) and all(_same(*pair, arguments, equal) for pair in pairs)
    left = iter(made)
    return all(any(_same(call, wanted, arguments, equal) for call in left) for wanted in expected)


def _sorted(calls: Calls) -> list[tuple[Call, ...]]:
    """The calls of each row in one order, whatever that of the row: by name, and by arguments one after another."""
    return [tuple(sorted(row, key=_key)) if len(row) > 1 else row for row in calls.rows]


def _key(call: Call) -> tuple[str, ...]:
    name, text = call
    try:
        given = _plain(_parsed(text or "{}"))
    except ValueError:
        given = text
    pairs = sorted(given.items()) if isinstance(given, dict) else [("", given)]
    texts = ((key, value if isinstance(value, str) else json.dumps(value, sort_keys=True)) for key, value in pairs)
    return name, *(part for pair in texts for part in pair)


def _share(part: Floats, whole: Floats, both: Floats) -> Floats:
    """The share; 1 if nothing was called and nothing expected."""
    return np.where(both == 0, 1.0, part / np.maximum(whole, 1))


_SOURCE = "Vertex AI, trajectory metrics; ragas 0.4, ToolCallF1"
_CUES = [
    "tool_correctness",
    "tool_correctness_metric",
    "tool_use",
    "function_calling",
    "trajectory_single_tool_use",
    "tool_selection",
]


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
    matched, made = tool_calls.matched(expected_tool_calls, arguments), tool_calls.sizes
    return _share(matched, made, made + expected_tool_calls.sizes)


@metric(bounds=(0, 1), better="higher", source=_SOURCE, aliases=["trajectory_recall"], cues=_CUES)
def tool_call_recall(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Floats:
    """Share of the expected calls of tools that were made.

    R = matched / expected, with the matches of ``tool_call_precision``. 1 if no call was made and none expected; 0 if
    none was expected but some made. With ``arguments=False`` it is deepeval's tool correctness by names.

    >>> import fastmetrics as fm
    >>> fm.tool_call_recall([["search"]], [["search", "read"]])
    array([0.5])
    """
    matched, expected = tool_calls.matched(expected_tool_calls, arguments), expected_tool_calls.sizes
    return _share(matched, expected, tool_calls.sizes + expected)


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
    both = tool_calls.sizes + expected_tool_calls.sizes
    return _share(2.0 * tool_calls.matched(expected_tool_calls, arguments), both, both)


@dataclass(frozen=True)
class CorpusCalls:
    """A share of all calls of a table, ``score``, and the sums that it comes from: NaN if nothing is divided by."""

    score: float
    matched: int
    made: int
    expected: int

    def __float__(self) -> float:
        return self.score


def _micro(twice: bool, made: bool, expected: bool) -> Corpus:
    """The share of the matched calls (``twice`` counted) among those that were made, expected, or both."""

    def of_many(sums: Ints, **options: Any) -> Floats:
        matched, of_made, of_expected = sums.T
        total = made * of_made + expected * of_expected
        return np.divide((1 + twice) * matched, total, out=np.full(len(sums), np.nan), where=total > 0)

    def of(counts: Sequence[int], **options: Any) -> CorpusCalls:
        sums = np.array([counts or [0] * 3], np.int64)
        return CorpusCalls(float(of_many(sums)[0]), *sums[0].tolist())

    return Corpus(finish=Formula(of, of_many))


def _summed(calls: Calls, expected: Calls, arguments: bool) -> Ints:
    """For each row the matched calls, those made, and those expected."""
    columns = [calls.matched(expected, arguments), calls.sizes, expected.sizes]
    return np.stack(columns, axis=1).astype(np.int64)


_MICRO = "micro average over all calls (Manning, Raghavan and Schütze 2008, 13.6)"


@metric(bounds=(0, 1), better="higher", source=_MICRO, corpus=_micro(False, True, False), cues=_CUES)
def corpus_tool_call_precision(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Ints:
    """Share of all calls of a table that are expected: each call weighs the same, not each row.

    P = Σ matched / Σ made, with the matches of ``tool_call_precision`` within each row.  NaN if no call was made.
    Returns a ``CorpusCalls``, which also has the sums.

    >>> import fastmetrics as fm
    >>> fm.corpus_tool_call_precision([["search"], ["read", "read", "show"]], [["search"], ["read"]]).score
    0.5
    """
    return _summed(tool_calls, expected_tool_calls, arguments)


@metric(bounds=(0, 1), better="higher", source=_MICRO, corpus=_micro(False, False, True), cues=_CUES)
def corpus_tool_call_recall(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Ints:
    """Share of all expected calls of a table that were made: each call weighs the same, not each row.

    R = Σ matched / Σ expected, with the matches of ``tool_call_precision`` within each row.  NaN if none was expected.
    Returns a ``CorpusCalls``, which also has the sums.

    >>> import fastmetrics as fm
    >>> fm.corpus_tool_call_recall([["search"], []], [["search"], ["read", "show", "read"]]).score
    0.25
    """
    return _summed(tool_calls, expected_tool_calls, arguments)


@metric(bounds=(0, 1), better="higher", source=_MICRO, corpus=_micro(True, True, True), cues=_CUES)
def corpus_tool_call_f1(tool_calls: Made, expected_tool_calls: Made, *, arguments: Arguments = True) -> Ints:
    """F1 of all calls of a table against those expected: each call weighs the same, not each row.

    F1 = 2 · Σ matched / (Σ made + Σ expected), with the matches of ``tool_call_precision`` within each row.  NaN if no
    call was made and none expected.  Returns a ``CorpusCalls``, which also has the sums.

    >>> import fastmetrics as fm
    >>> fm.corpus_tool_call_f1([["search"], ["read", "show"]], [["search"], ["read", "read"]]).score.__round__(3)
    0.667
    """
    return _summed(tool_calls, expected_tool_calls, arguments)


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
    equal = tool_calls.equal(expected_tool_calls, arguments)
    pairs = zip(tool_calls.rows, expected_tool_calls.rows, strict=True)
    return np.array([float(_in_order(*pair, order, arguments, equal)) for pair in pairs], np.float64)


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
    rows, wanted_rows = tool_calls.rows, expected_tool_calls.rows
    if order == "any":
        rows, wanted_rows = _sorted(tool_calls), _sorted(expected_tool_calls)
    scores = np.zeros(len(rows))
    pairs: list[tuple[int, int, int]] = []
    for row, (made, wanted) in enumerate(zip(rows, wanted_rows, strict=True)):
        if not (made or wanted) or (made == wanted and fields is None):
            scores[row] = 1.0
        elif made and wanted and _in_order(made, wanted, order, False, set()):
            if order == "exact":
                pairs.extend((row, at, at) for at in range(len(wanted)))
                continue
            named: dict[str, list[int]] = {}
            for place, (name, _) in enumerate(made):
                named.setdefault(name, []).append(place)
            pairs.extend((row, at, place) for at, (name, _) in enumerate(wanted) for place in named[name])
    answers = pieces(text_of_strings(rows[row][place][1] or "{}" for row, _, place in pairs))
    references = pieces(text_of_strings(wanted_rows[row][at][1] or "{}" for row, at, _ in pairs))
    rules, near = rules_of(fields), Near(float(absolute), float(relative), any_order=lists == "any")
    found = compared(answers, references, rules.fields, rules.metrics, near)
    shares = np.where(
        found.of_reference > 0, found.equal / np.maximum(found.of_reference, 1), found.known & found.valid
    )
    candidates: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for (row, at, place), share in zip(pairs, shares.tolist(), strict=True):
        given = wanted_rows[row][at][1]
        is_right = given is None or (fields is None and given == rows[row][place][1])
        candidates.setdefault((row, at), []).append((1.0 if is_right else share, place))
    taken: set[tuple[int, int]] = set()
    for (row, _), options in candidates.items():  # in the order of rows, and of the expected calls of a row
        left = [(-share, place) for share, place in options if (row, place) not in taken]
        best, place = min(left, default=(0.0, -1))
        if best < 0:
            taken.add((row, place))
            scores[row] -= best / len(wanted_rows[row])
    return scores


# How often tools were called and the user spoke, and whether the user got what they wanted.


def turns_in(batch: Batch, column: str, options: Options) -> Floats:
    """The turns of each row's conversation; 0 for null."""
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
    return tool_calls.sizes


@metric(bounds=(0, np.inf), better=None, source="turns of a dialogue", cues=["turn_count", "conversation_length"])
def turns(messages: Annotated[Floats, need(turns_in, kind="json")]) -> Floats:
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
    cues=["session_success", "resolution_rate"],
)
def task_success(success: Number) -> Floats:
    """Whether the task was done, as logged: the mean is the success rate.

    ``fastmetrics logs sessions`` has it by session, also where a metric decides, as in ``token_f1 >= 0.5``.

    >>> import fastmetrics as fm
    >>> fm.task_success([True, False, None])
    array([ 1.,  0., nan])
    """
    return success.values
