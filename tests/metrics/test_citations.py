"""Citations by number: which passage a number means, and the cosine from which on it supports a sentence."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.vectors.embedder import Embedder

NAMES = ["Apples", "Bread", "Cheese"]


def one_hot(texts: list[str]) -> np.ndarray:
    """A made-up model: which of the names a text holds."""
    return np.array([[name in text for name in NAMES] for text in texts], np.float32)


def angles(texts: list[str]) -> np.ndarray:
    """A made-up model: a text that holds two numbers between bars is the vector of them."""
    parts = [text.split("|") for text in texts]
    return np.array([[float(part[1]), float(part[2])] if len(part) > 2 else [1.0, 0.0] for part in parts], np.float32)


def test_a_cosine_of_tau_supports() -> None:
    """3/5, 4/5 and 1 are cosines without a rounding: at τ itself a sentence is supported, just above it is not."""
    for x, y, cosine in ((3.0, 4.0, 0.6), (4.0, 3.0, 0.8), (2.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-5.0, 0.0, -1.0)):
        for tau in (cosine, np.nextafter(cosine, 2.0), np.nextafter(cosine, -2.0)):
            if not -1.0 <= tau <= 1.0:
                continue
            options = {"threshold": float(tau), "embedder": Embedder(angles)}
            row = [f"So |{x}|{y}| it is [1]."], [["|1.0|0.0|"]]
            assert fm.grounding_overlap(*row, **options).tolist() == [float(cosine >= tau)], (cosine, tau)
            assert grounding_evidence(*row, **options)["cosine"].to_pylist() == [cosine]


@pytest.mark.parametrize("holes", list(itertools.product((None, "", "x"), repeat=3)))
def test_passages_keep_their_numbers_whatever_is_missing_before_them(holes: tuple[str | None, ...]) -> None:
    """A null passage is cited by its number, and supports nothing."""
    contexts = pa.array([[holes[0], "Apples", holes[1], "Bread", holes[2]], ["Cheese", holes[2]], [holes[0]]])
    answers = [" ".join(f"{name} [{n}]." for n in range(7) for name in NAMES)] * 3
    found = grounding_evidence(answers, contexts, embedder=Embedder(one_hot))
    supported = [(row["row"], row["citation"], row["sentence"]) for row in found.to_pylist() if row["supported"]]
    assert supported == [(0, 2, "Apples [2]."), (0, 4, "Bread [4]."), (1, 1, "Cheese [1].")]
    ranges = [
        {row["citation"] for row in found.to_pylist() if row["row"] == n and row["context"] is not None}
        for n in range(3)
    ]
    assert ranges == [{1, 2, 3, 4, 5}, {1, 2}, {1}]
    overlap = fm.grounding_overlap(answers, contexts, embedder=Embedder(one_hot))
    assert overlap.tolist() == [2 / 21, 1 / 21, 0.0]


@pytest.mark.parametrize("pattern", [r"\[([0-9]+)\]", r"\[(\d+)\]"])
def test_numbers_of_many_digits_are_out_of_range(pattern: str) -> None:
    """Whatever would be left of them in 32 or 64 bits; nought before a number changes nothing."""
    large = [1 << 31, (1 << 32) + 1, 9_999_999_999, 10_000_000_001, (1 << 63) + 1, (1 << 64) + 1, 10**19 + 1, 10**30]
    answers = [f"Apples [{number}]." for number in large]
    options = {"pattern": pattern, "embedder": Embedder(one_hot)}
    found = grounding_evidence(answers, [["Apples"]] * len(large), **options)
    assert found["reason"].to_pylist() == ["citation out of range"] * len(large)
    assert found["context"].null_count == len(large)
    assert min(found["citation"].to_pylist()) > 10**6
    zeros = grounding_evidence(["Apples [0000000000000000001].", "Apples [00]."], [["Apples"]] * 2, **options)
    assert zeros["reason"].to_pylist() == ["supported", "citation out of range"]
    assert zeros["citation"].to_pylist() == [1, 0]


def test_an_empty_list_of_references_makes_no_question_answerable() -> None:
    """Nor do null references: only one that does not itself abstain."""
    references = pa.array(
        [[], None, [None], ["Bread"], [None, "Bread"], [], ["I don't know."], ["I don't know.", "So."]]
    )
    expected = [0.6, 0.6, 0.6, 0.0, 0.0, 0.6, 0.6, 0.0]
    for order in (slice(None), slice(None, None, -1)):
        rows = len(expected)
        found = fm.overlap_faithfulness(
            ["I don't know."] * rows,
            [["Bread"]] * rows,
            reference=pa.array(references.to_pylist()[order]),
            embedder=Embedder(one_hot),
        )
        assert found.tolist() == expected[order]
