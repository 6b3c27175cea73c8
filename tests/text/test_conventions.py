"""Conventions: normalization, segmentation, stems and lists of words."""

from __future__ import annotations

import random
import re
import sys
import unicodedata
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.arrays import Text, text_of_strings, well_formed
from fastmetrics.text import conventions, segmentation
from fastmetrics.text.lexicons import LANGUAGES, lexicon, lexicons
from fastmetrics.text.normalization import ALL, STEPS, Normalizer, may_change
from fastmetrics.text.tokenize import stem
from tests.reference import cases
from tests.reference import text as reference
from tests.reference.marks import WORD_LISTS, entries
from tests.support import strategies
from tests.support.goldens import tables
from tests.support.program import jsonl, program

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


def test_letters_of_scripts_without_spaces_are_words_of_three_and_of_four_bytes() -> None:
    found = text.tokens(["A\U00020000\U00020001 \U00020002b", "東京"], "unicode")
    assert found == [["a", "\U00020000", "\U00020001", "\U00020002", "b"], ["東", "京"]]


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


TABLES = tables("spellings")

EQUAL = TABLES["equal"]


@pytest.mark.parametrize(("step", "given_text", "other"), EQUAL)
def test_each_step_makes_two_spellings_equal(step, given_text, other):
    normal = Normalizer(step)
    assert normal(given_text) == normal(other)
    assert Normalizer([name for name in STEPS if name not in (step, "nfkc", "casefold")])("plain") == "plain"


def test_other_letters_stay():
    assert Normalizer("all")("مدرسةٌ أحمد") == "مدرسة أحمد", "hamza and ta marbuta are letters"
    assert Normalizer(["arabic"])("ا\u0654") == "ا\u0654"
    assert Normalizer("tr")("Iı İi") == "ıı ii"


ODD = "aIİıß\u0307\u0301\u200bﬁ٣–ÅＩ"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(ODD, max_size=8)


@given(st.lists(st.sampled_from([*STEPS, "all"]), min_size=1, max_size=4), st.lists(TEXTS | st.none(), max_size=6))
def test_columns_are_normalised_text_by_text_and_twice_is_once(steps, texts):
    normal = Normalizer(steps)
    expected = [None if text is None else normal(text) for text in texts]
    assert [None if text is None else normal(text) for text in expected] == expected
    for type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(["É", *texts], pa.string()).cast(type_)[1:]
        assert normal.column(column).to_pylist() == expected
    lists = pa.array([["É"], texts, None, [], texts[:2]], pa.list_(pa.string()))[1:]
    assert normal.column(lists).to_pylist() == [expected, None, [], expected[:2]]
    assert normal.column(lists.cast(pa.large_list(pa.string()))).to_pylist() == [expected, None, [], expected[:2]]
    if "casefold" not in steps and "all" not in steps and not {"tr", "az"} & set(steps):
        changed = [text is not None and normal(text) != text for text in texts]
        hinted = may_change(text_of_strings(text or "" for text in texts)).tolist()
        assert all(hint or not is_changed for hint, is_changed in zip(hinted, changed, strict=True))


def test_metrics_and_runs_compare_normalised_texts(tmp_path):
    rows = [{"answer": "٤٢ كِتَاب", "reference": "42 كتاب"}, {"answer": "Straße", "reference": ["x", "STRASSE"]}]
    rows[0]["reference"] = [rows[0]["reference"]]
    metrics = ["exact_match(normalize='all')", "exact_match", "chrf(normalize=('digits', 'arabic'))"]
    with pytest.warns(fm.ScoreWarning) as said:
        scores = fm.score(rows, metrics)
    assert scores["exact_match(normalize='all')"].to_pylist() == [1.0, 1.0]
    assert scores["exact_match"].to_pylist() == [0.0, 0.0]
    assert "2 answers hold a reference but for its spelling" in str(said[0].message)
    assert scores["chrf(normalize=('digits', 'arabic'))"].to_pylist()[0] == 100.0
    assert fm.score(rows, "exact_match,chrf", normalize="all").to_pydict() == {
        "exact_match": [1.0, 1.0],
        "chrf": [100.0, 100.0],
    }
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    out = tmp_path / "o.parquet"
    words = ("score", path, "-m", "exact_match", "-o", out)
    assert program(*words, "--normalize", "digits,arabic", "--normalize", "casefold").code == 0
    found = fm.summarize(out)
    assert found["exact_match"].mean == 1.0
    done = program(*words, "--resume", "--normalize", "nfc")
    assert (done.code, "normalize was ['digits', 'arabic', 'casefold'], is 'nfc'" in done.err) == (4, True)
    done = program(*words, "--overwrite", "--normalize", "ascii")
    assert (done.code, "'nfkc'" in done.err) == (2, True)


def test_texts_of_many_rows_are_the_same_bits_for_any_batches_and_threads():
    words = ["Straße", "STRASSE", "cafe\u0301", "café", "٣", "3", "Plain", "plain", "x\u200by", "xy"]
    columns = {"answer": [words[n % 10] for n in range(400)], "reference": [words[n * 7 % 10] for n in range(400)]}
    normal = Normalizer(ALL)
    before = {name: list(map(normal, texts)) for name, texts in columns.items()}
    expected, rows = fm.score(before, "token_f1,chrf,exact_match,cer"), pa.table(columns)
    pieces = pa.concat_tables([rows.slice(start, 33) for start in range(0, 400, 33)])
    for table, threads in ((rows, 1), (pieces, 2)):
        assert fm.score(table, "token_f1,chrf,exact_match,cer", normalize="all", threads=threads).equals(expected)


PAIRS = [
    (["It was in 1939–45."], ["1939-45"], "1 answer holds .* normalize='dashes' .--normalize dashes."),
    (["Straße 5", "x"], [["Berlin", "STRASSE 5"], ["y"]], "1 answer .* normalize='casefold'"),
    (["İzmir ٣", "izmir"], ["izmir 3", "İzmir"], r"2 answers .* normalize=\['tr', 'digits'\] .--normalize tr,digits."),
    (["ﬁn"], ["fin"], "normalize='all'"),
    (["Королёв"], ["королев"], "normalize='ru'"),
    (["i\u0307zmir"], ["İzmir"], None),
]
"""Answers and references, and what is noted; the last is İ in lower case by the rules of other languages."""


@pytest.mark.parametrize(("answers", "references", "note"), PAIRS)
def test_a_note_names_the_steps_that_make_pairs_alike(answers, references, note):
    table = {"answer": answers, "reference": references}
    if note is not None:
        with pytest.warns(fm.ScoreWarning, match=note):
            fm.score(table, "exact_match,token_f1")
        with pytest.warns(fm.ScoreWarning, match=note):
            fm.token_f1(answers, references)
    assert fm.score(table, "cover_match", normalize=["all", "tr", "ru"])["cover_match"][0].as_py() == 1.0
    fm.score(table, "answer_words")


NONE = [("naïve", "naïve"), ("Müller", "Mueller"), ("x" * 201 + "٣", "3"), ("Straße", ["x", "Straße", "STRASSE"])]


@pytest.mark.parametrize(("answer", "reference"), [*NONE, ("–", " ")])
def test_there_is_no_note_where_no_step_helps_or_nothing_is_amiss(answer, reference):
    fm.score({"answer": [answer, None], "reference": [reference, None]}, "exact_match,token_f1,cer")


def test_all_batches_count_the_same_pairs(tmp_path):
    rows = [
        {"id": n, "answer": ["٣", "Straße", "b"][n % 3], "reference": ["3", "STRASSE", "b"][n % 3]} for n in range(90)
    ]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    for size in (7, 50):
        files = fm.tables.FileSettings(batch_rows=size)
        found = fm.score(path, "exact_match", output=tmp_path / f"{size}.parquet", files=files).summary
        assert "60 answers hold a reference but for its spelling" in found.notes[0]
    path = jsonl(tmp_path / "one.jsonl", *rows[2:90:3], rows[1])
    found = fm.score(path, "exact_match", output=tmp_path / "one.parquet", files=fm.tables.FileSettings(batch_rows=7))
    assert "1 answer holds a reference but for its spelling" in found.summary.notes[0]


def test_a_metric_within_another_reads_texts_by_its_own_options():
    field = fm.json_match(['{"t": "Straße"}'], ['{"t": "STRASSE"}'], fields="t=token_f1(normalize='casefold')")
    assert field.tolist() == [1.0]


ENDS = [
    *".!?。！？…",
    *("\n", "\n\n", "\n\u3000\n", "\r\n \u2028\n", "?!", ". ", "。\u00a0", "\u2003.", "’", "“", "ï", "あ"),
]
KINDS: dict[str, tuple[Callable[[Text], Text], Callable[[str], list[str]]]] = {
    "sentences": (segmentation.sentences, reference.sentences),
    "paragraphs": (segmentation.paragraphs, reference.paragraphs),
    "lines": (segmentation.lines, lambda string: [line for line in string.split("\n") if line]),
}


def pieces(split: Callable[[Text], Text], text: Text) -> list[list[str]]:
    """The pieces of each text."""
    parts = split(text)
    assert parts.groups is not None
    strings = parts.strings()
    return [strings[first:last] for first, last in zip(parts.groups[:-1], parts.groups[1:], strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_that_span_blocks_of_bytes(kind: str) -> None:
    """Each end of a piece at every place around a border, in texts that stand alone and in a column of all."""
    split, definition = KINDS[kind]
    sizes = (0, 1, *range(59, 67), *range(123, 131))
    texts = [f"{'a' * size}{end}b {end}{' ' * gap}c" for size in sizes for end in ENDS for gap in (0, 1, 63)]
    texts += [string[:-1] for string in texts]
    expected = [definition(string) for string in texts]
    assert pieces(split, text_of_strings(texts)) == expected
    assert [pieces(split, text_of_strings([string]))[0] for string in texts] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_outside_a_text_end_no_piece(kind: str) -> None:
    """Texts are slices of longer bytes."""
    split, definition = KINDS[kind]
    whole = "a.\n\nb。c\n\nd… e! " * 9
    data = np.frombuffer(whole.encode(), np.uint8)
    borders = np.flatnonzero((data & 0xC0) != 0x80)
    starts, stops = (np.sort(column) for column in np.random.default_rng(7).choice(borders, (2, 200)))
    starts, stops = np.minimum(starts, stops), np.maximum(starts, stops)
    text = Text(data, starts, stops, np.ones(len(starts), np.bool_))
    assert pieces(split, text) == [definition(string) for string in text.strings()]


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=20))
def test_words_have_one_stem_and_short_words_are_unchanged(word: str) -> None:
    found = stem(word.encode())
    assert re.fullmatch("[a-z0-9]+", found)
    assert len(word) > 3 or found == word


NAMES = sorted(file.name.removesuffix(".txt") for file in WORD_LISTS.iterdir())


def test_reference_has_exactly_the_same_lists():
    files = (file.name for file in resources.files("fastmetrics.text.lexicons").iterdir())
    assert sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_lists_equal_the_reference_without_duplicates(name):
    assert list(lexicon(name)) == list(dict.fromkeys(entries(name)))


def test_language_any_combines_all_languages():
    assert LANGUAGES == ("en", "ru")
    assert list(lexicons("stop")) == list(dict.fromkeys(entries("stop_en") + entries("stop_ru")))
    assert list(lexicons("stop", "ru")) == entries("stop_ru")


def test_folder_file_replaces_a_single_list(tmp_path):
    (tmp_path / "stop_en.txt").write_text("the  # an article\n\n# nothing else\nthe\n")
    assert lexicon("stop_en", str(tmp_path)) == ("the",)
    assert lexicon("stop_ru", str(tmp_path)) == lexicon("stop_ru")
