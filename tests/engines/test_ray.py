"""The engine of Ray: two processes of a real cluster make the bytes that one process makes."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bench.memory import workers
from fastmetrics import score, summarize
from fastmetrics.base.errors import InputError, OptionError, OutputError, WorkerError
from fastmetrics.base.limits import RETRY_LIMITS, STANDARD, ReadSizes
from fastmetrics.engines import RayCluster
from fastmetrics.engines.column_maker import RunOptions
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.tables import Limits, open_source
from fastmetrics.tables.opening import open_table
from fastmetrics.vectors.embedder import Embedder
from tests.support.fitted_models import CUTS, features, written
from tests.support.program import ENVIRONMENT, alone
from tests.support.toy_scores import JOB, KINDS, FunctionMaker, choosy, run

ray = pytest.importorskip("ray")

from fastmetrics.engines.ray import RayEngine  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray[.]"),
    pytest.mark.slow,
]  # warnings of Ray about its own modules

LIMITS = Limits(batch_rows=64, part_rows=100)
METRICS = ["token_f1", "exact_match", "latency_ms", "corpus_bleu"]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers of this machine, which import the package from this checkout."""
    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    engine = RayEngine(2)
    engine._cluster.start()
    yield
    engine.__exit__()
    assert not ray.is_initialized()


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    """Rows of answers in Parquet files of several row groups, so that they make several splits."""
    folder = tmp_path_factory.mktemp("rows")
    for number in range(3):
        ids = range(number * 150_000, (number + 1) * 150_000)
        answers = pa.array([None if n % 97 == 0 else f"some words {n % 977} and {n % 31}" for n in ids])
        table = pa.table({"id": ids, "answer": answers, "reference": answers.take(pa.array(range(150_000)[::-1]))})
        table = table.append_column("latency_ms", pc.cast(pc.multiply(table["id"], 0.37), pa.float64()))
        table = table.append_column("question", pc.cast(pc.divide(table["id"], 7), pa.string()))
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=40_000)
    return folder


def files(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of each file in a folder, and of its rejects."""
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    rejects = path.with_name(path.name + ".rejects.jsonl")
    return {one.name: one.read_bytes() for one in [*inside, *([rejects] if rejects.exists() else [])]}


@pytest.mark.parametrize(("name", "workers"), [("o.parquet", 1), ("o.jsonl", 2), ("o/", 2)])
def test_bytes_and_summary_equal_the_local_engine(tmp_path, rows, name, workers):
    for folder in ("local", "ray"):
        (tmp_path / folder).mkdir()
    metrics = [*METRICS, "response_exact_match_rate"]
    here = score(rows, output=f"{tmp_path}/local/{name}", metrics=metrics)
    there = score(rows, output=f"{tmp_path}/ray/{name}", metrics=metrics, engine=RayCluster(workers=workers))
    assert files(there.output) == files(here.output)
    assert there.summary.to_json() == here.summary.to_json()
    assert there.observed == here.observed
    assert set(there.seconds) == {*here.seconds, "finish", "transfer"}


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o/"])
def test_notes_equal_the_local_engine(tmp_path, monkeypatch, name):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        lines = [{"answer": "巴黎是法国的首都", "reference": "巴黎"}] * 10 + [
            {"answer": "in Paris", "reference": "Paris"}
        ] * 20
        lines += [{"answer": None, "reference": "Paris"}] * number
        ids = [{"retrieved_ids": ["a"], "relevant_ids": ["a"] * (n % 3)} for n in range(len(lines))]
        text = (json.dumps({**line, **one}) + "\n" for line, one in zip(lines, ids, strict=True))
        (folder / f"{number}.jsonl").write_text("".join(text))
    made = []
    for engine in ("local", "ray"):
        (tmp_path / engine).mkdir()
        options = {"metrics": "token_f1,rouge1_f1,mrr", "no_relevant": "zero", "engine": engine}
        made.append(
            score(open_source(folder, sizes=ReadSizes(split_bytes=1)), output=f"{tmp_path}/{engine}/{name}", **options)
        )
    here, there = made
    assert [note.split(" rows ")[0] for note in there.summary.notes] == [
        "token_f1: 30 of 90 scored",
        "rouge1_f1: 30 of 90 scored",
        "reciprocal_rank: 32 of 93 scored",
    ]
    assert there.summary.notes == here.summary.notes == summarize(there.output).notes
    assert files(there.output) == files(here.output)


@pytest.fixture
def bad(tmp_path) -> Path:
    """JSON lines in several files, some rows of which are bad."""
    folder = tmp_path / "bad"
    folder.mkdir()
    for number in range(6):
        lines = [json.dumps({"id": n, "answer": "bad" if n % 83 == 5 else "fine " * (n % 9)}) for n in range(300)]
        lines[100] = lines[299] = "broken"
        (folder / f"{number}.jsonl").write_text("\n".join(lines))
    return folder


def splits_of_two_files(folder, line_block_bytes=STANDARD.line_block_bytes):
    """The files in splits small enough that several workers have some."""
    size = sum(path.stat().st_size for path in sorted(folder.iterdir())[:2])
    source = open_source(folder, sizes=ReadSizes(split_bytes=size, line_block_bytes=line_block_bytes))
    assert len(source.splits()) == 3
    return source


def run_on_ray(source, job, output, **options):
    """As ``run`` does on threads of this process, on two workers."""
    opened, chosen = open_table(source), RunOptions.of(**options)
    return make_columns(job, opened, open_output(output, opened, chosen), chosen, RayEngine(2))


def both(source, job, tmp_path, name, **options):
    """The same run on both engines."""
    results = []
    for engine in ("local", "ray"):
        (tmp_path / engine).mkdir(exist_ok=True)
        output = f"{tmp_path}/{engine}/{name}"
        if engine == "local":
            results.append(run(open_table(source), job, output, limits=LIMITS, **options))
        else:
            results.append(run_on_ray(source, job, output, limits=LIMITS, **options))
    return results


def test_bad_rows_are_rejected_once(tmp_path, bad, monkeypatch):
    here, there = both(splits_of_two_files(bad), FunctionMaker(choosy, KINDS), tmp_path, "o.jsonl", on_error="skip")
    assert files(there.output) == files(here.output)
    assert there.rejected == here.rejected == 6 * (2 + 4)


def test_bad_row_error_keeps_finished_parts(tmp_path, bad, monkeypatch):
    said = []
    for engine in ("local", "ray"):
        with pytest.raises(InputError) as caught:
            _fail(engine, splits_of_two_files(bad), tmp_path)
        said.append(str(caught.value))
    assert said[0] == said[1] == f"{bad}/0.jsonl, line 6: column 'answer': expected a good one"
    clean = tmp_path / "bad" / "0.jsonl"
    clean.write_text("".join(json.dumps({"id": n, "answer": "x"}) + "\n" for n in range(300)))
    with pytest.raises(InputError, match="line 6: column"):
        _fail("ray", splits_of_two_files(bad), tmp_path)
    assert len(list((tmp_path / "ray.parquet.partial" / "parts").iterdir())) > 0


def _fail(engine, bad, tmp_path):
    output = tmp_path / f"{engine}.parquet"
    if engine == "local":
        return run(bad, FunctionMaker(choosy, KINDS), output, limits=LIMITS)
    return run_on_ray(bad, FunctionMaker(choosy, KINDS), output, limits=LIMITS)


def test_late_string_id_widens_the_column_in_all_parts(tmp_path, bad, monkeypatch):
    for path in bad.iterdir():
        path.write_text("".join(json.dumps({"id": n, "answer": "x"}) + "\n" for n in range(300)))
    last = bad / "5.jsonl"
    last.write_text(last.read_text() + '{"id": "late", "answer": "y"}\n')
    source = splits_of_two_files(bad, line_block_bytes=2000)  # of the type that this process infers
    here, there = both(source, JOB, tmp_path, "o.parquet")
    assert files(there.output) == files(here.output)
    assert pq.read_schema(there.output).field("id").type == pa.string()


class StopError(Exception):
    """What ends a run early here."""


def stopping(after: int):
    """A progress bar that ends the run after so many parts."""
    left = [after]

    def progress(done: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    return progress


@pytest.mark.parametrize(("first", "name"), [("local", "o.parquet"), ("ray", "o/")])
def test_run_can_be_resumed_on_the_other_engine(tmp_path, rows, name, first):
    second = "ray" if first == "local" else "local"
    (tmp_path / "whole").mkdir()
    whole = score(rows, output=f"{tmp_path}/whole/{name}", metrics=METRICS)
    output = f"{tmp_path}/{name}"
    with pytest.raises(StopError):
        score(rows, output=output, metrics=METRICS, engine=first, progress=stopping(40 if first == "local" else 3))
    with pytest.raises(OutputError, match="contains an unfinished run"):
        score(rows, output=output, metrics=METRICS, engine=second)
    made = score(rows, output=output, metrics=METRICS, engine=second, resume=True)
    assert 0 < made.resumed_rows < made.rows
    assert files(made.output) == files(whole.output)
    assert made.summary.to_json() == whole.summary.to_json()


def held(go: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A score that takes its time, and at the last file's rows all the time until the file ``go`` is there."""
    time.sleep(0.02)
    late = time.monotonic() + 120
    while batch.num_rows and batch["id"][0].as_py() >= 300_000 and not go.exists() and time.monotonic() < late:
        time.sleep(0.01)
    return JOB.score(batch)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="finds the workers through /proc")
def test_killed_workers_do_not_change_results(tmp_path, rows):
    whole = run(open_source(rows), FunctionMaker(JOB.score, KINDS), tmp_path / "whole.parquet")
    rng, killed, seen, go = random.Random(3), [], [], tmp_path / "go"

    def kill(progress: object) -> None:
        seen.append(progress)
        if len(seen) in (1, 4):
            late = time.monotonic() + 120
            while not (alive := [pid for pid in workers(os.getpid()) if pid not in killed]):
                assert time.monotonic() < late, "the one that was killed has a successor"
                time.sleep(0.01)
            killed.append(rng.choice(alive))
            os.kill(killed[-1], signal.SIGKILL)
        if len(seen) == 4:
            go.touch()

    job = FunctionMaker(partial(held, go), KINDS)
    made = run_on_ray(rows, job, tmp_path / "o.parquet", progress=kill)
    assert len(set(killed)) == 2
    assert len(seen) == pq.ParquetFile(whole.output).num_row_groups
    assert made.output.read_bytes() == whole.output.read_bytes()


def test_worker_that_always_dies_raises(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "split_starts", 2)
    deaths = tmp_path / "deaths"

    def deadly(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows and batch["id"][0].as_py() >= 300_000:
            with open(deaths, "a") as counted:
                counted.write("x")
            if deaths.stat().st_size <= 10:  # ends the test if the engine never gives up
                os.kill(os.getpid(), signal.SIGKILL)
        return JOB.score(batch)

    with pytest.raises(WorkerError, match=r"^the worker died 2 times on the rows of .*2\.parquet from row 0 on$"):
        run_on_ray(rows, FunctionMaker(deadly, KINDS), tmp_path / "o.parquet")
    assert deaths.read_text() == "xx", "as often as it says, no more and no less"
    made = run(open_source(rows), FunctionMaker(JOB.score, KINDS), tmp_path / "o.parquet", resume=True)
    assert made.resumed_rows > 0


def test_program_errors_show_their_origin(tmp_path, rows):
    def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
        return JOB.score(batch).slice(1) if batch.num_rows else JOB.score(batch)

    with pytest.raises(AssertionError, match="rows gave") as caught:
        run_on_ray(rows, FunctionMaker(broken, KINDS), tmp_path / "o.parquet")
    assert "in _scores" in caught.value.__notes__[0]


def test_unsupported_options_raise(tmp_path, rows):
    with pytest.raises(OptionError, match="expected local or ray"):
        score(rows, output=tmp_path / "o.parquet", engine="dask")
    with pytest.raises(OptionError, match="threads= is of the local engine"):
        score(rows, output=tmp_path / "o.parquet", engine="ray", threads=2)
    with pytest.raises(OptionError, match="already connected to another Ray cluster"):
        score(rows, output=tmp_path / "o.parquet", engine=RayCluster(address="127.0.0.1:1"))


def test_program_starts_and_stops_a_cluster(tmp_path, bad):
    for path in sorted(bad.iterdir())[1:]:
        path.unlink()
    clean = bad / "0.jsonl"
    done = alone("score", clean, "-o", tmp_path / "o.parquet", "--engine", "ray", "--workers", 2, "-m", "answer_length")
    assert (done.code, done.out) == (3, "")
    # on a busy machine Ray's own processes may report it earlier
    assert done.err.endswith(f"error: {clean}, line 101: malformed JSON: Expecting value at character 1\n")
    clean.write_text("".join(json.dumps({"id": n, "answer": "some words"}) + "\n" for n in range(300)))
    options = ("-m", "answer_length", "--engine", "ray", "--workers", 2)
    done = alone("score", "0.jsonl", "-o", "o.csv", *options, cwd=bad)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert "300 rows scored in " in done.out
    lone = alone("score", "-", "-o", tmp_path / "i.parquet", *options, input=clean.read_bytes())
    assert (lone.code, lone.err[:49]) == (2, "error: cluster workers cannot read standard input")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers"),
        ("ray://127.0.0.1:1", "no Ray cluster answers"),
        ("nonsense", "expected host:port, or auto"),
    ],
)
def test_unreachable_address_fails_quickly(tmp_path, bad, address, said):
    options = ("-m", "answer_length", "--engine", "ray", "--address", address)
    done = alone("score", bad, "-o", tmp_path / "o.parquet", *options, timeout=60)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith(f"error: --address {address}: {said}")
    assert not (tmp_path / "o.parquet.partial").exists()


def embedded(texts: list[str]) -> list[list[float]]:
    """An embedder of one's own."""
    return [[float(len(text)), 1.0] for text in texts]


def test_embedders_are_sent_to_workers(tmp_path, monkeypatch):
    """By name, as a function or with a folder that keeps vectors; metrics of embeddings that are made of text too."""
    lines = ({"id": n, "answer": "a" * (n % 7), "reference": "bb"} for n in range(50))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    for embedder, cache in ((embedded, None), (Embedder(embedded, cache="vectors", revision="1"), None)):
        made = []
        for engine in ("local", "ray"):
            options = {"suites": ["semantic"], "embedder": embedder, "cache": cache, "engine": engine}
            made.append(score("in.jsonl", output=f"{engine}.csv", overwrite=True, **options))
        assert made[0].output.read_bytes() == made[1].output.read_bytes()
        assert made[1].summary["euclidean_distance"].n == 50


def test_missing_ray_error_names_the_extra(tmp_path, bad):
    (tmp_path / "ray.py").write_text("raise ImportError('no ray')\n")
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    options = ("-m", "answer_length", "--engine", "ray")
    done = alone("score", bad, "-o", tmp_path / "o.parquet", *options, env=environment)
    assert done.code == 5
    assert done.err == (
        "error: this needs ray, which is not installed; in a clone of fastmetrics, run: pip install -e '.[ray]'\n"
    )
    assert not (tmp_path / "o.parquet.partial").exists()


@pytest.mark.parametrize("name", ["o.parquet", "o/"])
def test_rows_far_from_the_labelled_ones_are_noted_as_by_the_local_engine(tmp_path, name):
    path = written(tmp_path, features=features(["judge_x"]), thresholds=CUTS)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        lines = [json.dumps({"judge_x": 6.0, "answer": "Paris"})] * (100 + number)
        (folder / f"{number}.jsonl").write_text("\n".join(lines))
    made = []
    for engine in ("local", "ray"):
        (tmp_path / engine).mkdir()
        metrics = [str(path), f"verdict(fitted='{path}')"]
        source = open_source(folder, sizes=ReadSizes(split_bytes=1))
        made.append(score(source, output=f"{tmp_path}/{engine}/{name}", metrics=metrics, engine=engine))
    here, there = made
    assert files(there.output) == files(here.output)
    assert there.summary.notes == here.summary.notes
    assert "these 303 rows are far from the labelled rows" in there.summary.notes[0]
