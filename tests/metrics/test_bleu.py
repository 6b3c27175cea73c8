"""BLEU against sacreBLEU: tokens the same, scores to a relative 1e-12."""

import json
import logging
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.bleu import _get_tokenizer

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.errors import OptionError
from fastmetrics.base.limits import SIZES
from tests.support import strategies
from tests.support.goldens import refused
from tests.support.program import jsonl, program

TOKENIZERS = ("13a", "intl", "char", "zh", "none")
PIECES = ["&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "&amp;quot;", "<skipped>", "<SKIPPED>", "-\n", "-<skipped>\n"]
PIECES += [
    *("...", "5.5", "1,000", "U.S.", ".", ",", "-", "5", "a", " ", "\n", "中", "é", "٣", "½", "Ⅷ", "€", "。", "\u3000"),
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12)


glued = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
hostile = st.one_of(glued, strategies.texts)
options = st.fixed_dictionaries(
    {},
    optional={
        "tokenizer": st.sampled_from(TOKENIZERS),
        "lowercase": st.booleans(),
        "smooth_method": st.sampled_from(["exp", "floor", "add-k", "none"]),
        "smooth_value": st.sampled_from([None, 0, 0.01, 1, 2.5]),
        "max_ngram_order": st.sampled_from([1, 2, 4, 6]),
        "effective_order": st.booleans(),
    },
)
table = st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5)


def tokens(texts: list[str], name: str, lowercase: bool) -> list[Any]:
    plain = {"none": "split"}.get(name, f"{name}_lower")
    return text.tokens(texts, plain if lowercase else name)


def check_tokens(texts: list[str], name: str, lowercase: bool) -> None:
    tokenizer = _get_tokenizer(name)()
    for one, ours in zip(texts, tokens(texts, name, lowercase), strict=True):
        theirs = tokenizer((one.lower() if lowercase else one).rstrip()).split()
        assert ours == theirs, f"{name} of {one!r}, {lowercase=}"


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", TOKENIZERS)
@given(rows=st.lists(hostile, max_size=6))
def test_tokens_of_any_text(name: str, lowercase: bool, rows: list[str]) -> None:
    check_tokens(rows, name, lowercase)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokens_of_hard_characters(name: str, lowercase: bool) -> None:
    hard = strategies.WHITE_SPACE + strategies.CASES + strategies.MARKS + strategies.PUNCTUATION + strategies.SYMBOLS
    chance = random.Random(6)
    texts = [f"{a}{one}{b}" for one in hard for a in ("", "5", "a", ".", " ") for b in ("", "5", "a", ".", " ", "-")]
    texts += ["".join(chance.choices("5.,- a\n" + hard[:99], k=chance.randint(0, 30))) for _ in range(2000)]
    check_tokens(texts, name, lowercase)


def sacrebleu(tokenizer: str = "13a", **given_options: Any) -> BLEU:
    return BLEU(tokenize=tokenizer, **given_options)


@given(rows=table, given_options=options)
@example(rows=[("a b a c", ["a b"]), ("a b a c", ["a c"])], given_options={})
@example(rows=[("A b c d", ["a B c d"])], given_options={"tokenizer": "none", "lowercase": True})
def test_any_text(rows: list[tuple[str, list[str]]], given_options: dict[str, Any]) -> None:
    answers, references = [row[0] for row in rows], [row[1] for row in rows]
    scorer = sacrebleu(**{"effective_order": True, **given_options})
    got = fm.bleu(answers, references, **given_options)
    for ours, answer, wanted in zip(got, answers, references, strict=True):
        theirs = scorer.sentence_score(answer, wanted).score
        assert close(ours, theirs), f"{answer!r}, {wanted!r}: {ours!r}, not {theirs!r}"
    check_corpus(answers, references, given_options)


def check_corpus(answers: list[str], references: list[list[str]], given_options: dict[str, Any]) -> None:
    scorer = sacrebleu(**given_options)
    streams = [[row[k] if k < len(row) else None for row in references] for k in range(max(map(len, references)))]
    theirs, ours = scorer.corpus_score(answers, streams), fm.corpus_bleu(answers, references, **given_options)
    assert close(ours.score, theirs.score)
    assert float(ours) == ours.score
    assert (ours.counts, ours.totals) == (list(theirs.counts), list(theirs.totals))
    assert (ours.sys_len, ours.ref_len) == (theirs.sys_len, theirs.ref_len)
    assert close(ours.bp, theirs.bp)
    assert all(map(close, ours.precisions, theirs.precisions))
    assert ours.signature == str(scorer.get_signature())
    assert str(ours) == f"BLEU|{ours.signature} = {str(theirs).removeprefix('BLEU = ')}"


def test_references_are_merged() -> None:
    """Counts are the highest of any reference, and of equally close lengths the smaller counts."""
    answers, references = ["a a b c c d"], [["a a x", "c c c b x y z w", "a c b b"]]
    assert close(
        fm.bleu(answers, references)[0], BLEU(effective_order=True).sentence_score(answers[0], references[0]).score
    )
    assert fm.corpus_bleu(answers, references).counts[0] == 5
    assert fm.corpus_bleu(answers, references).ref_len == 4


def test_missing_values_are_left_out() -> None:
    answers, references = ["a b", None, "c d", "e f"], [["a b", None], ["x"], None, []]
    assert np.isnan(fm.bleu(answers, references)).tolist() == [False, True, True, True]
    found = fm.corpus_bleu(answers, references)
    assert (found.sys_len, found.ref_len) == (2, 2)
    assert math.isnan(fm.corpus_bleu([None], [None]).score)
    nothing = fm.corpus_bleu([], [])
    assert nothing.totals == [0, 0, 0, 0]
    assert math.isnan(nothing.score)


def test_long_texts() -> None:
    chance = random.Random(2)
    names = [f"w{i}" for i in range(700)]
    answer, *references = (" ".join(chance.choices(names, k=900)) for _ in range(3))
    reference = " ".join(answer.split()[100:500])
    wanted = BLEU(effective_order=True).sentence_score(answer, [*references, reference]).score
    assert close(fm.bleu([answer], [[*references, reference]])[0], wanted)


class Halves:
    """A tokeniser of the kind only sacreBLEU can run: it counts how often."""

    calls = 0

    def __call__(self, line: str) -> str:
        Halves.calls += 1
        return f"{line[: len(line) // 2]} {line[len(line) // 2 :]}"

    def signature(self) -> str:
        return "halves"


def test_tokenizers_delegated_to_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", lambda name: Halves)
    answers, references = ["abCD", "abcd", "abCD"], ["abcd", "abxx", "abcd"]
    scorer = BLEU(effective_order=True, tokenize="flores200", lowercase=True)
    expected = [scorer.sentence_score(a, [r]).score for a, r in zip(answers, references, strict=True)]
    Halves.calls = 0
    got = fm.bleu(answers, references, tokenizer="flores200", lowercase=True)
    assert Halves.calls == 4  # two distinct answers, two distinct references
    assert all(map(close, got, expected))
    assert "tok:halves" in fm.corpus_bleu(answers, references, tokenizer="flores200").signature


def test_tokenizers_without_dependency_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise RuntimeError("install the dictionary")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", refuse)
    refused(OptionError, "ja-mecab dictionary", fm.bleu, ["a"], ["a"], tokenizer="ja-mecab")


@pytest.mark.parametrize("threads", [1, 2])
def test_corpus_bleu_is_exact_over_any_number_of_parts(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(["a", "b", "c.", "d,", "1.5", "É"], k=12)) for _ in range(60)]
    rows = pa.table({"answer": texts, "reference": texts[1:] + texts[:1]})
    spec, whole = "corpus_bleu(lowercase=True)", fm.corpus_bleu(rows["answer"], rows["reference"], lowercase=True)
    monkeypatch.setattr(SIZES, "batch_rows", 7)
    assert fm.corpus_bleu(rows["answer"], rows["reference"], lowercase=True, threads=threads) == whole
    scored = fm.score(rows, ["bleu", spec], threads=threads)
    assert scored.column_names == ["bleu"]
    assert fm.summarize(scored).corpus == {spec: whole.score}
    parts = [fm.score(rows.slice(start, 20), ["bleu", spec]) for start in (0, 20, 40)]
    assert fm.summarize(parts).figures[spec] == whole.score


def test_corpus_bleu_through_files(tmp_path: Path) -> None:
    rows = [{"answer": f"a b c d {i % 7}", "reference": [f"a b c {i % 5} e", "a b"]} for i in range(3000)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    whole = fm.corpus_bleu([row["answer"] for row in rows], [row["reference"] for row in rows])
    assert whole.signature.startswith("nrefs:2|")
    for name in ("scores.parquet", "scores"):
        made = fm.score(
            path, output=tmp_path / name, metrics=["bleu", "corpus_bleu"], files=fm.tables.FileSettings(batch_rows=512)
        )
        assert made.summary.figures["corpus_bleu"] == whole.score
        from fastmetrics.results.summary import summarize

        assert summarize(tmp_path / name).figures["corpus_bleu"] == whole.score


def test_a_corpus_metric_alone_writes_the_counts_of_rows(tmp_path: Path) -> None:
    """There is nothing else to say of a row; the value and a comparison need no row metric."""
    table = {"id": [1, 2, 3], "answer": ["a b c d e", "x y z", None], "reference": ["a b c d f", "x y z w", "b"]}
    table["weight"] = [0.5, 1.5, 2.5]
    alone, beside = (
        fm.score(table, names, keep_counts="bleu" in names) for names in (["corpus_bleu"], ["corpus_bleu", "bleu"])
    )
    assert alone.column_names == ["id", "corpus_bleu.counts"]
    assert alone["corpus_bleu.counts"].equals(beside["corpus_bleu.counts"])
    value = fm.summarize(beside).figures["corpus_bleu"]
    assert fm.summarize(alone).figures == {"corpus_bleu": value}
    path = jsonl(tmp_path / "t.jsonl", *pa.table(table).to_pylist())
    for suffix in ("parquet", "jsonl", "arrow", "csv"):
        done = program("score", path, "-o", tmp_path / f"o.{suffix}", "-m", "corpus_bleu")
        assert (done.code, "corpus_bleu" in done.out) == (0, True), done.err
        assert fm.summarize(tmp_path / f"o.{suffix}").figures == {"corpus_bleu": value}
    program("score", path, "-o", tmp_path / "kept.parquet", "-m", "corpus_bleu", "--keep", "weight")
    assert fm.summarize(tmp_path / "kept.parquet").figures == {"corpus_bleu": value}
    compared = fm.compare([tmp_path / "o.parquet", tmp_path / "o.arrow"], metrics="corpus_bleu")
    assert compared.to_arrow()["delta"].to_pylist() == [0.0]


@pytest.mark.parametrize("effective_order", [True, False])
@pytest.mark.parametrize("smooth_method", ["exp", "floor", "add-k", "none"])
def test_rows_have_the_last_bit_of_sacrebleu(smooth_method, effective_order):
    """Logarithms are those of the C library, which Python calls: NumPy's differ in the last bit of a row in twenty."""
    chance = random.Random(1)
    words = ["a", "b", "c", "d", "e", "f", "the", "of", "in", "paris", "rome"]
    answers, references = (
        [" ".join(chance.choices(words, k=chance.randrange(16))) for _ in range(1_000)] for _ in "ab"
    )
    theirs = BLEU(smooth_method=smooth_method, effective_order=effective_order)
    expected = [
        theirs.corpus_score([answer], [[reference]]).score
        for answer, reference in zip(answers, references, strict=True)
    ]
    ours = fm.bleu(answers, references, smooth_method=smooth_method, effective_order=effective_order)
    assert ours.tolist() == expected
