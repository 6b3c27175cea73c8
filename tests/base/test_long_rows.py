"""Rows of hundreds of kilobytes: what they take grows with their length, and the short ways are as right as the long.

The rows are so long that what grows with the square of their length would run for an hour;
the limit that ends it is there for that alone.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.scoring.metric_functions import callable_of
from tests.metrics.test_rouge import check
from tests.reference import claims

KB = 1000
CASES = [
    ("hallucination", "1 ", "answer and contexts", 2000 * KB),
    ("hallucination", "# ", "answer and contexts", 1000 * KB),
    ("hallucination", "# January ", "answer and contexts", 500 * KB),
    ("hallucination", "12:30 ", "answer and contexts", 2000 * KB),
    ("hallucination", "W is V#. ", "answer and contexts", 2000 * KB),
    ("hallucination", "W# is V#. ", "answer and contexts", 2000 * KB),
    ("hallucination", "Cats are dogs. ", "answer and contexts", 3000 * KB),
    ("hallucination", "W# is V#. ", "all, many contexts", 1000 * KB),
    ("rougeLsum_f1", "1. a\n", "answer and reference", 400 * KB),
    ("rougeLsum_f1", "#. a\n", "answer and reference", 400 * KB),
    ("rougeLsum_f1", "w# x\n", "answer and reference", 400 * KB),
    ("introduction_score", "word ", "answer", 2000 * KB),
    ("introduction_score", "w# ", "answer", 1000 * KB),
    ("token_f1", "a b ", "all, many reference", 1600 * KB),
    ("keyword_recall", "a b ", "all, many reference", 1600 * KB),
    ("rouge2_f1", "a b ", "all, many reference", 800 * KB),
    ("chrf", "a b ", "all, many reference", 400 * KB),
    (r"grounding_overlap(pattern='\\((\\d+)\\)')", "é (#)", "answer", 800 * KB),
]
"""Metric, piece of text, what is long in the row, and how long."""

PROGRAM = """
import fastmetrics as fm
from tests.support import long_rows
from tests.base.test_long_rows import CASES
for case in CASES:
    print(case, flush=True)
    spec, piece, long, size = case
    table = dict(long_rows.tables(spec, long_rows.text(piece), size // SHARE))[long]
    if spec == "introduction_score":  # without a question, the topics come from the answer
        table = table.select(["answer"])
    options = {"embedder": long_rows.embedder()} if "grounding" in spec else {}
    fm.score(table, [spec], threads=1, **options)
print("done")
"""


def test_shorter_rows_take_seconds():
    """What grows with the square of the length takes half a minute at a tenth of it."""
    began = time.process_time()
    exec(PROGRAM.replace("SHARE", "10"), {})
    assert time.process_time() - began < 20


@pytest.mark.full
def test_long_rows_finish():
    """All at once, as loading the kernels takes longer than running them."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("SHARE", "1")],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        printed, _ = run.communicate(timeout=800)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail(f"does not end: {run.communicate()[0].splitlines()[-1]}")
    assert run.returncode == 0
    assert printed.splitlines()[-1] == "done"


def claims_of(chance, words):
    """Sentences with a verb, of words some of which are frequent and most are rare."""
    kinds = [words[min(int(chance.paretovariate(0.6)), len(words)) - 1] for _ in range(400)]
    return " ".join(f"{a.capitalize()} {b} is {c} {d}." for a, b, c, d in zip(*[iter(kinds)] * 4, strict=True))


@pytest.mark.parametrize("window", [0, 1, 5, 30, 10**6])
def test_claims_of_frequent_and_rare_words_hold_either_way(window):
    chance = random.Random(window)
    words = [f"{one}{two}{three}" for one in "bdfgk" for two in "aou" for three in ("lm", "rt", "nk", "x", "zv")]
    answers = [claims_of(chance, words) for _ in range(4)]
    contexts = [[claims_of(chance, words[::-1] + words) for _ in range(3)] for _ in answers]
    found = []
    for most in (-1, 1 << 60):
        with mock.patch.multiple(SIZES, compared_values=most, compared_claims=most):
            found.append(fm.scoring.anchors(answers, contexts, window=window)["anchors"].to_pylist())
    assert found[0] == found[1]
    held = [anchor["supported"] for row in found[0] for anchor in row]
    assert len(held) > 350
    assert 0 < sum(held) < len(held) or window == 10**6 or window < 3
    (first, *_), (own, *_) = found[0], zip(answers, contexts, strict=True)
    plain = sorted(claims.anchors(*own, window))
    assert sorted((a["kind"], a["start"], a["stop"], a["supported"]) for a in first) == plain


@pytest.mark.parametrize("size", [1023, 1024, 1025, 2049, 3000])
def test_lines_longer_than_the_table_that_is_held(size):
    """Of a long line's table a stretch is held at a time; the walk back through it must not notice."""
    chance = random.Random(size)
    names = ["a", "b", "c"] if size % 2 else [f"w{n}" for n in range(size)]
    line = chance.choices(names, k=size)
    others = [sorted(line, key=lambda _: chance.random())[:200], line[::7], line[size // 2 :][:150], ["x"]]
    answer = "\n".join(" ".join(one) for one in others)
    check([answer], [["\n".join([" ".join(line), "x b", " ".join(line[:70])])]], False, ("rougeLsum",))


def test_equal_lines_count_each():
    """A line that comes again is looked at once, and its words are counted again."""
    answers = ["a b\nb a\na b\nc", "b a\nb a", "a\n\na\nb b", "x y\nx y\nx"]
    references = [["a b\na b\nb a\nc c", "c\nc"], ["a b\nb a\na b"], ["a\na\na\nb"], ["y x\ny x\ny"]]
    check(answers, references, False, ("rougeLsum",))


def test_many_references_are_each_matched_by_themselves():
    """An answer is counted once for all of its references, and none sees what another took."""
    chance = random.Random(5)
    names = [f"w{n}" for n in range(40)]
    answers = [" ".join(chance.choices(names, k=chance.randint(0, 90))) for _ in range(30)]
    references = [[" ".join(chance.choices(names, k=chance.randint(0, 60))) for _ in range(6)] for _ in answers]
    for name in (
        "token_f1",
        "keyword_recall",
        "token_cosine",
        "rouge1_f1",
        "rouge2_f1",
        "rouge9_f1",
        "chrf",
        "squad_f1",
    ):
        score = callable_of(name)
        alone = [score(answers, [row[n] for row in references]) for n in range(6)]
        assert score(answers, references).tolist() == np.max(alone, axis=0).tolist()
