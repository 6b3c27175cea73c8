"""Words to numbers: cutting, grams, vocabularies, hashes and bytes that are no text."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics import text as text_room
from fastmetrics.base.arrays import ANGLE, BRACE, BRACKET, HIGH, PIPE, SHORT, SHORT_BYTES, Tokens, text_of_strings
from fastmetrics.base.limits import SIZES
from fastmetrics.kernels import ngrams
from fastmetrics.metrics.batch import Batch
from fastmetrics.plans import score_batch as scoring
from fastmetrics.text import tokenize
from fastmetrics.text.conventions import CONVENTIONS, convention
from fastmetrics.text.phrases import compile_phrases
from fastmetrics.text.text_keys import is_utf8, signs_of
from fastmetrics.text.tokenize import Vocabularies, Vocabulary
from tests.reference.text import CONVENTIONS as REFERENCES
from tests.support.strategies import EDGE_TOKENS

SECRET = (0, 1)
"""A secret under which the hash can be inverted: the upper half of a product of letters can be chosen."""

LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-./:<=>?@^_|~"
HALF = (1 << 32) - 1


def number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def key_product(key: int) -> int:
    return (key & HALF) * (key >> 32)


def hash_of(word: bytes) -> int:
    """The hash of a word, whose upper half the table keeps."""
    key = number(word[:8]) ^ key_product(number(word[8:16]))
    for place in range(16, len(word), 8):
        key = key_product(key ^ number(word[place : place + 8]))
    return key


def eight_letters(before: int, key: int) -> bytes:
    """Letters whose number, xored with ``before``, has a product with the upper half of ``key``."""
    drawn = random.Random(1)
    while True:
        first = bytes(drawn.choices(LETTERS, k=4))
        factor = number(first) ^ before & HALF
        if factor > key >> 32:
            other = ((key >> 32 << 32) // factor + 1) ^ before >> 32
            if other <= HALF and set(other.to_bytes(4, "little")) <= set(LETTERS):
                return first + other.to_bytes(4, "little")


FIRST, SECOND, THIRD, FOURTH = b"attached", b"sentence", b"together", b"adjusted"


def short_twins() -> tuple[bytes, bytes]:
    """Eight bytes each."""
    return FIRST, b"over" + FIRST[4:]


def twins_in_the_first_half() -> tuple[bytes, bytes]:
    return FIRST + SECOND, b"over" + FIRST[4:] + SECOND


def twins_in_the_second_half() -> tuple[bytes, bytes]:
    """The upper halves of the products are equal, and so are those of the hashes."""
    return FIRST + SECOND, FIRST + eight_letters(0, key_product(number(SECOND)))


def twins_before_the_same_tail() -> tuple[bytes, bytes]:
    """The first eight of twenty-four bytes differ."""
    word = FIRST + SECOND + THIRD
    return word, eight_letters(key_product(number(SECOND)) ^ number(THIRD), hash_of(word)) + SECOND + THIRD


def twins_in_the_tail() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND
    return begin + THIRD, begin + eight_letters(hash_of(begin), hash_of(begin + THIRD))


def twins_at_the_tails_end() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND + THIRD
    return begin + FOURTH, begin + eight_letters(hash_of(begin), hash_of(begin + FOURTH))


def sixteen_bytes_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins."""
    begin = FIRST + SECOND
    return begin, begin + eight_letters(hash_of(begin), hash_of(begin))


def a_tail_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins, both beyond sixteen bytes."""
    begin = FIRST + SECOND + THIRD
    return begin, begin + eight_letters(hash_of(begin), hash_of(begin))


TWINS = [
    *(short_twins, twins_in_the_first_half, twins_in_the_second_half, twins_before_the_same_tail, twins_in_the_tail),
    *(twins_at_the_tails_end, sixteen_bytes_and_more, a_tail_and_more),
]


@pytest.mark.parametrize("twins", TWINS)
def test_words_with_equal_hashes_are_distinct(twins, monkeypatch) -> None:
    monkeypatch.setattr(tokenize, "SECRET", np.array(SECRET, np.uint64))
    for one, other in (twins(), twins()[::-1]):
        words = [one.decode(), other.decode()]
        vocabulary = Vocabularies().vocabulary("split")
        tokens = vocabulary.tokenize(text_of_strings([*words, " ".join(words), " ".join(reversed(words))]))
        slots = vocabulary.arrays.slots[vocabulary.arrays.slots != 0]
        assert len(np.unique(slots >> np.uint64(32))) == 1, "the hashes do not collide: this test tests nothing"
        assert tokens.ids.tolist() == [0, 1, 0, 1, 1, 0]
        assert vocabulary.words() == words


def test_vocabulary_grows_beyond_initial_tables() -> None:
    """A batch of a million distinct words, short and long, all looked up again."""
    rng = np.random.default_rng(1)
    numbers = rng.permutation(1_000_000)
    answers = [" ".join(f"{n}{'abcdefghij' * (n % 3)}" for n in part.tolist()) for part in np.split(numbers, 100)]
    turned = [" ".join(reversed(answer.split())) for answer in answers]
    assert fm.token_f1(answers, turned, threads=1).tolist() == [1.0] * 100
    assert fm.token_f1(answers, turned[1:] + turned[:1], threads=1).tolist() == [0.0] * 100


PARTS = [*"xЖЁяÉΩΠΣשب٣中’«—\u212a\x00-' \u2028", "..."]


@pytest.mark.parametrize("name", REFERENCES)
def test_words_at_the_borders_of_blocks_are_those_of_the_definition(name: str) -> None:
    """Text is folded in blocks of 64 bytes: each character and pair at every place around a border."""
    pairs = [one + other for one in PARTS for other in PARTS]
    texts = [
        f"{'a' * size}{part}Bc. {part} d" for size in (0, *range(58, 66), *range(122, 130)) for part in PARTS + pairs
    ]
    for sliced in (texts, [value.rstrip() for value in texts]):
        assert text_room.tokens(sliced, name) == [REFERENCES[name](value) for value in sliced]


HARD = ["İ", "ΑΣ", "\u212a", "Ⱥ", "ẞ", "a\u0301n", "§the§", "&amp;", "北京", "\x00", "𝔸"]


@pytest.mark.parametrize("name", REFERENCES)
def test_a_hard_text_among_short_ones_leaves_them_as_they_are(name: str) -> None:
    """Short texts are folded together, unless one has a character that does not become as many bytes."""
    short = [f"Text {number}, the {'word' * (number % 7)}'s Ends." for number in range(40)]
    for hard in HARD:
        for place in (0, 1, 5, 38, 39):
            texts = [*short[:place], f"{hard} x{hard}y. The {hard}B{hard}", *short[place + 1 :]]
            assert text_room.tokens(texts, name) == [REFERENCES[name](value) for value in texts], (hard, place)


def test_articles_are_dropped_next_to_symbols_of_any_length() -> None:
    """A symbol that keeps its bytes still ends a word, at which ``squad`` looks for an article."""
    texts = [f"{before}the{after} cat" for before in ("", "+", "§", "€", "😀") for after in ("", "=", "¬", "→", "🂡")]
    assert text_room.tokens(texts, "squad") == [REFERENCES["squad"](value) for value in texts]


def test_every_letter_of_two_bytes_is_lower_cased_as_in_python() -> None:
    letters = [chr(code) for code in range(0x80, 0x800)]
    texts = [f"a{letter} {letter}{letter.upper()}{letter * 40}" for letter in letters]
    assert text_room.tokens(texts, "split") == [value.lower().split() for value in texts]


def test_texts_of_all_lengths_are_read_to_their_last_byte_and_not_beyond() -> None:
    """The last text ends where its buffer ends."""
    for size in range(200):
        words = ["b" * size, "я" * size, "c"]
        assert text_room.tokens(words, "split") == [[word] if word else [] for word in words]


Row = list[int]

NGRAMS_KERNEL_LETTERS = (2, 20), (5, 70), (40, 300), (99, 500)
"""The number of letters, and the length of the longest text."""

ODD = np.uint64(0x9E3779B97F4A7C15)

ORDERS = 12
"""More than the ids that are compared at a time."""


def grams(ids: Row, order: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(ids[i : i + order]) for i in range(len(ids) - order + 1))


def matched(answer: Row, references: list[Row], order: int) -> int:
    """N-grams of the answer, each as often as the reference has it that has it most often."""
    most: Counter[tuple[int, ...]] = Counter()
    for reference in references:
        most |= grams(reference, order)
    return (grams(answer, order) & most).total()


def lists(rows: list[Row]) -> ngrams.Lists:
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = np.array([one for row in rows for one in row], np.int32)
    return ngrams.Lists(ids, bounds[:-1], bounds[1:])


@pytest.mark.parametrize("top", [0, 40, ngrams.TOP])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    ("n_words", "most"), [(2, 2), (3, 4), (1, 9), (3, 9), (12, 40), (600, 400), *NGRAMS_KERNEL_LETTERS]
)
def test_ngram_tables_are_reset_between_rows(n_words: int, most: int, several: bool, top: int) -> None:
    """The longest rows have more n-grams than a dense table holds, the shortest a word and no pair.

    Of few letters, but not of 99, the texts are long enough for the tables of letters.  ``top`` is where numbers would
    grow too large.
    """
    rng = np.random.default_rng([n_words, several])

    def draw() -> Row:
        size = int(rng.integers(0, most))
        return rng.integers(0, n_words, size).tolist()

    answers = [draw() for _ in range(12 + 600 // most**2)]
    groups = [[draw() for _ in range(int(rng.integers(1, 4)) if several else 1)] for _ in answers]
    # some words in common, in order
    groups = [
        [one + answer[len(answer) // 3 :] for one in group] for answer, group in zip(answers, groups, strict=True)
    ]
    bounds = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    flat = lists([one for group in groups for one in group])
    found = ngrams.count_ngrams(lists(answers), flat, bounds, n_words, ORDERS, True, ODD, top, ngrams.LONGEST)
    expected = [[matched(*pair, order) for pair in zip(answers, groups, strict=True)] for order in range(1, ORDERS + 1)]
    assert found.tolist() == expected


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("n_words", [3, 2000])
def test_long_rows_are_counted_part_by_part_to_the_same_numbers(n_words: int, several: bool, together: bool) -> None:
    """Rows beyond ``longest`` on either side, some with several parts of the hash, between rows that are not."""
    rng = np.random.default_rng([n_words, several, together])
    sizes = [0, 30, 5, 3000, 0, 4000, 1, 10]
    answers = [rng.integers(0, n_words, size).tolist() for size in sizes]
    groups = [
        [rng.integers(0, n_words, int(rng.integers(0, 200))).tolist() + answer[n:2000] for n in range(1 + 2 * several)]
        for answer in answers
    ]
    groups[1][0] += answers[3]
    bounds = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    flat = lists([one for group in groups for one in group])
    counts = [
        ngrams.count_ngrams(lists(answers), flat, bounds, n_words, 6, together, ODD, ngrams.TOP, longest)
        for longest in (10, 100, ngrams.LONGEST)
    ]
    assert counts[0].tolist() == counts[1].tolist() == counts[2].tolist()
    assert counts[0][5].sum() > 0


@pytest.mark.parametrize("together", [False, True])
def test_a_small_table_takes_many_passes(together: bool) -> None:
    rng = np.random.default_rng(together)
    answer, *group = (rng.integers(0, 9, size).tolist() for size in (900, 800, 700))
    shared = np.zeros((6, 1 if together else 2), np.int64)
    table = np.zeros((5, 128), np.int32)
    ids = np.array(answer, np.int32)
    ngrams.count_long_row(ids, lists(group), (0, 2), 0 if together else -1, ODD, table, shared)
    expected = ngrams.count_ngrams(
        lists([answer]), lists(group), np.array([0, 2]), 9, 6, together, ODD, ngrams.TOP, ngrams.LONGEST
    )
    assert shared.tolist() == expected.tolist()
    if together:
        assert shared[:, 0].tolist() == [matched(answer, group, order) for order in range(1, 7)]


@pytest.mark.full
def test_the_memory_of_a_long_row_is_bounded() -> None:
    """An answer and a reference of 2,000,000 letters: their ids have 16 MB, the tables 84 MB."""
    code = """
import resource
import numpy as np
from fastmetrics.kernels import ngrams

def row(size, seed):
    ids = np.random.default_rng(seed).integers(0, 26, size).astype(np.int32)
    return ngrams.Lists(ids, np.array([0]), np.array([size]))

odd, groups = np.uint64(0x9E3779B97F4A7C15), np.array([0, 1])
ngrams.count_ngrams(row(9, 1), row(9, 2), groups, 26, 6, False, odd, ngrams.TOP, 4)
ngrams.count_ngrams(row(9, 1), row(9, 2), groups, 26, 6, False, odd, ngrams.TOP, ngrams.LONGEST)
lists = row(2_000_000, 1), row(2_000_000, 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ngrams.count_ngrams(*lists, groups, 26, 6, False, odd, ngrams.TOP, ngrams.LONGEST)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert int(ran.stdout) < 120, "tables of the size of the row have 216 MB"


CHARACTERS = "aéЖ\x7f\x80\u07ff\u0800中\ud7ff\ue000\uffff\U00010000😀\U0010ffff"
WRONG = [0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF, 0x41]


def decodes(texts: list[bytes]) -> bool:
    try:
        for text in texts:
            text.decode()
    except UnicodeDecodeError:
        return False
    return True


def checked(texts: list[bytes], large: bool = False) -> bool:
    array = pa.array(texts, pa.large_binary() if large else pa.binary())
    return is_utf8(array.view(pa.large_string() if large else pa.string()))


@pytest.mark.parametrize("large", [False, True])
def test_damaged_text_is_what_python_does_not_decode(large: bool) -> None:
    chance = random.Random(5)
    verdicts = set()
    for _ in range(20_000):
        text = bytearray("".join(chance.choices(CHARACTERS, k=chance.choice([1, 3, 20, 63, 64, 65, 130]))).encode())
        place = chance.randrange(len(text))
        damage = chance.random()
        if damage < 0.4:
            text[place] = chance.choice(WRONG)
        elif damage < 0.6:
            del text[place:]
        texts = [b"x" * chance.randrange(70), bytes(text), "я".encode()]
        verdicts.add(decodes(texts))
        assert checked(texts, large) == decodes(texts), texts
    assert verdicts == {True, False}


def test_every_sequence_of_three_edge_bytes() -> None:
    for bytes_ in product([*WRONG, 0x00], repeat=3):
        for text in (bytes(bytes_), b"a" * 62 + bytes(bytes_), bytes(bytes_) + b"\x80"):
            assert checked([text]) == decodes([text]), text


def test_characters_must_not_be_divided_between_texts() -> None:
    for character in "éЖ中😀":
        encoded = character.encode()
        for place, _ in pairwise(range(len(encoded) + 1)):
            texts = [encoded[:place], encoded[place:]]
            assert checked(texts) == decodes(texts)


def test_bytes_outside_the_texts_may_be_anything() -> None:
    array = pa.array([b"\xff", "я".encode(), b"\x80"]).view(pa.string())
    assert is_utf8(array.slice(1, 1))
    validity = pa.py_buffer(b"\x02")
    with_null = pa.Array.from_buffers(pa.string(), 3, [validity, *array.buffers()[1:]])
    assert is_utf8(with_null)
    assert not is_utf8(array)
    assert is_utf8(array.slice(0, 0))


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string()])
def test_signs_are_those_of_each_text_or_of_its_neighbours_in_blocks(layout: pa.DataType) -> None:
    chance = random.Random(7)
    parts = ["<", "|", "Ж", "[", "{", "thinking", "Here's", "◁think▷", " #", "", "word " * 20, "я" * 100, "a"]
    for _ in range(300):
        texts = [
            *(
                "".join(chance.choices(parts, k=chance.randrange(4)))
                for _ in range(chance.randrange(1, chance.choice([9, 90])))
            ),
            None,
        ]
        signs = signs_of(pa.array(["<|", *texts, "Ж{"], layout).slice(1, len(texts)))
        assert signs is not None
        inside = 0
        for text, found in zip(texts, signs.tolist(), strict=True):
            own = HIGH * (not (text or "").isascii()) | ANGLE * ("<" in (text or "")) | PIPE * ("|" in (text or ""))
            first = BRACKET * (text or "").startswith("[") | BRACE * (text or "").startswith("{")
            assert found & own == own
            assert bool(found & SHORT) == (bool(found & HIGH) and len((text or "").encode()) <= SHORT_BYTES)
            assert found & (BRACKET | BRACE) == first
            inside |= own
        assert not int(np.bitwise_or.reduce(signs)) & (HIGH | ANGLE | PIPE) & ~inside  # of other rows nothing is seen


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


MIX, STIR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
PREFIX = "sixteencharacter"
KNOWN_BITS = 16


def fixed_hash(word: str) -> int:
    """A hash without a secret, of words of 8 letters or of the prefix and 8 letters."""
    numbers = [int.from_bytes(word[at : at + 8].encode(), "little") for at in range(0, len(word), 8)]
    key = numbers[0] * MIX
    if len(numbers) == 3:
        key = (numbers[0] ^ numbers[1] * STIR) * MIX % 2**64
        key = (key ^ key >> 32 ^ numbers[2]) * MIX
    return key % 2**64


def colliding(prefix: str) -> list[str]:
    """Words whose fixed hashes begin with the same bits: halves of letters whose products add up to the sought one."""
    start = fixed_hash(prefix + "\0" * 8) if prefix else 0
    before = start * pow(MIX, -1, 2**64) % 2**64  # what the letters are xored with
    letters = np.random.default_rng(7).integers(97, 123, (2, 30_000, 4)).astype(np.uint8)
    halves = [np.unique(half.reshape(-1, 4).view("<u4").ravel()).astype(np.uint64) for half in letters]
    low = (halves[0] ^ np.uint64(before & 0xFFFFFFFF)) * np.uint64(MIX)
    high = (halves[1] << np.uint64(32) ^ np.uint64(before >> 32 << 32)) * np.uint64(MIX)
    order = np.argsort(high)
    sorted_high, least = high[order], np.uint64(1 << 63) - low  # hashes from 2**63 on
    ends = [np.searchsorted(sorted_high, least + np.uint64(add)) for add in (0, 1 << (64 - KNOWN_BITS))]
    words = []
    for i in np.flatnonzero(ends[1] > ends[0]).tolist():
        for j in order[ends[0][i] : ends[1][i]].tolist():
            word = int(halves[0][i] | halves[1][j] << np.uint64(32)).to_bytes(8, "little")
            words.append(prefix + word.decode())
    return words


def further_slots(vocabulary: Vocabulary) -> int:
    """How many slots the words lie behind their first ones, together: the further slots that looking each up visits."""
    slots = vocabulary.arrays.slots
    places = np.flatnonzero(slots)
    first = (slots[places] >> np.uint64(64 - (len(slots).bit_length() - 1))).astype(np.int64)
    return int(((places - first) % len(slots)).sum())


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_words_made_to_collide_have_slots_of_their_own(prefix: str) -> None:
    words = colliding(prefix)
    assert len(words) > 10_000
    assert len({fixed_hash(word) >> (64 - KNOWN_BITS) for word in words}) == 1
    vocabulary = Vocabulary(convention("words"))
    for start in range(0, len(words), 1000):
        vocabulary.tokenize(text_of_strings([" ".join(words[start : start + 1000])]))
    assert len(vocabulary) == len(words)
    assert further_slots(vocabulary) < 10 * len(words), "all in one run of slots, they are len(words) ** 2 / 2"


def test_no_number_depends_on_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    letters = np.array(list("abcdeжщё漢é12"))
    words = ["".join(random.choice(letters, n)) for n in random.integers(1, 50, 3000)]
    texts = text_of_strings([" ".join(random.choice(words, 40)) for _ in range(300)])
    drawn = [(int(a), int(b) | 1) for a, b in random.integers(0, 2**63, (3, 2))]
    found = []
    for secret in [(0, 1), (2**64 - 1, 2**64 - 1), *drawn]:
        monkeypatch.setattr(tokenize, "SECRET", np.array(secret, np.uint64))
        vocabulary = Vocabulary(convention("words"))
        found.append((vocabulary.tokenize(texts).ids.tolist(), vocabulary.words()))
    assert all(one == found[0] for one in found)
    listed = " ".join(texts.strings()).split()
    numbers = {word: number for number, word in enumerate(dict.fromkeys(listed))}
    assert found[0][0] == [numbers[word] for word in listed], "numbers are in the order of first occurrence"
