"""Details that a single change could turn round unseen: one line of a definition each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import fastmetrics as fm
from fastmetrics.base.arrays import floats_of_arrow
from fastmetrics.base.errors import FileFormatError
from fastmetrics.results.opening_scores import column_of
from fastmetrics.stats.raters import agreement
from fastmetrics.tables.opening import open_source
from fastmetrics.text import statements
from tests.support.program import ENVIRONMENT


def test_percentiles_exclude_rows_without_a_score() -> None:
    scores = pa.table({"latency_ms": pa.array([10.0, None, 30.0, None, 50.0])})
    assert fm.summarize(scores).figures["latency_ms.p50"] == 30.0
    assert str(floats_of_arrow(scores["latency_ms"].combine_chunks(), "x").tolist()) == "[10.0, nan, 30.0, nan, 50.0]"


def test_phrases_ignore_case() -> None:
    assert fm.abstained(["we cannot tell.", "Paris."], phrases=("We CANNOT tell",)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("closer", "\"'”’»›)]}」』）")
def test_sentence_ends_after_closing_punctuation(closer: str) -> None:
    assert statements([f"It closed.{closer} Then it opened."]) == [[f"It closed.{closer}", "Then it opened."]]


def test_units_with_one_rating_are_excluded_from_agreement() -> None:
    found = agreement({"a": [1, 2, 3, None], "b": [1, 2, None, None]})
    assert found.n_units == 2


def test_constant_score_has_no_agreement() -> None:
    found = fm.validate({"own": [1.0, 1.0, 1.0, 1.0], "varied": [0.0, 1.0, 1.0, 0.0]}, [0, 1, 1, 0])
    assert found["own"].agreement is None
    assert found["varied"].agreement is not None


@pytest.mark.parametrize(
    ("keys", "kind"), [(("007", "8"), pa.string()), (("0", "-8"), pa.int64()), (("-0", "1"), pa.string())]
)
def test_folder_keys_are_numbers_only_in_canonical_spelling(keys, kind, tmp_path) -> None:
    for key in keys:
        (tmp_path / f"code={key}").mkdir()
        (tmp_path / f"code={key}" / "rows.jsonl").write_text('{"answer": "yes"}\n')
    assert open_source(tmp_path).schema.field("code").type == kind


@pytest.mark.parametrize(
    ("answer", "abstains"),
    [
        ("I don't know the name, but we try it.", True),
        ("I don't know the name, but we try it again.", False),
        ("Paris was big and old and rich and but I don't know.", True),
        ("Paris was big and old and rich and grand but I don't know.", False),
    ],
)
def test_answer_around_but_needs_enough_words(answer: str, abstains: bool) -> None:
    assert fm.abstained([answer]).tolist() == [abstains]


def test_politeness_markers_ignore_case() -> None:
    assert fm.politeness(["pray wait", "no"], markers=("PRAY",)).tolist() == [0.5, 0.0]


def test_percentiles_0_and_100_are_minimum_and_maximum() -> None:
    figures = fm.summarize({"own": [2.0, 1.0, 4.0]}, statistics={"own": ["p0", "p100"]}).figures
    assert (figures["own.p0"], figures["own.p100"]) == (1.0, 4.0)


def test_damaged_row_of_a_score_file_raises(tmp_path) -> None:
    path = tmp_path / "scores.jsonl"
    fm.score(write_rows(tmp_path), output=path, metrics="token_f1")
    path.write_text(path.read_text() + '{"token_f1": 0.\n')
    for read in (fm.summarize, lambda file: list(column_of(file, "token_f1"))):
        with pytest.raises(FileFormatError, match=r"scores\.jsonl.*3"):
            read(path)


def write_rows(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text('{"answer": "a", "reference": "a"}\n{"answer": "b", "reference": "c"}\n')
    return folder / "rows.jsonl"


@pytest.mark.parametrize("answerable", [True, False])
def test_answerability_label_overrides_the_reference(answerable: bool) -> None:
    """Whether a question can be answered is guessed from its reference only where nothing is said."""
    references = ["I don't know."] if answerable else ["Paris"]
    found = fm.answered_unanswerable(["Rome", "Oslo"], [answerable, None], [*references, "Oslo"])
    assert str(found.tolist()) == ("[nan, nan]" if answerable else "[1.0, nan]")


@pytest.mark.full
def test_closed_output_pipe_is_not_a_failure() -> None:
    """As behind ``| head``: the program has done its work, whoever reads on."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fastmetrics", "metrics"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\v \r"])
def test_sentence_is_embedded_without_citation_and_space(space: str) -> None:
    seen: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        seen.extend(texts)
        return np.ones((len(texts), 2))

    fm.grounding_overlap([f"Paris is old{space}[1]."], [["Paris."]], embedder=encode)
    assert seen[-2:] == ["Paris is old.", "Paris."]  # the first call determines the vector length
