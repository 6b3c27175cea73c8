"""Run the program on a pseudo-terminal, as a person does."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping

from tests.support.program import ENVIRONMENT, Done

PROMPT_LINE = """
import sys
from fastmetrics.base import progress
progress.AFTER, progress.REDRAWN_EVERY = 0.001, 0.02
from fastmetrics.__main__ import main
main()
"""
"""The program, with a bar that is drawn from the beginning on, however short the run is."""


def on_terminal(*words: object, width: int = 80, environment: Mapping[str, str] | None = None) -> Done:
    """The exit code of the program, and all that its terminal of that width received."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    variables = {name: value for name, value in ENVIRONMENT.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    run = subprocess.Popen(
        [sys.executable, "-c", PROMPT_LINE, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=variables | {"TERM": "xterm"} | dict(environment or {}),
    )
    os.close(theirs)
    text = b""
    try:
        while block := os.read(ours, 1 << 16):
            text += block
    except OSError:  # the terminal is closed
        pass
    os.close(ours)
    return Done(run.wait(600), text.decode().replace("\r\n", "\n"), "")
