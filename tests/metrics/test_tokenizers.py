"""The tokenizers of word metrics: built-in conventions, and functions of plugins."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import PluginError
from fastmetrics.metrics.tokenizers import TOKENIZERS
from fastmetrics.tables.outputs import read_metadata
from tests.reference.lexical import token_f1 as plain_f1
from tests.reference.text import unicode_words
from tests.support import strategies
from tests.support.goldens import refused
from tests.support.program import jsonl, program

ANSWERS = ["巴黎是法国的首都。", "Das Haus", "", "a b", None, "パリ is nice"]
REFERENCES = ["法国首都", "das haus!", "", "b a c", "x", "パリ"]


def by_hand(cut, scores):
    """The F1 of multisets of tokens that ``cut`` makes."""
    for answer, reference, score in zip(ANSWERS, REFERENCES, scores, strict=True):
        if answer is None:
            assert np.isnan(score)
            continue
        a, b = cut(answer), cut(reference)
        common = sum(min(a.count(token), b.count(token)) for token in set(a))
        expected = 1.0 if not a and not b else 0.0 if not common else 2 * common / (len(a) + len(b))
        assert score == pytest.approx(expected)


def characters(text):
    return [character for character in text.lower() if not character.isspace()]


def test_characters_are_tokens():
    by_hand(characters, fm.token_f1(ANSWERS, REFERENCES, tokenizer="char"))


def test_each_character_of_scripts_without_spaces_is_a_word():
    assert fm.token_recall(["巴黎是法国的首都"], ["法国首都 France"], tokenizer="unicode").tolist() == [0.8]
    assert fm.keyword_recall(["巴黎是法国的首都"], ["法国首都"], tokenizer="unicode").tolist() == [1.0]
    assert fm.token_precision(["Paris, France"], ["paris"], tokenizer="unicode").tolist() == [0.5]


@pytest.mark.parametrize(
    ("one", "other", "f1"),
    [
        *[("✓", "✗", 0), ("👍", "👎", 0), ("≤", "≥", 0), ("★★★", "★", 0.5), ("✔\ufe0f", "✔", 1), ("?", "!", 0)],
        *[("C++", "C#", 0.5), ("A+", "A−", 0.5), ("A-", "a−", 1), ("AB+", "AB-", 0.5), ("C++,", "(c++)", 1)],
        *[("a well-known B-52", "a well known b 52", 1), ("Paris ✓", "paris ✗", 1), ("(a + b)", "a b", 1)],
        *[("", " \n", 1), ("", "…", 0), ("中文C++", "中文c", 1), ("x1+", "x1", 1), ("\0", "\0 ", 1)],
        ("\u212a+", "k#", 0.5),
    ],
)
def test_symbols_of_a_text_without_words_and_signs_behind_letters_are_tokens(one, other, f1):
    filler = ["C#", "", "a", "+", "ß-"]  # texts before and behind
    left, right = [*filler, one, other, *filler], [*filler, other, one, *filler]
    assert fm.token_f1(left, right, tokenizer="unicode").tolist() == [*[1.0] * 5, f1, f1, *[1.0] * 5]
    assert fm.token_f1(left[::-1], right[::-1], tokenizer="unicode")[5:7].tolist() == [f1, f1]


@given(st.lists(strategies.texts, max_size=6))
def test_words_of_unicode(texts):
    """Every text is some of its words, and other texts around it change nothing."""
    apart = [fm.token_f1([text], ["the a c++ C# é x"], tokenizer="unicode")[0] for text in texts]
    assert fm.token_f1(texts, ["the a c++ C# é x"] * len(texts), tokenizer="unicode").tolist() == apart
    for text, score in zip(texts, apart, strict=True):
        words = unicode_words(text)
        common = (Counter(words) & Counter(["the", "a", "c", "++", "c", "#", "é", "x"])).total()
        assert score == pytest.approx(2 * common / (len(words) + 8))


def test_the_default_is_the_convention_of_the_metric():
    for metric, convention in (("token_f1", "plain"), ("keyword_recall", "light")):
        scores = fm.score({"answer": ANSWERS, "reference": REFERENCES}, f"{metric}(tokenizer={convention!r})")
        assert scores.column_names == [metric]
    assert fm.token_f1(["a b"], ["b a c"], tokenizer="plain").tolist() == [plain_f1("a b", "b a c")]


def test_a_function_cuts_texts():
    calls = []

    @fm.metrics.tokenizer("syllables")
    def syllables(text):
        calls.append(text)
        return [text[place : place + 2] for place in range(0, len(text), 2)]

    scores = fm.token_f1(ANSWERS, REFERENCES, tokenizer="syllables")
    by_hand(lambda text: ["".join(token.split()) for token in syllables(text) if token.strip()], scores)
    calls.clear()
    fm.token_f1(["ab"] * 50, ["ab"] * 50, tokenizer="syllables")
    assert calls == ["ab", "ab"]


PLUGIN = """
import fastmetrics as fm

@fm.metrics.tokenizer("letters")
def letters(text):
    return list(text.lower())
"""


def test_a_plugin_on_the_command_line(tmp_path: Path) -> None:
    plugin, rows = tmp_path / "mine.py", jsonl(tmp_path / "rows.jsonl", {"id": 1, "answer": "ab", "reference": "Bc"})
    plugin.write_text(PLUGIN)
    spec, scores = "token_f1(tokenizer='letters')", tmp_path / "scores.parquet"
    done = program("score", rows, "-m", spec, "--plugin", plugin, "-o", scores)
    assert (done.code, done.err) == (0, "")
    for command, *more in (
        ("summarize", "--json"),
        ("summarize", "--histograms", "--json"),
        ("gate", "-r", f"{spec} >= 0.5 with n >= 1"),
    ):
        read = program(command, scores, *more)
        assert (read.code, read.err) == (0, ""), read.err
        assert "0.5" in read.out
    assert json.loads(program("summarize", scores, "--json").out)["metrics"][spec]["mean"] == 0.5
    refused = program("score", rows, "-m", "token_f1(tokenizer='jieba')")
    expected = (
        "'plain', 'unicode', 'char' or a function of a plugin under @fm.metrics.tokenizer(...) ('letters'), got 'jieba'"
    )
    assert (refused.code, refused.err) == (2, f"error: token_f1: option 'tokenizer' expects {expected}\n")


def test_a_changed_function_is_another_setting(tmp_path: Path) -> None:
    settings = []
    for step in ("list(text)", "text.split()"):
        (tmp_path / "mine.py").write_text(PLUGIN.replace("list(text.lower())", step))
        fm.metrics.load_plugin(tmp_path / "mine.py")
        table, scores = {"answer": ["a"], "reference": ["a"]}, tmp_path / f"{len(settings)}.parquet"
        fm.score(table, "token_f1(tokenizer='letters')", output=scores)
        settings.append(read_metadata(scores)["scores"])
    assert settings[0] != settings[1]


def test_names_of_tokenizers():
    TOKENIZERS["taken"] = json.loads
    refused(PluginError, "taken", lambda: fm.metrics.tokenizer("taken")(lambda text: [text]))
