"""sacreBLEU's paired tests: every number is that of sacreBLEU, bit by bit, and what it cannot test is refused."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, _paired_bs_test

import fastmetrics as fm
from fastmetrics.errors import ColumnError, InputError, OptionError
from fastmetrics.metrics.bleu import SMOOTHING
from fastmetrics.metrics.corpus_chrf import chrf_of_sums
from fastmetrics.stats.significance.sacrebleu_resampling import Draws, SystemCounts, paired_bootstrap
from tests.support.program import program

WORDS = [*(f"w{n}" for n in range(40)), "the", "cat.", "(sat", "да", "中", "é", ""]

bleu_options = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"smooth_method": st.sampled_from(list(SMOOTHING))},
        optional={
            "smooth_value": st.sampled_from([0.25, 1.0, 2.5]),
            "effective_order": st.booleans(),
            "max_ngram_order": st.sampled_from([1, 2, 5]),
            "lowercase": st.booleans(),
        },
    ),
)
chrf_options = st.fixed_dictionaries(
    {},
    optional={
        "char_order": st.sampled_from([1, 3]),
        "word_order": st.sampled_from([0, 1, 2]),
        "beta": st.sampled_from([1, 2, 3]),
        "eps_smoothing": st.booleans(),
    },
)


def made(n: int, systems: int, seed: int, length: int = 9) -> tuple[list[list[str]], list[list[str]]]:
    """References, one to three a row, and the answers of each system, which are the first reference with noise."""
    chance = random.Random(seed)
    references = [
        [" ".join(chance.choices(WORDS, k=chance.randint(0, length))) for _ in range(chance.choice((1, 1, 3)))]
        for _ in range(n)
    ]
    answers = [
        [
            " ".join(w if chance.random() > 0.3 else chance.choice(WORDS) for w in one[0].split(" "))
            for one in references
        ]
        for _ in range(systems)
    ]
    return references, answers


def spec(name: str, options: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})" if options else name


def compared(references, answers, test, options, n=60, confidence=-1, threads=1):
    """Both sides' figures: ours, and sacreBLEU's in the same form."""
    bleu, chrf = options
    columns = [[one[at] if at < len(one) else None for one in references] for at in range(max(map(len, references)))]
    metrics = {"bleu": BLEU(references=columns, **bleu), "chrf": CHRF(references=columns, **chrf)}
    names = [f"s{at}" for at in range(len(answers))]
    signatures, theirs = PairedTest(list(zip(names, answers, strict=True)), metrics, None, test, n, confidence)()
    asked = [spec("corpus_bleu", bleu), spec("corpus_chrf", chrf)]
    runs = {
        name: fm.score(
            {"id": range(len(one), 0, -1), "answer": one, "reference": references}, ["bleu", *asked], keep_counts=True
        )
        for name, one in zip(names, answers, strict=True)
    }
    how = {"samples": n, "confidence_samples": max(confidence, 0), "threads": threads}
    ours = fm.sacrebleu_paired(runs, test=test, metrics=asked, **how)
    figures = [[(one.score, one.p, one.mean, one.ci) for one in row] for row in ours.results]
    wanted = [[(r.score, r.p_value, r.mean, r.ci) for r in theirs[name]] for name in list(theirs)[1:]]
    told = (figures, list(ours.names), list(ours.signatures))
    return told, (wanted, list(theirs)[1:], [str(one) for one in signatures.values()])


@pytest.mark.slow
@given(
    st.integers(1, 40),
    st.integers(2, 3),
    st.integers(0, 10**6),
    st.sampled_from([("bs", -1), ("ar", -1), ("ar", 45)]),
    st.tuples(bleu_options, chrf_options),
    st.integers(1, 140),
    st.integers(1, 2),
)
@example(1, 2, 0, ("bs", -1), ({}, {}), 60, 1)
@example(21, 3, 5, ("ar", 45), ({"smooth_method": "add-k", "smooth_value": 2.5}, {"eps_smoothing": True}), 513, 2)
def test_all_figures_equal_sacrebleu(n, systems, seed, test, options, samples, threads):
    ours, theirs = compared(*made(n, systems, seed), test[0], options, samples, test[1], threads)
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_default_numbers_of_samples(test, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references, answers = made(200, 2, 3)
    ours, theirs = compared(references, answers, test, ({}, {}), n={"bs": 1_000, "ar": 10_000}[test], threads=2)
    assert ours == theirs
    rows = [{"id": range(200), "answer": one, "reference": references} for one in answers]
    runs = [fm.score(one, "bleu,corpus_bleu,corpus_chrf", keep_counts=True) for one in rows]
    found = fm.sacrebleu_paired(runs, test=test)
    assert [[(r.score, r.p, r.mean, r.ci) for r in row] for row in found.results] == theirs[0]
    assert list(found.signatures) == theirs[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "77", "2147483647"])
def test_seed_is_read_from_the_environment(seed, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    for test, confidence in (("bs", -1), ("ar", 30)):
        ours, theirs = compared(*made(30, 2, 4), test, ({}, {}), 70, confidence)
        assert ours == theirs
        assert f"seed:{seed}|" in ours[2][0]


@pytest.mark.parametrize("seed", ["none", "0", "-1", "x"])
def test_invalid_seeds_raise(seed, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    runs = [fm.score({"id": [1], "answer": ["a"], "reference": ["a"]}, "bleu,corpus_bleu", keep_counts=True)] * 2
    with pytest.raises(OptionError, match="SACREBLEU_SEED"):
        fm.sacrebleu_paired(runs)
    with pytest.raises(OptionError, match="seed=0"):
        fm.sacrebleu_paired(runs, seed=0)
    assert fm.sacrebleu_paired(runs, seed=3).signatures[0].count("seed:3|") == 1


class Given(CHRF):
    """chrF of statistics that are given in the place of sentences."""

    def _extract_corpus_statistics(self, hypotheses, references):
        return hypotheses


@given(st.integers(0, 10**6), st.sampled_from([2**10, 2**18, 2**23]), st.booleans())
def test_sums_beyond_float32_precision_equal_numpy(seed, size, smoothed):
    """Beyond 2²⁴ the order of additions shows in the sums: it is NumPy's."""
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, size, (2, 50, 18))
    counts[:, :, 2::3] = np.minimum(counts[:, :, 0::3], counts[:, :, 1::3]) // 2
    metric = Given(eps_smoothing=smoothed)
    whole = [metric._aggregate_and_compute(one.tolist()) for one in counts]
    _, theirs = _paired_bs_test({"m": (counts[0], whole[0])}, "s", counts[1].tolist(), None, {"m": metric}, 40, seed=9)

    def scores(sums):
        found, narrow = chrf_of_sums(sums, beta=2, eps_smoothing=smoothed)
        return found.astype(np.float32) if narrow.all() else found

    systems = [[SystemCounts(one, value.score, scores)] for one, value in zip(counts, whole, strict=True)]
    ours = paired_bootstrap(systems, 40, 9, 1)[1][0]
    assert (ours.score, ours.p, ours.mean, ours.ci) == tuple(
        getattr(theirs["m"], name) for name in ("score", "p_value", "mean", "ci")
    )


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1), st.lists(st.integers(1, 90), min_size=1, max_size=4))
@example(5, 3 * 2**29, [90, 90])
@example(12345, 2**31 - 1, [7, 64])
@pytest.mark.parametrize("words", [7, 1 << 18])
def test_draws_equal_numpy(words, seed, n, sizes):
    """Also where many raw draws are not taken, and after bits whose number is odd in words of 32."""
    generator = np.random.default_rng(seed)
    with Draws(seed, words) as draws:
        for size in sizes:
            assert draws.choices(n, size).tolist() == generator.choice(n, size=size, replace=True).tolist()
    generator = np.random.default_rng(seed)
    with Draws(seed, words) as draws:
        bits = np.unpackbits(draws.flags(sizes[0]).view(np.uint8), bitorder="little")[: sizes[0]]
        assert bits.tolist() == generator.integers(2, size=sizes[0], dtype=bool).tolist()
        assert draws.choices(n, 9).tolist() == generator.choice(n, size=9, replace=True).tolist()


def test_rows_follow_the_order_of_the_baseline():
    """Other runs may have another order, which shows in no bit; another order of the baseline is other draws."""
    references, answers = made(60, 2, 8)
    rows = [{"id": [f"q{7 * r % 60}" for r in range(60)], "answer": one, "reference": references} for one in answers]
    one, other = (fm.score(table, "bleu,corpus_bleu", keep_counts=True) for table in rows)
    wanted = fm.sacrebleu_paired([one, other], pairing="position").results
    assert fm.sacrebleu_paired([one, other]).results == wanted
    turned = other.take(list(range(60))[::-1])
    assert fm.sacrebleu_paired([one, turned]).results == wanted
    assert fm.sacrebleu_paired([one.take(list(range(60))[::-1]), other]).results != wanted
    swapped = fm.sacrebleu_paired({"a": other, "b": one}, baseline="b")
    assert swapped.systems == ["b", "a"]
    assert swapped.results == wanted


@pytest.mark.slow
def test_real_answers(data_folder):
    table = pq.read_table(data_folder / "dev" / "evouna_qa.parquet")
    systems = table["system"].unique().to_pylist()[:3]
    parts = [table.filter(np.asarray(table["system"]) == name).sort_by("question") for name in systems]
    common = set.intersection(*(set(part["question"].to_pylist()) for part in parts))
    held = []
    for part in parts:
        first = {q: r for r, q in reversed(list(enumerate(part["question"].to_pylist()))) if q in common}
        held.append(part.take([first[q] for q in sorted(common)][:400]))
    answers = [[text or "" for text in part["answer"].to_pylist()] for part in held]
    references = [[text for text in one if text] or [""] for one in held[0]["references"].to_pylist()]
    for test, confidence in (("bs", -1), ("ar", 50)):
        ours, theirs = compared(references, answers, test, ({}, {}), 200, confidence, threads=2)
        assert ours == theirs


def runs_of(tmp_path, rows=30):
    references, answers = made(rows, 2, 6)
    paths = []
    for name, one in zip(("old", "new"), answers, strict=True):
        source = tmp_path / f"{name}.jsonl"
        lines = [{"id": r, "answer": a, "reference": b} for r, (a, b) in enumerate(zip(one, references, strict=True))]
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
        paths.append(tmp_path / f"{name}.parquet")
        done = program("score", source, "-o", paths[-1], "-m", "bleu,corpus_bleu,corpus_chrf++", "--keep-counts", "-q")
        assert (done.code, done.err) == (0, "")
    return paths


def test_sacrebleu_command(tmp_path):
    paths = runs_of(tmp_path)
    found = fm.sacrebleu_paired(paths, test="ar", samples=90, confidence_samples=40)
    asked = ["sacrebleu-paired", *paths, "--test", "ar", "-n", "90", "--confidence-samples", "40"]
    done = program(*asked)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{found}\n"
    assert "baseline: old" in done.out
    assert "chrF2++|nrefs:var|bs:40|ar:90|seed:12345|" in done.out
    told = json.loads(program(*asked, "--json").out)
    assert told == json.loads(found.to_json())
    assert told["metrics"][1]["systems"][1]["p"] == found["corpus_chrf++", "new.parquet"].p
    assert "| p |" in program(*asked, "--markdown", "--names", "x,y").out
    with pytest.raises(KeyError):
        found["corpus_bleu", "nobody"]


def test_unsupported_sacrebleu_tests_raise(tmp_path):
    rows = {"id": [1, 2, 3], "answer": ["a b", None, "c"], "reference": ["a b", "b", "c"]}
    holed = fm.score(rows, "bleu,corpus_bleu,abstention_f1", keep_counts=True)
    whole = fm.score({**rows, "answer": ["a b", "b", "d"]}, "bleu,corpus_bleu,abstention_f1", keep_counts=True)
    with pytest.raises(InputError, match="new has no counts of corpus_bleu in 1 rows, first of id '2'"):
        fm.sacrebleu_paired({"old": whole, "new": holed})
    with pytest.raises(InputError, match=r"old has no counts .* id '3'"):
        fm.sacrebleu_paired({"new": whole, "old": whole.slice(0, 2)})
    with pytest.raises(OptionError, match="sacreBLEU cannot test abstention_f1"):
        fm.sacrebleu_paired([whole, whole], metrics="abstention_f1")
    with pytest.raises(ColumnError, match="has no counts of corpus_bleu"):
        fm.sacrebleu_paired([fm.score(rows, "bleu,corpus_bleu"), whole])
    with pytest.raises(OptionError, match="confidence_samples=9 goes with test='ar'"):
        fm.sacrebleu_paired([whole, whole], confidence_samples=9)
    with pytest.raises(OptionError, match="test"):
        fm.sacrebleu_paired([whole, whole], test="paired")
    done = program("sacrebleu-paired", *runs_of(tmp_path), "--test", "bs", "--confidence-samples", "9")
    assert done.code == 2
    assert "--confidence-samples 9 goes with --test ar" in done.err
    one = fm.sacrebleu_paired([whole.slice(0, 1)] * 2)
    assert [row[1].p for row in one.results] == [1 / 1001]
