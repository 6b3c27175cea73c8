"""Outputs and folders of runs behind addresses: the bytes of a local run, whole or absent."""

from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, InputError, OutputError, UnknownNameError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.prices import price_of
from fastmetrics.models.bots import read_knowledge
from fastmetrics.models.prompts import read_rubric
from fastmetrics.results.gate_rules import read_rules
from fastmetrics.tables import targets
from fastmetrics.tables.addresses import as_local
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.loopback import BUCKET, KEY, SECRET
from tests.support.program import jsonl, program
from tests.support.toy_scores import FunctionMaker, run

LIMITS = Limits(batch_rows=64, part_rows=100)
SUFFIXES = ["s.parquet", "s.jsonl", "s.jsonl.gz", "s.csv.zst", "s.tsv", "s.arrow", "folder/"]


class StopError(BaseException):
    """What ends a run early here."""


def plain(batch):
    """A score; some rows are refused."""
    if 5 in [n % 97 for n in batch["id"].to_pylist()]:
        raise InputError("expected another number")
    return pa.record_batch({"id": batch["id"], "score": pc.divide(batch["id"].cast(pa.float64()), 7.0)})


def never(batch):
    """No row may come here."""
    assert not batch.num_rows, "the target is checked before the first row"
    return pa.record_batch({"id": batch["id"], "score": pa.array([], pa.float64())})


@pytest.fixture
def numbers(tmp_path):
    """A thousand rows."""
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def score(rows, output, score=plain, **options):
    """A run of several parts, bad rows set aside."""
    settings = {"limits": LIMITS, "on_error": "skip", **options}
    return run(open_source(rows), FunctionMaker(score, {"id": "any"}), output, **settings)


def held(server, folder):
    """What lies below a folder of the bucket."""
    return {name: server.read(f"{folder}/{name}") for name in server.names(folder)}


def here(folder):
    """What lies in a local folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", SUFFIXES)
def test_remote_objects_equal_local_files(s3, tmp_path, numbers, name):
    (tmp_path / "out").mkdir()
    local = score(numbers, f"{tmp_path}/out/{name}")
    folder = f"same/{name.replace('.', '-').strip('/')}"
    address = f"s3://{BUCKET}/{folder}/{name}"
    remote = score(s3.put(numbers, "same/rows.parquet"), address)
    there = held(s3, folder)
    rejects = there.pop(name.rstrip("/") + ".rejects.jsonl").replace(f"s3://{BUCKET}/same".encode(), b"")
    expected = here(tmp_path / "out")
    assert rejects == expected.pop(name.rstrip("/") + ".rejects.jsonl").replace(str(tmp_path).encode(), b"")
    assert there == expected
    assert (remote.rows, remote.rejected) == (local.rows, local.rejected) == (989, 11)
    assert (remote.output, remote.rejects) == (address, f"{address.rstrip('/')}.rejects.jsonl")
    assert read_metadata(address) == read_metadata(f"{tmp_path}/out/{name}")


def test_existing_objects_are_kept_unless_overwrite(s3, numbers):
    address, folder = f"s3://{BUCKET}/rules/s.csv", f"s3://{BUCKET}/rules/folder"
    for output in (address, folder):
        score(numbers, output)
        refused(OutputError, f"{output} overwrite=True", score, numbers, output, never)
    assert "s.csv.rejects.jsonl" in s3.names("rules")
    pq.write_table(pa.table({"id": [1, 2]}), numbers)
    for output in (address, folder):
        score(numbers, output, overwrite=True)
    assert s3.names("rules/folder") == ["_fastmetrics.json", "part-000000.parquet"], "older parts are gone"
    assert not [name for name in s3.names("rules") if "rejects" in name], "and so are older rejects"
    s3.put(numbers, "rules/in.csv/rows.parquet")
    refused(OutputError, "folder", score, numbers, f"s3://{BUCKET}/rules/in.csv", never)
    s3.put(numbers, "rules/folder/other.parquet")
    refused(OutputError, "other.parquet", score, numbers, folder, never, overwrite=True)
    rows = s3.put(numbers, "rules/rows.parquet")
    refused(OutputError, "input", score, rows, rows, never, overwrite=True)
    part = s3.put(numbers, "rules/in/part-0.parquet")
    refused(OutputError, f"s3://{BUCKET}/rules/in/", score, part, f"s3://{BUCKET}/rules/in/", never, overwrite=True)


def test_unwritable_target_raises_before_the_first_row(s3, numbers):
    refused(OutputError, "s3://nowhere/s.csv NO_SUCH_BUCKET", score, numbers, "s3://nowhere/s.csv", never)
    refused(OutputError, "bucket", score, numbers, f"s3://{BUCKET}", never)
    s3.require_credentials(True)
    try:
        refused(OutputError, "s3://rows/s.csv ACCESS_DENIED", score, numbers, f"s3://{BUCKET}/s.csv", never)
    finally:
        s3.require_credentials(False)
    assert s3.names("probe") == []
    score(numbers, f"s3://{BUCKET}/probe/s.parquet")
    assert s3.names("probe") == ["s.parquet", "s.parquet.rejects.jsonl"]


def test_a_remote_run_that_fails_is_run_again(s3, numbers):
    def failing(batch):
        if batch.num_rows and batch["id"][0].as_py() >= 600:
            raise StopError
        return plain(batch)

    address = f"s3://{BUCKET}/resume/s.parquet"
    with pytest.raises(StopError):
        score(numbers, address, failing)
    assert s3.names("resume") == []
    refused(OutputError, "s.parquet resume=True", score, numbers, address, never, resume=True)
    assert score(numbers, address).rows == 989


@pytest.mark.parametrize("uploads", range(5))
def test_an_interrupted_upload_is_no_output(s3, tmp_path, numbers, monkeypatch, uploads):
    """Of a folder that replaces another: without its mark until all is there, and then the same."""
    folder = f"early/{uploads}"
    address = f"s3://{BUCKET}/{folder}/s"
    score(numbers, address, limits=Limits(part_rows=50))
    left = [uploads]

    def upload(path, url, real=targets.upload):
        if not left[0]:
            raise StopError
        left[0] -= 1
        real(path, url)

    monkeypatch.setattr(SIZES, "uploaded_files", 1)
    monkeypatch.setattr(targets, "upload", upload)
    options = {"limits": Limits(part_rows=300), "overwrite": True}
    with pytest.raises(StopError):
        score(numbers, address, **options)
    assert ("s/_fastmetrics.json" in s3.names(folder)) == (uploads == 0), "the first upload is that of the rejects"
    monkeypatch.undo()
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    result = score(numbers, address, **options)
    assert (result.rows, result.rejected) == (989, 11)
    score(numbers, tmp_path / "s", limits=Limits(part_rows=300))
    assert held(s3, f"{folder}/s") == here(tmp_path / "s")


def test_address_secrets_are_not_written(s3, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "answer": "a", "reference": "a"}\n' * 3 + "{bad\n")
    s3.put(rows, "hidden/rows.jsonl")
    secret = f"s3://{KEY}:{SECRET}@{BUCKET}/hidden"
    for name in ("s.jsonl", "folder/"):
        arguments = ("-m", "exact_match", "--on-error", "skip")
        done = program("score", f"{secret}/rows.jsonl", "-o", f"{secret}/{name}", *arguments)
        assert (done.code, done.err) == (0, "")
        assert f"s3://***@{BUCKET}/hidden/{name}" in done.out
        again = program("score", f"{secret}/rows.jsonl", "-o", f"{secret}/{name}", *arguments)
        assert again.code == 4
        failed = program("score", f"{secret}/rows.jsonl", "-o", f"{secret}/other.csv", "-m", "exact_match")
        assert failed.code == 3
        texts = [
            done.out,
            again.err,
            failed.err,
            *(data.decode(errors="replace") for data in held(s3, "hidden").values()),
        ]
        assert not [text for text in texts if SECRET in text or KEY in text]
    (file,) = open_source(f"{secret}/rows.jsonl").files
    assert SECRET not in repr(file) + str(file.fingerprint())


def test_outputs_at_memory_and_file_addresses(tmp_path, numbers, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    memory = fsspec.filesystem("memory")
    for name in ("s.parquet", "s.csv.gz", "folder/"):
        score(numbers, (tmp_path / name).as_uri() + "/" * name.endswith("/"))
        for overwrite in (False, True):
            score(numbers, f"memory://written/{name}", overwrite=overwrite)
        files = here(tmp_path / name) if name.endswith("/") else {"": (tmp_path / name).read_bytes()}
        for file, data in files.items():
            assert memory.cat_file(f"/written/{name}{file}") == data
    assert read_metadata("memory://written/folder/") == read_metadata(as_local((tmp_path / "folder").as_uri()))
    score(numbers, "memory://written/folder/", overwrite=True, limits=Limits(part_rows=5000))
    parts = {Path(name).name for name in memory.ls("/written/folder", detail=False)}
    assert parts == {"_fastmetrics.json", "part-000000.parquet"}, "older parts are gone"
    refused(OutputError, "overwrite=True", score, numbers, "memory://written/s.parquet", never)
    assert program("rank", "memory://x/none.txt", "memory://x/none.qrels", "-m", "mrr").code == 3


@pytest.fixture
def folder(tmp_path):
    """Three runs in a folder: two files, and a folder of parts."""
    rows = jsonl(tmp_path / "rows.jsonl", *({"id": n, "answer": f"a {n % 3}", "reference": "a 1"} for n in range(9)))
    (tmp_path / "runs").mkdir()
    for name in ("a.parquet", "b.csv", "c/"):
        fm.score(rows, output=f"{tmp_path}/runs/{name}", metrics="token_f1", name=name)
    return tmp_path


def test_runs_at_an_address_are_those_of_the_folder(s3, tmp_path, folder):
    address = s3.put(folder / "runs", "listed/runs")
    (tmp_path / "none").mkdir()
    assert fm.results.list_runs(address).equals(fm.results.list_runs(folder / "runs"))
    assert fm.results.list_runs(Path(address)).num_rows == fm.results.list_runs(f"{address}/").num_rows == 3
    assert fm.trend(address, "token_f1").to_dict() == fm.trend(folder / "runs", "token_f1").to_dict()
    secret = address.replace("s3://", f"s3://{KEY}:{SECRET}@")
    assert fm.trend(secret, "token_f1").to_dict() == fm.trend(folder / "runs", "token_f1").to_dict()
    refused(UnknownNameError, "s3://***@rows/listed/runs f2", fm.trend, secret, "f2")
    assert fm.results.list_runs(tmp_path / "none").num_rows == 0
    s3.put(folder / "rows.jsonl", "listed/others/rows.jsonl")
    assert fm.results.list_runs(f"s3://{BUCKET}/listed/others").num_rows == 0
    for place, reason in (
        (f"s3://{BUCKET}/listed/nothing", "there is no such file or folder"),
        ("s3://nowhere/runs", "there is no such file or folder"),
    ):
        refused(FileFormatError, f"{place} {reason}", fm.results.list_runs, place)


def test_a_report_of_all_rows_at_an_address_is_replaced_as_a_whole(s3, tmp_path, folder):
    address = f"s3://{BUCKET}/pages/report"
    options = ("report", folder / "runs" / "a.parquet", "--rows", "all", "-o")
    assert program(*options, address).code == 0
    done = program(*options, address)
    assert (done.code, done.err) == (4, f"error: {address} exists; choose --overwrite to replace it\n")
    s3.put(folder / "rows.jsonl", "pages/report/older.js")
    assert program(*options, address, "--overwrite").code == 0
    assert program(*options, tmp_path / "report").code == 0
    files = (one for one in (tmp_path / "report").rglob("*") if one.is_file())
    local = sorted(one.relative_to(tmp_path / "report").as_posix() for one in files)
    assert s3.names("pages/report") == local
    s3.put(folder / "rows.jsonl", "pages/own/labels.csv")
    done = program(*options, f"s3://{BUCKET}/pages/own", "--overwrite")
    assert done.code == 4
    assert "is not a folder that such a run made" in done.err
    assert s3.names("pages/own") == ["labels.csv"]


@pytest.mark.parametrize("name", ["rules.toml", "prices.toml", "rubric.toml", "knowledge.txt"])
def test_small_files_name_what_is_wrong(s3, tmp_path, name):
    reads = {
        "rules.toml": read_rules,
        "prices.toml": lambda path: price_of("m", path),
        "rubric.toml": read_rubric,
        "knowledge.txt": lambda path: read_knowledge([path]),
    }
    (tmp_path / name).write_bytes(b"\xff")
    address = s3.put(tmp_path / name, f"small/{name}")
    for place in (str(tmp_path / name), address):
        refused(FileFormatError, f"{place} 0 UTF-8", reads[name], place)
        refused(FileFormatError, f"{place}x.toml", reads[name], f"{place}x.toml")
