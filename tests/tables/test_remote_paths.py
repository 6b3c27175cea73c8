"""Inputs behind addresses: the same rows as from this machine, from a real S3 server, memory, files and the web."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from fastmetrics.base.errors import FileFormatError, MissingExtraError, OptionError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.addresses import parse
from fastmetrics.tables.opening import expand, open_source
from fastmetrics.tables.remote_files import store
from tests.support.loopback import BUCKET, KEY, SECRET, object_store
from tests.support.program import ENVIRONMENT, program
from tests.support.table_files import FORMATS, KINDS, ROWS, read, tree, write

TABLE = pa.table(ROWS)


def rows(source):
    """What a source holds, with the rejects' places but not their file."""
    table, rejects = read(source, KINDS)
    return table, [reject.partition(", ")[2] for reject in rejects]


@pytest.mark.parametrize("name", FORMATS)
def test_remote_reading_of_every_format_equals_local(s3, tmp_path, name):
    path = write(TABLE, tmp_path / name)
    address = s3.put(path, f"formats/{name}")
    assert rows(open_source(address)) == rows(open_source(path))
    assert open_source(address).nbytes == path.stat().st_size


@pytest.mark.parametrize("name", ["bad.jsonl", "bad.csv.gz"])
def test_remote_bad_rows_are_named_like_local_ones(s3, tmp_path, name):
    lines = ['{"id": "a", "answer": "x", "reference": "y"}', '{"id": "b", "answer": {"a": 7}}', "{nonsense"] * 50
    if "csv" in name:
        lines = ["id,answer,reference", *["a,x,y", "b,x", "c,x,y,z"] * 50]
    with pa.output_stream(str(tmp_path / name), compression="gzip" if name.endswith("gz") else None) as stream:
        stream.write("\n".join(lines).encode())
    table, rejects = rows(open_source(s3.put(tmp_path / name, name)))
    assert (table, rejects) == rows(open_source(tmp_path / name))
    assert len(rejects) == 100


def test_file_format_is_detected_from_first_bytes(s3, tmp_path):
    write(TABLE, tmp_path / "t.parquet").rename(tmp_path / "t")
    assert rows(open_source(s3.put(tmp_path / "t", "plain/t")))[0].equals(TABLE.select(list(KINDS)))
    (tmp_path / "t").write_bytes(b"\x00\x01")
    with pytest.raises(FileFormatError, match="s3://rows/plain/t: unknown format"):
        open_source(s3.put(tmp_path / "t", "plain/t"))


def test_remote_partitioned_folder_equals_local(s3, tmp_path):
    folder = tree(tmp_path / "tree")
    address = s3.put(folder, "hive/tree")
    here, there = expand(folder), expand(address)
    assert [file.path.removeprefix(f"{address}/") for file in there] == [
        os.path.relpath(file.path, folder) for file in here
    ]
    assert [file.keys for file in there] == [file.keys for file in here]
    assert expand(f"{address}/") == there
    found, _ = read(open_source(address), {**KINDS, "lang": "text"})
    assert set(found["lang"].to_pylist()) == {"de", "en gb"}


def test_keys_with_special_characters_are_literal(s3, tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    for key in ("odd/a b.csv", "odd/a%20b.csv", "odd/é+ü.csv", "odd/x@y:z.csv", "odd/[1].csv", "odd/q?.csv"):
        address = s3.put(path, key)
        assert [file.path for file in expand(address)] == [address]
        assert rows(open_source(address))[0].num_rows == 3
    assert len(expand(f"s3://{BUCKET}/odd/")) == 6


def test_many_objects_open_with_few_requests(s3, tmp_path):
    for number in range(40):
        pq.write_table(TABLE, tmp_path / f"part-{number:02}.parquet")
    address = s3.put(tmp_path, "many")
    before = len(s3.requests())
    source = open_source(address)
    assert source.rows == 120
    asked = [request for request in s3.requests()[before:] if "part-" in request]
    assert len(asked) == 80, "a look and a footer each"


def test_only_needed_columns_are_fetched(tmp_path, monkeypatch):
    sizes = ReadSizes(remote_ahead_bytes=32 << 10)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    wide = {"fat": [os.urandom(2048) for _ in range(3000)], "answer": [f"yes {n}" for n in range(3000)]}
    pq.write_table(pa.table(wide), tmp_path / "t.parquet", row_group_size=1000)
    with object_store() as held:
        held.objects["/bkt/t.parquet"] = (tmp_path / "t.parquet").read_bytes()
        source = open_source(f"s3://bkt/t.parquet?endpoint_override={held.endpoint}&region=x", sizes=sizes)
        assert read(source, {"answer": "text"})[0]["answer"].to_pylist() == wide["answer"]
        assert held.sent < len(held.objects["/bkt/t.parquet"]) / 10


def rows_of(address):
    return open_source(address).rows


def test_a_forked_process_opens_remote_files(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.parquet"), "travel/t.parquet")
    open_source(address)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(rows_of, [address]) == 3


def test_fingerprints_depend_only_on_the_object(s3, tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    address = s3.put(path, "print/t.csv")
    (found,) = open_source(address).fingerprint
    assert found[:2] == [address, path.stat().st_size]
    for also in (f"s3://{BUCKET}/print/", f"s3://{BUCKET}/print/*.csv"):
        assert open_source(also).fingerprint == [found]
    path.write_text(path.read_text() + "d,x,y\n")
    s3.put(path, "print/t.csv")
    assert open_source(address).fingerprint != [found]


def test_address_parameters_override_the_environment(s3, tmp_path, monkeypatch):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "query/t.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    host = s3.endpoint.removeprefix("http://")
    for query in (f"endpoint_override={host}&scheme=http&region=eu-west-3", f"endpoint_override={s3.endpoint}"):
        assert open_source(f"{address}?{query}").nbytes > 0
        assert len(expand(f"s3://{BUCKET}/query/?.csv?{query}")) == 1
    system = store(parse(f"{address}?endpoint_override={host}&region=eu-west-3&anonymous=true")).system
    assert system.region == "eu-west-3"
    assert system.__reduce__()[1][0]["background_writes"] is False, "uploads in bounded memory"
    with pytest.raises(OptionError, match="anonymous=perhaps"):
        open_source(f"{address}?anonymous=perhaps&region=x")


def test_credentials_can_come_from_profiles(s3, tmp_path, monkeypatch):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "profile/t.csv")
    (tmp_path / "credentials").write_text(f"[night]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "night")
    assert open_source(address).nbytes > 0


def test_s3a_and_collapsed_addresses_are_read_as_s3(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "alias/t.csv")
    assert open_source(address.replace("s3:", "s3a:")).fingerprint == open_source(Path(address)).fingerprint


def test_file_addresses_are_local_paths(tmp_path):
    path = write(TABLE, tmp_path / "a b.csv")
    for address in (path.as_uri(), f"file://localhost{path}", f"file://{tmp_path}/a*.csv"):
        (file,) = expand(address)
        assert (file.path, file.stamp) == (str(path), None)
    assert [file.path for file in expand(tmp_path.as_uri())] == [str(path)]


def test_memory_addresses_are_read(tmp_path):
    for name in FORMATS:
        path = write(TABLE, tmp_path / name)
        fsspec.filesystem("memory").put_file(str(path), f"/stored/{name}")
        assert rows(open_source(f"memory://stored/{name}")) == rows(open_source(path))
    assert len(expand("memory://stored/")) == len(FORMATS)


def test_web_addresses_are_read(tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    with object_store() as held:
        held.objects["/t.csv"] = path.read_bytes()
        source = open_source(f"{held.endpoint}/t.csv?token={SECRET}")
        assert rows(source)[0].num_rows == 3
        assert source.files[0].shown == f"{held.endpoint}/t.csv?token=***"
        with pytest.raises(FileFormatError) as caught:
            open_source(f"{held.endpoint}/none.csv?token={SECRET}")
        assert SECRET not in str(caught.value)


def test_google_addresses_use_the_google_file_system(tmp_path, monkeypatch):
    path = write(TABLE, tmp_path / "t.csv")
    about = {"kind": "storage#object", "name": "t.csv", "bucket": "bkt", "size": str(path.stat().st_size)}
    about |= {"generation": "1", "updated": "2025-01-01T00:00:00Z", "timeCreated": "2025-01-01T00:00:00Z"}
    with object_store() as held:
        held.objects["/storage/v1/b/bkt/o/t.csv"] = json.dumps(about).encode()
        held.objects["/bkt/t.csv"] = path.read_bytes()
        address = f"gs://anonymous@bkt/t.csv?scheme=http&endpoint_override={held.endpoint.removeprefix('http://')}"
        assert isinstance(store(parse(address)).system, fs.GcsFileSystem)
        assert store(parse(address)).path == "bkt/t.csv"
        held.requested.clear()
        (file,) = expand(address)
        assert file.size == path.stat().st_size
        assert held.requested
        assert all("/bkt" in asked for asked in held.requested)


def test_hadoop_addresses_need_hadoop(monkeypatch):
    for name in ("HADOOP_HOME", "JAVA_HOME"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", "/nowhere")
    with pytest.raises(MissingExtraError, match=r"hdfs://node:8020.*JAVA_HOME"):
        open_source("hdfs://node:8020/rows.parquet")
    assert program("summarize", "hdfs://node:8020/scores").code == 5


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    with pytest.raises(MissingExtraError, match=r"sftp:// needs a package that is not installed"):
        open_source("sftp://host/rows.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '\.\[fsspec\]'"):
        open_source("memory://rows.csv/x")


def test_process_exits_silently_after_reading_s3(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.parquet"), "end/t.parquet")
    script = f"from fastmetrics.tables.opening import open_source\nkept = open_source({address!r})\nprint(kept.rows)\n"
    for ending in ("", "raise SystemExit"):
        settings = {"capture_output": True, "timeout": 60, "env": {**ENVIRONMENT, **s3.environment}}
        done = subprocess.run([sys.executable, "-c", script + ending], check=True, **settings)
        assert (done.stdout, done.stderr) == (b"3\n", b"")


def test_other_commands_read_remote_addresses(s3, tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 d1 1 0.9 x\nq1 Q0 d2 2 0.8 x\n")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 d2 1\n")
    there = program("rank", s3.put(run, "rank/run.txt"), s3.put(qrels, "rank/qrels.txt"), "-m", "mrr", "--json")
    here = program("rank", run, qrels, "-m", "mrr", "--json")
    assert (there.code, there.out) == (0, here.out.replace(str(run), f"s3://{BUCKET}/rank/run.txt"))
    scores, labels = tmp_path / "scores.csv", tmp_path / "labels.csv"
    scores.write_text("id,token_f1\n" + "".join(f"{n},{n / 9}\n" for n in range(9)))
    labels.write_text("id,label\n" + "".join(f"{n},{n % 2}\n" for n in range(9)))
    there = program("validate", s3.put(scores, "val/scores.csv"), s3.put(labels, "val/labels.csv"))
    assert (there.code, there.out) == (0, program("validate", scores, labels).out)
    assert program("validate", f"s3://{BUCKET}/val/none.csv", labels).code == 3
    rows_ = tmp_path / "rows.csv"
    rows_.write_text("answer,reference\nyes,no\n")
    assert program("profile", s3.put(rows_, "val/rows.csv"), "-m", "exact_match").code == 0
