"""``fm.check_dataset``: what is wrong with a data set before anything is scored on it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown
from fastmetrics.core.frames import open_frame
from fastmetrics.core.name_lists import listed
from fastmetrics.errors import ColumnError, OptionError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables import open_source
from fastmetrics.tables.whole_table import whole_table
from fastmetrics.usage.log import Columns, is_paths, open_log
from fastmetrics.usage.scripts import scripts_of

EXAMPLES = 5
LEAK = 4
"""Words from which on a reference within a question is no chance."""
LONG = 20
"""Words from which on an answer ends like a sentence, if it is whole."""
ENDS = tuple(".!?…。！？؟।)]}\"'»”’`|*>:;")
_WANTED = ("id", "question", "answer", "reference", "contexts", "answerable")
Found = Iterable[tuple[Sequence[int], str]]


@dataclass(frozen=True)
class Finding:
    """One kind of fault: in how many ``rows``, and the numbers (from 0) and words of the first examples."""

    check: str
    rows: int
    examples: Sequence[tuple[Sequence[int], str]]


@dataclass(frozen=True)
class DatasetChecks(Shown):
    """What was looked for in a data set, and found; ``skipped`` are checks that need columns it has not."""

    rows: int
    findings: Sequence[Finding]
    skipped: Sequence[str]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(one.rows for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All findings."""
        found = [asdict(one) for one in self.findings]
        return {"rows": self.rows, "clean": self.clean, "findings": found, "skipped": list(self.skipped)}

    def to_json(self) -> str:
        """The findings as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def grids(self) -> list[Grid]:
        """A line a check."""
        lines = [(one.check, f"{one.rows:,}", _example(one)) for one in self.findings]
        return [Grid(("check", "rows", "for example"), lines)]

    def remarks(self) -> list[str]:
        """What the figures stand on."""
        notes = [f"{self.rows:,} rows"]
        return [*notes, f"not looked for, as columns are missing: {', '.join(self.skipped)}"] if self.skipped else notes


def check_dataset(
    table: Any,
    *,
    labels: Sequence[str] | str = (),
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    format: str | None = None,
) -> DatasetChecks:
    """Look for what makes scores of a data set misleading: doubled rows and ids, leaks, empty contexts, and more.

    ``table`` is a table or the paths of files.  Of the columns ``id``, ``question``, ``answer``, ``reference``,
    ``contexts`` and ``answerable`` those are read that it has, and those that ``labels`` names:

    - ``doubled id``; ``duplicate``: question and answer are those of an earlier row but for case and white space;
    - ``reference in question``: a reference of four words or more stands in the question, case aside;
    - ``answer is context``: the answer of four words or more is one of the contexts, word for word;
    - ``empty contexts``: no context, or none with a character that is no white space;
    - ``answer cut off``: twenty words or more that end without punctuation, in a script that ends sentences with it;
    - ``other script``: question and answer have letters, mostly of different scripts;
    - ``contradicting labels``: rows with the same question and answer differ in ``answerable`` or in one of ``labels``.

    >>> found = check_dataset({"id": [1, 1], "question": ["Who?", "who? "], "answerable": [True, False]})
    >>> [(one.check, one.rows) for one in found.findings]
    [('doubled id', 2), ('duplicate', 1), ('contradicting labels', 2)]

    Raises ``ColumnError`` for labels that the table has not, and ``OptionError`` for labels of standard input.
    """
    named = list(dict.fromkeys(listed(labels)))
    opened = open_log(table, [], _WANTED, (), Columns(columns, schema, format))
    rows = {name: column.to_pylist() for name, column in _columns(opened.table())}
    judged = {name: rows["answerable"] for name in ("answerable",) if name in rows}
    judged |= _labels(table, named, format) if named else {}
    size = len(next(iter(rows.values()))) if rows else len(next(iter(judged.values()), []))
    findings, skipped = [], []
    for name, (needed, look) in _CHECKS.items():
        if all(one in rows for one in needed):
            findings.append(_finding(name, look(rows)))
        else:
            skipped.append(f"{name} ({', '.join(needed)})")
    if judged and "question" in rows:
        findings.append(_finding("contradicting labels", _contradicting(rows, judged)))
    else:
        skipped.append("contradicting labels (question, answerable or labels)")
    return DatasetChecks(size, findings, skipped)


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    yield from zip(table.column_names, table.columns, strict=True)


def _labels(table: Any, names: Sequence[str], format: str | None) -> dict[str, list[Any]]:
    """Columns of labels, of whatever type."""
    if is_paths(table):
        if "-" in ([table] if isinstance(table, str) else list(table)):
            raise OptionError(Argument("labels", list(names)), ": a stream is read once; put the rows into a file")
        source = open_source(table, format)
        _known(names, source.schema.names)
        found = whole_table(source, dict.fromkeys(names, "any"))
    else:
        frame = open_frame(table)
        _known(names, frame.names)
        found = pa.concat_tables(frame.read(names)[1])
    return {name: found[name].to_pylist() for name in names}


def _known(names: Sequence[str], present: Sequence[str]) -> None:
    for name in names:
        if name not in present:
            raise ColumnError(Argument("labels", name), ": ", UnknownNameError.of("column", name, present).message)


def _finding(name: str, found: Found) -> Finding:
    together = list(found)
    rows = {row for some, _ in together for row in (some if name in _OF_ALL else some[-1:])}
    return Finding(name, len(rows), [(list(some[:EXAMPLES]), text[:200]) for some, text in together[:EXAMPLES]])


def _example(one: Finding) -> str:
    if not one.examples:
        return ""
    rows, text = one.examples[0]
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}: {text[:60]}"


def _plain(text: str | None) -> str:
    return " ".join((text or "").lower().split())


def _texts(cell: Any) -> list[str]:
    return [cell] if isinstance(cell, str) else [one for one in cell or () if one is not None]


def _doubled_ids(rows: Mapping[str, list[Any]]) -> Found:
    return [(some, str(one)) for one, some in _groups(rows["id"]).items() if len(some) > 1 and one is not None]


def _groups(keys: Iterable[Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        found[key].append(row)
    return found


def _asked(rows: Mapping[str, list[Any]]) -> list[Any]:
    """What tells rows apart: question and answer; a row without a question is like no other."""
    answers = rows.get("answer", [None] * len(rows["question"]))
    pairs = zip(rows["question"], answers, strict=True)
    return [
        row if question is None else (_plain(question), _plain(answer)) for row, (question, answer) in enumerate(pairs)
    ]


def _duplicates(rows: Mapping[str, list[Any]]) -> Found:
    for some in _groups(_asked(rows)).values():
        yield from (((some[0], row), rows["question"][row]) for row in some[1:])


def _leaks(rows: Mapping[str, list[Any]]) -> Found:
    for row, (question, cell) in enumerate(zip(rows["question"], rows["reference"], strict=True)):
        asked = f" {_plain(question)} "
        for reference in map(_plain, _texts(cell)):
            if len(reference.split()) >= LEAK and reference in asked:
                yield (row,), question
                break


def _copies(rows: Mapping[str, list[Any]]) -> Found:
    for row, (answer, cell) in enumerate(zip(rows["answer"], rows["contexts"], strict=True)):
        plain = _plain(answer)
        if len(plain.split()) >= LEAK and plain in map(_plain, _texts(cell)):
            yield (row,), answer


def _empty(rows: Mapping[str, list[Any]]) -> Found:
    return [((row,), "") for row, cell in enumerate(rows["contexts"]) if not any(one.strip() for one in _texts(cell))]


def _cut_off(rows: Mapping[str, list[Any]]) -> Found:
    for row, answer in enumerate(rows["answer"]):
        text = (answer or "").rstrip()
        if len(text.split()) >= LONG and not text.endswith(ENDS):
            yield (row,), f"… {text[-60:]}"


def _scripts(rows: Mapping[str, list[Any]]) -> Found:
    one, other = (scripts_of(pa.array(rows[name], pa.large_string())).tolist() for name in ("question", "answer"))
    for row, (asked, said) in enumerate(zip(one, other, strict=True)):
        if asked and said and asked != said:
            yield (row,), rows["question"][row]


def _contradicting(rows: Mapping[str, list[Any]], judged: Mapping[str, list[Any]]) -> Found:
    groups = [some for some in _groups(_asked(rows)).values() if len(some) > 1]
    for name, values in judged.items():
        for some in groups:
            said = {json.dumps(values[row], default=str): row for row in some if values[row] is not None}
            if len(said) > 1:
                yield some, f"{name} is {' and '.join(sorted(said))}: {rows['question'][some[0]]}"


_OF_ALL = ("doubled id", "contradicting labels")
_CHECKS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, list[Any]]], Found]]] = {
    "doubled id": (("id",), _doubled_ids),
    "duplicate": (("question",), _duplicates),
    "reference in question": (("question", "reference"), _leaks),
    "answer is context": (("answer", "contexts"), _copies),
    "empty contexts": (("contexts",), _empty),
    "answer cut off": (("answer",), _cut_off),
    "other script": (("question", "answer"), _scripts),
}
