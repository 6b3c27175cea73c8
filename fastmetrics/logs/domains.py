"""``fm.logs.domain_analysis``: words, languages, scripts, repetitions and times of users' questions (the RAG
benchmark).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Floats, Ints, Uint64s, floats_of_arrow, text_of_arrow
from fastmetrics.base.display import Grid, Shown, lines_of, plain, sparkline
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import LimitedTexts, Real, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.logs.languages import check_languages, languages_of, scripts, scripts_of
from fastmetrics.logs.log import (
    KEY,
    MISSING,
    ZONED,
    Columns,
    answered,
    fewer,
    open_log,
    summed,
    times_of,
    with_smallest_keys,
)
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.text.conventions import convention
from fastmetrics.text.text_keys import group_sizes, plainly, text_keys
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.vectors.embedder import embedder_of
from fastmetrics.vectors.near_pairs import near_pairs
from fastmetrics.vectors.vector_arrays import Vectors

# Times of questions: by day, by hour of the day, first and last.


_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _activity(times: Ints, zone: str | None) -> dict[str, Any]:
    """The first and the last time of questions, their number by date, and by hour of the day."""
    times = times[times != MISSING]
    days, counts = np.unique(times // _DAY, return_counts=True)
    dates = ((_EPOCH + timedelta(days=day)).date().isoformat() for day in days.tolist())
    ends = [times.min(), times.max()] if len(times) else []
    written = [(_EPOCH + timedelta(microseconds=int(end))).isoformat() for end in ends]
    first, last = [end if zone == ZONED else end.removesuffix("+00:00") for end in written] or (None, None)
    hours = np.bincount(times % _DAY // _HOUR, minlength=24).tolist()
    return {"first": first, "last": last, "days": dict(zip(dates, counts.tolist(), strict=True)), "hours": hours}


# The words of questions, ``[\w-]{3,}`` in lower case: their counts, and the words that distinguish two groups.


SHORTEST = 3


class LogWords(NamedTuple):
    """The words of some texts: word i has the number ``ids[i]`` and is in text ``rows[i]``."""

    ids: Ints
    rows: Ints
    spelled: pa.Array


def words_of(texts: pa.Array, name: str = "question") -> LogWords:
    """The words of three characters or more."""
    vocabulary = Vocabulary(convention("hyphen_words"))
    tokens = vocabulary.tokenize(text_of_arrow(texts, name))
    text = vocabulary.spelled(0)
    bounds = np.append(text.starts, text.stops[-1:]).astype(np.int64)
    bounds = bounds if len(bounds) else np.zeros(1, np.int64)
    spelled = pa.Array.from_buffers(pa.large_string(), len(text), [None, pa.py_buffer(bounds), pa.py_buffer(text.data)])
    long = np.asarray(pc.greater_equal(pc.utf8_length(spelled), SHORTEST))
    words = tokens.where(long) if len(long) else tokens
    rows = np.repeat(np.arange(len(words)), words.counts)
    return LogWords(words.ids.astype(np.int64), rows, spelled)


def word_counts(words: LogWords, answered: Flags | None) -> pa.Table:
    """A tally of words: counts in all texts and in answered ones."""
    n = len(words.spelled)
    counts = {"all": np.bincount(words.ids, minlength=n)}
    counts["answered"] = (
        counts["all"] if answered is None else np.bincount(words.ids[answered[words.rows]], minlength=n)
    )
    present = counts["all"] > 0
    columns = {name: pa.array(values[present].astype(np.int64)) for name, values in counts.items()}
    return pa.table({KEY: words.spelled.filter(pa.array(present)), **columns})


def log_odds(left: Ints, right: Ints) -> Floats:
    """z-scores of the log-odds ratio of each word between two groups; the prior is the words of both groups.

    With counts y and n = Σy of a group, counts α of both groups and α₀ = Σα: δ = ln((y₁+α)/(n₁+α₀−y₁−α)) −
    ln((y₂+α)/(n₂+α₀−y₂−α)), z = δ / √(1/(y₁+α) + 1/(y₂+α)).  A logarithm with denominator 0, for example with only
    one word, counts as 0.  Source: Monroe, Colaresi and Quinn 2008, equations 15 to 22.
    """
    prior = (left + right).astype(np.float64)
    total = prior.sum()
    delta, variance = np.zeros(len(prior)), np.zeros(len(prior))
    for sign, counts in ((1.0, left), (-1.0, right)):
        own = counts + prior
        others = counts.sum() + total - own
        ratio = np.divide(own, others, out=np.ones(len(own)), where=others > 0)
        delta += sign * np.log(ratio)
        variance += 1 / own
    return delta / np.sqrt(variance)


def most(table: pa.Table, weights: Ints | Floats, count: int) -> list[tuple[str, float]]:
    """The words of a tally with the largest weights above 0, ties in the order of the words."""
    weighted = pa.table({"weight": weights, KEY: table[KEY]})
    order = [("weight", "descending"), (KEY, "ascending")]
    columns = weighted.take(pc.select_k_unstable(weighted, count, order)).to_pydict()
    pairs = zip(columns[KEY], map(float, columns["weight"]), strict=True)
    return [(word, weight) for word, weight in pairs if weight > 0]


# ``fm.logs.domain_analysis``: words, languages, scripts, repetitions and times of users' questions (the RAG benchmark).


_SPANS = 60
"""Maximum number of blocks in the line of activity over time."""
_SHOWN = 10
Weighed = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Domain(Shown):
    """The questions of a log; figures that need a missing column are None."""

    questions: int
    missing: int
    """Rows without a question, which are ignored."""
    answered: int | None
    """Questions with an answer that is neither blank nor, as a whole, an "I don't know"."""
    answered_share: float | None
    mean_characters: float
    ratings: Mapping[str, int] | None
    """The count of each rating, in ascending order, and of ``none``."""
    words: Weighed
    words_answered: Weighed | None
    words_unanswered: Weighed | None
    telling_answered: Weighed | None
    """The words that distinguish answered from unanswered questions, by the z-score of their log-odds ratio."""
    telling_unanswered: Weighed | None
    indicators: Mapping[str, int]
    """Questions that contain each of the given words, also as a part of other words."""
    scripts: Mapping[str, int]
    distinct: int
    """Distinct questions, ignoring letter case and white space at the ends."""
    repeated: int
    """Repeated questions: questions − distinct."""
    near_repeats: int | None
    """Sampled questions with another one at a cosine of at least ``near``; None unless requested."""
    near: float | None
    languages: Mapping[str, int] | None
    """Sampled questions by language (ISO 639-1); None unless requested."""
    sampled: int | None
    """Number of distinct questions in the sample for near repeats and languages."""
    first: str | None
    last: str | None
    days: Mapping[str, int] | None
    """Questions by date; in UTC, if the timestamps have a time zone."""
    hours: Sequence[int] | None
    """Questions by hour of the day, 0 to 23."""

    def grids(self) -> list[Grid]:
        """The figures, then words and counts, the most frequent first."""
        every = plain(self)
        single = [item for item in every.items() if isinstance(item[1], int | float | str)]
        grids = [lines_of(single, "figure=0", "value=1")]
        for name, value in every.items():
            is_words = name.startswith(("words", "telling"))
            if value and name != "days" and (is_words or isinstance(value, Mapping)):
                lines = value if is_words else value.items()
                ordered = lines if is_words or name == "ratings" else sorted(lines, key=lambda item: -item[1])
                unit = "questions" if not is_words else "z" if name.startswith("telling") else "times"
                grids.append(lines_of(list(ordered)[:_SHOWN], (name, "0"), (unit, "1")))
        return grids

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        days = self.days if self.days and len(self.days) > 1 else {}
        return said(
            days and Note("from_to", first=min(days), last=max(days), line=sparkline(self._over_time())),
            self.hours is not None and any(self.hours) and Note("by_hour", line=sparkline(self.hours)),
            self.missing and Note("left_out", n=self.missing, why="a question"),
            self.answered is None and Note("answered_unknown"),
            self.sampled is not None and Note("sample_of_questions", n=self.sampled, of=self.distinct),
        )

    def _over_time(self) -> list[int]:
        """The questions of spans of equal length from the first day to the last, days without any included."""
        numbers = {date.fromisoformat(day).toordinal(): n for day, n in (self.days or {}).items()}
        first, last = min(numbers), max(numbers)
        spans = min(_SPANS, last - first + 1)
        counts = [0] * spans
        for day, n in numbers.items():
            counts[(day - first) * spans // (last - first + 1)] += n
        return counts


ALL, GROUP = 50, 30
"""Number of listed most frequent words of all questions, and of answered and unanswered questions."""


def domain_analysis(
    log: shared.Log,
    *,
    indicators: Annotated[
        Sequence[str], Help("Count questions that contain these words or parts of words: refund,card.")
    ] = (),
    languages: shared.Languages = (),
    embedder: shared.Embedder = None,
    near: shared.Near = 0.7,
    sample: shared.LanguageSample = 10_000,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: shared.Threads = None,
) -> Domain:
    """Describe the questions of a log: words, answers, ratings, scripts, repeats and activity over time.

    ``log`` has a column ``question``; ``answer``, ``rating`` and ``timestamp`` are read too.  A question is answered if
    its answer is not missing, not blank and does not abstain (see ``abstained``).  Words are matches of ``[\\w-]{3,}``
    in lower case: the 50 most frequent of all questions, the 30 of answered and of unanswered ones, and the 30 that
    best distinguish these two groups, by the log-odds ratio with an informative prior (Monroe, Colaresi and Quinn
    2008).  For each of the ``indicators`` the questions that contain it are counted.  Repeats are questions that are
    equal, ignoring case and white space at both ends.

    Two slow analyses use an even ``sample`` of the distinct questions: ``languages`` (ISO 639-1) assigns each one
    language of this list, by py3langid; ``embedder`` counts questions whose cosine to a different one is at least
    ``near``.

    The columns that it reads are held in memory.  Source: the RAG benchmark.

    >>> log = {"question": ["How do I pay?", "how do i pay? ", "Где карта"], "answer": ["Online.", None, ""]}
    >>> found = domain_analysis(log, indicators=["pay"])
    >>> found.questions, found.answered, found.distinct, dict(found.scripts), dict(found.indicators)
    (3, 1, 2, {'Latin': 2, 'Cyrillic': 1}, {'pay': 2})

    Raises ``ColumnError`` for a log without questions, and ``InputError`` with the row for an invalid timestamp and for
    timestamps with and without a time zone.
    """
    workers = cores(threads)
    words = argument("indicators", list(indicators), LimitedTexts(what="words"))
    near, size = float(argument("near", near, Real(-1.0, 1.0))), argument("sample", sample, Whole(1, 10_000_000))
    check_languages(languages)
    model = None if embedder is None else embedder_of(embedder)
    opened = open_log(
        log, ["question"], ["answer", "rating", "timestamp"], (), Columns(columns, schema, reading or PLAIN)
    )
    table = opened.table(workers)
    present = table["question"].is_valid()
    rows = table.filter(present) if table["question"].null_count else table
    indicators = list(dict.fromkeys(word.lower() for word in words))
    parts = list(ordered(partial(_counted, indicators), rows.to_batches(SIZES.log_rows), workers))
    n = len(rows)
    nothing = np.zeros(len(indicators), np.int64), np.zeros(len(scripts()), np.int64), np.zeros((0, 2), np.uint64)
    good, words, matches, by_script, keys = zip((0, _NO_WORDS, *nothing), *parts, strict=True)
    distinct = len(group_sizes(np.concatenate(keys)))
    counts: list[pa.Table] = []
    for table_of_part in words:
        counts = fewer([*counts, table_of_part])
    answers = sum(good) if "answer" in opened.has else None
    times: dict[str, Any] = dict.fromkeys(("first", "last", "days", "hours"))
    if "timestamp" in opened.has:
        every, zone = times_of(table["timestamp"].combine_chunks(), "timestamp")
        times = _activity(every[np.asarray(present)], zone)
    result = Domain(
        questions=n,
        missing=len(table) - n,
        answered=answers,
        answered_share=answers / n if answers is not None and n else None,
        mean_characters=(pc.sum(pc.utf8_length(rows["question"])).as_py() or 0) / n if n else math.nan,
        ratings=_ratings(rows["rating"].combine_chunks()) if "rating" in opened.has else None,
        **_words(summed(counts), judged=answers is not None),
        indicators=dict(zip(indicators, sum(matches).tolist(), strict=True)),
        scripts=_by_count(sum(by_script)),
        distinct=distinct,
        repeated=n - distinct,
        near_repeats=None,
        near=None,
        languages=None,
        sampled=None,
        **times,
    )
    if not languages and model is None:
        return result
    sample_rows = pa.table({KEY: np.concatenate(keys)[:, 0], "question": rows["question"]})
    questions = with_smallest_keys(sample_rows, size, "question")["question"].combine_chunks()
    if languages:
        result = replace(result, languages=languages_of(questions, languages), sampled=len(questions))
    if model is not None:
        close = int(near_pairs(Vectors.of(model.embed(questions)), near, 1, workers).paired.sum())
        result = replace(result, near_repeats=close, near=near, sampled=len(questions))
    return result


_NO_WORDS = pa.schema({KEY: pa.large_string(), "all": pa.int64(), "answered": pa.int64()}).empty_table()


def _counted(indicators: Sequence[str], rows: pa.RecordBatch) -> tuple[int, pa.Table, Ints, Ints, Uint64s]:
    """Counts of some questions: of answered ones, words, indicators and scripts, and the keys of all."""
    questions = rows.column("question")
    good = answered(rows.column("answer")) if "answer" in rows.schema.names else None
    lowered = plainly(questions)
    return (
        0 if good is None else int(good.sum()),
        word_counts(words_of(questions), good),
        np.array([pc.sum(pc.match_substring(lowered, word)).as_py() or 0 for word in indicators], np.int64),
        np.bincount(scripts_of(questions), minlength=len(scripts())),
        text_keys(lowered),
    )


def _ratings(column: pa.Array) -> dict[str, int]:
    """The count of each rating, in ascending order, and of ``none``; raises ``ColumnError`` for more than 1,000."""
    values = floats_of_arrow(column, "rating")
    grades, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(grades) > 1000:
        raise ColumnError(f"column 'rating': {len(grades):,} different values; expected the few grades users can give")
    by_grade = {f"{grade:g}": n for grade, n in zip(grades.tolist(), counts.tolist(), strict=True)}
    return {**by_grade, "none": int(np.isnan(values).sum())}


def _by_count(counts: Ints) -> dict[str, int]:
    order = [code for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
    return {scripts()[code]: int(counts[code]) for code in order}


def _words(table: pa.Table, *, judged: bool) -> dict[str, Any]:
    every, good = (np.asarray(table[name]) for name in ("all", "answered"))
    z = log_odds(good, every - good)
    sides = {"words_answered": good, "words_unanswered": every - good, "telling_answered": z, "telling_unanswered": -z}
    words = {name: most(table, weights, GROUP) if judged else None for name, weights in sides.items()}
    return {"words": most(table, every, ALL), **words}
