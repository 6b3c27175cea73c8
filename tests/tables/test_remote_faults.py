"""Stores that say no, break off, hang or cannot be reached: one clear line, or the same rows after another try."""

import io
import re
import socketserver
import threading
import time

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import RETRY_LIMITS, ReadSizes
from fastmetrics.tables import remote_files
from fastmetrics.tables.addresses import parse
from fastmetrics.tables.opening import open_source
from tests.support.goldens import refused
from tests.support.loopback import BUCKET, KEY, SECRET, object_store
from tests.support.program import program
from tests.support.table_files import FORMATS, KINDS, read, write

SMALL = ReadSizes(remote_ahead_bytes=4 << 10)
TABLE = pa.table({"id": [f"{n}" for n in range(5000)], "answer": ["yes"] * 5000, "reference": ["no"] * 5000})


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Nobody waits between two tries; how long an answer may take is left alone, as a busy machine's may take long."""
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 0.001)
    monkeypatch.setattr(RETRY_LIMITS, "store_attempts", 1)
    remote_files._native.cache_clear()
    yield
    remote_files._native.cache_clear()  # the clients made here are only for these tests


@pytest.fixture
def failing(monkeypatch):
    """A store that fails on command, and credentials for it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with object_store() as held:
        yield held


def address(held, name):
    """The address of an object of the small store."""
    return f"s3://bkt/{name}?endpoint_override={held.endpoint}&region=us-east-1"


def test_errors_say_what_is_missing(s3):
    for path, lacking in (
        ("s3://nowhere/rows.csv", "there is no such file or folder"),
        ("s3://nowhere/*.csv", "no file matches"),
        (f"s3://{BUCKET}/none.csv", "there is no such file"),
        (f"s3://{BUCKET}/none/*.csv", "no file matches"),
    ):
        done = program("summarize", path)
        assert done.code == 3
        assert done.err.startswith(f"error: {path}: ")
        assert lacking in done.err
        assert done.err.count("\n") == 1


def test_wrong_credentials_give_a_one_line_error(s3, tmp_path):
    there = s3.put(write(TABLE, tmp_path / "t.csv"), "locked/t.csv")
    s3.require_credentials(True)
    try:
        for path in (
            there,
            f"s3://{BUCKET}/locked/",
            f"s3://{BUCKET}/locked/*.csv",
            f"s3://{KEY}:{SECRET}@{there[5:]}",
        ):
            done = program("score", path, "-o", tmp_path / "s.csv")
            assert done.code == 3
            assert re.search("cannot be read: (ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE)", done.err)
            assert done.err.count("\n") == 1
            assert len(done.err) < 160
            assert SECRET not in done.err
        done = program("score", tmp_path / "t.csv", "-o", f"s3://{BUCKET}/locked/s.csv", "-m", "exact_match")
        assert done.code == 4
        assert done.err.startswith(f"error: cannot write s3://{BUCKET}/locked/s.csv: ")
    finally:
        s3.require_credentials(False)


@pytest.mark.full
def test_unreachable_store_raises(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = program("score", "s3://bkt/rows.csv", "-o", tmp_path / "s.csv")
    assert done.code == 3
    assert done.err.startswith("error: s3://bkt/rows.csv: cannot be read: NETWORK_CONNECTION: curlCode: 7")
    rows = write(TABLE, tmp_path / "t.csv")
    done = program("score", rows, "-o", "s3://bkt/s.csv", "-m", "exact_match")
    assert done.code == 4
    assert done.err.startswith("error: cannot write s3://bkt/s.csv: NETWORK_CONNECTION")
    google = "gs://anonymous@bkt/rows.csv?scheme=http&endpoint_override=127.0.0.1:1&retry_limit_seconds=1"
    refused(FileFormatError, "UNAVAILABLE", open_source, google)


@pytest.mark.full
def test_hanging_store_times_out(failing, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "request_seconds", 1.0)
    failing.objects["/bkt/t.csv"] = b"answer\nyes\n"
    failing.faults["HEAD"] = ["hang"] * 4
    began = time.monotonic()
    refused(FileFormatError, "NETWORK_CONNECTION", lambda: open_source(address(failing, "t.csv")))
    assert time.monotonic() - began < 30, "bounded, not fast"


@pytest.mark.parametrize("fault", [503, 500, "cut"])
@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl.gz", "t.arrow", "t.arrows"])
def test_failed_request_is_retried(failing, tmp_path, name, fault):
    failing.objects[f"/bkt/{name}"] = write(TABLE, tmp_path / name).read_bytes()
    for spared in range(2):
        failing.faults["GET"] = [*[None] * spared, fault]
        assert read(open_source(address(failing, name)), KINDS)[0].equals(TABLE)
        assert not failing.faults["GET"]


@pytest.mark.parametrize(
    ("status", "cause"), [(403, "ACCESS_DENIED"), (404, "RESOURCE_NOT_FOUND"), (503, "UNKNOWN 503: No response body")]
)
def test_error_status_raises_and_temporary_ones_are_retried(failing, tmp_path, status, cause):
    failing.objects["/bkt/t.csv"] = write(TABLE, tmp_path / "t.csv").read_bytes()
    failing.faults["GET"] = [status] * 20
    with pytest.raises(FileFormatError, match=cause):
        open_source(address(failing, "t.csv"))
    tries = 20 - len(failing.faults["GET"])
    assert tries == (RETRY_LIMITS.read_tries if status == 503 else 1), "what would fail again is not tried again"


def test_object_changed_during_reading_raises(failing, tmp_path):
    for name in ("t.parquet", "t.csv"):
        failing.objects[f"/bkt/{name}"] = write(TABLE, tmp_path / name).read_bytes()
        source = open_source(address(failing, name))
        failing.objects[f"/bkt/{name}"] += b"more"
        refused(FileFormatError, "changed", read, source, KINDS)


class Flaky(MemoryFileSystem):
    """Files in memory, of which some reads fail; a file is read in small pieces so that there are many."""

    protocol = "flaky"
    cachable = False
    spared = 0
    faults = 0
    short = 0

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(path.replace("flaky://", "memory://"))

    def _open(self, path, mode="rb", **options):
        data = super()._open(path, mode, **options).getvalue()
        return Breaking(data)


class Breaking(io.BytesIO):
    """A file whose reads fail after a while, or come up short, as the store says."""

    def read(self, size=-1):
        if Flaky.short:
            Flaky.short -= 1
            return super().read(size)[: size // 2]
        if Flaky.spared:
            Flaky.spared -= 1
        elif Flaky.faults:
            Flaky.faults -= 1
            raise RuntimeError("the package behind fsspec has an error of its own")
        return super().read(size)


@pytest.mark.parametrize("name", FORMATS)
def test_reader_continues_after_a_fault(tmp_path, name):
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    path = write(TABLE, tmp_path / name)
    if name == "t.parquet":
        pq.write_table(TABLE, path, row_group_size=500)
    fsspec.filesystem("memory").put_file(str(path), f"/flaky/{name}")
    for spared in (0, 1, 2, 5, 9):
        Flaky.spared, Flaky.faults = spared, RETRY_LIMITS.read_tries - 1
        assert read(open_source(f"flaky://flaky/{name}", sizes=SMALL), KINDS)[0].equals(TABLE)
    Flaky.spared, Flaky.faults = 1, 10**6
    refused(
        FileFormatError, f"flaky://flaky/{name}", lambda: read(open_source(f"flaky://flaky/{name}", sizes=SMALL), KINDS)
    )
    Flaky.faults = 0


@pytest.mark.parametrize("name", FORMATS)
def test_short_read_is_retried(tmp_path, monkeypatch, name):
    """Bytes that a store does not send must not be taken for the end of the file, nor be left out."""
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    fsspec.filesystem("memory").put_file(str(write(TABLE, tmp_path / name)), f"/short/{name}")
    for short in range(1, RETRY_LIMITS.read_tries):
        source = open_source(f"flaky://short/{name}", sizes=SMALL)
        Flaky.short = short
        assert read(source, KINDS)[0].equals(TABLE)
        assert not Flaky.short
    source = open_source(f"flaky://short/{name}", sizes=SMALL)
    monkeypatch.setattr(Flaky, "short", 10**6)
    refused(FileFormatError, f"flaky://short/{name}", read, source, KINDS)


@pytest.mark.parametrize("fault", [403, 500])
def test_web_errors_omit_secrets(failing, fault):
    """The packages behind fsspec put the whole address into their errors."""
    failing.objects["/t.csv"] = b"id,answer\n1,a\n"
    place = failing.endpoint.replace("http://", "http://user:hidden@")
    for before in range(3):
        failing.faults["GET"] = [*[None] * before, *[fault] * 20]
        done = program("score", f"{place}/t.csv?token=hidden", "-o", "o.csv", "-m", "answer_length")
        assert (done.code, "hidden" in done.err) == (3, False)
        assert done.err.endswith("the server refused the request\n")


@pytest.mark.parametrize("kind", ["chunked", "close", "gzip"])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_web_servers_need_not_tell_the_length(failing, tmp_path, kind, name):
    write(TABLE, tmp_path / name)
    failing.objects[f"/{name}"] = (tmp_path / name).read_bytes()
    failing.lengthless = kind
    local = read(open_source(tmp_path / name), KINDS)[0]
    assert read(open_source(f"{failing.endpoint}/{name}"), KINDS)[0].equals(local)


def test_a_chunked_body_that_ends_early_is_no_traceback():
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"10\r\nid,answer\n1,yes\n\r\nFF\r\nabc"

    class Cut(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(answer if self.request.recv(1 << 16).startswith(b"HEAD") else answer + body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Cut) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        refused(FileFormatError, "completed", open_source, f"http://127.0.0.1:{server.server_address[1]}/t.csv")
        server.shutdown()


def test_web_errors_say_what_the_server_answers(failing):
    failing.objects["/t.csv"] = b"id,answer\n1,a\n"
    path = f"{failing.endpoint}/t.csv"
    for fault, answer in {403: "the server answers 403", 404: "there is no such file or folder"}.items():
        failing.faults = {"GET": [fault] * 20, "HEAD": [fault] * 20}
        refused(FileFormatError, f"{path} {answer}", open_source, path)
    failing.faults = {"GET": [503] * 2, "HEAD": [503] * 2}
    assert len(open_source(path).files) == 1
    failing.faults = {"GET": [500] * 20, "HEAD": [500] * 20}
    refused(FileFormatError, "500", open_source, path)


def test_hanging_web_server_times_out(failing, monkeypatch, full):
    monkeypatch.setattr(RETRY_LIMITS, "request_seconds", 1.0 if full else 0.1)
    failing.objects["/t.csv"] = b"id,answer\n1,a\n"
    assert len(open_source(f"{failing.endpoint}/t.csv").files) == 1
    failing.faults = {"GET": ["hang"] * 20, "HEAD": ["hang"] * 20}
    began = time.monotonic()
    refused(FileFormatError, "read", open_source, f"{failing.endpoint}/t.csv")
    assert time.monotonic() - began < 60, "bounded, not fast"


def test_unknown_address_parameters_are_hidden():
    shown = parse("s3://b/none.csv?access_key=AKIA&secret_key=hidden").shown
    assert shown == "s3://b/none.csv?access_key=***&secret_key=***"
    assert parse("abfs://c@account/x.csv?sv=1&sig=hidden").shown == "abfs://c@account/x.csv?sv=***&sig=***"
    for pattern in ("s3://b/day=?/x=1.csv", "s3://b/part-?.csv", "s3://b/?=x"):
        assert parse(pattern).shown == pattern
