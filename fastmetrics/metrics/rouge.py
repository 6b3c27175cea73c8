"""ROUGE (Lin 2004): shared n-grams and longest common subsequences, bit for bit equal to rouge-score 0.1.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ids, Ints, Memo, Tokens
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Choice
from fastmetrics.kernels.folding import FOREIGN
from fastmetrics.kernels.lcs import Texts, union_hits
from fastmetrics.metrics.batch import Batch, Caution, Options, need, no_word, written
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.pair_counts import lcs, ngrams, shares
from fastmetrics.text.segmentation import lines
from fastmetrics.text.text_keys import scripts

BY_SCRIPT = "by_script"
"""The tokenizer of the benchmark's own names: rouge-score's for Latin rows, the words of every script for others."""

Stemmer = Annotated[bool, "whether English words are reduced to their stems (Porter)"]
Tokenizer = Annotated[
    str,
    Choice("rouge", "unicode", BY_SCRIPT),
    "how texts are split into words: as rouge_score does, in any script, or so for rows that are not Latin alone",
]
KINDS = (*"123456789", "L", "Lsum")
PARTS = ("precision", "recall", "f1")


@dataclass(frozen=True, eq=False)
class SummaryTokens:
    """Tokens of whole texts, and of their lines: text t has the lines ``firsts[t]:lasts[t]``."""

    tokens: Tokens
    lines: Tokens
    firsts: Ints
    lasts: Ints
    memo: Memo = field(default_factory=Memo, repr=False)

    def take(self, rows: Ints) -> SummaryTokens:
        """The texts ``rows``, which may repeat."""
        return SummaryTokens(self.tokens.take(rows), self.lines, self.firsts[rows], self.lasts[rows])


@dataclass(frozen=True, eq=False)
class ByScript:
    """The texts as rouge-score splits them, as the words of every script, and which texts are mostly not Latin."""

    latin: Any
    every: Callable[[], Any]
    """Called only where a row is not Latin: most tables have none."""
    foreign: Flags
    memo: Memo = field(default_factory=Memo, repr=False)

    def take(self, rows: Ints) -> ByScript:
        """The texts ``rows``, which may repeat."""
        return ByScript(self.latin.take(rows), lambda: self.every().take(rows), self.foreign[rows])


def rouge_in(batch: Batch, column: str, options: Options) -> Tokens | ByScript:
    """Tokens under the options ``tokenizer`` and ``stemmer``."""
    return _by_script(batch, column, options, "tokens", partial(batch.tokens, column))


def summary_in(batch: Batch, column: str, options: Options) -> SummaryTokens | ByScript:
    """Tokens under the options, by line."""

    def summary(name: str) -> SummaryTokens:
        return batch.remember(("summary", column, name), lambda: _summary(batch, column, name))

    return _by_script(batch, column, options, "summary", summary)


Rouge = Annotated[Tokens, need(rouge_in, convention="rouge")]
RougeLines = Annotated[SummaryTokens, need(summary_in, convention="rouge")]


def _by_script(batch: Batch, column: str, options: Options, what: str, tokens: Callable[[str], Any]) -> Any:
    """The tokens of a column under the options; ``tokens`` returns those of a text convention."""
    if options["tokenizer"] != BY_SCRIPT:
        return tokens("rouge_stem" if options["stemmer"] else options["tokenizer"])

    def make() -> ByScript:
        bits, text = scripts(batch.text(column)), batch.text(column)
        foreign = np.zeros(len(text), np.bool_) if bits is None else bits & FOREIGN != 0
        return ByScript(tokens("rouge"), partial(tokens, "unicode"), foreign)

    return batch.remember((BY_SCRIPT, what, column), make)


def _summary(batch: Batch, column: str, name: str) -> SummaryTokens:
    text, tokens = batch.text(column), batch.tokens(column, name)
    first, last = text.starts.min(initial=len(text.data)), text.stops.max(initial=0)
    if not np.any(text.data[first:last] == ord("\n")):
        rows = np.arange(len(tokens))
        return SummaryTokens(tokens, tokens, rows, rows + 1)
    cut = lines(text)
    assert cut.groups is not None
    return SummaryTokens(tokens, batch.vocabulary(name).tokenize(cut), cut.groups[:-1], cut.groups[1:])


def _check(stemmer: bool, tokenizer: str) -> None:
    if stemmer and tokenizer != "rouge":
        raise OptionError(
            f"rouge: the stemmer needs English words and does not work with tokenizer={tokenizer!r}; use one of the two"
        )


_LATIN = no_word("use tokenizer='unicode' to keep them, as in rougeL_f1(tokenizer='unicode')")


_OTHERS = Caution(
    "are in a script other than Latin and were compared as words of every script",
    "the rest as rouge_score does, which would have dropped these words",
    written(FOREIGN),
    least=0.0,
)


def _caution(options: Options) -> Caution | None:
    return {"unicode": None, BY_SCRIPT: _OTHERS}.get(options["tokenizer"], _LATIN)


def _count(kind: str, answer: Any, reference: Any) -> tuple[Ints, Ints, Ints]:
    """The shared, answer and reference counts: of n-grams, or of words in common order."""
    if kind == "Lsum":
        return _union(answer, reference), answer.tokens.counts, reference.tokens.counts
    if kind == "L":
        return lcs(answer, reference), answer.counts, reference.counts
    n = int(kind)
    hits = ngrams(answer, reference, n)[n - 1]
    return hits, np.maximum(answer.counts - (n - 1), 0), np.maximum(reference.counts - (n - 1), 0)


def _union(answer: SummaryTokens, reference: SummaryTokens) -> Ints:
    """Words of the reference's lines in common order with any line of the answer."""
    hits = lcs(answer.tokens, reference.tokens)
    several = np.flatnonzero((answer.lasts - answer.firsts > 1) | (reference.lasts - reference.firsts > 1))
    if len(several) == 0:
        return hits
    hits = hits.copy()
    n_words = max(answer.lines.n_words, reference.lines.n_words, answer.tokens.n_words, reference.tokens.n_words)
    hits[several] = union_hits(_texts(answer), _texts(reference), several, n_words)
    return hits


def _texts(summary: SummaryTokens) -> Texts:
    lines = summary.lines
    numbers = lines.memo.remember("numbers", lambda: _numbers(lines))
    return Texts(lines.ids, lines.starts, lines.stops, numbers, summary.firsts, summary.lasts)


def _numbers(lines: Tokens) -> Ids:
    """A number for each line, the same number for equal lines."""
    ends = np.cumsum(lines.counts)
    places = np.repeat(lines.starts - ends + lines.counts, lines.counts) + np.arange(len(ends) and ends[-1])
    bounds = 4 * np.concatenate([[0], ends]).astype(np.int64)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(lines.ids[places])]
    strings = pa.Array.from_buffers(pa.large_binary(), len(lines), buffers)
    return strings.dictionary_encode().indices.to_numpy()


def _scores(kind: str, answer: Any, reference: Any) -> dict[str, Floats]:
    """All scores of one kind of ROUGE, computed once and cached."""

    def divided() -> dict[str, Floats]:
        if isinstance(answer, ByScript):
            return _scores_by_script(kind, answer, reference)
        hits, in_answer, in_reference = _count(kind, answer, reference)
        return dict(zip(PARTS, shares(hits, in_answer, in_reference), strict=True))

    scores: dict[str, Floats] = answer.memo.remember(("rouge", kind), divided, reference)
    return scores


def _scores_by_script(kind: str, answer: ByScript, reference: ByScript) -> dict[str, Floats]:
    """The scores of rouge-score's words, and those of every script's words in rows with a text that is not Latin."""
    scores = _scores(kind, answer.latin, reference.latin)
    rows = np.flatnonzero(answer.foreign | reference.foreign)
    if len(rows) == 0:
        return scores
    others = _scores(kind, answer.every().take(rows), reference.every().take(rows))
    scores = {part: values.copy() for part, values in scores.items()}
    for part, values in scores.items():
        values[rows] = others[part]
    return scores


_UNITS = {"L": "longest common subsequence", "Lsum": "union of the longest common subsequences of the lines"}
_HEADS = {
    "precision": "Share of the answer's {unit} that also occur in the reference",
    "recall": "Share of the reference's {unit} that also occur in the answer",
    "f1": "Harmonic mean of ROUGE-{kind} precision and recall, over {unit}",
}
_FORMULAS = {"precision": "P = {hits} / {units} of the answer", "recall": "R = {hits} / {units} of the reference"}
_BOUNDS = {
    "L": """  Time grows with the words of
    the answer times those of the reference, 64 of these at a time.""",
    "Lsum": """  Time grows with
    the words of a line times those of a line of the reference, 64 of these at a time, for all pairs that share a word;
    equal lines are looked at once.""",
}
_EXAMPLES = {"1": (0.6, 1.0, 0.75), "2": (0.5, 1.0, 0.667), "3": (0.333, 1.0, 0.5), "L": (0.6, 1.0, 0.75)}


def _document(kind: str, part: str) -> str:
    subsequence = kind[0] == "L"
    unit = "words in common order" if subsequence else f"{kind}-grams" if kind != "1" else "words"
    hits = f"length of the {_UNITS[kind]}" if subsequence else f"multiset overlap of {unit}"
    formula = _FORMULAS.get(part, "F1 = 2PR / (P + R)").format(hits=hits, units="words" if subsequence else unit)
    bound = _BOUNDS.get(kind, "")
    value = np.array([dict(zip(PARTS, _EXAMPLES.get(kind[:1], (0.0, 0.0, 0.0)), strict=True))[part]])
    return f"""{_HEADS[part].format(unit=unit, kind=kind)}.

    {formula}; 0 where nothing can be divided by.  Bit for bit rouge-score's: words are runs of ``[a-z0-9]`` in lower
    case, those of more than 3 letters stemmed (Porter) with ``stemmer=True``; ``tokenizer="unicode"`` takes the
    words of every script, and each character of those that write no spaces; ``"by_script"`` does so for pairs with a
    text that is mostly not Latin, and is meant by the benchmark's ``avg_rouge1_f``.  Of several references the one of
    highest F1 counts.  Raises ``OptionError`` for another tokenizer.{bound}

    >>> import fastmetrics as fm
    >>> fm.rouge(["the cat sat on it"], ["The cat sat."], types="rouge{kind}")["rouge{kind}_{part}"].round(3)
    {value!r}
    """


def _declare(kind: str, part: str) -> Callable[..., Floats]:
    """Declare one part of one kind of ROUGE."""
    representation = RougeLines if kind == "Lsum" else Rouge

    def score(answer: Any, reference: Any, *, stemmer: Stemmer = False, tokenizer: Tokenizer = "rouge") -> Floats:
        return _scores(kind, answer, reference)[part]

    def f1(answer: Any, reference: Any, **_: Any) -> Floats:
        return _scores(kind, answer, reference)["f1"]

    score.__name__ = score.__qualname__ = f"rouge{kind}_{part}"
    score.__doc__ = _document(kind, part)
    score.__annotations__ |= {"answer": representation, "reference": representation}
    return metric(
        bounds=(0, 1),
        better="higher",
        source=f"S2, ROUGE-{kind}; rouge-score 0.1.2",
        labels={f"(tokenizer='{BY_SCRIPT}').mean": f"avg_rouge{kind}_f"}
        if part == "f1" and kind in ("1", "2", "L")
        else None,
        check=_check,
        rows=RowHooks(best_by=None if part == "f1" else f1),
        usual=kind in ("1", "2", "L", "Lsum"),
        caution=_caution,
        cues=[f"rouge{kind}", *(["rouge", "rouge_score"] if kind in ("1", "2", "L") else [])] if part == "f1" else [],
    )(score)


for _kind in KINDS:
    for _part in PARTS:
        globals()[f"rouge{_kind}_{_part}"] = _declare(_kind, _part)
