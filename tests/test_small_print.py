"""Details that a single change could turn round unseen: one line of a definition each."""

from __future__ import annotations

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.core.arrays import floats_of_arrow
from fastmetrics.errors import OptionError
from fastmetrics.stats.agreement import agreement
from fastmetrics.text import statements


def test_percentiles_leave_out_rows_without_a_score() -> None:
    scores = pa.table({"latency_ms": pa.array([10.0, None, 30.0, None, 50.0])})
    assert fm.summarize(scores).figures["latency_ms.p50"] == 30.0
    assert str(floats_of_arrow(scores["latency_ms"].combine_chunks(), "x").tolist()) == "[10.0, nan, 30.0, nan, 50.0]"


def test_true_is_no_whole_number() -> None:
    with pytest.raises(OptionError, match=r"option .k. expects a whole number.*got True"):
        fm.ndcg([["a"]], [["a"]], k=True)


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_phrase_is_refused(blank: str) -> None:
    with pytest.raises(OptionError, match="phrases that are not blank"):
        fm.abstained(["No idea."], phrases=("no idea", blank))


def test_phrases_may_be_written_in_capitals() -> None:
    assert fm.abstained(["we cannot tell.", "Paris."], phrases=("We CANNOT tell",)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("closer", "\"'”’»›)]}」』）")
def test_a_sentence_ends_behind_what_closes_it(closer: str) -> None:
    assert statements([f"It closed.{closer} Then it opened."]) == [[f"It closed.{closer}", "Then it opened."]]


def test_a_unit_that_one_person_rated_is_no_unit_of_agreement() -> None:
    found = agreement({"a": [1, 2, 3, None], "b": [1, 2, None, None]})
    assert found.n_units == 2


def test_a_constant_score_is_no_rater() -> None:
    found = fm.validate({"own": [1.0, 1.0, 1.0, 1.0], "varied": [0.0, 1.0, 1.0, 0.0]}, [0, 1, 1, 0], resamples=10)
    assert found["own"].agreement is None
    assert found["varied"].agreement is not None
