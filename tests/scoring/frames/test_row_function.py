"""Functions of rows that other tools call many times: words are kept between calls, and threads take turns."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base import threads as thread_pools
from fastmetrics.base.columns import open_frame
from fastmetrics.engines import run as engine_run
from fastmetrics.plans import score_batch
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.scoring.frames.with_scores import RowFunction, TableFunction, score_of
from fastmetrics.tables.sources import FrameSource
from fastmetrics.text.tokenize import Vocabularies
from tests.scoring.frames.tables import METRICS, ROWS, bits, scores

TABLE = pa.table(ROWS)
SLICES = [TABLE.slice(0, 0), *(TABLE.slice(start, rows) for start, rows in ((0, 1), (1, 2), (3, 2), (0, 5)))]


@pytest.fixture
def vocabularies(monkeypatch):
    """The vocabularies that are made during a test."""
    made = []

    def make():
        made.append(Vocabularies())
        return made[-1]

    monkeypatch.setattr(score_batch, "Vocabularies", make)
    return made


def table_function():
    return TableFunction(plan(FrameSource(TABLE).names, ScoreRequest(METRICS)))


def callers():
    """Functions of tables, as each tool calls them, on two threads."""
    by_plan, by_metric = table_function(), RowFunction(score_of("token_f1", {}))
    yield lambda table: by_plan(FrameSource(table), 2)["token_f1"]
    yield lambda table: by_metric({name: table[name] for name in ("answer", "reference")}, 2)


def test_calls_of_several_threads_share_words_and_give_the_same_bits(vocabularies):
    expected = [scores(table, "token_f1")["token_f1"] for table in SLICES]
    for call in callers():
        del vocabularies[:]
        with ThreadPoolExecutor(4) as pool:
            scored = list(pool.map(call, SLICES * 8))
        assert [bits(column.to_pylist()) for column in scored] == expected * 8
        assert 0 < len(vocabularies) <= 2


def test_batches_of_a_dataset_share_words_and_a_plan(vocabularies):
    function = fm.datasets.scorer("token_f1")
    batches = [function(table) for table in SLICES[1:]]
    assert len(vocabularies) <= thread_pools.cores()
    assert [batch["token_f1"].to_pylist() for batch in batches] == [
        fm.score(table, "token_f1")["token_f1"].to_pylist() for table in SLICES[1:]
    ]
    others = {"output": ["in Paris"], "reference": ["Paris"]}  # of another dataset
    assert function(others) == {"token_f1": fm.score(others, "token_f1")["token_f1"].to_pylist()}


def test_functions_are_sent_without_their_words():
    scorer = fm.datasets.scorer("token_f1")
    before = pickle.dumps(scorer)
    scorer(TABLE)
    assert pickle.dumps(scorer) == before  # by which datasets recognises it
    function = table_function()
    function(FrameSource(TABLE), 1)
    again = pickle.loads(pickle.dumps(function))(FrameSource(TABLE), 1)
    assert {name: bits(again[name].to_pylist()) for name in again.column_names} == scores()


def test_one_thread_is_that_of_the_caller(monkeypatch):
    def refuse(thread):
        raise AssertionError(f"{thread.name} is started")

    expected = scores()["token_f1"]
    monkeypatch.setattr(threading.Thread, "start", refuse)
    function = RowFunction(score_of("token_f1", {}))
    scored = function({name: TABLE[name] for name in ("answer", "reference")})
    assert bits(scored.to_pylist()) == expected


def test_only_a_table_that_is_alone_is_divided_over_the_threads():
    def sizes(*rows):
        pieces = open_frame([pa.table({"answer": ["a"] * number}) for number in rows]).pieces(["answer"])
        return [batch.num_rows for batch in engine_run._batches(iter(pieces), 4)]

    assert sizes(0) == []
    assert sizes(0, 2_048, 0) == [512] * 4
    assert sizes(0, 2_048, 4_096, 1) == [2_048, 4_096, 1]
