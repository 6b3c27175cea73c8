"""Whether an answer states the right number, date, or yes or no, however it is written; and the right expression."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ints, Memo, Text
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.base.options import Choice, Real
from fastmetrics.kernels.claim_support import NOTHING, UNKNOWN, YES, values_match
from fastmetrics.metrics.batch import Batch, Options, Unread, english_and_russian_words
from fastmetrics.metrics.claim_support import Passage, Passages, in_order, passage_in, unread_rows, values_of
from fastmetrics.metrics.metric import RowHooks, metric

Absolute = Annotated[float, Real(0.0, 1e300), "by how much numbers may differ"]
Relative = Annotated[float, Real(0.0, 1e6), "by what share of the reference numbers may differ, as in 0.01"]
Which = Annotated[str, Choice("any", "last"), "which of the answer's values may be the right one"]

SAYS_YES, SAYS_NO = ("yes", "yeah", "yep", "true", "да"), ("no", "nope", "false", "нет")

_WORDS = english_and_russian_words("number words", "numbers in digits count in any language")


def _stances(passage: Passage) -> Ints:
    """1 for each text that begins with a yes, -1 with a no, else 0."""
    tokens, vocabulary = passage.tokens, passage.vocabulary
    first = np.full(len(tokens), -1, np.int64)
    some = tokens.counts > 0
    first[some] = tokens.ids[tokens.starts[some]]
    return np.isin(first, vocabulary.ids_of(SAYS_YES)).astype(np.int64) - np.isin(first, vocabulary.ids_of(SAYS_NO))


def _unread(batch: Batch, options: Options) -> Iterator[Unread]:
    """The rows of which nobody can tell whether the answer has the values of a reference."""
    answer, reference = (passage_in(batch, column, options) for column in ("answer", "reference"))
    how = {name: options[name] for name in ("absolute", "relative", "which")}
    matches, culprits = _matches(answer, reference, **how)
    owner = np.repeat(np.arange(batch.n_rows), np.diff(reference.groups))
    right = np.bincount(owner[matches == YES], minlength=batch.n_rows) > 0
    texts = np.flatnonzero((matches == UNKNOWN) & ~right[owner])
    texts = texts[np.unique(owner[texts], return_index=True)[1]]
    places = ((values_of(reference), culprits[texts] - 1), (values_of(answer), -1 - culprits[texts]))
    found = [(values, some[some >= 0], owner[texts[some >= 0]]) for values, some in places]
    yield from unread_rows(answer.vocabulary, found, batch.n_rows)


def _matches(answer: Passage, reference: Passage, absolute: float, relative: float, which: str) -> tuple[Bytes, Ints]:
    """What ``values_match`` says of each text of the reference."""
    own, wanted, last = values_of(answer), values_of(reference), which == "last"
    ordered = np.zeros(len(answer.text), np.bool_)
    if not last:
        own, ordered = in_order(own, np.arange(len(own.bounds)), np.diff(wanted.bounds[reference.groups]))
    return values_match(own, wanted, reference.groups, float(absolute), float(relative), last, ordered)


@metric(
    bounds=(0, 1),
    better="higher",
    source="accuracy of final answers, as of GSM8K; the values of hallucination",
    rows=RowHooks(grouped=True),
    cues=["numeric_match", "gsm8k", "number_accuracy", "math", "accuracy", "numeric_accuracy"],
    caution=_WORDS,
    unread=_unread,
)
def number_match(
    answer: Passages, reference: Passages, *, absolute: Absolute = 0.0, relative: Relative = 0.0, which: Which = "any"
) -> Floats:
    """1 if the answer states the number, date, time, or yes or no of the reference, else 0.

    Values are read as by ``hallucination``: signs, thousands and decimals ("1,000.5", "1 000,5"), powers (1.5×10^6,
    1.5e6), fractions ("1 1/2"), per cent and per mille (50 % is 0.5; 5-7% is 5% and 7%), scales ("1.2 million"),
    currencies, number words in English and Russian but for "one point five" and years ("nineteen eighty"), months and
    scales of all languages of CLDR ("2,5 Milliarden"), dates and times in any usual format.  Units are ignored, (5) is
    5, and [5] is if there is no other number.  The answer must have all values of the reference; a currency that only
    one of them names does not count.  Numbers p and x match if abs(p - x) is at most ``absolute``, or at most
    ``relative`` · abs(x).  ``which="last"`` compares the last value of the answer alone.

    Dozens, quarters and halves of a year ("Q3 2020") and factorials are read.  A number beside what may change it (a
    form of a word of scale, "half of 10", "5 squared", a root, a variable, >, a second unit as in "3 hours 20 minutes",
    more than 15 digits) equals only what is written alike; a row that depends on it is unread.  ``math_match`` reads
    algebra.

    A reference without values that begins with yes, true, no or false (да, нет) asks for an answer that begins so.  Of
    several references any is enough.  Undefined (NaN) if no reference has a value or a yes or no.

    >>> import fastmetrics as fm
    >>> fm.number_match(["It costs $1,200.", "about 3.15", "Yes, it is."], ["1200", "3.14", "yes"], relative=0.01)
    array([1., 1., 1.])
    >>> fm.number_match(["on January 5, 2024", "-5", "3 of 10, so 30 %"], ["2024-01-05", "5", "0.3"])
    array([1., 0., 1.])
    """
    matches, _ = _matches(answer, reference, absolute, relative, which)
    groups = reference.groups
    owner = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    stances = _stances(reference)
    spoken = (matches == NOTHING) & (stances != 0)
    hit = (matches == YES) | (spoken & (_stances(answer)[owner] == stances))
    known = (matches != NOTHING) | spoken
    hits = np.bincount(owner[hit], minlength=len(groups) - 1)
    return np.where(np.bincount(owner[known], minlength=len(groups) - 1) > 0, (hits > 0).astype(np.float64), np.nan)


# Algebra, by math-verify, in processes of its own: SymPy may take any time, and only a process can be ended.


_WORKER = """
import json, re, sys
from math_verify import parse, verify

def read(text):
    marked = "$" in text or re.search(r"(?<![\\\\A-Za-z])[A-Za-z]{3}", text) or not re.search(r"[\\\\^]", text)
    found = parse(text if marked else f"${text}$", parsing_timeout=None)  # LaTeX without its marks
    return found if any(not isinstance(one, str) for one in found) else None

for line in sys.stdin:
    answer, reference = map(read, json.loads(line))
    known = answer is not None and reference is not None
    print(json.dumps(bool(verify(reference, answer, timeout_seconds=None)) if known else None), flush=True)
"""
"""Reads pairs of an answer and a reference, one a line, and writes whether they are equal, null for unread ones."""

UNPARSED, TOO_LONG = -1, -2
"""What stands for the verdict on a pair that is not parsed, or that takes longer than the limit."""


def _verdicts(pairs: Sequence[tuple[str, str]], seconds: float, workers: int = 2) -> list[int]:
    """1 for each pair that is equal, 0 for one that is not, or why that is not known."""
    if importlib.util.find_spec("math_verify") is None:
        raise MissingExtraError.of("math-verify", "math")
    left, verdicts, lock = iter(enumerate(pairs)), [UNPARSED] * len(pairs), threading.Lock()

    def work() -> None:
        process: subprocess.Popen[str] | None = None
        while True:
            with lock:
                place, pair = next(left, (-1, ("", "")))
            if place < 0:
                break
            if process is None:
                pipes: dict[str, Any] = {
                    "stdin": subprocess.PIPE,
                    "stdout": subprocess.PIPE,
                    "stderr": subprocess.DEVNULL,
                }
                process = subprocess.Popen([sys.executable, "-c", _WORKER], text=True, encoding="utf-8", **pipes)
                _asked(process, ("1", "1"), _START)
            reply = _asked(process, pair, seconds)
            if reply is None:
                process.communicate()
                process, verdicts[place] = None, TOO_LONG
            else:
                verdicts[place] = UNPARSED if reply == "null" else int(reply == "true")
        if process is not None:
            process.communicate()

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(pairs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return verdicts


_START = 120.0
"""Seconds that a worker may take to import SymPy."""


def _asked(process: subprocess.Popen[str], pair: tuple[str, str], seconds: float) -> str | None:
    """The reply of a worker; None if it did not reply in time, and is ended, or ended by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        print(json.dumps(pair), file=process.stdin, flush=True)
        return process.stdout.readline().strip() or None
    except BrokenPipeError:
        return None
    finally:
        timer.cancel()


@dataclass(frozen=True, eq=False)
class Expressions:
    """A column of texts, each of which may hold an expression."""

    text: Text
    memo: Memo = field(default_factory=Memo, repr=False)


@dataclass(frozen=True)
class ExpressionsIn:
    """Texts with expressions."""

    convention: str | None = None

    def of(self, batch: Batch, column: str, options: Options) -> Expressions:
        """The column's texts."""
        return batch.remember(("expressions", column), lambda: Expressions(batch.text(column)))


def _equal(answer: Expressions, reference: Expressions, seconds: float) -> Ints:
    """The verdict on each text of the reference; each pair of equal texts is compared once."""

    def make() -> Ints:
        groups = np.arange(len(answer.text) + 1) if reference.text.groups is None else reference.text.groups
        owner = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
        pairs = list(zip(answer.text.take(owner).strings(), reference.text.strings(), strict=True))
        distinct = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
        known = dict(zip(distinct, _verdicts(distinct, seconds), strict=True))
        return np.array([known.get(pair, 1) for pair in pairs], np.int64)

    return answer.memo.of(("math", seconds), (reference,), make)


def _unparsed(batch: Batch, options: Options) -> Iterator[Unread]:
    answer, reference = (ExpressionsIn().of(batch, column, options) for column in ("answer", "reference"))
    verdicts = _equal(answer, reference, options["seconds"])
    owner = (
        np.arange(len(verdicts))
        if (groups := reference.text.groups) is None
        else np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    )
    right = np.bincount(owner[verdicts == 1], minlength=batch.n_rows) > 0
    for code, reason, advice in (
        (TOO_LONG, "hold an expression that takes too long to compare", "seconds= sets the limit"),
        (UNPARSED, "hold no expression that math-verify parses", "write LaTeX between signs of dollar"),
    ):
        yield Unread(reason, ~right & (np.bincount(owner[verdicts == code], minlength=batch.n_rows) > 0), advice)


@metric(
    bounds=(0, 1),
    better="higher",
    source="math-verify, of Hugging Face",
    rows=RowHooks(grouped=True),
    cues=["math", "symbolic_equality", "latex_match"],
    usual=False,
    unread=_unparsed,
)
def math_match(
    answer: Annotated[Expressions, ExpressionsIn()],
    reference: Annotated[Expressions, ExpressionsIn()],
    *,
    seconds: Annotated[float, Real(0.1, 3600.0), "how long the comparison of a pair may take"] = 10.0,
) -> Floats:
    """1 if the answer states an expression that equals the reference, by algebra, else 0.

    The verdict is that of `math-verify <https://github.com/huggingface/Math-Verify>`_: the last expression of each text
    is parsed, in LaTeX between dollar signs or in plain digits, and both are compared by SymPy, so that x^2-1 equals
    (x-1)(x+1).  Texts that are equal match without being read.  Of several references any is enough.  Distinct pairs
    are compared once, in worker processes; a pair that is not parsed, or takes longer than ``seconds``, is unread.
    About 100 pairs a second; no suite has this metric.

    Raises ``MissingExtraError`` without math-verify (the extra ``math``).

    >>> import fastmetrics as fm
    >>> fm.math_match([r"$\\frac{2}{4}$", "$x^2-1$", "$x^2+1$"], ["0.5", "$(x-1)(x+1)$", "$x^2-1$"])
    array([1., 1., 0.])
    """
    verdicts, groups = _equal(answer, reference, float(seconds)), reference.text.groups
    if groups is None:
        return (verdicts == 1).astype(np.float64)
    owner = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    return (np.bincount(owner[verdicts == 1], minlength=len(groups) - 1) > 0).astype(np.float64)
