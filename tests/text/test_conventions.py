"""The compiled text conventions against their plain definitions."""

import json
import random
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from fastmetrics import text
from fastmetrics.base.arrays import well_formed
from fastmetrics.text import conventions
from tests.reference import cases
from tests.reference import text as reference
from tests.support import strategies

PIECES = {"sentences": reference.sentences, "paragraphs": reference.paragraphs}
CUTTERS = {name: lambda texts, name=name: text.tokens(texts, name) for name in reference.CONVENTIONS}
CUTTERS |= {name: getattr(text, name) for name in (*PIECES, "normalize")}
DEFINITIONS: dict[str, Any] = reference.CONVENTIONS | PIECES | {"normalize": reference.normalize}


def check(name: str, texts: list[str | None]) -> None:
    """Cut ``texts`` both ways and show the first text on which they differ."""
    got = CUTTERS[name](texts)
    assert len(got) == len(texts)
    for value, ours in zip(texts, got, strict=True):
        theirs = None if value is None else DEFINITIONS[name](value)
        assert ours == theirs, (
            f"{name} of {value!r} (UTF-8 {value.encode('utf-8', 'surrogatepass') if value else value!r})"
        )


@pytest.mark.parametrize(("convention", "given_text", "expected"), cases.TOKENS)
def test_worked_tokens(convention: str, given_text: str, expected: list[str]) -> None:
    assert reference.CONVENTIONS[convention](given_text) == expected
    assert text.tokens([given_text], convention) == [expected]


@pytest.mark.parametrize(("given_text", "expected"), cases.SENTENCES)
def test_worked_sentences(given_text: str, expected: list[str]) -> None:
    assert reference.sentences(given_text) == expected
    assert text.sentences([given_text]) == [expected]


@pytest.mark.parametrize(("given_text", "expected"), cases.PARAGRAPHS)
def test_worked_paragraphs(given_text: str, expected: list[str]) -> None:
    assert reference.paragraphs(given_text) == expected
    assert text.paragraphs([given_text]) == [expected]


@pytest.mark.parametrize(("given_text", "expected"), cases.NORMALIZED)
def test_worked_normalize(given_text: str, expected: str) -> None:
    assert reference.normalize(given_text) == expected
    assert text.normalize([given_text]) == [expected]


@pytest.mark.parametrize("name", DEFINITIONS)
@given(rows=strategies.rows)
def test_kernels_equal_reference_on_any_text(name: str, rows: list[str | None]) -> None:
    check(name, rows)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(value=strategies.surrogate_texts)
def test_lone_surrogates(name: str, value: str) -> None:
    assert CUTTERS[name]([value]) == CUTTERS[name]([well_formed(value)])
    check(name, ["plain", well_formed(value), None])


@pytest.fixture
def texts_of_characters(full: bool) -> list[str | None]:
    """Assigned characters inside a word, alone, and at the ends of words, each in a text of its own.

    All of them at full size, and otherwise those before the Chinese ones, and a few of those after.
    """
    unassigned = {"Cn", "Co", "Cs"}
    codes = range(sys.maxunicode + 1) if full else [*range(0x3100), *range(0x3100, sys.maxunicode + 1, 37)]
    characters = [chr(code) for code in codes if unicodedata.category(chr(code)) not in unassigned]
    return [f"xY{character}Z {character} {character}a{character}" for character in characters]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_assigned_character(name: str, texts_of_characters: list[str | None]) -> None:
    check(name, texts_of_characters)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_pair_of_hard_characters(name: str) -> None:
    hard = strategies.WHITE_SPACE + strategies.CASES + strategies.MARKS + ".,'_-a9§"
    check(name, [f"{one}{other}" for one in hard for other in hard])
    check(name, [f"q{one}{other}Q" for one in hard for other in hard])


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_strip_character_and_length(name: str) -> None:
    """Tokens of 1 to 40 bytes at each alignment: the fast path reads eight bytes at a time."""
    ends = reference.LIGHT_STRIP
    check(name, [f"{a}{b}word{b}{a} {a}" for a in ends for b in ends])
    check(
        name,
        [
            f"{' ' * shift}{'abcdefgh' * 5}"[: shift + size] + tail
            for shift in range(9)
            for size in range(41)
            for tail in ("", " ", ".", "é")
        ],
    )


def test_light_strips_each_character_only_at_the_ends() -> None:
    texts = [
        form.replace("c", one) for one in reference.LIGHT_STRIP for form in ("cx", "xc", "ccxcc", "xcx", "c", "cxcxc")
    ]
    assert [words for [words] in map(text.tokens, [[one] for one in texts[:3]], ["light"] * 3)] == [["x"]] * 3
    check("light", [*texts, " ".join(texts)])


def test_articles_beside_symbols() -> None:
    """SQuAD's articles end at a word's edge, which a symbol that is kept makes, and so does a zero byte."""
    articles = ["a", "an", "the", "A", "An", "THE"]
    others = [
        *("at", "ax", "in", "tho", "toe", "she", "ant", "then", "tan", "tn", "ahe", "t", "th", "n", "_a", "a1", "thе"),
        *("án", "aé"),
    ]
    sides = ["", " ", *"€§™🙂\x00", "x", "é", "-"]
    check("squad", [f"{a}{word}{b}" for word in articles + others for a in sides for b in sides])
    check("squad", [f"{one}€{other}§{one} {other}" for one in articles + others for other in articles + others])


@pytest.mark.parametrize("name", DEFINITIONS)
def test_random_walks_over_hard_characters(name: str) -> None:
    chance = random.Random(20)
    hard = (
        strategies.WHITE_SPACE + strategies.CASES * 2 + strategies.MARKS + strategies.PUNCTUATION + strategies.SYMBOLS
    )
    check(name, ["".join(chance.choices(hard, k=chance.randint(0, 80))) for _ in range(3000)])


PROPERTIES = [
    (conventions.is_lower, str.islower),
    (conventions.is_upper, str.isupper),
    (conventions.is_space, str.isspace),
    (conventions.is_letter, str.isalpha),
    (conventions.is_word, lambda character: character.isalnum() or character == "_"),
    (conventions.is_punctuation, lambda character: unicodedata.category(character)[0] == "P"),
]


@pytest.mark.parametrize(("table", "definition"), PROPERTIES, ids=[table.__name__ for table, _ in PROPERTIES])
def test_properties_of_every_code_point_equal_python(table: Any, definition: Any) -> None:
    assert table().tolist() == [definition(chr(code)) for code in range(sys.maxunicode + 1)]


def test_published_squad_normalisations(data_folder: Path) -> None:
    golden = json.loads((data_folder / "oracles" / "text_golden.json").read_text(encoding="utf-8"))
    texts = [case["text"] for case in golden["tokens"]]
    expected = [case["squad_norm"] for case in golden["tokens"]]
    assert [reference.squad_normalize(value) for value in texts] == expected
    assert [" ".join(tokens) for tokens in text.tokens(texts, "squad")] == expected
