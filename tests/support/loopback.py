"""Stores on this machine for tests: a real S3 server in a process of its own, and a small one that fails on command."""

from __future__ import annotations

import gzip
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from pyarrow import fs

KEY, SECRET = "AKIATESTTESTTESTTEST", "secretsecretsecret"
BUCKET = "rows"


@dataclass(frozen=True)
class Server:
    """A running S3 server, ``s3`` to look into it, and the file of its log."""

    endpoint: str
    s3: fs.S3FileSystem
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        """What makes the usual chain of credentials end here."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def requests(self) -> list[str]:
        """The requests so far, as ``GET /rows/key``."""
        return re.findall(r'"([A-Z]+ \S+) HTTP', self.log.read_text())

    def require_credentials(self, required: bool) -> None:
        """From now on refuse keys that nobody has made, or accept any again."""
        body = b"0" if required else b"inf"
        headers = {"Content-Type": "text/plain"}
        request = urllib.request.Request(f"{self.endpoint}/moto-api/reset-auth", body, headers, method="POST")
        urllib.request.urlopen(request).close()

    def names(self, folder: str) -> list[str]:
        """The keys below a folder of the bucket."""
        infos = self.s3.get_file_info(fs.FileSelector(f"{BUCKET}/{folder}", recursive=True, allow_not_found=True))
        return sorted(info.path.removeprefix(f"{BUCKET}/{folder}/") for info in infos if info.is_file)

    def read(self, key: str) -> bytes:
        """The bytes of an object."""
        with self.s3.open_input_file(f"{BUCKET}/{key}") as file:
            return file.read()

    def put(self, path: Path, key: str) -> str:
        """Upload a file, or all files of a folder; the address."""
        if path.is_dir():
            for local_file in sorted(path.rglob("*")):
                if local_file.is_file():
                    self.put(local_file, f"{key}/{local_file.relative_to(path).as_posix()}")
        else:
            with self.s3.open_output_stream(f"{BUCKET}/{key}", compression=None) as stream:
                stream.write(path.read_bytes())
        return f"s3://{BUCKET}/{key}"


@contextmanager
def s3_server(folder: Path) -> Iterator[Server]:
    """Moto's server as a process of its own, with one bucket."""
    log = folder / "server.log"
    process, port = _listening(log)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        s3 = fs.S3FileSystem(access_key=KEY, secret_key=SECRET, endpoint_override=endpoint, allow_bucket_creation=True)
        s3.create_dir(BUCKET)
        yield Server(endpoint, s3, log)
    finally:
        process.terminate()
        process.wait(30)


def _listening(log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The server once it answers, and its port: a free one, or another if somebody else was faster to take it."""
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with open(log, "wb") as sink:
            process = subprocess.Popen(program, stdout=sink, stderr=sink, env={**os.environ, "MOTO_PORT": str(port)})
        for _ in range(1200):
            if "Running on" in log.read_text():
                return process, port
            if process.poll() is not None:
                break
            time.sleep(0.1)
        process.kill()
        process.wait()
    raise AssertionError(log.read_text())


@dataclass
class ObjectStore:
    """What the small store holds, and how its next answers fail, by method: a status, "cut", "hang" or None."""

    objects: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[int | str | None]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    endpoint: str = ""
    sent: int = 0
    lengthless: str = ""
    """How answers are sent without their length, if they are: chunked, close or gzip."""


class _QuietServer(ThreadingHTTPServer):
    """A server that prints nothing when a client leaves: tests read standard error, and kill clients."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store that knows HEAD and GET of objects, by path; GET of a range as well."""
    store = ObjectStore()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            store.requested.append(f"{self.command} {self.path}")
            waiting = store.faults.get(self.command, [])
            fault = waiting.pop(0) if waiting else None
            data = store.objects.get(self.path.partition("?")[0])
            if fault == "hang":
                time.sleep(3)
            status = fault if isinstance(fault, int) else 200 if data is not None else 404
            if status != 200 or data is None:
                self._head(status, b"")
                return
            if store.lengthless:
                self._without_length(data)
                return
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if span is not None:
                status, data = 206, data[int(span[1]) : int(span[2]) + 1]
            self._head(status, data)
            if self.command == "GET":
                store.sent += len(data)
                self.wfile.write(data[: len(data) // 2] if fault == "cut" else data)
            if fault in ("cut", "hang"):
                self.close_connection = True

        def _head(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.end_headers()

        def _without_length(self, data: bytes) -> None:
            names = {"chunked": "Transfer-Encoding", "close": "Connection", "gzip": "Content-Encoding"}
            data = gzip.compress(data) if store.lengthless == "gzip" else data
            self.send_response(200)
            self.send_header(names[store.lengthless], store.lengthless)
            if store.lengthless == "gzip":
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.close_connection = store.lengthless == "close"
            if self.command == "GET" and store.lengthless == "chunked":
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n")
            elif self.command == "GET":
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = _QuietServer(("127.0.0.1", 0), Handler)
    store.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)  # the interval of checks for shutdown
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
