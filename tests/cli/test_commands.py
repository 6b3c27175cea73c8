"""Commands as a user runs them: the store of calls, comparisons, rankings, vectors and matches."""

import functools
import json
import re
import shlex
import shutil
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import parquet

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.models import call_store
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from fastmetrics.retrieval.rank import rank
from tests.results.test_comparison import NEW, OLD, SMALL
from tests.support.program import program, unfolded

DAY = 86_400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store of 5,000 replies of one model, 3 of another that are a week old, and 2 failures."""
    path = tmp_path_factory.mktemp("store") / "calls.sqlite"
    now = time.time()
    with CallStore(path) as store:
        for model, count, answer in (
            (Model("big", "here"), 5_000, Answer("reply", "{}", 10, 2, 1.5, now, 1)),
            (Model("small", "there"), 3, Answer("reply", "=1", 1, 1, 1.5, now - 7 * DAY, 1)),
            (Model("small", "here"), 2, Answer("http", "500: no", time=now, attempt=4)),
        ):
            maker = CallMaker(model, None)
            for number in range(count):
                store.put(maker.call([Message("user", str(number))]), model, answer)
    return path


@pytest.fixture
def filled(made, tmp_path):
    """A copy of the store."""
    return Path(shutil.copy(made, tmp_path))


def left(path):
    """How many calls are in the store, by model and outcome."""
    counts = json.loads(program("judge", "store", path, "--json").out)["calls"]
    return {(one["model"], one["outcome"]): one["calls"] for one in counts}


def test_cache_show(filled):
    done = program("judge", "store", filled)
    assert done.code == 0
    assert done.out.splitlines()[0].split() == [
        "model",
        "endpoint",
        "outcome",
        "calls",
        "read",
        "written",
        "first",
        "last",
    ]
    assert done.out.splitlines()[1].split()[:6] == ["big", "here", "reply", "5,000", "50,000", "10,000"]
    assert "5,005 calls in " in done.out
    assert left(filled) == {("big", "reply"): 5000, ("small", "reply"): 3, ("small", "http"): 2}


@pytest.mark.parametrize(
    ("conditions", "deleted"),
    [
        ("failures", 2),
        ("model=small", 5),
        ("model=small,endpoint=there", 3),
        ("days=3", 3),
        ("days=30", 0),
        ("failures,model=big", 0),
        ("endpoint=here", 5002),
    ],
)
def test_calls_are_pruned_by_conditions_that_all_hold(filled, conditions, deleted):
    before = filled.stat().st_size
    done = program("judge", "store", filled, "--prune", conditions)
    assert (done.code, done.out) == (0, f"{deleted:,} calls deleted from {filled}\n")
    assert sum(left(filled).values()) == 5005 - deleted
    assert filled.stat().st_size < (before / 4 if deleted > 1000 else before + 1)


def test_a_time_that_no_calendar_has_is_shown_as_unknown(tmp_path):
    path = tmp_path / "calls.sqlite"
    model = Model("m", "here")
    with CallStore(path) as store:
        for number, moment in enumerate((1e300, -1e9, 0.0)):
            call = CallMaker(model, None).call([Message("user", str(number))])
            store.put(call, model, Answer("reply", "{}", time=moment))
    done = program("judge", "store", path)
    assert (done.code, "–" in done.out) == (0, True), done.err


def test_a_store_that_another_process_writes_is_shown_and_not_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(call_store, "_SHORT_PATIENCE", 0.1)
    path = tmp_path / "calls.sqlite"
    CallStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    assert "0 calls in" in program("judge", "store", path).out
    done = program("judge", "store", path, "--prune", "failures")
    assert (done.code, "another process is writing to it" in done.err) == (4, True), done.err
    other.close()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(OLD, "old.parquet")
    pq.write_table(NEW, "new.parquet")


def test_the_program_prints_tables_json_markdown_and_latex(files):
    arguments = ("compare", "old.parquet", "new.parquet", "--by", "language", "--names", "old,new")
    text = program(*arguments)
    assert text.code == 0
    assert all(len(line) <= 80 for line in text.out.split("rows paired")[0].splitlines())
    assert text.out == str(fm.compare({"old": OLD, "new": NEW}, by="language")) + "\n"
    told = json.loads(program(*arguments, "--json", "--threads", "1").out)
    assert told == json.loads(fm.compare({"old": OLD, "new": NEW}, by="language").to_json())
    verdict, _, table = program(*arguments, "--markdown").out.partition("\n\n")
    assert verdict == "**new is better than old (token_f1 0.5086 → 0.5656)**"
    assert table.startswith("| metric | verdict | old | new | Δ | interval | p |\n| --- |")
    assert program(*arguments, "--latex").out.startswith("\\begin{tabular}{llr}")


def test_runs_with_equal_names_are_shown_by_path(files):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        pq.write_table(NEW, f"{folder}/scores.parquet")
    found = fm.compare(["a/scores.parquet", "b/scores.parquet", "old.parquet", "old.parquet"], **SMALL)
    assert list(found.systems) == ["a/scores.parquet", "b/scores.parquet", "old.parquet", "old.parquet (2)"]


@pytest.mark.parametrize(
    ("command", "again"),
    [
        (("compare", "old.parquet", "new.parquet", "--by", "language", "--tests", "t"), ("--by", "language")),
        (("compare", "old.parquet", "new.parquet", "--by", "language", "--tests", "t"), ("--tests", "t")),
        (("compare", "old.parquet", "new.parquet", "--tests", "t"), ("--tests", "t,t")),
        (("summarize", "--intervals", "old.parquet", "--by", "language"), ("--by", "language,language")),
    ],
)
def test_a_column_or_a_test_that_is_given_twice_counts_once(files, command, again):
    once, twice = program(*command, "--json"), program(*command, *again, "--json")
    assert (once.code, twice.code) == (0, 0)
    assert json.loads(twice.out) == json.loads(once.out)


@pytest.fixture
def vectors(tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    table = pa.table(
        {"id": [f"d{row}" for row in range(60)], "embedding": pa.FixedSizeListArray.from_arrays(rows.ravel(), 4)}
    )
    parquet.write_table(table, tmp_path / "vectors.parquet")
    return tmp_path / "vectors.parquet"


def run(*arguments):
    done = program(*arguments)
    assert done.code == 0, done.err
    return done.out + done.err


def test_geometry_prints_every_value(vectors):
    printed = json.loads(run("vectors", "geometry", vectors, "-k", 3, "--json"))
    assert printed == fm.vectors.geometry(vectors, k=3).to_dict()
    lines = run("vectors", "geometry", vectors, "--metric", "euclidean").splitlines()
    assert [line.split()[0] for line in lines] == ["figure", *(name for name in printed if name != "estimates")]


def test_json_is_strict_for_undefined_values(tmp_path):
    np.save(tmp_path / "one.npy", np.ones((1, 3)))
    printed = json.loads(run("vectors", "geometry", tmp_path / "one.npy", "--json"), parse_constant=pytest.fail)
    assert printed["avg_pairwise_distance"] is None
    assert printed["total_samples"] == 1


def test_geometry_prints_the_precision_of_estimates(vectors):
    shown = unfolded(str(fm.vectors.geometry(vectors, metric="euclidean", exact_work=1.0, sample=10)))
    assert re.search(r"avg_pairwise_distance: [^:]*sample of 200,000; standard error", shown)
    assert "min_pairwise_distance: nearest of the sampled rows; sample of 10" in shown


@pytest.mark.parametrize("method", ["exact", "hnsw"])
def test_index_and_search_write_a_run(vectors, method):
    folder = vectors.parent
    assert f"60 rows indexed ({method}, cosine)" in run(
        "vectors", "index", vectors, "-o", folder / "index", "--method", method
    )
    said = run("vectors", "search", folder / "index", vectors, "-k", 3, "-o", folder / "run.parquet")
    assert f"recall@3 1.0000 on 60 queries): {folder / 'run.parquet'}\n" in said
    assert "latency: p50 / p95 / p99 in ms\nsearch" in said
    found = parquet.read_table(folder / "run.parquet")
    assert found["id"].to_pylist() == [ranked[0] for ranked in found["retrieved_ids"].to_pylist()]
    assert np.array(found["retrieved_scores"].to_pylist())[:, 0] == pytest.approx(1.0)
    assert found["retrieved_scores"].to_pylist()[0] == sorted(found["retrieved_scores"].to_pylist()[0], reverse=True)


def test_short_lists_of_a_table_are_told(vectors, monkeypatch):
    @functools.wraps(fm.search)
    def short(**given):
        return replace(fm.search(**given), short=2)

    run("vectors", "index", vectors, "-o", vectors.parent / "index")
    monkeypatch.setattr("fastmetrics.cli.vectors.search", short)
    said = run("vectors", "search", vectors.parent / "index", vectors, "-k", 3, "-o", vectors.parent / "run.jsonl")
    assert "2 lists have fewer rows than the table" in said


def test_search_without_ids_and_with_k_above_row_count(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "index", "--metric", "dot")
    run("vectors", "search", tmp_path / "index", tmp_path / "v.npy", "-o", tmp_path / "run.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    np.save(tmp_path / "zero.npy", np.zeros((1, 3), np.float32))
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "cosines")
    said = run("vectors", "search", tmp_path / "cosines", tmp_path / "zero.npy", "-o", tmp_path / "zero.jsonl")
    assert "1 zero vector among the queries, whose cosine is undefined: such a ranking says nothing\n" in said
    assert rows[1] == {"id": 1, "retrieved_ids": [1, 0, 2], "retrieved_scores": [1.0, 0.0, 0.0]}


def test_search_below_requested_recall_is_reported(tmp_path):
    rows = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)
    rows[0] = 1e20  # next to this row, float32 cannot distinguish the others
    np.save(tmp_path / "v.npy", rows)
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "index", "--metric", "euclidean", "--method", "ivf")
    printed = run("vectors", "search", tmp_path / "index", tmp_path / "v.npy", "-o", tmp_path / "run.jsonl")
    assert "no search setting reached recall 0.98" in printed


FILES = "good.txt poor.jsonl qrels.txt"
RANKED = [
    "good.txt qrels.txt",
    "good.txt qrels.txt -m 'ndcg@10,mrr,RBP(p=0.8)' -o per_query.parquet --no-relevant undefined",
    "good.txt poor.jsonl qrels.txt -m mrr -m P@1 --missing skip --no-relevant zero -o both.csv",
    "good.txt poor.jsonl qrels.txt -m mrr",
    "good.txt qrels.txt -m P@2 -l 2 -M 1 --no-relevant zero --json",
]


@pytest.fixture
def rankings(golden):
    """A good run, a poor one, and judgements of two queries with something relevant and one without."""
    Path("good.txt").write_text("q1 Q0 a 1 2.5 x\nq1 Q0 b 2 1.5 x\nq2 Q0 c 1 1 x\nq3 Q0 c 1 1 x\n")
    Path("poor.jsonl").write_text('{"qid": "q1", "pid": "b", "score": 2}\n{"qid": "q1", "pid": "a", "score": 1}\n')
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 c 2\nq3 0 c 0\n")


def test_rankings_are_printed_and_written(rankings, golden):
    said = []
    for line in RANKED:
        done = program("rank", *shlex.split(line))
        assert done.code == 0, done.err
        said.append(f"$ fastmetrics rank {line}\n{done.out}{done.err}")
    golden("rank.txt", "\n".join(said))
    written = pq.read_table("per_query.parquet")
    assert written.to_pydict() == {
        "query_id": ["q1", "q2", "q3"],
        "ndcg@10": [1.0, 1.0, None],
        "mrr": [1.0, 1.0, None],
        "RBP(p=0.8)": [pytest.approx(0.2), pytest.approx(0.2), None],
    }
    metadata = json.loads(written.schema.metadata[b"fastmetrics"])
    assert (metadata["mean"]["mrr"], metadata["n_undefined"]) == (1.0, {"ndcg@10": 1, "mrr": 1, "RBP(p=0.8)": 1})
    both = Path("both.csv").read_text().splitlines()
    assert both[:2] == ['"ranking","query_id","mrr","P@1"', '"good.txt","q1",1,1']
    assert both[4:] == ['"poor.jsonl","q1",0.5,0', '"poor.jsonl","q2",,', '"poor.jsonl","q3",,']
    assert {path.name for path in Path().iterdir()} == {
        *FILES.split(),
        "per_query.parquet",
        "both.csv",
        "both.csv.meta.json",
    }


@pytest.mark.parametrize("names", [[], ["good.txt", "good.txt"]])
def test_run_names_must_be_unique(rankings, names):
    with pytest.raises(OptionError):
        rank(names, "qrels.txt", measures="mrr")
