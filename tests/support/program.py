"""The program as a user meets it: arguments in, exit code and printed text out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from fastmetrics.base import progress
from fastmetrics.cli import program as cli
from fastmetrics.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def unfolded(text: str) -> str:
    """A text in one line: notes that are folded to the width of a terminal are whole again."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Done:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str


def program(*arguments: object, stdin: bytes = b"", progress_every: float = 3600.0) -> Done:
    """Run the program within this process; on a busy machine, no line of progress is among its messages."""
    with mock.patch.object(progress, "PRINTED_EVERY", progress_every):
        done = CliRunner().invoke(cli.app, [*map(str, arguments)], input=stdin, prog_name="fastmetrics")
    return Done(done.exit_code, done.stdout, done.stderr)


def command(*arguments: object) -> list[str]:
    """The command line that runs the program in a process of its own."""
    return [sys.executable, "-m", "fastmetrics", *map(str, arguments)]


def alone(*arguments: object, **options: Any) -> Done:
    """Run the program in a process of its own."""
    settings: dict[str, Any] = {"capture_output": True, "env": ENVIRONMENT, **options}
    done = subprocess.run(command(*arguments), check=False, **settings)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def name_of(words: Sequence[object]) -> str:
    """The whole name of the command that these words begin with: ``judge run`` or ``score``."""
    pair = " ".join(map(str, words[:2]))
    return pair if pair in COMMANDS else str(words[0])


def jsonl(path: Path, *rows: object) -> Path:
    """A file of JSON lines; a row that is a string or bytes is written as it is."""
    lines = [
        row if isinstance(row, bytes) else str(row if isinstance(row, str) else json.dumps(row)).encode()
        for row in rows
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
