"""Runs of the commands that write files under attack, and kills: see ``scripts/attack_files``."""

from __future__ import annotations

import itertools
import math
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support.attacked_commands import ALWAYS, NEVER, RESUMABLE, WRITERS, contents, make_inputs
from tests.support.forked_program import Forker, Run
from tests.support.program import Done, name_of

T = TypeVar("T")


@dataclass
class Counts:
    """What happened to the killed runs."""

    kills: Counter[str] = field(default_factory=Counter)
    terminated: Counter[str] = field(default_factory=Counter)
    writing: int = 0
    finished: int = 0
    left: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def by_command(self) -> Counter[str]:
        """The runs of each command that were ended before their end."""
        return self.kills + self.terminated

    @property
    def total(self) -> int:
        """The runs that were ended before their end."""
        return self.by_command.total()

    def __str__(self) -> str:
        return (
            f"{self.kills.total()} kills and {self.terminated.total()} terminations in mid-run, "
            f"{self.writing} of them while files were written; {self.finished} runs ended before; "
            f"{self.left} files left behind, {len(self.faults)} faults"
        )


class Attacker:
    """The commands, their inputs in a folder, and the outputs of runs left alone; ``server`` answers model calls.

    Each command meets one in ``every`` variants of an attack, and the next command the next ones.
    """

    def __init__(
        self, folder: Path, seed: int, rows: int, server: str, only: list[str] | None = None, every: int = 1
    ) -> None:
        self.folder = folder
        self.every = every
        self.server = server
        self.chance = random.Random(seed)
        self.commands = {name: words for name, words in WRITERS.items() if only is None or name in only}
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.forker = Forker(folder, {"TMPDIR": str(self.temporary), "HOME": str(folder)})
        make_inputs(folder, rows, lambda words: self.call(tuple(word.format(server=server) for word in words)))
        self.whole: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.writing: dict[str, float] = {}
        for name in self.commands:
            for number in range(2):  # the first may have kernels to compile
                out = self.new()
                done = self._timed(name, out)
                if done.code:
                    raise RuntimeError(f"{name} fails when left alone: {done.err}")
                if number and self.whole[name] != contents(out):
                    raise RuntimeError(f"{name} writes other bytes when it runs again")
                self.whole[name] = contents(out)
        self.furniture = self._paths()

    def variants(self, name: str, every: Sequence[T]) -> Sequence[T]:
        """The variants of an attack that a command meets."""
        return every[list(self.commands).index(name) % self.every :: self.every]

    def _timed(self, name: str, out: Path) -> Done:
        """A run of a command to its end, with its seconds, and those since its first file."""
        began = time.perf_counter()
        run = self.forker.start(self.words(name, out))
        while run.poll() is None and not any(out.iterdir()):
            time.sleep(0.0002)
        wrote = time.perf_counter()
        code, err = run.wait()
        self.seconds[name], self.writing[name] = time.perf_counter() - began, time.perf_counter() - wrote
        return Done(code, "", err)

    def _paths(self) -> set[Path]:
        """All paths but those in the folders of outputs, stores and temporary files."""
        changing = {self.folder / name for name in ("out", "stores", "temporary")}
        return {path for path in self.folder.rglob("*") if not changing.intersection((path, *path.parents))}

    def fixed(self) -> dict[Path, bytes]:
        """The bytes of all files but those in the folders of outputs, stores and temporary files."""
        return {path: path.read_bytes() for path in self._paths() if path.is_file()}

    def restore(self, files: Mapping[Path, bytes]) -> None:
        """Make these the only files outside the folders of outputs, stores and temporary files."""
        now = self.fixed()
        for path in now.keys() - files.keys():
            path.unlink()
        for path, data in files.items():
            if now.get(path) != data:
                path.write_bytes(data)

    def new(self) -> Path:
        """A new folder for outputs, of the same name each time, since names of outputs are in them; empty stores."""
        out = self.folder / "out"
        for folder in (out, self.folder / "stores"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        return out

    def call(self, words: tuple[str, ...], **surroundings: Any) -> Done:
        """A run of the program to its end, in surroundings as ``Forker.start`` takes them."""
        code, err = self.forker.start(words, **surroundings).wait()
        return Done(code, "", err)

    def words(self, name: str, out: Path, *more: str) -> tuple[str, ...]:
        """The words of a command that writes into a folder."""
        return (*(word.format(out=out, server=self.server) for word in self.commands[name]), *more)

    def run(self, name: str, out: Path, *more: str, **surroundings: Any) -> Done:
        """A run of a command to its end."""
        return self.call(self.words(name, out, *more), **surroundings)

    def target(self, name: str) -> str:
        """The first output of a command, as a path in its folder."""
        word = next(word for word in self.commands[name] if word.startswith("{out}"))
        return word.removeprefix("{out}/").rstrip("/")

    def replacing(self, name: str) -> tuple[str, ...]:
        """The option with which a command replaces an output, if it has one."""
        return () if self._replaces(name) is not None else ("--overwrite",)

    def _replaces(self, name: str) -> bool | None:
        """Whether a command replaces its output or never does; None if an option says so."""
        words = self.commands[name]
        if name_of(words) in NEVER:
            return False
        return True if {*ALWAYS} & {*words} and "-o" not in words else None

    def inputs(self, name: str) -> list[Path]:
        """The files and folders that a command reads."""
        paths = [self.folder / word for word in self.commands[name][1:] if "{" not in word]
        return [
            path
            for path in paths
            if path.exists() and path != self.folder and self.folder / "stores" not in path.parents
        ]

    def again(self, name: str, out: Path) -> str | None:
        """The fault of the run after an attack, if there is one: its output, and what else is there."""
        files = contents(out)
        partial_folder = any(path.startswith(("o.", "o/")) and ".partial/" in path for path in files)
        verb = name_of(self.commands[name])
        # a kill between the last rename and the removal of the work folder leaves both
        done_but_for_it = any(path.split("/")[0] == self.target(name) for path in files)
        more = ["--resume"] if verb in RESUMABLE and partial_folder and not done_but_for_it else []
        complete = files == self.whole[name]
        if not more and files and self._replaces(name) is None:
            more = ["--overwrite"]
        if not (complete and verb in NEVER):
            done = self.run(name, out, *more)
            if done.code:
                return f"{name}: the run after it fails with {done.code}: {done.err[-300:]}"
        return (
            None
            if contents(out) == self.whole[name]
            else f"{name}: other bytes, or other files: {sorted(contents(out))}"
        )

    def broken(self, name: str, out: Path) -> str | None:
        """The fault of what an attack left under final names: parts of an output."""
        for path, data in contents(out).items():
            if ".partial/" in path or path.startswith(".fastmetrics-"):
                continue
            if data != self.whole[name].get(path):
                return f"{name}: {path} is not whole"
        return None

    def kills(self, count: int, minutes: float = math.inf) -> Counts:
        """Kill runs of all commands in turn, at random moments, until so many were in mid-run, and run each again."""
        began = time.monotonic()
        counts = Counts()
        for at, name in enumerate(itertools.cycle(self.commands)):
            if counts.total == count or time.monotonic() - began > 60 * minutes:
                return counts
            faults = self._kill(name, counts)
            counts.faults += faults
            for fault in faults:
                print(f"run {at}: {fault}", flush=True)
            if at % 20 == 19:
                print(f"{counts.total} of {count} after {time.monotonic() - began:.0f} s: {counts}", flush=True)
        return counts

    def _kill(self, name: str, counts: Counts) -> list[str]:
        """Kill a run of a command, if it does not end before, and run it again; what is wrong then."""
        out = self.new()
        number = signal.SIGTERM if self.chance.random() < 0.25 else signal.SIGKILL
        run = self.forker.start(self.words(name, out))
        self._wait(run, name, out)
        writing = any(out.iterdir())
        if run.poll() is None and run.end(number):
            counts.writing += writing
            (counts.kills if number == signal.SIGKILL else counts.terminated)[name] += 1
        else:
            counts.finished += 1
        _, err = run.wait()
        faults = [self.broken(name, out), self.again(name, out)]
        if "Traceback" in err:
            faults.append(f"{name}: {err[-500:]}")
        left = self._left(name, out)
        if left:
            counts.left += len(left)
            faults.append(f"{name} left {left}")
        return [fault for fault in faults if fault]

    def _wait(self, run: Run, name: str, out: Path) -> None:
        """Wait for a random moment of the whole run, or, for half of the runs, of the time in which it writes."""
        share = self.chance.random()
        if self.chance.random() < 0.5:
            time.sleep(share * self.seconds[name])
            return
        while run.poll() is None and not any(out.iterdir()):
            time.sleep(0.0002)
        time.sleep(share * self.writing[name])

    def _left(self, name: str, out: Path) -> list[str]:
        """The files that are neither inputs, outputs nor stores of calls and vectors."""
        hidden = (path for path in contents(self.folder / "stores") if "/." in f"/{path}")
        beside = [path for path in hidden if not path.endswith(".lock")]  # by which runs on a store take turns
        elsewhere = [str(path) for path in self._paths() - self.furniture]
        outputs = [path for path in contents(out) if path not in self.whole[name]]
        return [*outputs, *contents(self.temporary), *beside, *elsewhere]
