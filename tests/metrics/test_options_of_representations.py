"""Options and columns that a representation declares for all metrics that request it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.arrays import Floats, Text
from fastmetrics.base.options import Whole
from fastmetrics.metrics.batch import Batch, Options, Raw
from fastmetrics.metrics.metric import REGISTRY
from tests.support.goldens import refused

Length = Annotated[int, Whole(0, 9), "the shortest length that counts"]


@dataclass(frozen=True)
class LengthOptions:
    least: Length = 2


@dataclass(frozen=True)
class LongIn:
    """Whether each text is long enough; a row with an id counts double."""

    options: ClassVar[type[LengthOptions]] = LengthOptions
    columns: ClassVar[dict[str, Any]] = {"id": Raw}

    def of(self, batch: Batch, column: str, options: Options) -> Floats:
        """1 or 0 for each row."""
        text: Text = batch.text(column)
        return (text.stops - text.starts >= options["least"]) * (2.0 if "id" in batch.columns else 1.0)


Long = Annotated[np.ndarray[Any, Any], LongIn()]


@pytest.fixture(autouse=True)
def metrics() -> None:
    """Two metrics of this representation; one has a default of its own and reads the option."""

    @fm.metric(bounds=(0, 2), better=None)
    def long_enough(answer: Long) -> Floats:
        return answer

    @fm.metric(bounds=(0, 99), better=None)
    def least_length(answer: Long, *, least: Length = 4) -> Floats:
        return answer * least


def test_a_metric_has_the_options_and_columns_of_its_representation() -> None:
    declared = REGISTRY["long_enough"]
    assert list(declared.needs) == ["answer", "id"]
    assert declared.optional == {"id"}
    assert declared.descriptions == {"least": "the shortest length that counts"}
    rows = {"answer": ["a", "abc"]}
    assert fm.score(rows, ["long_enough", "long_enough(least=4)"]).to_pydict() == {
        "long_enough": [0.0, 1.0],
        "long_enough(least=4)": [0.0, 0.0],
    }
    assert fm.score({**rows, "id": ["x", "y"]}, ["long_enough"])["long_enough"].to_pylist() == [0.0, 2.0]
    refused(fm.errors.OptionError, "least", fm.score, rows, ["long_enough(least=10)"])


def test_the_default_of_a_metric_precedes_that_of_its_representation() -> None:
    assert REGISTRY["least_length"].defaults == {"least": 4}
    assert fm.score({"answer": ["abc", "abcd"]}, ["least_length"])["least_length"].to_pylist() == [0.0, 4.0]
