"""Matching, choices, numbers, edit distances and JSON on one core against the packages, in one process and in turns.

::

    taskset -c 0 python -m bench.answers

writes ``bench/results/answers.json``.  Answers have from 1 to 60 words, half of them fewer than 14; objects have from 5
to 20 fields, some of them lists and objects, and answers in JSON differ from their references in some fields, one in
five in their order, three in ten in their layout.  The peers score a slice of the rows one by one; that the slice's
scores are equal to ours is checked beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
    "json_match": {"json, field by field": 10},
    "json_match, strict": {"json": 10},
    "json_f1": {"json, field by field": 10},
    "json_valid": {},
}
ROWS_PER_SECOND = {"cover_match": 700_000, "choice_match": 700_000, "number_match": 400_000}
"""Targets of metrics without a package that computes the same."""
FORMS = ("B", "(B)", "The answer is **B**.", "B)", "Answer: C", "\\boxed{A}", "I think", "The correct option is D, as")

OBJECTS = 30_000
"""The most objects that are made; more rows repeat them."""
FIELDS: tuple[str, ...] = (
    "name",
    "email",
    "order",
    "status",
    "city",
    "country",
    "total",
    "currency",
    "items",
    "note",
    "phone",
    "date",
)
FIELDS += ("priority", "kind", "rating", "tags", "address", "category", "source", "language")

Strings = list[str]
Peers = dict[str, tuple[int, Callable[..., Any]]]


class Contest(NamedTuple):
    """Ours and its peers, which read two columns."""

    ours: Callable[[], Any]
    peers: Peers
    columns: tuple[str, str] = ("answers", "references")


def cut(texts: pa.Array, sizes: np.ndarray[Any, Any]) -> pa.Array:
    """The first words of each text."""
    words = pc.split_pattern(texts, " ")
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(bounds[-1]) + np.repeat(np.asarray(words.offsets)[:-1] - bounds[:-1], sizes)
    chosen = words.flatten().take(pa.array(places))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), chosen), " ")


def value(rng: random.Random, words: Strings, levels: int = 1) -> Any:
    """A value of an object: half of them are texts, a third numbers, some contain others."""
    kind = rng.random()
    if levels and kind < 0.08:
        return {name: value(rng, words, 0) for name in rng.sample(FIELDS, 3)}
    if levels and kind < 0.16:
        return [value(rng, words, 0) for _ in range(rng.randint(0, 4))]
    if kind < 0.5:
        return rng.randint(2, 100_000) if kind < 0.4 else round(rng.uniform(2, 1000), 2)
    return rng.choice([True, False, None]) if kind < 0.56 else " ".join(rng.choices(words, k=rng.randint(1, 8)))


def objects(rows: int, words: Strings, seed: int) -> tuple[pa.Array, pa.Array]:
    """Objects as answers, and their references."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(min(rows, OBJECTS)):
        wanted = {name: value(rng, words) for name in rng.sample(FIELDS, rng.randint(5, len(FIELDS)))}
        stated = {
            name: value(rng, words) if rng.random() < 0.1 else wanted[name] for name in wanted if rng.random() > 0.03
        }
        names = rng.sample([*stated], len(stated)) if rng.random() < 0.2 else [*stated]
        indent = 2 if rng.random() < 0.3 else None
        answer = json.dumps({name: stated[name] for name in names}, ensure_ascii=False, indent=indent)
        pairs.append((answer, json.dumps(wanted, ensure_ascii=False)))
    order = pa.array(np.arange(rows) % len(pairs))
    answers, references = (pa.array(column).take(order) for column in zip(*pairs, strict=True))
    return answers, references


def fields(text: str) -> dict[tuple[Any, ...], Any]:
    """The paths of a text of JSON, with their values."""
    found: dict[tuple[Any, ...], Any] = {}
    left: list[tuple[tuple[Any, ...], Any]] = [((), json.loads(text))]
    while left:
        path, inner = left.pop()
        items = [*inner.items()] if isinstance(inner, dict) else [*enumerate(inner)] if isinstance(inner, list) else []
        if items:
            left += [((*path, step), item) for step, item in items]
        else:
            found[path] = inner
    return found


def shares(answers: Strings, references: Strings, f1: bool) -> list[float]:
    """The share of the fields that are equal, or their F1."""
    scores = []
    for answer, reference in zip(answers, references, strict=True):
        ours, theirs = fields(answer), fields(reference)
        equal = sum(path in ours and ours[path] == wanted for path, wanted in theirs.items())
        scores.append(2 * equal / (len(ours) + len(theirs)) if f1 else equal / len(ours | theirs))
    return scores


def columns(rows: int, seed: int = 0) -> dict[str, pa.Array]:
    """Answers and references of uneven lengths; choices with their texts, and numbers, each in an answer around it."""
    rng = np.random.default_rng(seed)
    table = data.table(rows, seed=seed).combine_chunks()
    sizes = np.clip(rng.lognormal(np.log(14), 0.9, rows), 1, 60).astype(int)
    answers, references = (cut(table[name].combine_chunks(), sizes) for name in ("answer", "reference"))
    names = cut(table["reference"].combine_chunks(), np.minimum(sizes, 3))
    stated = pa.array(FORMS).take(pa.array(rng.integers(0, len(FORMS), rows)))
    made, expected = tool_calls(rows, seed)
    in_json, wanted = objects(rows, pc.unique(pc.split_pattern(names, " ").flatten()).to_pylist()[:2000], seed)
    amounts = [f"{value:,.2f}" if row % 3 else str(int(value)) for row, value in enumerate(rng.lognormal(5, 2, rows))]
    return {
        "answers": answers,
        "stated_objects": in_json,
        "objects": wanted,
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


def contests(of: dict[str, pa.Array]) -> dict[str, Contest]:
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
    in_json = "stated_objects", "objects"
    pair = of["stated_objects"], of["objects"]
    by_field: Peers = {"json, field by field": (30, partial(shares, f1=False))}
    by_f1: Peers = {"json, field by field": (30, partial(shares, f1=True))}
    whole: Peers = {"json": (10, lambda a, r: [json.loads(x) == json.loads(y) for x, y in zip(a, r, strict=True)])}
    valid: Peers = {"json": (10, lambda a, r: [json.loads(x) is not None for x in a])}
    return {
        "wer": Contest(partial(fm.wer, *both, threads=1), words),
        "cer": Contest(partial(fm.cer, *both, threads=1), characters),
        "levenshtein_ratio": Contest(partial(fm.levenshtein_ratio, *both, threads=1), ratios),
        "json_match": Contest(partial(fm.json_match, *pair, threads=1), by_field, in_json),
        "json_match, strict": Contest(partial(fm.json_match, *pair, strict=True, threads=1), whole, in_json),
        "json_f1": Contest(partial(fm.json_f1, *pair, threads=1), by_f1, in_json),
        "json_valid": Contest(partial(fm.json_valid, pair[0], threads=1), valid, in_json),
        "tool_call_f1": Contest(
            partial(fm.tool_call_f1, of["made"], of["expected"], threads=1),
            {"python": (10, plain_f1)},
            ("made", "expected"),
        ),
        "cover_match": Contest(partial(fm.cover_match, of["answers"], of["names"], threads=1), {}),
        "choice_match": Contest(partial(fm.choice_match, of["stated"], of["letters"], of["choices"], threads=1), {}),
        "number_match": Contest(partial(fm.number_match, of["totals"], of["numbers"], threads=1), {}),
    }


def check(of: dict[str, pa.Array]) -> None:
    """Ours and the packages' numbers on a few rows."""
    few = {name: column[:200] for name, column in of.items()}
    for name, (ours, peers, read) in contests(few).items():
        texts = [few[column].to_pylist() for column in read]
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
    for name, (ours, peers, read) in contests(of).items():
        if peers:
            texts = of[read[0]].to_pylist(), of[read[1]].to_pylist()
            results += in_turns(name, ours, peers, texts, options.repeats, TARGETS[name])
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
