"""Slow checks of a data set, on a uniform sample of its rows: languages, near duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Uint64s
from fastmetrics.text.text_keys import text_keys
from fastmetrics.usage.dataset.findings import EXAMPLES, Finding
from fastmetrics.usage.dataset.row_faults import plain
from fastmetrics.usage.languages import guessed
from fastmetrics.usage.log import near_pairs, with_smallest_keys
from fastmetrics.vectors.embedder import Embedder

LANGUAGE, NEAR = "other language", "near duplicate"
_LONG = 20
"""Minimum characters of a text for language identification."""
_COLUMNS = {LANGUAGE: ("question", "answer"), NEAR: ("question",)}


@dataclass(frozen=True)
class SampledChecks:
    """The options: candidate languages, embedder, minimum cosine of near duplicates, sample size."""

    languages: tuple[str, ...]
    embedder: Embedder | None
    near: float
    size: int

    @property
    def checks(self) -> list[str]:
        """The checks that use samples."""
        return [*([LANGUAGE] if self.languages else []), *([NEAR] if self.embedder is not None else [])]

    def joined(self, left: Mapping[str, pa.Table], right: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The combined samples of both parts."""
        both = {name: [part[name] for part in (left, right) if name in part] for name in self.checks}
        return {
            name: with_smallest_keys(pa.concat_tables(tables), self.size, "row")
            for name, tables in both.items()
            if tables
        }


def sampled_rows(options: SampledChecks, rows: pa.RecordBatch, keys: Uint64s, first: int) -> dict[str, pa.Table]:
    """The candidate rows of a part for each check's sample: the rows with the smallest keys.

    ``keys`` are hashes of question and answer, and ``first`` is the number of the first row.
    """
    samples = {}
    for name in options.checks:
        if set(_COLUMNS[name]) <= set(rows.schema.names):
            texts = {column: rows.column(column).cast(pa.large_string()) for column in _COLUMNS[name]}
            if name == LANGUAGE:
                long_enough = [
                    pc.fill_null(pc.greater_equal(pc.utf8_length(text), _LONG), False) for text in texts.values()
                ]
                mask = np.asarray(pc.and_(*long_enough))
                key = keys[:, 0]
            else:
                mask = np.asarray(texts["question"].is_valid())
                key = text_keys(plain(texts["question"]))[:, 0]
            numbers = np.arange(first, first + rows.num_rows)
            table = pa.table({"key": key, "row": numbers, **texts}).filter(pa.array(mask))
            samples[name] = with_smallest_keys(table, options.size, "row")
    return samples


def sampled_findings(
    options: SampledChecks, samples: Mapping[str, pa.Table], has: frozenset[str], threads: int
) -> tuple[list[Finding], list[str]]:
    """The findings in the samples, and the checks whose columns are missing."""
    findings, skipped = [], []
    for name in options.checks:
        if not set(_COLUMNS[name]) <= has:
            skipped.append(f"{name} ({', '.join(_COLUMNS[name])})")
        elif name not in samples:
            findings.append(Finding(name, 0, [], 0))
        else:
            table = samples[name].sort_by("row").combine_chunks()
            findings.append(_languages(options, table) if name == LANGUAGE else _near(options, table, threads))
    return findings, skipped


def _languages(options: SampledChecks, table: pa.Table) -> Finding:
    questions, answers = (table[name].to_pylist() for name in _COLUMNS[LANGUAGE])
    pairs = list(zip(guessed(questions, options.languages), guessed(answers, options.languages), strict=True))
    rows = [at for at, (question, answer) in enumerate(pairs) if question != answer]
    numbers = table["row"].to_pylist()
    examples = [((numbers[at],), f"{pairs[at][0]}, {pairs[at][1]}: {questions[at]}"[:200]) for at in rows[:EXAMPLES]]
    return Finding(LANGUAGE, len(rows), examples, len(pairs))


def _near(options: SampledChecks, table: pa.Table, threads: int) -> Finding:
    assert options.embedder is not None
    questions = table["question"].combine_chunks()
    rows, others, _ = near_pairs(questions, options.embedder, options.near, threads)
    numbers = np.asarray(table["row"])
    pairs = list(zip(rows[:EXAMPLES].tolist(), others[:EXAMPLES].tolist(), strict=True))
    examples = [((int(numbers[a]), int(numbers[b])), questions[a].as_py()[:200]) for a, b in pairs]
    return Finding(NEAR, len(rows), examples, len(questions))
