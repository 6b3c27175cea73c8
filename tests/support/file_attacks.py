"""Attacks on the commands that write files, and what must hold after each: see ``scripts/attack_files``."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.attacked_commands import ALWAYS, METRICS, NEVER, RESUMABLE, WRITERS, contents, make_inputs
from tests.support.forked_program import Forker, Run
from tests.support.program import Done


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
    """The commands, their inputs in a folder, and the outputs of runs left alone; ``server`` answers model calls."""

    def __init__(self, folder: Path, seed: int, rows: int, server: str, only: list[str] | None = None) -> None:
        self.folder = folder
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

    def new(self) -> Path:
        """A new folder for outputs, of the same name each time, since names of outputs are in them; empty stores."""
        out = self.folder / "out"
        for folder in (out, self.folder / "stores"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        return out

    def call(self, words: tuple[str, ...], limit: int | None = None) -> Done:
        """A run of the program to its end."""
        code, err = self.forker.start(words, limit).wait()
        return Done(code, "", err)

    def words(self, name: str, out: Path, *more: str) -> tuple[str, ...]:
        """The words of a command that writes into a folder."""
        return (*(word.format(out=out, server=self.server) for word in self.commands[name]), *more)

    def run(self, name: str, out: Path, *more: str, limit: int | None = None) -> Done:
        """A run of a command to its end."""
        return self.call(self.words(name, out, *more), limit)

    def again(self, name: str, out: Path) -> str | None:
        """The fault of the run after an attack, if there is one: its output, and what else is there."""
        files = contents(out)
        partial_folder = any(path.startswith(("o.", "o/")) and ".partial/" in path for path in files)
        verb = self.commands[name][0]
        more = ["--resume"] if verb in RESUMABLE and partial_folder else []
        complete = files == self.whole[name]
        if not more and files and verb not in (*ALWAYS, *NEVER):
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
        if run.poll() is None:
            counts.writing += any(out.iterdir())
            os.killpg(run.pid, number)
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
        beside = [path for path in contents(self.folder / "stores") if "/." in f"/{path}"]
        elsewhere = [str(path) for path in self._paths() - self.furniture]
        outputs = [path for path in contents(out) if path not in self.whole[name]]
        return [*outputs, *contents(self.temporary), *beside, *elsewhere]


def refused(name: str, done: Done, *codes: int) -> list[str]:
    """The fault of a run that must end with one of these codes and a message."""
    if done.code in codes and "Traceback" not in done.err:
        return []
    return [f"{name} ended with {done.code}: {done.err[-300:]}"]


def _target(attacker: Attacker, name: str) -> str:
    """The first output of a command, as a path in its folder."""
    word = next(word for word in attacker.commands[name] if word.startswith("{out}"))
    return word.removeprefix("{out}/").rstrip("/")


def _more(attacker: Attacker, name: str) -> tuple[str, ...]:
    return () if attacker.commands[name][0] in (*ALWAYS, *NEVER) else ("--overwrite",)


def links(attacker: Attacker) -> list[str]:
    """A link at the output's name: neither it nor its target is replaced."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        (out / "precious").write_text("mine")
        (out / _target(attacker, name)).symlink_to("precious")
        faults += refused(name, attacker.run(name, out, *_more(attacker, name)), 4)
        if contents(out) != {"precious": b"mine", _target(attacker, name): b"mine"}:
            faults.append(f"{name} changed {sorted(contents(out))}")
    return faults


def pipes(attacker: Attacker) -> list[str]:
    """A pipe at the output's name stays one; pages are written into it."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        place = out / _target(attacker, name)
        os.mkfifo(place)
        reader = subprocess.Popen(["cat", str(place)], stdout=subprocess.DEVNULL)
        faults += refused(name, attacker.run(name, out, *_more(attacker, name)), 0, 4)
        reader.kill()
        reader.wait()
        if [path.name for path in out.iterdir() if not path.is_file()] != [place.name] or not place.is_fifo():
            faults.append(f"{name} replaced a pipe")
    return faults


def no_folder(attacker: Attacker) -> list[str]:
    """The output's folder is a file."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        (out / "file").touch()
        faults += refused(name, attacker.run(name, out / "file"), 4)
        faults += [] if contents(out) == {"file": b""} else [f"{name} changed {sorted(contents(out))}"]
    return faults


def full_disk(attacker: Attacker) -> list[str]:
    """No file may have more than some bytes, as on a full disk."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        most = attacker.chance.choice([0, 100, 4096])
        faults += refused(name, attacker.run(name, out, limit=most), 0, 4)
        fault = attacker.broken(name, out) or attacker.again(name, out)
        faults += [fault] if fault else []
    return faults


def names(attacker: Attacker) -> list[str]:
    """Outputs in folders with odd names."""
    faults = []
    for name in attacker.commands:
        for odd in ("a b", "*[x]?", "-o", "é\u202e", "n" * 240, "'\"$(x)", "%20", "#?"):
            out = attacker.new() / odd
            out.mkdir()
            faults += refused(f"{name} in {odd}", attacker.run(name, out), 0)
            break_ = set(contents(out)) != set(attacker.whole[name])
            faults += [f"{name} in {odd}: {sorted(contents(out))}"] if break_ else []
    return faults


def journals(attacker: Attacker) -> list[str]:
    """Garbled work folders, and some with orders to touch other files."""
    faults = []
    orders = json.dumps([["parts", "precious"], ["output.parquet", "../precious"]])
    texts = ["", "{", "[" * 100_000, "null", orders, '{"number": -1}', "\0" * 1000, '[["output.parquet", "precious"]]']
    for name in (name for name, words in attacker.commands.items() if words[0] in RESUMABLE):
        for text in texts:
            out = attacker.new()
            (out / "precious").write_text("mine")
            work = out / f"{_target(attacker, name)}.partial"
            (work / "parts").mkdir(parents=True)
            (work / "owner").write_text("1")
            for file in ("run.json", "journal.jsonl", "commit.json"):
                if attacker.chance.random() < 0.7:
                    (work / file).write_text(text)
            faults += refused(f"{name} with {text[:20]!r}", attacker.run(name, out, "--resume"), 0, 4)
            faults += refused(f"{name} over {text[:20]!r}", attacker.run(name, out, "--overwrite"), 0)
            if contents(out) != {**attacker.whole[name], "precious": b"mine"}:
                faults.append(f"{name} with {text[:20]!r} left {sorted(contents(out))}")
    return faults


def growing(attacker: Attacker) -> list[str]:
    """Inputs to which another program appends, or that it truncates, while they are read."""
    faults = []
    rows = (attacker.folder / "rows.jsonl").read_bytes()
    for change in ("append", "truncate"):
        out = attacker.new()
        path = attacker.folder / "growing.jsonl"
        path.write_bytes(rows * 40)
        run = attacker.forker.start(
            ("score", "growing.jsonl", "-o", str(out / "o.parquet"), *METRICS, "--threads", "1")
        )
        work = out / "o.parquet.partial"
        while run.poll() is None and not work.exists():
            time.sleep(0.001)
        with open(path, "r+b") as file:
            if change == "append":
                file.seek(0, 2)
                file.write(rows[: rows.index(b"\n") + 1])
            else:
                file.truncate(len(rows) * 39)
        code, err = run.wait()
        faults += refused(f"score of a file with {change}", Done(code, "", err), 3)
        path.unlink()
    return faults


def both(attacker: Attacker) -> list[str]:
    """Two runs of one command into one output at once: one output, whole, and nothing else."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        runs = [attacker.forker.start(attacker.words(name, out)) for _ in range(2)]
        ended = [Done(code, "", err) for code, err in (run.wait() for run in runs)]
        for done in ended:
            faults += refused(name, done, 0, 4)
        if 0 not in [done.code for done in ended] or contents(out) != attacker.whole[name]:
            faults.append(f"{name} left {sorted(contents(out))}")
    return faults


MODES: Mapping[str, Callable[[Attacker], list[str]]] = {
    "links": links,
    "pipes": pipes,
    "no_folder": no_folder,
    "full_disk": full_disk,
    "names": names,
    "journals": journals,
    "growing": growing,
    "both": both,
}
