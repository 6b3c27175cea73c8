"""The words that batches leave for the next ones: kept as they are, put to use, and given up when they are many."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.arrays import Tokens, text_of_strings
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.batch import Batch
from fastmetrics.plans import score_batch as scoring
from fastmetrics.text.conventions import CONVENTIONS, convention
from fastmetrics.text.phrases import compile_phrases
from fastmetrics.text.tokenize import Vocabularies, Vocabulary
from tests.support.edge_tokens import EDGE_TOKENS

REWRITTEN = [name for name in CONVENTIONS if convention(name).base is not None]
MANY_PIECES = "-".join("abcdefgh")
TEXTS = [
    *("", " ", "a b", "a-b a-b", "don't e.g. x", MANY_PIECES, f"{MANY_PIECES} a-b {MANY_PIECES} b"),
    *("a-\nb -\nc -", "a -<skipped>\nb", "<skipped>\n-", "&amp;lt; 5-\n6. .5\n,", "a\x00&quot;\x00. \x00"),
    "A.B (Ab) aB!",
    *("a\x00b", "\x00", "\x00a", "x\x00-\x00y", "the\x00 a€ an the", "İstanbul ΟΔΟΣ ΑΣ.", "日本語 ก", "... ?! -"),
]


def spelt(tokens: Tokens, vocabulary: Vocabulary) -> list[list[str]]:
    words = np.array([*vocabulary.words(), ""], object)
    return [words[tokens.ids[a:b]].tolist() for a, b in zip(tokens.starts, tokens.stops, strict=True)]


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten_words_equal_direct_tokenization(name: str) -> None:
    """Batch after batch of one book, each with words that are new and words that are known."""
    chance = random.Random(7)
    between = (" ", " ", " ", "\n", "-\n", "\u2028")
    texts = TEXTS + [
        "".join(chance.choice(EDGE_TOKENS) + chance.choice(between) for _ in range(chance.randint(0, 9)))
        for _ in range(300)
    ]
    vocabularies = Vocabularies()
    for batch in [texts[:7], texts[7:9], texts[:20], texts[20:200], texts[5:], []]:
        rows = Batch({"answer": pa.array(batch, pa.string())}, shared=("answer",), words=vocabularies)
        rewritten = rows.tokens("answer", name)
        own = Vocabularies().vocabulary(name)
        assert spelt(rewritten, vocabularies.vocabulary(name)) == spelt(own.tokenize(text_of_strings(batch)), own)


def test_phrases_of_a_vocabulary_that_grows() -> None:
    """What is cached about words has room for new ones, and is made again where they are too many."""
    vocabulary, phrases = Vocabulary(convention("words")), compile_phrases(("no idea", "(no|not) sure"))
    for batch in (["what", "no"], [f"w{number}" for number in range(9000)], ["idea", "x"]):
        vocabulary.ids_of(batch)
        letters, openings = phrases.letters(vocabulary), phrases.openings(vocabulary)
        words = np.array(vocabulary.words(), object)
        numbers = letters[: len(words)]
        assert len(letters) == len(openings) >= len(words)
        assert sorted(words[numbers >= 0]) == ["idea", "no", "not", "sure"]
        assert words[numbers >= 0].tolist() == [phrases.words[letter] for letter in numbers[numbers >= 0]]
        assert sorted(words[openings[: len(words)]]) == ["no", "not"]


def test_wordbook_is_full_if_one_vocabulary_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "vocabulary_words", 3)
    vocabularies = Vocabularies()
    assert not vocabularies.full
    vocabularies.vocabulary("words").ids_of(["a", "b"])
    vocabularies.vocabulary("split").ids_of(["a", "b", "c"])
    assert not vocabularies.full
    vocabularies.vocabulary("split").ids_of(["d"])
    assert vocabularies.full


def test_full_wordbook_is_replaced_and_others_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """So memory is bounded, however many words a table has."""
    monkeypatch.setattr(SIZES, "vocabulary_words", 20)
    monkeypatch.setattr(SIZES, "batch_rows", 1)
    made: list[Vocabularies] = []

    class Counted(Vocabularies):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(scoring, "Vocabularies", Counted)
    answers = [" ".join(f"w{8 * row + number}" for number in range(8)) for row in range(50)]
    assert fm.token_f1(answers, answers, threads=1).tolist() == [1.0] * 50
    assert max(len(vocabularies.vocabulary("plain")) for vocabularies in made) <= 20 + 8
    assert len(made) == 17  # eight words a row: three rows fill one
    made.clear()
    assert fm.token_f1(["a b"] * 50, ["b c"] * 50, threads=1).tolist() == [0.5] * 50
    assert len(made) == 1


def test_batches_are_limited_by_bytes_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "batch_bytes", 1000)
    monkeypatch.setattr(SIZES, "batch_rows", 64)
    for size, most in ((2, 64), (100, 10), (5000, 1)):
        table = pa.table({"answer": pa.array(["x" * size] * 200, pa.large_string())})
        parts = list(scoring.slices(table))
        assert pa.Table.from_batches(parts) == table
        assert max(part.num_rows for part in parts) <= most
        assert all(one.num_rows + other.num_rows > most for one, other in pairwise(parts)), "no smaller than need be"
