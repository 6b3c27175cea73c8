"""Patterns of users: one that backtracks without end is an error that names its row, and an interrupt ends it."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base import patterns
from fastmetrics.base.errors import InputError, OptionError
from fastmetrics.base.patterns import UserPattern

ENDLESS = r"\[((\d|\d\d),? ?)+[\])]"
"""Two ways to read each pair of digits: 45 digits without a closing bracket have 10⁹ readings."""

DIGITS = "[" + "1" * 45
BAD = f"I don't know {DIGITS}."
GOOD = "I don't know [1, 22]."
CONTEXTS = ["Bread", "Cheese"]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)


def one_hot(texts: list[str]) -> np.ndarray:
    return np.array([[name in text for name in CONTEXTS] for text in texts], np.float32)


def test_a_pattern_without_end_names_option_pattern_and_row() -> None:
    answers = [*[GOOD] * 3000, BAD, GOOD]
    for threads in (1, 2):
        with pytest.raises(InputError, match=r"row 3000: pattern=.*takes more than .* write a pattern that") as raised:
            fm.idk_citations(answers, pattern=ENDLESS, threads=threads)
        assert repr(ENDLESS) in str(raised.value)
        assert BAD[:20] in str(raised.value)
    with pytest.raises(InputError, match=r"row 3000: pattern="):
        fm.score({"answer": answers}, ["idk_citations(pattern=" + repr(ENDLESS) + ")"])
    assert fm.idk_citations([GOOD, "Paris [1]."], pattern=ENDLESS).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("metric", ["grounding_overlap", "overlap_faithfulness", "citation_precision"])
@pytest.mark.parametrize("by_id", [False, True])
def test_every_metric_limits_the_time_of_its_pattern(metric: str, by_id: bool) -> None:
    columns = {"answer": ["Bread [1].", f"Bread {DIGITS}."], "contexts": [CONTEXTS] * 2}
    if by_id:
        columns["context_ids"] = [["1", "2"]] * 2
    with pytest.raises(InputError, match=r"row 1: pattern="):
        getattr(fm, metric)(**columns, pattern=ENDLESS, embedder=one_hot)


def test_a_run_over_a_file_names_the_line_and_skips_only_it(tmp_path: Path) -> None:
    rows = [{"answer": GOOD}] * 5 + [{"answer": BAD}] + [{"answer": GOOD}] * 3
    path, output = tmp_path / "rows.jsonl", tmp_path / "scores.parquet"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    metrics = ["idk_citations(pattern=" + repr(ENDLESS) + ")"]
    with pytest.raises(InputError, match=r"rows\.jsonl.*line 6.*pattern="):
        fm.score(str(path), metrics, output=output)
    fm.score(str(path), metrics, output=output, files=fm.tables.FileSettings(on_error="skip"), overwrite=True)
    (reject,) = (tmp_path / "scores.parquet.rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["line"] == 6
    assert fm.summarize(output).n_rows == 8


def test_an_interrupt_ends_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 600.0)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            UserPattern("pattern", ENDLESS).is_in(DIGITS, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "pattern", ["(", r"(?R)", "(?P<a>x)(?P>a)", "(" * 900 + ")" * 900, r"\p{L}", "a{1,99999999999999}"]
)
def test_only_patterns_of_python_are_allowed(pattern: str) -> None:
    """What ``regex`` has besides, such as recursion, may take all memory."""
    with pytest.raises((re.error, OverflowError, RecursionError)):
        re.compile(pattern)
    with pytest.raises(OptionError, match=r"pattern.*expects a regular expression"):
        fm.idk_citations(["a"], pattern=pattern)
