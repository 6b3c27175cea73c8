"""Whether an answer states the right expression, by algebra: math-verify in processes of its own, as SymPy may take any
time, and only a process can be ended."""

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

from fastmetrics.base.arrays import Floats, Ints, Memo, Text
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.base.options import Real
from fastmetrics.metrics.batch import Batch, Options, Unread
from fastmetrics.metrics.metric import RowHooks, metric

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

    return answer.memo.remember(("math", seconds), make, reference)


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
