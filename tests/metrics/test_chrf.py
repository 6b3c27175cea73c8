"""chrF and chrF++ against sacreBLEU, to a relative 1e-12."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

import fastmetrics as fm
from tests.support import strategies

ends = st.lists(
    st.sampled_from(["(hi)", "hi.", ".", "..", ".a.", "(", "é)", ",é", "a", "-a-b-", "\x00", "\x00.", "中。"])
)
hostile = st.one_of(strategies.texts, ends.map(" ".join))
options = st.fixed_dictionaries(
    {},
    optional={
        "char_order": st.sampled_from([1, 3, 6]),
        "word_order": st.sampled_from([0, 1, 2]),
        "beta": st.sampled_from([1, 2, 3]),
        **{name: st.booleans() for name in ("lowercase", "whitespace", "eps_smoothing")},
    },
)


def check(answers: list[str], references: list[list[str]], given_options: dict[str, Any]) -> None:
    """Score rows both ways and show the first on which they differ."""
    scorer = CHRF(**given_options)
    got = fm.chrf(answers, references, **given_options)
    for ours, answer, wanted in zip(got, answers, references, strict=True):
        theirs = scorer.sentence_score(answer, wanted).score
        assert math.isclose(ours, theirs, rel_tol=1e-12), f"{answer!r}, {wanted!r}: {ours!r}, not {theirs!r}"


@given(
    rows=st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5),
    given_options=options,
)
def test_any_text(rows: list[tuple[str, list[str]]], given_options: dict[str, Any]) -> None:
    check([row[0] for row in rows], [row[1] for row in rows], given_options)


@given(
    rows=st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5),
    given_options=options,
)
def test_corpus_chrf(rows: list[tuple[str, list[str]]], given_options: dict[str, Any]) -> None:
    """Score, counts, name and signature are sacreBLEU's, of any number of references."""
    answers, references = [row[0] for row in rows], [row[1] for row in rows]
    columns = [[one[at] if at < len(one) else None for one in references] for at in range(max(map(len, references)))]
    scorer = CHRF(**given_options)
    wanted = scorer.corpus_score(answers, columns)
    got = fm.corpus_chrf([*answers, None, "a"], [*references, ["a"], []], **given_options)
    assert (got.score, got.name, got.signature) == (wanted.score, wanted.name, str(scorer.get_signature()))
    sums = np.sum(scorer._extract_corpus_statistics(answers, columns), axis=0).tolist()
    assert [sums[0::3], sums[1::3], sums[2::3]] == [got.in_answers, got.in_references, got.in_both]


def test_corpus_chrf_plus_plus_and_no_rows() -> None:
    answers, references = ["the cat sat.", "a mat"], [["the cats sat.", "(the) cat"], ["mat"]]
    got = getattr(fm, "corpus_chrf++")(answers, references)
    assert got.score == fm.corpus_chrf(answers, references, word_order=2).score == float(got)
    assert str(got).startswith("chrF2++|nrefs:var|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")
    assert np.isnan([fm.corpus_chrf([], []).score, fm.corpus_chrf([None], ["a"]).score]).all()


def test_long_texts() -> None:
    """Hash tables in place of dense ones."""
    chance = random.Random(5)
    letters = "".join(chr(code) for code in range(0x400, 0x4F0)) + "  ."
    answer, reference = ("".join(chance.choices(letters, k=5000)) for _ in range(2))
    check([answer, answer], [[reference], [answer[300:] + reference]], {"word_order": 2})


def test_words_only() -> None:
    check(["a b. c"], [["a b c."]], {"char_order": 0, "word_order": 2})


def test_chrf_plus_plus() -> None:
    answers, references = ["the cat sat.", None, ""], [["the cats sat.", "(the) cat"], ["a"], ["a"]]
    got = fm.score({"answer": answers, "reference": references}, ["chrf", "chrf++", "chrf(word_order=2)"])
    assert got["chrf++"].to_pylist() == got["chrf(word_order=2)"].to_pylist()
    assert got["chrf++"].to_pylist()[1:] == [None, 0.0]
    assert got["chrf++"][0].as_py() == getattr(fm, "chrf++")(answers, references)[0]
    wanted = CHRF(word_order=2).sentence_score(answers[0], references[0]).score
    assert math.isclose(got["chrf++"][0].as_py(), wanted, rel_tol=1e-12)
    assert math.isclose(got["chrf"][0].as_py(), CHRF().sentence_score(answers[0], references[0]).score, rel_tol=1e-12)


def test_golden_scores(data_folder: Path) -> None:
    golden = json.loads((data_folder / "oracles" / "text_golden.json").read_text(encoding="utf-8"))
    rows = [(case["pred"], [case["ref"]], case["chrf"]) for case in golden["pairs"]]
    rows += [(case["pred"], case["refs"], case["chrf"]) for case in golden["multi_ref"]]
    for name in ("chrf", "chrf++"):
        got = getattr(fm, name)([row[0] for row in rows], [row[1] for row in rows])
        for ours, (*_, expected) in zip(got, rows, strict=True):
            assert math.isclose(ours, expected[name], rel_tol=1e-12)
