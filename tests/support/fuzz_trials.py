"""One command on one bad file, in a process of its own that may crash, hang or take all memory."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastmetrics.cli import program

SECONDS = 10
GROWTH = 1 << 30
_CODES = {0: "scored", 2: "usage", 3: "input", 4: "output"}
_SPACE = 6 << 30
_STUCK = 6
"""How many times the processor's seconds the clock may show, as others use this machine too."""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: ``scored`` or an error of our own (``input``, ...), or ``signal``, ``traceback``, ..."""

    kind: str
    detail: str
    growth: int

    @property
    def failed(self) -> bool:
        """Whether a program should never end like this."""
        return self.kind not in _CODES.values()


def attempt(arguments: Sequence[str], folder: Path, seconds: int = SECONDS) -> Outcome:
    """Run the program in a fork of this process, which must hold no threads, within ``folder``."""
    log = folder / ".log"
    before = _resident()
    child = os.fork()
    if not child:
        try:
            os._exit(_run(arguments, folder, log, seconds))
        finally:
            os._exit(99)
    _, status, used = os.wait4(child, 0)
    text = log.read_text(errors="replace") if log.exists() else ""
    growth = max(0, used.ru_maxrss * 1024 - before)
    return Outcome(_kind(status, growth), text[-6000:], growth)


def _kind(status: int, growth: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hang" if name in ("SIGALRM", "SIGXCPU") else name
    if growth > GROWTH:
        return "memory"
    return _CODES.get(os.WEXITSTATUS(status), "traceback")


def _run(arguments: Sequence[str], folder: Path, log: Path, seconds: int) -> int:
    """What the child does: the program under limits, with all that it says in ``log``."""
    os.chdir(folder)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_STUCK * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_virtual() + _SPACE, resource.RLIM_INFINITY))
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        faulthandler.enable(output)
        sys.argv = ["fastmetrics", *arguments]
        sys.stdout = sys.stderr = output
        try:
            with contextlib.suppress(BrokenPipeError):
                program.main()
        except SystemExit as left:
            output.flush()
            return int(left.code or 0)
        except BaseException:  # noqa: BLE001 - whatever it is, it is a failure
            traceback.print_exc(file=output)
            output.flush()
            return 1
    return 0


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _resident() -> int:
    return _status("VmRSS")


def _virtual() -> int:
    return _status("VmSize")
