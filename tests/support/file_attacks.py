"""The attack of scripts/attack_files: the commands that write, their runs and kills, and what must hold after each."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import json
import lzma
import math
import os
import random
import shutil
import signal
import stat
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.forked_program import Forker, Run
from tests.support.program import Done, jsonl, name_of

METRICS = ("-m", "token_f1,exact_match")
CALLS = ("--model", "m", "--base-url", "{server}", "--store", "stores/calls.sqlite")
COMPARE = ("summarize", "other.parquet", "--worst", "token_f1", "--baseline", "scores.parquet")
WRITERS: Mapping[str, tuple[str, ...]] = {
    "score parquet": ("score", "rows.jsonl", "-o", "{out}/o.parquet", *METRICS),
    "score csv": ("score", "rows.jsonl", "-o", "{out}/o.csv", *METRICS),
    "score folder": ("score", "rows.jsonl", "-o", "{out}/o/", *METRICS),
    "score zst": ("score", "rows.jsonl", "-o", "{out}/o.jsonl.zst", *METRICS),
    "judge": ("judge", "run", "few.jsonl", "-o", "{out}/o.csv", "--rubrics", "safety", *CALLS),
    "judge folder": ("judge", "run", "few.jsonl", "-o", "{out}/o/", "--rubrics", "safety", "--keep-replies", *CALLS),
    "answer": (
        *("answer", "few.jsonl", "-o", "{out}/o.parquet", "--bot", "full-context", "--knowledge", "k.txt", "--keep"),
        "id",
        *CALLS,
    ),
    "embed": ("vectors", "embed", "rows.jsonl", "-o", "{out}/o.parquet", "--of", "answer", "--cache", "stores/vectors"),
    "fit": ("fit", "labelled.jsonl", "--label", "label", "-m", "token_f1,chrf", "-o", "{out}/o.toml"),
    "match": ("match", "few.jsonl", "few.jsonl", "-o", "{out}/o.csv"),
    "sample": (
        *("sample", "judged.jsonl", "-o", "{out}/o.csv", "--budget", "50", "--for", "human"),
        *("--using", "judge_safety", "--texts", "rows.jsonl"),
    ),
    "duplicates": ("vectors", "duplicates", "vectors.npy", "-o", "{out}/o.csv", "--near", "0.1"),
    "rows": ("summarize", "scores.parquet", "--worst", "token_f1", "--answers", "rows.jsonl", "-o", "{out}/o.csv"),
    "rows baseline": (*COMPARE, "--answers", "rows.jsonl", "-o", "{out}/o.csv"),
    "plot svg": ("summarize", "scores.parquet", "--histograms", "--plot", "{out}/o.svg"),
    "plot png": ("compare", "scores.parquet", "other.parquet", "--plot", "{out}/o.png"),
    "plot trend": ("runs", "trend", ".", "token_f1", "--plot", "{out}/o.svg"),
    "plot cache": ("logs", "cache", "log.jsonl", "--embedder", "wordllama", "--plot", "{out}/o.svg"),
    "rank": ("rank", "run.txt", "qrels.txt", "-o", "{out}/o.parquet"),
    "report": ("report", "scores.parquet", "--texts", "rows.jsonl", "-o", "{out}/o.html"),
    "report all": ("report", "scores.parquet", "--texts", "rows.jsonl", "--rows", "all", "-o", "{out}/o"),
    "project": ("vectors", "project", "vectors.npy", "-o", "{out}/o.csv", "--plot", "{out}/p.png"),
    "index": ("vectors", "index", "vectors.npy", "-o", "{out}/o"),
    "search": ("vectors", "search", "index", "vectors.npy", "-o", "{out}/o.jsonl"),
    "usage": ("logs", "chunks", "log.jsonl", "-o", "{out}/o.json", "--table", "{out}/t.csv"),
    "domain": ("logs", "domains", "log.jsonl", "-o", "{out}/o.json"),
    "topics": ("logs", "topics", "log.jsonl", "-o", "{out}/o.json", "--topics", "4", "--embedder", "wordllama"),
    "ux": ("logs", "cache", "log.jsonl", "-o", "{out}/o.json", "--embedder", "wordllama"),
    "sessions": ("logs", "context", "log.jsonl", "-o", "{out}/o.json", "--embedder", "wordllama"),
    "session report": (
        *("logs", "sessions", "log.jsonl", "--success", "token_f1 >= 0.5", "-o", "{out}/o.json"),
        *("--table", "{out}/t.parquet"),
    ),
    "check": ("logs", "check", "few.jsonl", "-o", "{out}/o.json"),
    "gate": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--junit", "{out}/o.xml"),
    "gate json": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--json", "{out}/o.json"),
    "gate markdown": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--markdown", "{out}/o.md"),
    "plot fit": ("fit", "labelled.jsonl", "--label", "label", "-m", "token_f1,chrf", "--plot", "{out}/o.svg"),
    "plot validate": ("validate", "scores.parquet", "labelled.jsonl", "--label", "label", "--plot", "{out}/o.svg"),
}
"""Commands that write into the folder ``{out}``, and with calls of the model server at ``{server}``, by name."""
OUTPUTS = {
    "output": "-o",
    "table": "--table",
    "junit": "--junit",
    "json": "--json",
    "markdown": "--markdown",
    "plot": "--plot",
}
"""The options that name an output, by their arguments."""
RESUMABLE = ("score", "judge run", "answer", "vectors embed")
ALWAYS = ("--junit", "--json", "--markdown", "--plot")
"""Options whose output is replaced without another option."""
NEVER = ("vectors index",)
"""Commands that replace nothing."""
TIMES = ("latency_ms",)
"""Columns of measured times, which differ between two runs."""


def make_inputs(folder: Path, n: int, run: Callable[[tuple[str, ...]], Done]) -> None:
    """Write the inputs of all commands; ``run`` runs the program in the folder."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 400, 12)) for _ in range(n)]
    rows: list[dict[str, Any]] = [
        {"id": at, "question": texts[-at], "answer": text, "reference": texts[at - 1]} for at, text in enumerate(texts)
    ]
    jsonl(folder / "rows.jsonl", *rows)
    jsonl(folder / "few.jsonl", *rows[:200])
    jsonl(folder / "changed.jsonl", *({**row, "answer": row["reference"][: row["id"] % 40]} for row in rows))
    jsonl(folder / "labelled.jsonl", *({**row, "label": row["id"] % 3 % 2} for row in rows[:60]))
    jsonl(folder / "judged.jsonl", *({"id": row["id"], "judge_safety": row["id"] % 5} for row in rows))
    log = [{**row, "retrieved_ids": [f"c{row['id'] % 7}"], "session": row["id"] % 9} for row in rows]
    jsonl(folder / "log.jsonl", *({**row, "timestamp": f"2026-01-01T00:{row['id'] % 60:02}:00Z"} for row in log))
    (folder / "k.txt").write_text("All words are w0.")
    (folder / "run.txt").write_text("".join(f"q{at} Q0 d{at % 5} 1 0.5 t\n" for at in range(n)))
    (folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at % 3} 1\n" for at in range(n)))
    np.save(folder / "vectors.npy", rng.normal(size=(n, 16)).astype(np.float32))
    for words in (
        ("score", "rows.jsonl", "-o", "scores.parquet", *METRICS),
        ("score", "changed.jsonl", "-o", "other.parquet", *METRICS),
        ("vectors", "index", "vectors.npy", "-o", "index"),
        ("judge", "run", "few.jsonl", "-o", "calls.csv", "--rubrics", "safety", *CALLS[:-1], "calls.sqlite"),
    ):
        done = run(words)
        if done.code:
            raise RuntimeError(done.err)


def contents(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, by its path there; without times, if it is a table of answers."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): _lasting(path.read_bytes()) for path in files}


def _lasting(data: bytes) -> bytes:
    """The bytes of a file; of a complete Parquet file with measured times, all but the times."""
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
        return data
    table = pq.read_table(io.BytesIO(data))
    if not set(TIMES) & set(table.column_names):
        return data
    others = table.drop_columns(list(TIMES))
    return f"{others.schema.to_string()}\n{json.dumps(others.to_pylist())}".encode()


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


def refused(name: str, done: Done, *codes: int) -> list[str]:
    """The fault of a run that must end with one of these codes and a message."""
    if done.code in codes and "Traceback" not in done.err:
        return []
    return [f"{name} ended with {done.code}: {done.err[-300:]}"]


def links(attacker: Attacker) -> list[str]:
    """A link at the output's name: neither it nor its target is replaced."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        (out / "precious").write_text("mine")
        (out / attacker.target(name)).symlink_to("precious")
        faults += refused(name, attacker.run(name, out, *attacker.replacing(name)), 4)
        if contents(out) != {"precious": b"mine", attacker.target(name): b"mine"}:
            faults.append(f"{name} changed {sorted(contents(out))}")
    return faults


def pipes(attacker: Attacker) -> list[str]:
    """A pipe at the output's name stays one; pages are written into it."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        place = out / attacker.target(name)
        os.mkfifo(place)
        reader = subprocess.Popen(["cat", str(place)], stdout=subprocess.DEVNULL)
        faults += refused(name, attacker.run(name, out, *attacker.replacing(name)), 0, 4)
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
        for odd in attacker.variants(name, ("a b", "*[x]?", "-o", "é\u202e", "n" * 240, "'\"$(x)", "%20", "#?")):
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
    for name in (name for name, words in attacker.commands.items() if name_of(words) in RESUMABLE):
        for text in attacker.variants(name, texts):
            out = attacker.new()
            (out / "precious").write_text("mine")
            work = out / f"{attacker.target(name)}.partial"
            work.mkdir(parents=True)
            for file in ("run.json", "part-000000.json", "part-000000.arrow", "publishing"):
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


def own_inputs(attacker: Attacker) -> list[str]:
    """An output that is one of the command's inputs, by its name, its address from elsewhere, and a second name."""
    faults = []
    for name in attacker.commands:
        for path in attacker.inputs(name):
            second = attacker.new() / "second"
            spellings = [path, Path("out", "..", path.name)]
            if path.is_file():
                os.link(path, second)
                spellings.append(second)
            for spelling in spellings:
                before = attacker.fixed()
                words = tuple(
                    word.replace("{out}/" + attacker.target(name), str(spelling), 1) for word in attacker.commands[name]
                )
                words = tuple(word.format(out=attacker.folder / "out", server=attacker.server) for word in words)
                done = attacker.call((*words, *attacker.replacing(name)))
                faults += refused(f"{name} into its input {spelling.name}", done, 2, 4)
                after = attacker.fixed()
                faults += [f"{name} changed its input {path.name}"] if after != before else []
                attacker.restore(before)
    return faults


def neighbors(attacker: Attacker) -> list[str]:
    """Files of others beside the output, with names that the command would use: they stay."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        place = out / attacker.target(name)
        user_files = [
            place.with_name(place.name + suffix) for suffix in (".meta.json", ".rejects.jsonl", ".tmp", ".bak", "~")
        ]
        for path in user_files:
            path.write_text("mine")
        work = place.with_name(place.name + ".partial")
        work.mkdir()
        (work / "precious").write_text("mine")
        done = attacker.run(name, out)
        faults += refused(name, done, 0, 4)
        left = [
            path.name for path in (*user_files, work / "precious") if not path.exists() or path.read_text() != "mine"
        ]
        faults += [f"{name} changed {left} beside its output"] if left else []
        if done.code:
            faults += [f"{name} failed and left {place.name}"] if place.exists() else []
    return faults


def devices(attacker: Attacker) -> list[str]:
    """A device at the output's name stays one."""
    faults = []
    for name in attacker.commands:
        for minor in (3, 7):  # those of /dev/null and /dev/full
            out = attacker.new()
            place = out / attacker.target(name)
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, minor))
            faults += refused(name, attacker.run(name, out, *attacker.replacing(name)), 0, 4)
            faults += [] if place.is_char_device() else [f"{name} replaced a device"]
    return faults


def planted(attacker: Attacker) -> list[str]:
    """Links at names of temporary files that could be guessed from the output and the process: not followed."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        precious = attacker.folder / "temporary" / "precious"
        precious.write_text("mine")
        target = attacker.target(name)
        pid = int(Path("/proc/loadavg").read_text().split()[-1])
        for number in range(pid - 20, pid + 200):
            for pattern in (".{}.{}.tmp", "{}.{}.tmp", ".{}.{}"):
                (out / pattern.format(target, number)).symlink_to(precious)
        faults += refused(name, attacker.run(name, out), 0)
        faults += [] if precious.read_text() == "mine" else [f"{name} followed a link at a temporary name"]
        precious.unlink()
    return faults


def signals(attacker: Attacker) -> list[str]:
    """A signal at a random moment ends the run with its own code and a message; the next run is whole."""
    faults = []
    for name in attacker.commands:
        for number in attacker.variants(name, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            out = attacker.new()
            run = attacker.forker.start(attacker.words(name, out))
            time.sleep(attacker.chance.random() * attacker.seconds[name])
            if run.poll() is None:
                run.end(number)
            code, err = run.wait()
            if code:  # a run that ends well may have printed that a finalizer lost the signal
                faults += refused(f"{name} after {number.name}", Done(code, "", err), 128 + number, -number)
            fault = attacker.broken(name, out) or attacker.again(name, out)
            faults += [f"after {number.name}: {fault}"] if fault else []
    return faults


def no_reader(attacker: Attacker) -> list[str]:
    """Standard output is closed, which ends the run, or a pipe that nobody reads, or full: the output is whole."""
    faults = []
    for name in attacker.commands:
        for stdout in attacker.variants(name, ("closed", "unread", "/dev/full")):
            out = attacker.new()
            faults += refused(f"{name} with {stdout} output", attacker.run(name, out, stdout=stdout), 0, 4)
            whole = contents(out) == attacker.whole[name] or (stdout == "closed" and not contents(out))
            faults += [] if whole else [f"{name} with {stdout} output left {sorted(contents(out))}"]
    return faults


def deleted_folder(attacker: Attacker) -> list[str]:
    """The working folder was deleted: an error that says so."""
    faults = []
    for name in attacker.commands:
        out, gone = attacker.new(), attacker.folder / "temporary" / "gone"
        gone.mkdir()
        done = attacker.run(name, out, gone=str(gone))
        faults += refused(name, done, 2)
        faults += [] if "folder was deleted" in done.err and not contents(out) else [f"{name}: {done.err}"]
    return faults


def packed(attacker: Attacker) -> list[str]:
    """Compressed inputs that end early, go on after their end, or are of another kind than their names say."""
    faults = []
    rows = (attacker.folder / "rows.jsonl").read_bytes()
    packers: Mapping[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
    }
    for suffix, pack in packers.items():
        data = pack(rows)
        other = packers["zst" if suffix == "gz" else "gz"](rows)
        damaged = {
            "cut": data[: len(data) // 2],
            "head": data[:9],
            "more": data + b"\0more",
            "other": other,
            "none": b"",
        }
        for damage, damaged_data in damaged.items():
            out = attacker.new()
            path = attacker.folder / "temporary" / f"rows.jsonl.{suffix}"
            path.write_bytes(damaged_data)
            done = attacker.call(("score", str(path), "-o", str(out / "o.csv"), *METRICS))
            path.unlink()
            faults += refused(f"score of {suffix} with {damage}", done, 0, 2, 3)
            if bool(contents(out)) == bool(done.code):
                faults.append(f"score of {suffix} with {damage}: code {done.code} and {sorted(contents(out))}")
    return faults


def long_rows(attacker: Attacker) -> list[str]:
    """A first, middle or last row over the limit of bytes: an error, or with --on-error skip one rejected row."""
    faults = []
    rows = (attacker.folder / "few.jsonl").read_bytes().splitlines(keepends=True)
    long = json.dumps({"id": -1, "answer": "a " * 40_000, "reference": "a"}).encode() + b"\n"
    path = attacker.folder / "temporary" / "rows.jsonl"
    for at in (0, len(rows) // 2, len(rows)):
        path.write_bytes(b"".join((*rows[:at], long, *rows[at:])))
        for more, code in ((), 3), (("--on-error", "skip"), 0):
            out = attacker.new()
            words = ("score", str(path), "-o", str(out / "o.csv"), *METRICS, "--max-row-bytes", "10000", *more)
            faults += refused(f"score with a long row at {at}", attacker.call(words), code)
            rejected = out / "o.csv.rejects.jsonl"
            count = len(rejected.read_bytes().splitlines()) if rejected.exists() else 0
            faults += [] if count == bool(more) else [f"score with a long row at {at} rejected {count} rows"]
    path.unlink()
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
    "own_inputs": own_inputs,
    "neighbors": neighbors,
    "devices": devices,
    "planted": planted,
    "signals": signals,
    "no_reader": no_reader,
    "deleted_folder": deleted_folder,
    "packed": packed,
    "long_rows": long_rows,
}
