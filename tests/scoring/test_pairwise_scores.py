"""Scores of all pairs of texts: those of the metrics' own functions, bit for bit, however the pairs are cut."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.plan import parse
from fastmetrics.scoring.metric_functions import score_together
from tests.support import strategies
from tests.support.program import program

SPECS = (
    *(f"rouge{kind}_{part}" for kind, part in itertools.product((*"1239", "L", "Lsum"), ("f1", "precision", "recall"))),
    *("rouge1_f1(stemmer=True)", "rougeL_f1(stemmer=True)", "rouge2_recall(tokenizer='unicode')"),
    *("bleu", "bleu(tokenizer='char')", "bleu(smooth_method='floor')", "bleu(smooth_method='add-k',lowercase=True)"),
    *("bleu(tokenizer='none',max_ngram_order=2,effective_order=False)", "chrf", "chrf++", "chrf(whitespace=True)"),
    *("chrf(char_order=0,word_order=3)", "chrf(lowercase=True,beta=1)", "chrf(char_order=9,eps_smoothing=True)"),
    *("token_f1", "token_precision", "token_recall", "keyword_recall", "token_cosine", "jaccard"),
    *("squad_f1", "squad_f1(version=2)", "squad_em", "squad_em(version=2)"),
    *("exact_match", "exact_match(tokenizer='plain')"),
)
SAMPLES = [
    "the cat sat on the mat",
    "a cat sat on the mat",
    "",
    None,
    "The the THE the",
    "Да, кот!",
    "\n",
    "a.\nthe cat\na.",
]


def of_rows(candidates: Sequence[str | None], references: Sequence[str | None], spec: str) -> Any:
    """The scores of the metric's own function for a table of all pairs."""
    score = parse(spec)
    (other,) = set(score.metric.needs) - {"answer"}
    rows = [*itertools.product(candidates, references)]
    columns = {
        "answer": pa.array([row[0] for row in rows], pa.string()),
        other: pa.array([row[1] for row in rows], pa.string()),
    }
    return score_together([score], columns, 1)[score.name].reshape(len(candidates), len(references))


def check_bits(scores: Any, expected: Any) -> None:
    assert scores.dtype == np.float64
    assert scores.shape == expected.shape
    np.testing.assert_array_equal(scores.view(np.uint64), expected.view(np.uint64))


@pytest.mark.parametrize("spec", SPECS)
def test_scores_are_those_of_rows(spec: str) -> None:
    check_bits(fm.scoring.pairwise_scores(SAMPLES, SAMPLES[::-1], spec), of_rows(SAMPLES, SAMPLES[::-1], spec))


@given(strategies.rows, strategies.rows, st.sampled_from(SPECS), st.integers(1, 40), st.integers(1, 60))
@example(["a b a b"], ["b a b a", "a a a"], "chrf", 1, 1)
@example([], ["a"], "bleu", 1, 1)
@example(["a", None], [], "rougeL_f1", 1, 1)
def test_blocks_of_any_size_give_the_bits_of_rows(
    candidates: list[str | None], references: list[str | None], spec: str, pairs: int, size: int
) -> None:
    sizes = {"crossed_pairs": pairs, "crossed_bytes": 12 * size, "batch_bytes": size, "batch_rows": 3}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in sizes.items():
            patched.setattr(SIZES, name, value)
        scores = fm.scoring.pairwise_scores(
            pa.array(candidates, pa.string()), pa.array(references, pa.string()), spec, threads=1 + pairs % 3
        )
    check_bits(scores, of_rows(candidates, references, spec))


def made_texts(n: int, words: int, seed: int) -> list[str]:
    """Texts of about this many words, of which frequent ones repeat, in lines."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 2 * words, n)
    return [" ".join(f"w{k}" for k in random.zipf(1.4, length) % 500).replace("w7", "\nw7") for length in lengths]


@pytest.mark.parametrize(
    "spec", ["rougeL_f1", "rougeLsum_f1", "rouge2_f1", "chrf++", "bleu", "token_f1", "keyword_recall"]
)
def test_long_texts_and_frequent_ngrams(spec: str) -> None:
    candidates, references = made_texts(20, 90, 0), made_texts(70, 60, 1)
    check_bits(
        fm.scoring.pairwise_scores(candidates, references, spec, threads=2), of_rows(candidates, references, spec)
    )


def test_reference_packages() -> None:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    candidates, references = made_texts(6, 20, 2), made_texts(5, 20, 3)
    scorer = RougeScorer(["rouge1", "rougeL"])
    oracles: dict[str, Any] = {
        "rouge1_f1": lambda a, b: scorer.score(b, a)["rouge1"].fmeasure,
        "rougeL_recall": lambda a, b: scorer.score(b, a)["rougeL"].recall,
        "chrf++": lambda a, b: CHRF(word_order=2).sentence_score(a, [b]).score,
        "bleu": lambda a, b: BLEU(effective_order=True).sentence_score(a, [b]).score,
    }
    for spec, oracle in oracles.items():
        expected = [[oracle(a, b) for b in references] for a in candidates]
        np.testing.assert_allclose(fm.scoring.pairwise_scores(candidates, references, spec), expected, rtol=1e-12)


def test_one_column_as_both_sides() -> None:
    scores = fm.scoring.pairwise_scores(SAMPLES, SAMPLES, "token_f1")
    np.testing.assert_array_equal(scores, scores.T)
    present = [text is not None for text in SAMPLES]
    assert np.diagonal(scores)[present].tolist() == [1.0] * 7
    assert np.isnan(np.diagonal(scores)).sum() == 1


def test_columns_of_every_container() -> None:
    expected = fm.scoring.pairwise_scores(SAMPLES, SAMPLES, "rouge1_f1")
    for name, column in strategies.disguises(SAMPLES):
        np.testing.assert_array_equal(fm.scoring.pairwise_scores(column, column, "rouge1_f1"), expected, err_msg=name)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 2), (2, 0), (1, 1), (2, 5), (5, 1)])
def test_shapes(n: int, m: int) -> None:
    for spec in ("chrf", "rougeLsum_f1", "bleu", "jaccard", "exact_match"):
        scores = fm.scoring.pairwise_scores(pa.array(["a b"] * n, pa.string()), pa.array(["a"] * m, pa.string()), spec)
        assert scores.shape == (n, m)


def test_columns_of_nulls_only() -> None:
    assert np.isnan(fm.scoring.pairwise_scores([None, None], ["a"], "chrf")).all()
    assert np.isnan(fm.scoring.pairwise_scores(["a"], pa.nulls(3), "bleu")).all()


def test_refused_metrics_and_columns() -> None:
    with pytest.raises(
        fm.errors.OptionError, match=r"'answer_length' is not computed for all pairs.*bleu, chrf, chrf\+\+"
    ):
        fm.scoring.pairwise_scores(["a"], ["b"], "answer_length")
    for spec in ("corpus_bleu", "tfidf_cosine", "semantic_similarity", "hallucination", "answer_relevance"):
        with pytest.raises(fm.errors.OptionError, match=r"token_f1.*rouge1_f1"):
            fm.scoring.pairwise_scores(["a"], ["b"], spec)
    with pytest.raises(fm.errors.OptionError, match="expected the name of a metric"):
        fm.scoring.pairwise_scores(["a"], ["b"], ["chrf"])  # type: ignore[arg-type]
    with pytest.raises(fm.errors.UnknownNameError, match="chrf"):
        fm.scoring.pairwise_scores(["a"], ["b"], "chrff")
    with pytest.raises(fm.errors.UnknownNameError, match="option of chrf"):
        fm.scoring.pairwise_scores(["a"], ["b"], "chrf(order=2)")
    with pytest.raises(fm.errors.OptionError, match="threads"):
        fm.scoring.pairwise_scores(["a"], ["b"], "chrf", threads=0)
    with pytest.raises(fm.errors.OptionError, match="overwrite"):
        fm.scoring.pairwise_scores(["a"], ["b"], "chrf", overwrite=True)
    with pytest.raises(fm.errors.ColumnError, match="column 'references': expected text, got list"):
        fm.scoring.pairwise_scores(["a"], [["b"]], "chrf")
    with pytest.raises(fm.errors.ColumnError, match="column 'candidates': expected text"):
        fm.scoring.pairwise_scores([1, 2], ["b"], "chrf")


def test_metric_of_a_plugin_is_refused() -> None:
    @fm.metric(bounds=(0, 1), better="higher")
    def same_length_of_pair(answer: str, reference: str) -> float:
        return float(len(answer) == len(reference))

    with pytest.raises(fm.errors.OptionError, match="not computed for all pairs"):
        fm.scoring.pairwise_scores(["a"], ["b"], "same_length_of_pair")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_files(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "written_pairs", 10)
    monkeypatch.setattr(SIZES, "crossed_pairs", 5)
    rows, output = tmp_path / "rows.parquet", tmp_path / f"scores{suffix}"
    pq.write_table(pa.table({"text": SAMPLES}), rows)
    columns = {"answer": "text", "reference": "text"}
    written = fm.scoring.pairwise_scores(rows, str(rows), "chrf", output=output, columns=columns)
    assert (written.candidates, written.references) == (8, 8)
    table = read(output)
    expected = fm.scoring.pairwise_scores(SAMPLES, SAMPLES, "chrf")
    assert table["candidate"].to_pylist() == np.repeat(np.arange(8), 8).tolist()
    assert table["reference"].to_pylist() == np.tile(np.arange(8), 8).tolist()
    scores = np.array([np.nan if score is None else score for score in table["score"].to_pylist()])
    np.testing.assert_array_equal(scores.reshape(8, 8), expected)
    with pytest.raises(fm.errors.OutputError, match="exists"):
        fm.scoring.pairwise_scores(SAMPLES, SAMPLES, "chrf", output=output)
    fm.scoring.pairwise_scores(SAMPLES[:0], SAMPLES, "chrf", output=output, overwrite=True)
    assert read(output).num_rows == 0


def read(path: Path) -> pa.Table:
    from fastmetrics.tables.opening import open_table
    from fastmetrics.tables.table_rows import whole_table

    return whole_table(open_table(path), dict.fromkeys(("candidate", "reference", "score"), "number"))


def test_missing_columns_and_protected_inputs(tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"answer": ["a"], "label": [1]}), rows)
    with pytest.raises(fm.errors.ColumnError, match=r"references: needs the column 'reference'.*'answer', 'label'"):
        fm.scoring.pairwise_scores(["a"], rows, "chrf")
    with pytest.raises(fm.errors.ColumnError, match="'label'"):
        fm.scoring.pairwise_scores(rows, ["a"], "chrf", columns={"answer": "label"})
    with pytest.raises(fm.errors.OutputError):
        fm.scoring.pairwise_scores(rows, ["a"], "chrf", output=rows, overwrite=True)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"answer": "the cat"}\n{"answer": "a dog"}\n')
    (tmp_path / "b.jsonl").write_text('{"reference": "the cat sat"}\n')
    output = tmp_path / "scores.csv"
    done = program("pairwise", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "token_f1", "-o", output)
    assert done.code == 0, done
    assert "2 candidates × 1 references" in done.out
    assert output.read_text().splitlines() == ['"candidate","reference","score"', "0,0,0.8", "1,0,0"]
    again = program("pairwise", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "answer_length", "-o", output)
    assert again.code == 2
    assert "not computed for all pairs" in again.err
