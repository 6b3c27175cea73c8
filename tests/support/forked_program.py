"""Runs of the program as forks of one process that has imported it, since imports take most of the time of a run.

``python -m tests.support.forked_program`` reads orders from standard input, one a line, and prints process ids and
statuses.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.program import ENVIRONMENT

_NOT_IMPORTED = ("ray", "spark", "__main__")
"""Parts of the names of modules that start other programs, or run this one."""
_IMPORTED_WHEN_CALLED = (
    *("aiohttp", "httpx", "joblib", "matplotlib.pyplot", "numba.typed", "pandas", "scipy.special", "scipy.stats"),
    "typer._adapters",
)
"""Modules of others that the program imports when a command needs them, and that start no thread."""


class Run:
    """A run of the program: a process in a group of its own."""

    def __init__(self, pid: int, statuses: dict[int, int], errors: Path) -> None:
        self.pid = pid
        self._statuses, self._errors = statuses, errors

    def poll(self) -> int | None:
        """The exit code, or the negative number of the signal that ended the run; None before its end."""
        status = self._statuses.get(self.pid)
        return None if status is None else os.waitstatus_to_exitcode(status)

    def end(self, number: int) -> bool:
        """Send a signal to the run and what it started; whether it had not ended before."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self, seconds: float = 600) -> tuple[int, str]:
        """The exit code and the messages at the end of the run."""
        end = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                self.end(signal.SIGKILL)
                raise TimeoutError(f"run {self.pid} did not end within {seconds} seconds")
            time.sleep(0.001)
        return code, self._errors.read_text(errors="replace")


class Forker:
    """The process that is forked for each run."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._errors = Path(tempfile.mkdtemp(prefix="errors-"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_program"],
            cwd=Path(__file__).parents[2],
            env={**ENVIRONMENT, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._statuses: dict[int, int] = {}
        self._started: list[int] = []
        self._count = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            pid, *status = map(int, line.split())
            if status:
                self._statuses[pid] = status[0]
            else:
                self._statuses.pop(pid, None)  # that of an earlier process with the same id
                self._started.append(pid)

    def start(
        self, words: tuple[str, ...], *, limit: int | None = None, stdout: str = os.devnull, gone: str = ""
    ) -> Run:
        """Start a run of the program in the folder.

        With a ``limit``, no file of the run may have more bytes.  Standard output is a path, ``closed``, or a pipe that
        is ``unread``.  The run is in the folder ``gone`` instead, which is deleted before.
        """
        assert self._process.stdin is not None
        errors = self._errors / str(self._count)
        errors.touch(0o600)  # the run may be killed before it opens the file
        places = {"folder": gone or str(self._folder), "errors": str(errors), "stdout": stdout, "gone": gone}
        order = {"words": words, "limit": limit, **places}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        while len(self._started) <= self._count:
            if self._process.poll() is not None:
                raise RuntimeError("the process that is forked has ended")
            time.sleep(0.0005)
        self._count += 1
        return Run(self._started[-1], self._statuses, errors)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def _child(order: dict[str, Any]) -> None:
    """Run the program in this process, which is a fork."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["folder"])
    if order["gone"]:
        os.rmdir(order["gone"])
    is_file = order["stdout"] not in ("closed", "unread")
    for number, path in enumerate((os.devnull, order["stdout"] if is_file else os.devnull, order["errors"])):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    if order["stdout"] == "unread":
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        os.close(reader)
        os.close(writer)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    if order["stdout"] == "closed":
        sys.stdout = None  # as Python finds it
    if order["limit"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
    sys.argv = ["fastmetrics", *order["words"]]
    from fastmetrics.__main__ import main as run

    code = 0
    try:
        run()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 (printed as Python prints it)
        traceback.print_exc()
        code = -1
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    os._exit(code)  # the end of the interpreter would take most of the time


def _import() -> None:
    """Import the program, what its modules import when they are called, and what Numba loads for a first kernel."""
    import numba

    import fastmetrics

    modules = [module.name for module in pkgutil.walk_packages(fastmetrics.__path__, "fastmetrics.")]
    for name in (*modules, *_IMPORTED_WHEN_CALLED):
        if not any(part in name for part in _NOT_IMPORTED):
            importlib.import_module(name)
    numba.njit(lambda: 0)()


def main() -> None:
    """Import the program, and fork for each order."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a fork that does not listen yet ends without a word
    _import()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    orders = sys.stdin.fileno()
    waiting = b""
    while True:
        ready, _, _ = select.select([orders, reader], [], [])
        if reader in ready:
            os.read(reader, 4096)
            _print_ended()
        if orders in ready:
            block = os.read(orders, 65536)
            if not block:
                return
            *lines, waiting = (waiting + block).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid:
                    os.setpgid(pid, pid)
                else:
                    os.setpgid(0, 0)
                    os.close(reader)
                    os.close(writer)
                    _child(json.loads(line))
                print(pid, flush=True)


def _print_ended() -> None:
    """Print the processes that have ended, with their statuses."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            print(*ended, flush=True)
    except ChildProcessError:
        return


if __name__ == "__main__":
    main()
