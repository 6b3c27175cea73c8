"""Notes for the reader of scores: what a metric or a column of the input cannot do justice to, counted in batches.

Every way of scoring counts the same in each batch: the rows that a metric's cautions concern, and the texts of a column
that look like something else than text.  The counts are added up, stored with the scores, and made into sentences here
alone: for the summary of a run, for ``summarize``, and for the warning of a function that returns no summary.

**Cautions about unsuitable rows.** A metric may declare a caution: which rows it concerns, the share of scored rows
that triggers a note, and what to do. Splitting at spaces makes one word of a Chinese, Japanese or Thai sentence, and
ROUGE's own tokeniser drops all words that are not Latin; the phrases of abstention, the verbs of claims and the stop
words are English and Russian, the politeness markers and the default embedder of citations English. Summaries note this
from 5 % of the rows on. A row counts if most letters in the first 32 bytes of an answer, reference or question are in
such a script: scripts cost nothing to tell apart, languages of one script do. Answers without any citation are noted
from half of the rows on, without abstentions. A summary has one note for each cause; a score file stores the counts.
Ray Datasets and Spark DataFrames of scores cannot store these notes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import SHORT, SHORT_BYTES, decoded, is_list, is_text, known_true
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.base.score_metadata import BatchSums, InputDrift, UnreadRows, drift_notes
from fastmetrics.base.text_structure import STRUCTURES, is_value, looks
from fastmetrics.kernels.folding import FOREIGN, UNLISTED
from fastmetrics.metrics.batch import MANY, Batch, written
from fastmetrics.metrics.fitted_metric import FittedMetric
from fastmetrics.metrics.metric import caution_name
from fastmetrics.metrics.score_names import Score, parse
from fastmetrics.plans.plan import Plan
from fastmetrics.text.normalization import may_change, steps_between
from fastmetrics.text.thoughts import hold_thoughts

# Notes on scores: one per cause and advice, with the scores and the rows that a caution concerns.


def caution_notes(counts: Mapping[str, Sequence[int]], scores: Mapping[str, Score]) -> list[str]:
    """One note per cause and advice; for several scores with different counts, it states the highest share.

    Scores of rows come before those of tables, as in the columns of an output, so that its readers make the same notes.
    """
    if not any(rows for rows, *_ in counts.values()):
        return []
    groups: dict[tuple[str, str], list[tuple[float, int, int, str]]] = {}
    for name, score in sorted(scores.items(), key=lambda item: item[1].metric.corpus is not None):
        for place, caution in enumerate(score.metric.cautions(score.options)):
            rows, scored = counts.get(caution_name(name, place), (0, 0))
            if caution.applies(rows, scored):
                key = caution.cause, caution.advice.format(**score.options)
                groups.setdefault(key, []).append((rows / scored, rows, scored, name))
    return [_note(cause, advice, entries) for (cause, advice), entries in groups.items()]


def unread_notes(unread: UnreadRows, n_rows: int) -> list[str]:
    """One note per reason why rows could not be read, with the scores and the first row.

    >>> unread_notes({"number_match": {"hold an unknown unit; write it out": [2, 5, 0]}}, 200)
    ['number_match: 2 of 200 rows (first: row 5) hold an unknown unit, and are undefined; write it out']
    """
    groups: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for name, reasons in unread.items():
        for reason, (rows, first, scored) in reasons.items():
            groups.setdefault((reason, scored), []).append((rows, -first, name))
    notes = []
    for (reason, scored), entries in groups.items():
        rows, first, _ = max(entries)
        upto = "up to " if len({entry[:2] for entry in entries}) > 1 else ""
        why, divided, advice = reason.partition("; ")
        so = (", and are undefined", ", and count as wrong", "")[scored]
        names = ", ".join(name for *_, name in entries)
        notes.append(f"{names}: {upto}{rows:,} of {n_rows:,} rows (first: row {-first:,}) {why}{so}{divided}{advice}")
    return notes


def _note(cause: str, advice: str, entries: Sequence[tuple[float, int, int, str]]) -> str:
    share, rows, scored, _ = max(entries, key=lambda entry: entry[:3])
    upto = "up to " if len({entry[:3] for entry in entries}) > 1 else ""
    names = ", ".join(name for *_, name in entries)
    return f"{names}: {upto}{rows:,} of {scored:,} scored rows ({_percent(share)}) {cause}; {advice}"


def _percent(share: float) -> str:
    """A share in whole per cent; 0 and 100 are used only if exact."""
    return "< 1 %" if share < 0.01 else "> 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


# Notes on columns: texts that hold lists, and texts in another script than a judge's rubric.


BLANKS = "blank cells of "
"""The beginning of the name under which the missing values of a column of text are counted that are blank cells."""

READ = {
    "numbers": ("number or flag was", "numbers or flags were"),
    "one-item lists": ("list of one was", "lists of one were"),
}
"""What is read as text, by the name under which the rows are counted."""

_IN = re.compile(rf"({'|'.join([*STRUCTURES, *READ])}) in ")
"""The beginning of the name under which the texts of a column are counted that look like something else."""

REASON = "no answer for "
"""The beginning of the name under which missing answers are counted by the reason that their log gives."""
_REASONS, _VARYING = 5, re.compile(r"\b[0-9a-fA-F-]*\d[0-9a-fA-F-]*\b")
"""The number of reasons that are counted, and what differs between reasons of one kind: numbers and ids."""

THOUGHTS, STRIPPED, CUT = "thoughts in ", "thoughts left out of ", "only thoughts in "
NOTHING = "nothing extracted from "
"""The beginnings of the names under which answers with thoughts are counted: scored with them, without, or nothing."""

SPELLING = "spelled by "
"""The beginning of the names under which answers are counted that hold a reference but for its spelling."""

SCRIPT = "script for "
"""The beginning of the name under which rows are counted that are in another script than a rubric's language."""

_RUBRICS = {
    "en": (FOREIGN, "English", "not in Latin letters", "--language ru has the built-in rubrics in Russian"),
    "ru": (UNLISTED, "Russian", "neither in Cyrillic nor in Latin letters", "--language en has them in English"),
}
"""For the languages of rubrics: the rows in another script, the name of the language, what they are, and advice."""


TEXTS = "texts"
"""In place of what is read as text: texts, which may look like something else."""


def read_as(kind: str, type_: pa.DataType) -> str:
    """What of a column is read as text, by its kind and the type that it has in the user's table: one of ``READ``.

    >>> read_as("text", pa.list_(pa.string())), read_as("text", pa.string()), read_as("number", pa.string())
    ('one-item lists', 'texts', '')
    """
    if kind not in ("text", "texts"):
        return ""
    if is_value(type_) or (is_list(type_) and is_value(type_.value_type)):
        return "numbers"
    if is_list(type_):
        return "one-item lists" if kind == "text" else ""
    return TEXTS if is_text(type_) else ""


def column_counts(
    rows: Batch, used: Mapping[str, str], read: Mapping[str, str], *, has_blanks: bool
) -> dict[str, list[int]]:
    """The counts of rows of which the notes on columns tell, each with that of all.

    They are of what looks like structure in a text, of what was no text in the user's table and is ``read`` so
    (``read_as``), and of blank cells.
    """
    counts = {}
    for column, name in used.items():
        array, what = rows.columns[column], read.get(column)
        if has_blanks and is_text(array.type):
            counts[f"{BLANKS}{name}"] = [array.null_count, len(array)]
        if what == TEXTS:
            for structure, found in looks(array, rows.text(column), COLUMNS[column].kind).items():
                filled = len(array) - array.null_count
                counts[f"{structure} in {column}={name}"] = [int(np.count_nonzero(found)), filled]
        elif what:
            counts[f"{what} in {name}"] = [len(array) - array.null_count] * 2
    return counts


def reason_counts(answers: pa.Array, reasons: pa.Array) -> dict[str, list[int]]:
    """The counts of missing answers by their reasons, the most frequent ones."""
    reasons = decoded(reasons)
    if not is_text(reasons.type):
        return {}
    missing = reasons.filter(pc.and_(answers.is_null(), reasons.is_valid())).to_pylist()
    lines = Counter(_VARYING.sub("…", reason.strip().partition("\n")[0][:80]) for reason in missing if reason.strip())
    return {f"{REASON}{line}": [rows, len(answers)] for line, rows in lines.most_common(_REASONS)}


def thought_counts(before: pa.Array, rows: Batch, name: str, *, stripped: bool) -> dict[str, list[int]]:
    """The counts of answers that hold the thoughts of a model, as they were given ``before`` and as they are scored."""
    before, answers = decoded(before), rows.columns["answer"]
    if not (is_text(before.type) and is_text(answers.type)):
        return {}
    if not stripped:
        held = len(hold_thoughts(before, rows.text("answer")))
        return {f"{THOUGHTS}{name}": [held, len(before)]} if held else {}
    changed = known_true(pc.not_equal(before, answers))
    without, empty = (pc.sum(found).as_py() or 0 for found in (changed, pc.and_(changed, pc.equal(answers, ""))))
    return {f"{STRIPPED}{name}": [without, len(before)], f"{CUT}{name}": [empty, without]} if without else {}


def extraction_counts(answers: pa.Array, name: str, extract: Sequence[str] | str) -> dict[str, list[int]]:
    """The count of texts in which no answer was found by these extractors, and of those that were searched."""
    if not is_text(answers.type):
        return {}
    empty = pc.sum(pc.equal(answers, pa.scalar("", answers.type))).as_py() or 0
    how = extract if isinstance(extract, str) else ", ".join(extract)
    return {f"{NOTHING}{name} by {how}": [empty, len(answers) - answers.null_count]}


def spelling_counts(rows: Batch) -> dict[str, list[int]]:
    """The counts of short answers that hold a reference only if both are normalised, by the steps that this takes."""
    answers, references, owner = rows.text("answer"), rows.text("reference"), rows.owners("reference")
    of_answers, of_references = answers.with_sign(SHORT), references.with_sign(SHORT)
    if not (len(of_answers) or len(of_references)):  # ASCII has one spelling
        return {}
    owner = np.arange(rows.n_rows) if owner is None else owner
    high, also = np.zeros(rows.n_rows, np.bool_), np.zeros(len(references), np.bool_)
    high[of_answers], also[of_references] = True, True
    few = np.flatnonzero(high[owner] | also)
    short = references.stops[few] - references.starts[few] <= SHORT_BYTES
    short &= answers.stops[owner[few]] - answers.starts[owner[few]] <= SHORT_BYTES
    few = few[short & rows.present("answer")[owner[few]]]
    if not len(few):
        return {}
    chosen = few[may_change(references.take(few)) | may_change(answers.take(owner[few]))]
    pairs = zip(answers.take(owner[chosen]).strings(), references.take(chosen).strings(), strict=True)
    found: dict[int, tuple[str, ...]] = {}
    known: dict[tuple[str, str], tuple[str, ...] | None] = {}
    for row, pair in zip(owner[chosen].tolist(), pairs, strict=True):
        if pair not in known:
            known[pair] = steps_between(*pair)
        steps = known[pair]
        if steps is not None:  # of several references, one that is held as it is written is enough
            found[row] = () if not steps or found.get(row) == () else steps
    rows_of = Counter(",".join(steps) for steps in found.values() if steps)
    return {f"{SPELLING}{steps}": [count, rows.n_rows] for steps, count in rows_of.items()}


def _spelling_note(counts: Mapping[str, Sequence[int]]) -> list[str]:
    found = {key.removeprefix(SPELLING): pair for key, pair in counts.items() if key.startswith(SPELLING)}
    if not found:
        return []
    by_step: Counter[str] = Counter()
    for steps, (rows, _) in found.items():
        by_step.update(dict.fromkeys(steps.split(","), rows))
    names = [step for step, _ in by_step.most_common()]
    rows = sum(rows for rows, _ in found.values())
    value = repr(names[0] if len(names) == 1 else names)
    return [
        f"{rows:,} {'answer holds' if rows == 1 else 'answers hold'} a reference but for its spelling: "
        f"normalize={value} (--normalize {','.join(names)}) makes both alike (texts of at most {SHORT_BYTES} bytes "
        "were compared)"
    ]


def script_counts(batch: Batch, language: str, columns: Iterable[str]) -> dict[str, list[int]]:
    """The count of rows with a text in another script than a rubric's language; none if unknown."""
    if language not in _RUBRICS:
        return {}
    rows = written(_RUBRICS[language][0])(batch, {}, columns)
    return {} if rows is None else {f"{SCRIPT}{language}": [int(np.count_nonzero(rows)), len(rows)]}


def column_notes(counts: Mapping[str, Sequence[int]]) -> list[str]:
    """The notes on columns.

    >>> column_notes({"lists in reference=gold": [300, 300]})[0].partition(";")[0]
    'gold: 300 texts are lists, as JSON, Python or NumPy writes them, and each was read as one text'
    >>> column_notes({"numbers in answer": [7, 7]})
    ['answer: 7 numbers or flags were read as text']
    >>> column_notes({"blank cells of gold": [3, 5]})
    ["blank cells are missing: 3 of 5 in gold; blank='empty' (--blank empty) reads them as empty texts"]
    >>> column_notes({"no answer for rate limit": [3, 5], "no answer for timeout": [1, 5]})
    ["answers are missing because their calls failed: 'rate limit' (3), 'timeout' (1)"]
    >>> column_notes({"thoughts left out of answer": [3, 5], "only thoughts in answer": [1, 3]})
    ['answer: thoughts were left out of 3 answers; 1 of them end within a thought, without an answer']
    >>> column_notes({"script for en": [3, 4]})[0].partition(";")[0]
    'rubrics in English: 3 of 4 rows (75 %) have texts mostly not in Latin letters'
    """
    counts = {key: pair for key, pair in counts.items() if pair[0]}
    blank = [
        f"{rows:,} of {total:,} in {key.removeprefix(BLANKS)}"
        for key, (rows, total) in counts.items()
        if key.startswith(BLANKS) and rows
    ]
    advice = "blank='empty' (--blank empty) reads them as empty texts"
    notes = [f"blank cells are missing: {', '.join(blank)}; {advice}"] * bool(blank)
    reasons = Counter({key.removeprefix(REASON): rows for key, (rows, _) in counts.items() if key.startswith(REASON)})
    if reasons:
        shown = ", ".join(f"{reason!r} ({rows:,})" for reason, rows in reasons.most_common(_REASONS))
        more = f" and {len(reasons) - _REASONS} more kinds" if len(reasons) > _REASONS else ""
        notes.append(f"answers are missing because their calls failed: {shown}{more}")
    for key, (rows, total) in counts.items():
        if (what := _IN.match(key)) is not None:
            name = key[what.end() :]
            if what[1] in READ:
                notes += [f"{name}: {rows:,} {READ[what[1]][rows != 1]} read as text"] if rows else []
            elif rows and rows >= STRUCTURES[what[1]].least * total:
                column, _, name = name.partition("=")
                notes.append(STRUCTURES[what[1]].note(column, name, rows))
        elif key.startswith(THOUGHTS):
            are = "answer holds" if rows == 1 else "answers hold"
            notes.append(
                f"{key.removeprefix(THOUGHTS)}: {rows:,} {are} the thoughts of a model, which were scored with the "
                "answer; strip_thoughts=True (--strip-thoughts) leaves them out"
            )
        elif key.startswith(STRIPPED):
            name = key.removeprefix(STRIPPED)
            empty, _ = counts.get(f"{CUT}{name}", (0, 0))
            more = f"; {empty:,} of them end within a thought, without an answer" if empty else ""
            notes.append(f"{name}: thoughts were left out of {rows:,} {'answer' if rows == 1 else 'answers'}{more}")
        elif key.startswith(NOTHING) and rows:
            texts = "has none and counts as wrong" if rows == 1 else "have none and count as wrong"
            name, _, how = key.removeprefix(NOTHING).partition(" by ")
            found = f"{total - rows:,} of {total:,} texts have an answer by {how}"
            notes.append(f"{name}: {found}; {rows:,} {texts}")
        elif key.startswith(SCRIPT) and rows and rows >= MANY * total:
            _, language, letters, advice = _RUBRICS[key.removeprefix(SCRIPT)]
            share = f"{rows:,} of {total:,} rows ({_percent(rows / total)})"
            notes.append(
                f"rubrics in {language}: {share} have texts mostly {letters}; {advice}, and your own rubric may be in "
                "any language; validate says how far people agree with the judge"
            )
    return [*notes, *_spelling_note(counts)]


# All notes: of a run, and of stored scores.


def input_drifts(planned: Plan, counts: Mapping[str, Sequence[int]]) -> dict[str, InputDrift]:
    """The distributions of the metrics that fitted scores read, beside those of the labelled rows."""
    fitted = {score.name: score.metric for score in planned.scores if isinstance(score.metric, FittedMetric)}
    return {name: fitted[name].drift(rows) for name, rows in counts.items()}


def notes_of(planned: Plan, sums: BatchSums) -> list[str]:
    """The notes on the scores of a plan: what it left out, what its rows look like, and how far they have drifted."""
    if not (planned.left_out or sums.unread or sums.drift or any(rows for rows, _ in sums.cautions.values())):
        return []
    scores = {score.name: score for score in planned.scores}
    of_rows = unread_notes(sums.unread, sums.of_rows)
    notes = [*planned.notes, *of_rows, *caution_notes(sums.cautions, scores), *column_notes(sums.cautions)]
    return [*notes, *drift_notes(input_drifts(planned, sums.drift))]


def stored_notes(counts: Mapping[str, Sequence[int]], common: Mapping[str, Any], specs: Mapping[str, str]) -> list[str]:
    """The notes on stored scores, whose metrics are found by their specs, or by their names.

    ``common`` are the options of all metrics that have them, unless a metric's name sets its own.
    """
    scores, unknown = {}, []
    for name, (rows, scored) in counts.items():
        if (
            not rows
            or name.startswith((BLANKS, REASON, SCRIPT, THOUGHTS, STRIPPED, CUT, NOTHING, SPELLING))
            or _IN.match(name)
        ):
            continue
        name = name.partition(" #")[0]
        try:
            scores[name] = parse(specs.get(name, name), common)
        except UnknownNameError:
            unknown.append(
                f"{name}: its plugin has a caution for {rows:,} of {scored:,} scored rows; load it to read why"
            )
    return [*caution_notes(counts, scores), *column_notes(counts), *unknown]
