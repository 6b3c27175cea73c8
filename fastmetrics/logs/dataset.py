"""``fm.logs.check_dataset``: finding faults in a data set before scoring: leaks, copies, repeated rows, languages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Ints, Uint64s, is_list, text_of_arrow
from fastmetrics.base.column_names import listed
from fastmetrics.base.columns import codes_of
from fastmetrics.base.display import Grid, Shown, columns_of, lines_of
from fastmetrics.base.limits import SIZES
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.text_structure import looks
from fastmetrics.base.threads import cores, ordered
from fastmetrics.logs.languages import check_languages, guessed, scripts_of
from fastmetrics.logs.log import Columns, blank, open_log, with_smallest_keys
from fastmetrics.metrics.batch import numbered
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.tables.readers import Reject
from fastmetrics.text.text_keys import signs_of, text_keys
from fastmetrics.vectors.embedder import Embedder, embedder_of
from fastmetrics.vectors.near_pairs import MOST, near_pairs, shown_pairs
from fastmetrics.vectors.vector_arrays import Vectors

# The result of ``fm.logs.check_dataset``: checks of a data set, and their findings.


EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One kind of fault: its number of ``rows``, and the row numbers (from 0) and texts of the first examples.

    ``looked`` is the number of examined rows, if the check used a sample; ``ids`` are those of the rows of each
    example, where rows have them.
    """

    check: str
    rows: int
    examples: Sequence[tuple[Sequence[int], str]]
    looked: int | None = None
    ids: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class DatasetChecks(Shown):
    """The findings of all checks of a data set; ``skipped`` are the checks whose columns are missing."""

    rows: int
    findings: Sequence[Finding]
    skipped: Sequence[str]
    pairs: pa.Table | None = None
    """The 1,000 nearest pairs of near duplicates, as the table of ``fm.vectors.duplicates`` has them.

    None without an embedder or questions.
    """

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return not any(finding.rows for finding in self.findings)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per check: the rows that it found, and the first of them."""
        return [columns_of(vars(finding)) | {"example": _example(finding)} for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """All findings."""
        pairs = None if self.pairs is None else self.pairs.to_pylist()
        return {**super().to_dict(), "clean": self.clean, "pairs": pairs}

    def grids(self) -> list[Grid]:
        """One line per check, and the nearest of the near duplicates."""
        by = "ids" if any(finding.ids for finding in self.findings) else "rows from 0"
        grids = [lines_of(self.findings, "check", "rows", (f"for example ({by})", _example))]
        return [*grids, shown_pairs(self.pairs)] if self.pairs else grids

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        return said(
            Note("rows", n=self.rows),
            [Note("of_sample", what=one.check, n=one.looked) for one in self.findings if one.looked is not None],
            self.skipped and Note("skipped", checks=list(self.skipped)),
        )


def _example(finding: Finding) -> str:
    if not finding.examples:
        return ""
    rows, text = finding.examples[0]
    if finding.ids:
        return f"{', '.join(map(str, finding.ids[0]))}: {text[:_SHOWN]}"
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}: {text[:_SHOWN]}"


# Faults of single rows of a data set: leaks, copies, empty contexts, truncated answers, other scripts.


LEAK = 4
"""Minimum words of a reference whose occurrence in the question counts as a leak."""
LONG = 20
"""Minimum words of an answer that is expected to end with punctuation."""
_ENDS = ".!?…。！？؟।"
_OPEN = r"[\p{L}\p{M}\p{N},(\[{–—-]$"
"""The end of an answer within a sentence: a letter, a digit, a comma, a dash or an opening bracket."""
_SENTENCE = rf"[{_ENDS}]['\"»”’)\]*_]*\s"
_FREE = rf"([^\s{_ENDS}:;][ \t]*\n\s*(\S+[ \t]+){{0,{LONG - 2}}}\S+|://\S*|[#@][\p{{L}}\p{{N}}_]+)$"
"""An end that needs no punctuation: a short line below another line without, as in lists and poems, a URL or a tag."""
_SHOWN = 60
"""Characters of an example in print."""


def plain(texts: pa.Array) -> pa.Array:
    """Texts in lower case with single spaces between their words, "" for null: ``" ".join(text.lower().split())``.

    >>> plain(pa.array([" How  LONG", None, "ΣΑΣ "])).to_pylist()
    ['how long', '', 'σας']
    """
    texts = texts.cast(pa.large_string()).fill_null("")
    simple = pc.and_not(pc.string_is_ascii(texts), pc.match_substring_regex(texts, "[\x0b\x1c-\x1f]"))
    # not ascii_lower, which reads wrong bytes of a slice (bug in PyArrow 26)
    words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(pc.utf8_lower(texts)))
    joined = pc.binary_join(words, pa.scalar(" ", pa.large_string()))
    others = texts.filter(pc.invert(simple))
    if not len(others):
        return joined
    replaced = [" ".join(text.lower().split()) for text in others.to_pylist()]
    return pc.replace_with_mask(joined, pc.invert(simple), pa.array(replaced, pa.large_string()))


def flat(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The texts of a column of texts or of lists of them, without nulls, and the row of each."""
    if is_list(column.type):
        sizes = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
        texts, owner = column.flatten(), np.repeat(np.arange(len(column)), sizes)
    else:
        texts, owner = column, np.arange(len(column))
    texts = texts.cast(pa.large_string())
    valid = np.asarray(texts.is_valid())
    return texts.drop_null(), owner[valid]


def _words(texts: pa.Array) -> Ints:
    """Number of words of plain texts; "" has one."""
    return np.asarray(pc.count_substring(texts, " ")).astype(np.int64) + 1


def leaks(rows: pa.RecordBatch) -> Ints:
    """The rows with a reference of several words that occurs in the question, ignoring case."""
    questions = plain(rows.column("question"))
    texts, owner = flat(rows.column("reference"))
    texts = plain(texts)
    room = np.asarray(pc.binary_length(questions))[owner]
    some = np.flatnonzero((_words(texts) >= LEAK) & (np.asarray(pc.binary_length(texts)) <= room))
    pairs = zip(texts.take(pa.array(some)).to_pylist(), questions.take(pa.array(owner[some])).to_pylist(), strict=True)
    return np.unique(owner[some][np.array([reference in question for reference, question in pairs], np.bool_)])


def copies(rows: pa.RecordBatch) -> Ints:
    """The rows whose answer of several words equals one of the contexts."""
    answers = plain(rows.column("answer"))
    long = np.flatnonzero(_words(answers) >= LEAK)
    texts, owner = flat(rows.column("contexts").take(pa.array(long)))
    same = pc.equal(plain(texts), answers.take(pa.array(long[owner])))
    return np.unique(long[owner[np.asarray(same)]])


def empty(rows: pa.RecordBatch) -> Ints:
    """The rows whose contexts contain only white space, or no context."""
    texts, owner = flat(rows.column("contexts"))
    filled = np.zeros(rows.num_rows, np.bool_)
    filled[owner[~blank(texts)]] = True
    return np.flatnonzero(~filled)


def cut_off(rows: pa.RecordBatch) -> Ints:
    """The rows with a long answer that ends within a sentence, although it ends other sentences with punctuation."""
    answers = pc.utf8_trim_whitespace(rows.column("answer").cast(pa.large_string()).fill_null(""))
    found = np.flatnonzero(pc.match_substring_regex(answers, _OPEN))
    counts = pc.list_value_length(pc.utf8_split_whitespace(answers.take(pa.array(found))))
    found = found[np.asarray(counts) >= LONG]
    long = answers.take(pa.array(found))
    ends_sentences = pc.match_substring_regex(long, _SENTENCE)
    return found[np.asarray(pc.and_not(ends_sentences, pc.match_substring_regex(long, _FREE)))]


def no_answer(rows: pa.RecordBatch) -> Ints:
    """The rows whose answer is missing or contains only white space."""
    return np.flatnonzero(blank(rows.column("answer")))


def other_script(rows: pa.RecordBatch) -> Ints:
    """The rows whose question and answer are mostly in different scripts."""
    question, answer = (scripts_of(rows.column(name).cast(pa.large_string())) for name in ("question", "answer"))
    return np.flatnonzero((question > 0) & (answer > 0) & (question != answer))


def listed_in(column: str, rows: pa.RecordBatch) -> Ints:
    """The rows in which one text of a column is a list of texts, which scores read as one text."""
    texts = rows.column(column)
    return np.flatnonzero(looks(texts, text_of_arrow(texts, column, True, signs_of), "texts").get("lists", ()))


CHECKS: Mapping[str, tuple[tuple[str, ...], str, Callable[[pa.RecordBatch], Ints]]] = {
    "reference in question": (("question", "reference"), "question", leaks),
    "answer is context": (("answer", "contexts"), "answer", copies),
    "empty contexts": (("contexts",), "question", empty),
    "no answer": (("answer",), "question", no_answer),
    "answer cut off": (("answer",), "answer", cut_off),
    "reference is a list": (("reference",), "reference", partial(listed_in, "reference")),
    "contexts are a list": (("contexts",), "contexts", partial(listed_in, "contexts")),
    "other script": (("question", "answer"), "question", other_script),
}
"""Each check: the columns it needs, the column shown in examples (the id in a table without it), and the function that
finds the rows.
"""


def shown(check: str, text: Any) -> str:
    """The text of an example: for a truncated answer, its end."""
    text = "" if text is None else str(text)
    return f"… {text.rstrip()[2 - _SHOWN :]}" if check == "answer cut off" else text


# Repeated rows of a data set.


_MIX = np.uint64(0x9E3779B97F4A7C15)


def asked_keys(rows: pa.RecordBatch) -> Uint64s:
    """Two keys per row for question and answer, ignoring case and white space; a missing answer equals an empty one."""
    questions = text_keys(plain(rows.column("question")))
    if "answer" not in rows.schema.names:
        return questions
    answers = text_keys(plain(rows.column("answer")))
    return questions * _MIX + (answers ^ (answers >> np.uint64(29)))


def label_codes(column: pa.ChunkedArray, name: str) -> Ints:
    """A number for each distinct label of any type, from 1; 0 for null."""
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        texts = [None if value is None else written(value) for value in column.to_pylist()]
        column = pa.chunked_array([pa.array(texts, pa.large_string())])
    return codes_of(column, name) + 1


def written(label: Any) -> str:
    """A label as text for messages."""
    return json.dumps(label, default=str, ensure_ascii=False)


def repeated(codes: Ints) -> list[Ints]:
    """The rows whose code (−1 for none) occurs at least twice, by group, in row order within a group."""
    rows = np.flatnonzero(codes >= 0)
    rows = rows[(np.bincount(codes[rows]) > 1)[codes[rows]]] if len(rows) else rows
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(codes[rows])) + 1) if len(rows) else []


def differing(groups: Sequence[Ints], codes: Ints, labels: Ints) -> list[Ints]:
    """The groups of equal codes that have different labels, missing ones aside."""
    known = (codes >= 0) & (labels > 0)
    pairs = np.unique(np.stack([codes[known], labels[known]]), axis=1)[0]
    several = np.bincount(pairs, minlength=int(codes.max(initial=0)) + 1) > 1
    return [rows for rows in groups if several[codes[rows[0]]]]


# Slow checks of a data set, on a uniform sample of its rows: languages, near duplicates.


LANGUAGE, NEAR = "other language", "near duplicate"
_LONG = 20
"""Minimum characters of a text for language identification."""


def in_other_languages(rows: pa.Table, keys: Uint64s, size: int, languages: tuple[str, ...]) -> Finding:
    """The rows of a sample whose question and answer are in different languages."""
    texts = {name: rows[name].cast(pa.large_string()) for name in ("question", "answer")}
    long = [pc.fill_null(pc.greater_equal(pc.utf8_length(text), _LONG), False) for text in texts.values()]
    table = _sample(keys, pc.and_(*long), size, texts)
    questions, numbers = table["question"].to_pylist(), table["row"].to_pylist()
    pairs = list(zip(*(guessed(table[name].to_pylist(), languages) for name in texts), strict=True))
    found = [at for at, (question, answer) in enumerate(pairs) if question != answer]
    examples = [((numbers[at],), f"{', '.join(pairs[at])}: {questions[at]}"[:200]) for at in found[:EXAMPLES]]
    return Finding(LANGUAGE, len(found), examples, len(pairs))


def near_duplicates(
    rows: pa.Table, size: int, embedder: Embedder, near: float, threads: int
) -> tuple[Finding, pa.Table]:
    """The rows of a sample with another one whose question is near, and the nearest pairs."""
    questions = rows["question"].cast(pa.large_string())
    keys = text_keys(plain(questions.combine_chunks()))[:, 0]
    table = _sample(keys, questions.is_valid(), size, {"question": questions})
    texts, numbers = table["question"].combine_chunks(), np.asarray(table["row"])
    found = near_pairs(Vectors.of(embedder.embed(texts)), near, MOST, threads)
    ids = rows["id"].take(table["row"]).combine_chunks() if "id" in rows.column_names else None
    pairs = found.table(ids, texts, numbers)
    told = pairs.slice(0, EXAMPLES).select(["row", "other", "text"]).to_pylist()
    examples = [((one["row"], one["other"]), one["text"][:200]) for one in told]
    return Finding(NEAR, int(found.paired.sum()), examples, len(texts)), pairs


def _sample(keys: Uint64s, mask: pa.ChunkedArray, size: int, texts: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Of all rows with texts to look at, those with the smallest keys."""
    table = pa.table({"key": keys, "row": np.arange(len(keys)), **texts}).filter(mask)
    return with_smallest_keys(table, size, "row").sort_by("row").combine_chunks()


# ``fm.logs.check_dataset``: finding faults in a data set before scoring.


_OPTIONAL = ("id", "question", "answer", "reference", "contexts", "answerable")
_DOUBLED, _CONTRADICTING = "doubled id", "contradicting labels"


def check_dataset(
    table: Annotated[Any, Help("A table of rows, or files.")],
    *,
    labels: Annotated[Sequence[str] | str, Help("Label columns in which equal rows must agree: verdict,...")] = (),
    languages: shared.Languages = (),
    embedder: shared.Embedder = None,
    near: shared.Near = 0.9,
    sample: shared.LanguageSample = 10_000,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: shared.Threads = None,
) -> DatasetChecks:
    """Check a data set for faults that make its scores misleading: duplicates, leaks, empty contexts, and more.

    The checks read the columns ``id``, ``question``, ``answer``, ``reference``, ``contexts`` and ``answerable``, as far
    as they exist, and those that ``labels`` names:

    - ``doubled id``: an id occurs in several rows; ``duplicate``: question and answer equal those of an earlier row;
    - ``reference in question``: the question contains a reference of at least four words;
    - ``answer is context``: an answer of at least four words equals a context; ``empty contexts``: none has a letter;
      ``no answer``: null or empty; ``unreadable row``: a cell has a wrong type (other checks do not count such rows);
    - ``answer cut off``: an answer of at least twenty words ends within a sentence (a letter, digit, comma or dash),
      though punctuation ends another of its sentences; not in a list or poem (a short last line below one without);
    - ``reference is a list``, ``contexts are a list``: one text is a list of texts in JSON;
    - ``other script``: most letters of question and answer belong to different scripts;
    - ``contradicting labels``: rows with equal question and answer differ in ``answerable`` or in one of ``labels``.

    Two slow checks use an even ``sample`` of the rows: ``languages`` enables ``other language`` (by py3langid),
    ``embedder`` enables ``near duplicate``: the cosine of two questions is at least ``near``; ``pairs`` has them, of
    equal questions the first.  Case is ignored.  Without a column of ids, a named index of pandas is the ``id``.  The
    columns that it reads are held in memory.

    >>> found = check_dataset({"id": [1, 1], "question": ["Who?", "who? "], "answerable": [True, False]})
    >>> [(one.check, one.rows) for one in found.findings]
    [('doubled id', 2), ('duplicate', 1), ('contradicting labels', 2)]

    Raises ``ColumnError`` for unknown label columns and ``OptionError`` for unknown languages.
    """
    workers = cores(threads)
    near, size = float(argument("near", near, Real(-1.0, 1.0))), argument("sample", sample, Whole(1, 10_000_000))
    check_languages(languages)
    label_columns = list(dict.fromkeys(listed(labels)))
    model = None if embedder is None else embedder_of(embedder)
    how = Columns(columns, schema, reading or PLAIN)
    rejects: list[Reject] = []
    log = open_log(table, [], _OPTIONAL, (), how, label_columns, what="table", rejects=rejects)
    judged = {
        name: next((canonical for canonical, column in log.names.items() if column == name), name)
        for name in label_columns
    }
    judged = {**({"answerable": "answerable"} if "answerable" in log.has else {}), **judged}
    rows = log.table(workers)
    has = set(rows.column_names)
    able = [name for name, (needed, *_) in CHECKS.items() if has.issuperset(needed)]

    def look(batch: pa.RecordBatch) -> tuple[list[Ints], Uint64s]:
        keys = asked_keys(batch) if "question" in has else np.zeros((batch.num_rows, 2), np.uint64)
        return [CHECKS[name][2](batch) for name in able], keys

    def text(column: str, row: Any) -> str:
        return str(rows[column][int(row)])[:200]

    def lacks(name: str, *columns: str) -> bool:
        if not has.issuperset(columns):
            skipped.append(f"{name} ({', '.join(columns)})")
        return not has.issuperset(columns)

    batches = rows.to_batches(SIZES.log_rows)
    parts = list(ordered(look, batches, workers))
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])[:-1]
    asked = np.concatenate([np.zeros((0, 2), np.uint64), *(keys for _, keys in parts)])
    findings: list[Finding] = []
    skipped: list[str] = []
    examples: list[tuple[Sequence[int], str]]
    pairs = None
    if not lacks(_DOUBLED, "id"):
        ids = repeated(codes_of(rows["id"], "id"))
        examples = [(_first(some), text("id", some[0])) for some in ids[:EXAMPLES]]
        findings.append(Finding(_DOUBLED, sum(map(len, ids)), examples))
    if not lacks("duplicate", "question"):
        codes = np.where(np.asarray(rows["question"].is_valid()), numbered(asked), -1)
        equal = repeated(codes)
        again = [(int(some[0]), int(row)) for some in equal[:EXAMPLES] for row in some[1 : EXAMPLES + 1]][:EXAMPLES]
        examples = [(pair, text("question", pair[1])) for pair in again]
        findings.append(Finding("duplicate", sum(map(len, equal)) - len(equal), examples))
    for name, (needed, column, _) in CHECKS.items():
        if lacks(name, *needed):
            continue
        found = [places[able.index(name)] + start for (places, _), start in zip(parts, starts, strict=True)]
        places = np.concatenate([np.zeros(0, np.int64), *found])
        of = next((one for one in (column, "id") if one in has), None)
        told = [(row, shown(name, rows[of][row].as_py() if of else "")) for row in places[:EXAMPLES].tolist()]
        findings.append(Finding(name, len(places), [((row,), said_of[:200]) for row, said_of in told]))
    if judged and "question" in has:
        examples, every = [], [np.zeros(0, np.int64)]
        for name, column in judged.items():
            unlike = differing(equal, codes, label_codes(rows[column], column))
            every += unlike
            for some in unlike[:EXAMPLES]:
                values = rows[column].take(pa.array(some[:_MOST])).to_pylist()
                labels_of = sorted({written(value) for value in values if value is not None})
                words = f"{name} is {' and '.join(labels_of)}: {rows['question'][int(some[0])]}"
                examples.append((_first(some), words[:200]))
        findings.append(Finding(_CONTRADICTING, len(np.unique(np.concatenate(every))), examples[:EXAMPLES]))
    else:
        skipped.append(f"{_CONTRADICTING} (question, answerable or labels)")
    if languages and not lacks(LANGUAGE, "question", "answer"):
        findings.append(in_other_languages(rows, asked[:, 0], size, tuple(languages)))
    if model is not None and not lacks(NEAR, "question"):
        finding, pairs = near_duplicates(rows, size, model, near, workers)
        findings.append(finding)
    if "id" in has:
        findings = [
            one
            if one.check == _DOUBLED
            else replace(one, ids=[[rows["id"][row].as_py() for row in some] for some, _ in one.examples])
            for one in findings
        ]
    if rejects:
        unread = [((bad.position.row,), str(bad).removeprefix(f"{bad.path}, ")[:200]) for bad in rejects[:EXAMPLES]]
        findings.insert(0, Finding("unreadable row", len(rejects), unread))
    return DatasetChecks(len(rows) + len(rejects), findings, skipped, pairs)


_MOST = 1_000
"""Maximum rows of a group that are examined for different labels."""


def _first(rows: Ints) -> list[int]:
    return list(map(int, rows[:EXAMPLES]))
