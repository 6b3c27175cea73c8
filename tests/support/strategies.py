"""Values that Hypothesis draws: texts, words and rows of every shape, and tokens at edges."""

import random
import re
import string
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.reference.text import LIGHT_STRIP

EDGE_TOKENS = [
    *("a" * size for size in (6, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33)),
    *("é" * size for size in (3, 4, 5, 8)),
    *("中" * size for size in (2, 3, 5, 6)),
    *(f"abcdefgh{tail}" for tail in ("", "i", "j", "\x00", "ijklmnop", "ijklmnoq", "ijklmnopq")),
    *(f"{'x' * 64}{tail}" for tail in ("", "y", "z", "\x00")),
    *("the", "a", "an", "The", "AN", "a.", "(the)", "the-end", "a—b", "theory", "_a", "a_", "«a»", "the's", "á"),
    "a\u0301",
    *("ΟΔΟΣ", "Σ", "ΑΣ.", "ΑΣ'Σ", "Α\u0301Σ\u0301", "ΣΑΣ", "İİ", "Ⱥ" * 4, "ẞ" * 3, "\u212a" * 3, "i\u0307"),
    *("\x00" * size for size in (1, 2, 7, 8, 9)),
    *("a" + "\x00" * size for size in (1, 6, 7, 8)),
    *("1,000", "3.5", "don't", "e-mail", "[1]", "...", "?!", "😀", "👩\u200d👩\u200d👧", "שלום", "مرحبا", "a\u200bb"),
]


WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
CASES = "aAzZ09_İıßẞ\u212a\u2126ΣσςﬁǅȺⱥȾⱦÅÀéÉЖжЁёԱאع中日한ก𐐀𐐨𝐀\u0130\u0149\u1f88\u1fb3\u0345"
MARKS = "\u0300\u0301\u0307\u0308\u20dd\u093e\u0e31\ufe0f\u200d\u200b\u200e\u00ad\ufeff\ufffd\ufffe"
PUNCTUATION = string.punctuation + LIGHT_STRIP + "—–‐¿¡、。！？،؟؛§¶‰″⟨⟩〔〕・_﹏＿٪"
SYMBOLS = "€$+<=>^|~©№½²٣Ⅷ①😀👩\u200d👩\u200d👧🇩🇪\x00\x01\x7f\x80\xa0\xad\uffff\U0010ffff"
SURROGATES = "\ud800\udbff\udc00\udfff"

nasty = st.text(st.sampled_from(WHITE_SPACE + CASES + MARKS + PUNCTUATION + SYMBOLS), max_size=40)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
salad = st.lists(
    st.sampled_from(["a", "b", "c", "A", "the", "the", "b.", "c,", "ab", "é", "É", "да", "Да!"]), max_size=25
).map(" ".join)
edges = st.lists(st.sampled_from(EDGE_TOKENS), max_size=12).flatmap(
    lambda tokens: st.lists(
        st.sampled_from([" ", "  ", "\n", "\n\n", ". ", ", ", "\x1c", "\x85", "\u2028", "\u3000", ""]),
        min_size=len(tokens),
        max_size=len(tokens),
    ).map(lambda gaps: "".join(token + gap for token, gap in zip(tokens, gaps, strict=True)))
)
texts = st.one_of(salad, edges, nasty, anything)
surrogate_texts = st.text(st.sampled_from("aB é.\u212aİ" + SURROGATES), max_size=20)
markers = st.lists(st.sampled_from(["please", "thank you", "thanks", "sorry", "let me know"]), max_size=4).map(" ".join)

rows = st.lists(st.none() | texts, max_size=8)
pairs = st.lists(st.tuples(st.none() | texts, st.none() | texts), max_size=8)
references = st.none() | texts | st.lists(st.none() | texts, max_size=4)
multi_pairs = st.lists(st.tuples(st.none() | texts, st.none() | st.lists(st.none() | texts, max_size=4)), max_size=6)


def coded(values: pa.Array, chance: random.Random) -> Iterator[tuple[str, Any]]:
    """The same column as dictionaries that hold null, each value at least twice, and values that no row has."""
    array = _coded(values, chance)
    yield "dictionary with holes", array
    padded = _coded(pa.concat_arrays([values.slice(0, 1), values, values.slice(0, 1)]), chance)
    yield "sliced dictionary with holes", padded.slice(1, len(values))
    half = len(values) // 2
    parts = [array.slice(0, half), array.slice(half, 0), _coded(values.slice(half), chance)]
    yield "chunked dictionary with holes", pa.chunked_array(parts)


def _coded(values: pa.Array, chance: random.Random) -> pa.DictionaryArray:
    """A dictionary of all values twice over and some nulls; of null rows half are null, half point at a null."""
    words = pa.concat_arrays([pa.nulls(1, values.type), values, pa.nulls(1, values.type), values])
    codes = [place + chance.choice((1, 2 + len(values))) for place in range(len(values))]
    for place in range(len(values)):
        if not values[place].is_valid:
            codes[place] = chance.choice((None, 0, 1 + len(values)))
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words)


def ragged(values: list[Any], kind: pa.DataType, chance: random.Random) -> pa.ChunkedArray:
    """A chunked array with empty and sliced chunks among uneven ones."""
    chunks, start = [pa.array([], kind)], 0
    while start < len(values):
        stop = min(start + chance.randint(0, 3), len(values))
        filler = values[:1] if kind.id not in (pa.string().id, pa.large_string().id) else ["junk"]
        chunks.append(pa.array([*filler, *values[start:stop], *filler], kind).slice(len(filler), stop - start))
        start = stop
    return pa.chunked_array(chunks, kind)


def coded_lists(values: pa.Array, chance: random.Random) -> Iterator[tuple[str, Any]]:
    """The same column of lists as dictionaries of lists, and as lists of what dictionaries with holes hold."""
    yield from coded(values, chance)
    mask = values.is_null() if values.null_count else None
    for name, flat in coded(values.flatten(), chance):
        if not isinstance(flat, pa.ChunkedArray):
            ends = np.concatenate([[0], np.cumsum(np.asarray(values.value_lengths().fill_null(0)))])
            yield f"lists of a {name}", pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=mask)


_HARD = re.compile(
    r"[\\^{}<>≤≥≠±∓√∛∜+÷°⁄∕ꙮ\u0800-\U0010ffff]|[^\W_a-zA-Z0-9](?<![а-яёА-ЯЁ½⅓⅔¼¾⅕-⅞])"
    r"|(?:[^\W\d_a-zA-Z]|[½⅓⅔¼¾⅕-⅞])\d|\d[^\W\d_a-zA-Z]|[(\[]\d+,|\b[A-Za-z]\W{0,4}[-*/=]\W{0,4}\d|\d\W{0,4}[-*/=]\W{0,4}[A-Za-z]\b"
    r"|\d+[xyzni]\b|\bv\d|\d{16}|\dh\d|\bbillions?\b|\btrillions?\b"
    # operations, dozens, quarters and compound units
    r"|\d!|\d *[*×·] *\d|\w\W+minus\b|\b(?:times|plus|twice|thrice|dozen|root|squared|score|double|divided)\b"
    r"|\b(?:half|halves|thirds?|quarters?|fifths?|eighths?|tenths?|трет\w+|половин\w+|четверт\w+) (?:of|de|от|из)\b"
    r"|\d k\b|[$€£¥₽₹]\S* [mMbBkK]\b"
    r"|\b(?:first|second|third|fourth|\d\w*)\W+(?:half|quarters?)\b|\b[qth][1-4]\b"
)


def is_plain(text: str | None) -> bool:
    """Whether a text has none of what is written in plain spelling before its numbers are read, for which tables have
    the right values."""
    return text is None or re.search(r"\d|illion", text) is None or _HARD.search(text) is None
