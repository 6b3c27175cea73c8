"""Where the calls of POSIX are missing, as on Windows, there is another path to the same result."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastmetrics.base.threads import cores
from fastmetrics.tables import input_files
from fastmetrics.tables.targets import sync
from tests.support.program import ENVIRONMENT, program

WITHOUT = """
import os, signal, subprocess, sys, tempfile, warnings
for module in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
warnings.filterwarnings("ignore", message="only soft file lock is available")
for name in ("fork", "forkpty", "getuid", "kill", "killpg", "mkfifo", "pread", "pwrite", "sched_getaffinity",
             "O_DIRECTORY"):
    delattr(os, name)
for name in ("pthread_kill", "pthread_sigmask", "SIGKILL", "SIGHUP"):
    delattr(signal, name)
from fastmetrics.__main__ import main
main()
"""


@pytest.mark.full
def test_program_runs_without_posix_calls(tmp_path):
    """Files in and out, parts, the lock, standard input; and another run's lock is seen."""
    rows = "".join(json.dumps({"answer": f"in Paris {n}", "reference": f"Paris {n % 7}"}) + "\n" for n in range(3000))
    (tmp_path / "in.jsonl").write_text(rows)
    for name, given in (("a.csv", str(tmp_path / "in.jsonl")), ("b.csv", "-")):
        options = ["score", given, "-m", "token_f1", "-q", "--format", "jsonl"]
        done = subprocess.run(
            [sys.executable, "-P", "-c", WITHOUT, *options, "-o", str(tmp_path / name)],
            env=ENVIRONMENT,
            input=rows,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert program("score", tmp_path / "in.jsonl", "-m", "token_f1", "-q", "-o", tmp_path / "c.csv").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() == (tmp_path / "c.csv").read_bytes()
    assert not list(tmp_path.glob("*.partial"))


def test_processor_count_without_cpu_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for count, expected in ((7, 7), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert cores() == expected


def test_stream_is_copied_if_descriptors_have_no_path(tmp_path, monkeypatch):
    content = b"answer\n" + b"in Paris\n" * 1000
    found = {}
    for kind in ("descriptor", "named"):
        if kind == "named":
            monkeypatch.setattr(os.path, "exists", lambda path: False)
        (tmp_path / "in.csv").write_bytes(content)
        with open(tmp_path / "in.csv", "rb") as stream:
            path, checksum = input_files.spool(stream, "standard input", stream.read(10))
        assert path.startswith("/proc/self/fd/") == (kind == "descriptor")
        found[kind] = Path(path).read_bytes(), checksum
    assert found["descriptor"] == found["named"]
    assert found["named"][0] == content


def test_folders_that_cannot_be_opened_are_not_fsynced(tmp_path, monkeypatch):
    """The files in them are, and are opened for writing, as Windows asks."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one").write_text("1")
    opened, plainly = [], os.open

    def opening(path, flags, *more):
        if path.is_dir():
            raise PermissionError(13, "Permission denied")
        opened.append((path.name, flags & os.O_ACCMODE))
        return plainly(path, flags, *more)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", opening)
    sync(tmp_path / "parts", inside=True)
    assert opened == [("one", os.O_RDWR)]
