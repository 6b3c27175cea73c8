"""Cautions: notes about rows that a metric cannot score well, with their number and advice.

A metric declares its caution.  The affected rows are counted in each batch as ``[rows, scored rows]``, and the counts
are summed like those of corpus metrics.  The summary has one note per cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.declaration.batch import Batch, Options
from fastmetrics.kernels.folding import FOREIGN, ONE_WORD, UNLISTED
from fastmetrics.text.text_keys import scripts

MANY = 0.05
"""The default share of the scored rows that triggers a note."""

Finder: TypeAlias = Callable[[Batch, Options, Iterable[str]], Flags | None]
"""A function that finds rows in the columns of a metric; None for no rows."""


@dataclass(frozen=True)
class Caution:
    """One cause for caution, and advice.

    A note states ``cause`` for the rows found by ``rows``, if there are any and they are at least the share ``least``
    of the scored rows; ``advice`` may contain the metric's options in braces.  ``rows`` is None for a metric that needs
    all rows to find them: ``cautioned`` of its value then has both numbers.
    """

    cause: str
    advice: str
    rows: Finder | None
    least: float = MANY

    def count(self, batch: Batch, options: Options, columns: Iterable[str], scored: Flags) -> list[int]:
        """The numbers of affected and of ``scored`` rows."""
        rows = None if self.rows is None else self.rows(batch, options, columns)
        return [0 if rows is None else int(np.count_nonzero(rows & scored)), int(np.count_nonzero(scored))]

    def applies(self, rows: int, scored: int) -> bool:
        """Whether a note is needed."""
        return rows > 0 and rows >= self.least * scored


def notes(counts: Mapping[str, Sequence[int]], cautions: Mapping[str, tuple[Caution, Options]]) -> list[str]:
    """One note per cause and advice, with the scores, the number of rows and the advice.

    For several scores with different counts, the note states the highest share.
    """
    groups: dict[tuple[str, str], list[tuple[float, int, int, str]]] = {}
    for name, (caution, options) in cautions.items():
        rows, scored = counts[name]
        if caution.applies(rows, scored):
            key = caution.cause, caution.advice.format(**options)
            groups.setdefault(key, []).append((rows / scored, rows, scored, name))
    return [_note(cause, advice, entries) for (cause, advice), entries in groups.items()]


def _note(cause: str, advice: str, entries: Sequence[tuple[float, int, int, str]]) -> str:
    share, rows, scored, _ = max(entries, key=lambda entry: entry[:3])
    upto = "up to " if len({entry[:3] for entry in entries}) > 1 else ""
    names = ", ".join(name for *_, name in entries)
    return f"{names}: {upto}{rows:,} of {scored:,} scored rows ({_percent(share)}) {cause}; {advice}"


LISTS = "lists in "
"""The beginning of the name under which the rows of a column are counted whose text is a list of texts."""


def list_notes(counts: Mapping[str, Sequence[int]]) -> list[str]:
    """The notes on columns of one text per row that are lists of texts.

    >>> list_notes({"lists in gold": [300, 300]})[0].partition(";")[0]
    'gold: 300 texts are lists, as JSON or Python writes them, and each was read as one text'
    """
    return [
        f"{name.removeprefix(LISTS)}: {rows:,} {'text is a list' if rows == 1 else 'texts are lists'}, as JSON or "
        f"Python writes them, and each was read as one text; lists={name.removeprefix(LISTS)!r} (--lists "
        f"{name.removeprefix(LISTS)}) reads the lists"
        for name, (rows, _) in counts.items()
        if name.startswith(LISTS)
    ]


SCRIPT = "script for "
"""The beginning of the name under which rows are counted that are in another script than a rubric's language."""

_RUBRICS = {
    "en": (FOREIGN, "English", "not in Latin letters", "--language ru has the built-in rubrics in Russian"),
    "ru": (UNLISTED, "Russian", "neither in Cyrillic nor in Latin letters", "--language en has them in English"),
}
"""For the languages of rubrics: the rows in another script, the name of the language, what they are, and advice."""


def script_counts(batch: Batch, language: str, columns: Iterable[str]) -> dict[str, list[int]]:
    """The count of rows with a text in another script than a rubric's language, for a caution; none if unknown."""
    if language not in _RUBRICS:
        return {}
    rows = written(_RUBRICS[language][0])(batch, {}, columns)
    return {} if rows is None else {f"{SCRIPT}{language}": [int(np.count_nonzero(rows)), len(rows)]}


def script_notes(counts: Mapping[str, Sequence[int]]) -> list[str]:
    """The notes on rows in another script than the rubrics' language.

    >>> script_notes({"script for en": [3, 4]})[0].partition(";")[0]
    'rubrics in English: 3 of 4 rows (75 %) have texts mostly not in Latin letters'
    """
    lines = []
    for name, (rows, total) in counts.items():
        if name.startswith(SCRIPT) and rows and rows >= MANY * total:
            _, language, letters, advice = _RUBRICS[name.removeprefix(SCRIPT)]
            share = f"{rows:,} of {total:,} rows ({_percent(rows / total)})"
            lines.append(
                f"rubrics in {language}: {share} have texts mostly {letters}; {advice}, and your own rubric may be in "
                "any language; validate says how far people agree with the judge"
            )
    return lines


def _percent(share: float) -> str:
    """A share in whole per cent; 0 and 100 are used only if exact."""
    return "< 1 %" if share < 0.01 else "> 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def written(bit: int) -> Finder:
    """A finder of rows with text in one of ``scripts``."""

    def rows(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
        texts = [column for column in columns if COLUMNS[column].kind in ("text", "texts")]
        masks = [bits for bits in (_bits(batch, column) for column in texts) if bits is not None]
        return np.bitwise_or.reduce(masks) & bit != 0 if masks else None

    return rows


def _bits(batch: Batch, column: str) -> Bytes | None:
    """The bits of ``scripts`` of each row, combined over its texts; None if no row has any."""

    def make() -> Bytes | None:
        bits, owner = scripts(batch.text(column)), batch.owners(column)
        if bits is None or owner is None:
            return bits
        together = np.zeros(batch.n_rows, np.uint8)
        np.bitwise_or.at(together, owner, bits)
        return together

    return batch.remember(("scripts", column), make)


def one_word(advice: str) -> Caution:
    """The caution of tokenisers that split at spaces, which some scripts do not use."""
    cause = "are in a script without spaces between words (such as Chinese or Thai), where a sentence is one word"
    return Caution(cause, advice, written(ONE_WORD))


def no_word(advice: str) -> Caution:
    """The caution of tokenisers with Latin words only."""
    return Caution("are in a script other than Latin, whose words this tokenizer drops", advice, written(FOREIGN))


def english_words(words: str, advice: str) -> Caution:
    """The caution of word lists in English alone; ``words`` names their words."""
    return Caution(f"are in a script other than Latin, and the {words} are English", advice, written(FOREIGN))


def english_and_russian_words(words: str, advice: str) -> Caution:
    """The caution of word lists in English and Russian; ``words`` names their words."""
    cause = f"are in a script other than Latin and Cyrillic, and the {words} are English and Russian"
    return Caution(cause, advice, written(UNLISTED))


UNSPACED = one_word("token_f1(tokenizer='unicode') treats each character as a word, and chrf needs no words")
"""The caution of word metrics that can only split at spaces."""
