"""Matching, choices, numbers and edit distances on one core against the packages, in one process and in turns.

::

    taskset -c 0 python -m bench.answers

writes ``bench/results/answers.json``.  Answers have from 1 to 60 words, half of them fewer than 14.  The peers score a
slice of the rows one by one; that the slice's scores are equal to ours is checked beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein

import fastmetrics as fm
from bench import data
from bench.compare import Side
from bench.generation import in_turns, seconds
from bench.machine import machine

RESULT = Path(__file__).parent / "results" / "answers.json"
TARGETS: dict[str, dict[str, float]] = {
    "wer": {"rapidfuzz": 1, "jiwer": 30},
    "cer": {"rapidfuzz": 1, "jiwer": 30},
    "levenshtein_ratio": {"rapidfuzz": 1},
    "tool_call_f1": {"python": 1},
}
ROWS_PER_SECOND = {"cover_match": 700_000, "choice_match": 700_000, "number_match": 400_000}
"""Targets of metrics without a package that computes the same."""
FORMS = ("B", "(B)", "The answer is **B**.", "B)", "Answer: C", "\\boxed{A}", "I think", "The correct option is D, as")

Strings = list[str]
Ours = Callable[[], Any]
Peers = dict[str, tuple[int, Callable[..., Any]]]


def cut(texts: pa.Array, sizes: np.ndarray[Any, Any]) -> pa.Array:
    """The first words of each text."""
    words = pc.split_pattern(texts, " ")
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(bounds[-1]) + np.repeat(np.asarray(words.offsets)[:-1] - bounds[:-1], sizes)
    chosen = words.flatten().take(pa.array(places))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), chosen), " ")


def columns(rows: int, seed: int = 0) -> dict[str, pa.Array]:
    """Answers and references of uneven lengths; choices with their texts, and numbers, each in an answer around it."""
    rng = np.random.default_rng(seed)
    table = data.table(rows, seed=seed).combine_chunks()
    sizes = np.clip(rng.lognormal(np.log(14), 0.9, rows), 1, 60).astype(int)
    answers, references = (cut(table[name].combine_chunks(), sizes) for name in ("answer", "reference"))
    names = cut(table["reference"].combine_chunks(), np.minimum(sizes, 3))
    stated = pa.array(FORMS).take(pa.array(rng.integers(0, len(FORMS), rows)))
    made, expected = tool_calls(rows, seed)
    amounts = [f"{value:,.2f}" if row % 3 else str(int(value)) for row, value in enumerate(rng.lognormal(5, 2, rows))]
    return {
        "answers": answers,
        "references": references,
        "names": names,
        "stated": pc.binary_join_element_wise(stated, answers, " "),
        "letters": pa.array(list("ABCD")).take(pa.array(rng.integers(0, 4, rows))),
        "choices": pa.FixedSizeListArray.from_arrays(names.take(pa.array(rng.integers(0, rows, 4 * rows))), 4),
        "numbers": pa.array(amounts),
        "made": made,
        "expected": expected,
        "totals": pc.binary_join_element_wise(answers, "so the total is", pa.array(amounts), " "),
    }


def tool_calls(rows: int, seed: int = 0) -> tuple[pa.Array, pa.Array]:
    """Calls of tools as OpenAI has them, and expected ones, of which some are missing or have another argument."""
    rng = np.random.default_rng(seed)
    words = np.array(["quarterly", "revenue", "report", "for", "the", "northern", "region", "open", "invoices"])
    made: Strings = []
    expected: Strings = []
    for size in rng.choice([1, 1, 1, 2, 2, 3, 4], rows).tolist():
        names = [f"tool_{number}" for number in rng.integers(0, 6, size)]
        given = [{"query": " ".join(rng.choice(words, 5)), "limit": int(rng.integers(50))} for _ in range(size)]
        functions = [{"name": name, "arguments": json.dumps(one)} for name, one in zip(names, given, strict=True)]
        made.append(json.dumps([{"id": "call_1", "type": "function", "function": each} for each in functions]))
        changed = [{**one, "limit": 7} if rng.random() < 0.3 else one for one in given[: size - (rng.random() < 0.2)]]
        expected.append(json.dumps([{"name": n, "arguments": one} for n, one in zip(names, changed, strict=False)]))
    return pa.array(made), pa.array(expected)


def plain_f1(made: Strings, expected: Strings) -> list[float]:
    """F1 of the calls of each row by ``json`` and ``Counter``."""

    def key(call: dict[str, Any]) -> tuple[str, str]:
        inner = call.get("function", call)
        given = inner["arguments"]
        return inner["name"], json.dumps(json.loads(given) if isinstance(given, str) else given, sort_keys=True)

    scores = []
    for ours, theirs in zip(made, expected, strict=True):
        both = [Counter(map(key, json.loads(text))) for text in (ours, theirs)]
        total = both[0].total() + both[1].total()
        scores.append(2 * (both[0] & both[1]).total() / total if total else 1.0)
    return scores


def contests(of: dict[str, pa.Array]) -> dict[str, tuple[Ours, Peers]]:
    """Ours and its peers, by name."""
    both = of["answers"], of["references"]
    words: Peers = {
        "rapidfuzz": (10, lambda a, r: [Levenshtein.distance(x.split(), y.split()) for x, y in zip(a, r, strict=True)]),
        "jiwer": (100, lambda a, r: [jiwer.wer(y, x) for x, y in zip(a, r, strict=True)]),
    }
    characters: Peers = {
        "rapidfuzz": (10, lambda a, r: [Levenshtein.distance(x, y) for x, y in zip(a, r, strict=True)]),
        "jiwer": (100, lambda a, r: [jiwer.cer(y, x) for x, y in zip(a, r, strict=True)]),
    }
    ratios: Peers = {
        "rapidfuzz": (
            10,
            lambda a, r: [Levenshtein.normalized_similarity(x, y) for x, y in zip(a, r, strict=True)],
        )
    }
    return {
        "wer": (partial(fm.wer, *both, threads=1), words),
        "cer": (partial(fm.cer, *both, threads=1), characters),
        "levenshtein_ratio": (partial(fm.levenshtein_ratio, *both, threads=1), ratios),
        "tool_call_f1": (
            partial(fm.tool_call_f1, of["made"], of["expected"], threads=1),
            {"python": (10, plain_f1)},
        ),
        "cover_match": (partial(fm.cover_match, of["answers"], of["names"], threads=1), {}),
        "choice_match": (partial(fm.choice_match, of["stated"], of["letters"], of["choices"], threads=1), {}),
        "number_match": (partial(fm.number_match, of["totals"], of["numbers"], threads=1), {}),
    }


def texts_of(of: dict[str, pa.Array], name: str) -> tuple[Strings, Strings]:
    """The two columns that the peers of a metric read."""
    first, second = ("made", "expected") if name == "tool_call_f1" else ("answers", "references")
    return of[first].to_pylist(), of[second].to_pylist()


def check(of: dict[str, pa.Array]) -> None:
    """Ours and the packages' numbers on a few rows."""
    few = {name: column[:200] for name, column in of.items()}
    for name, (ours, peers) in contests(few).items():
        texts = texts_of(few, name)
        for peer, (_, function) in peers.items():
            theirs = np.array(function(*texts), float)
            if peer == "rapidfuzz" and name != "levenshtein_ratio":
                theirs /= [max(len(text.split() if name == "wer" else text), 1) for text in texts[1]]
            np.testing.assert_allclose(ours(), theirs, rtol=1e-12)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    of = columns(options.rows)
    check(of)
    results: list[dict[str, Any]] = []
    alone: list[dict[str, Any]] = []
    for name, (ours, peers) in contests(of).items():
        if peers:
            results += in_turns(name, ours, peers, texts_of(of, name), options.repeats, TARGETS[name])
            continue
        ours()
        side = Side("fastmetrics", options.rows, [seconds(ours) for _ in range(options.repeats)])
        alone.append({"name": name, "ours": side.result(), "target_rows_per_second": ROWS_PER_SECOND[name]})
        print(f"{name:45} {alone[-1]['ours']['rows_per_second']:10,} rows/s")
    report = {
        "name": "answers",
        "clock": "processor seconds of one thread on one core",
        "cores": len(os.sched_getaffinity(0)),
        "machine": machine("rapidfuzz", "jiwer"),
        "results": results,
        "alone": alone,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
