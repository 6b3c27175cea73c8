"""Attacks on the commands that write files, and what must hold after each: see ``scripts/attack_files``."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from tests.program import ENVIRONMENT, Done, command, jsonl

METRICS = ("-m", "token_f1,exact_match")
WRITERS: Mapping[str, tuple[str, ...]] = {
    "score parquet": ("score", "rows.jsonl", "-o", "{out}/o.parquet", *METRICS),
    "score csv": ("score", "rows.jsonl", "-o", "{out}/o.csv", *METRICS),
    "score folder": ("score", "rows.jsonl", "-o", "{out}/o/", *METRICS),
    "score zst": ("score", "rows.jsonl", "-o", "{out}/o.jsonl.zst", *METRICS),
    "match": ("match", "few.jsonl", "few.jsonl", "-o", "{out}/o.csv"),
    "sample": ("sample", "judged.jsonl", "-o", "{out}/o.csv", "-n", "50", "--texts", "rows.jsonl"),
    "rows": ("rows", "scores.parquet", "rows.jsonl", "--worst", "token_f1", "-o", "{out}/o.csv"),
    "rank": ("rank", "run.txt", "qrels.txt", "-o", "{out}/o.parquet"),
    "report": ("report", "scores.parquet", "--texts", "rows.jsonl", "-o", "{out}/o.html"),
    "report all": ("report", "scores.parquet", "--texts", "rows.jsonl", "--rows", "all", "-o", "{out}/o"),
    "project": ("project", "vectors.npy", "-o", "{out}/o.csv"),
    "index": ("index", "vectors.npy", "-o", "{out}/o"),
    "search": ("search", "index", "vectors.npy", "-o", "{out}/o.jsonl"),
    "usage": ("usage", "log.jsonl", "-o", "{out}/o.json", "--table", "{out}/t.csv"),
    "check": ("check", "few.jsonl", "-o", "{out}/o.json"),
    "gate": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--junit", "{out}/o.xml"),
}
RESUMABLE = ("score",)
ALWAYS = ("gate",)
"""Commands that replace their output without an option."""
NEVER = ("index",)
"""Commands that replace nothing."""


@dataclass
class Counts:
    """What happened to the killed runs."""

    kills: int = 0
    terminated: int = 0
    finished: int = 0
    left: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills and {self.terminated} terminations in mid-run, {self.finished} runs ended before; "
            f"{self.left} files left behind, {len(self.faults)} faults"
        )


class Attacker:
    """The commands, their inputs in a folder, and the outputs of runs left alone."""

    def __init__(self, folder: Path, seed: int, rows: int, only: list[str] | None = None) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.commands = {name: words for name, words in WRITERS.items() if only is None or name in only}
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._inputs(rows)
        self.whole: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        for name in self.commands:
            for _ in range(2):  # the first may have kernels to compile
                out = self.new()
                began = time.perf_counter()
                done = self.run(name, out)
                self.seconds[name] = time.perf_counter() - began
                if done.code:
                    raise RuntimeError(f"{name} fails when left alone: {done.err}")
                self.whole[name] = held(out)

    def _inputs(self, n: int) -> None:
        rng = np.random.default_rng(1)
        texts = [" ".join(f"w{word}" for word in rng.integers(0, 400, 12)) for _ in range(n)]
        rows = [
            {"id": at, "question": texts[-at], "answer": text, "reference": texts[at - 1]}
            for at, text in enumerate(texts)
        ]
        jsonl(self.folder / "rows.jsonl", *rows)
        jsonl(self.folder / "few.jsonl", *rows[:200])
        jsonl(self.folder / "judged.jsonl", *({"id": row["id"], "judge_safety": row["id"] % 5} for row in rows))
        log = [{**row, "retrieved_ids": [f"c{row['id'] % 7}"], "session": row["id"] % 9} for row in rows]
        jsonl(
            self.folder / "log.jsonl", *({**row, "timestamp": f"2026-01-01T00:{row['id'] % 60:02}:00Z"} for row in log)
        )
        (self.folder / "run.txt").write_text("".join(f"q{at} Q0 d{at % 5} 1 0.5 t\n" for at in range(n)))
        (self.folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at % 3} 1\n" for at in range(n)))
        np.save(self.folder / "vectors.npy", rng.normal(size=(n, 16)).astype(np.float32))
        for words in (
            ("score", "rows.jsonl", "-o", "scores.parquet", *METRICS),
            ("index", "vectors.npy", "-o", "index"),
        ):
            done = self.call(words)
            if done.code:
                raise RuntimeError(done.err)

    def new(self) -> Path:
        """A new folder for outputs, with the same name each time, since names of outputs are in them."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        return out

    def start(self, words: tuple[str, ...], **options: object) -> subprocess.Popen[bytes]:
        """A run of the program in a process group of its own."""
        environment = {**ENVIRONMENT, "TMPDIR": str(self.temporary), "HOME": str(self.folder)}
        settings: dict[str, object] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            command(*words), cwd=self.folder, env=environment, start_new_session=True, **settings
        )

    def call(self, words: tuple[str, ...], **options: object) -> Done:
        """A run of the program to its end."""
        run = self.start(words, **options)
        _, err = run.communicate(timeout=600)
        return Done(run.returncode, "", err.decode(errors="replace"))

    def words(self, name: str, out: Path, *more: str) -> tuple[str, ...]:
        """The words of a command that writes into a folder."""
        return (*(word.replace("{out}", str(out)) for word in self.commands[name]), *more)

    def run(self, name: str, out: Path, *more: str, **options: object) -> Done:
        """A run of a command to its end."""
        return self.call(self.words(name, out, *more), **options)

    def again(self, name: str, out: Path) -> str | None:
        """The fault of the run after an attack, if there is one: its output, and what else is there."""
        there = held(out)
        partial_folder = any(path.startswith(("o.", "o/")) and ".partial/" in path for path in there)
        verb = self.commands[name][0]
        more = ["--resume"] if verb in RESUMABLE and partial_folder else []
        complete = there == self.whole[name]
        if not more and there and verb not in (*ALWAYS, *NEVER):
            more = ["--overwrite"]
        if not (complete and verb in NEVER):
            done = self.run(name, out, *more)
            if done.code:
                return f"{name}: the run after it fails with {done.code}: {done.err[-300:]}"
        return None if held(out) == self.whole[name] else f"{name}: other bytes, or other files: {sorted(held(out))}"

    def broken(self, name: str, out: Path) -> str | None:
        """The fault of what an attack left under final names: parts of an output."""
        for path, data in held(out).items():
            if ".partial/" in path or path.startswith(".fastmetrics-"):
                continue
            if data != self.whole[name].get(path):
                return f"{name}: {path} is not whole"
        return None

    def kills(self, count: int) -> Counts:
        """Kill runs of all commands in turn, at random moments, until so many were in mid-run, and run each again."""
        counts = Counts()
        names = list(self.commands)
        at = -1
        while counts.kills + counts.terminated < count:
            at += 1
            name = names[at % len(names)]
            out = self.new()
            number = signal.SIGTERM if self.chance.random() < 0.25 else signal.SIGKILL
            run = self.start(self.words(name, out))
            try:
                _, err = run.communicate(timeout=self.chance.uniform(0.1, 0.8) * self.seconds[name])
                counts.finished += 1
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, number)
                _, err = run.communicate()
                counts.kills += number == signal.SIGKILL
                counts.terminated += number == signal.SIGTERM
            faults = [self.broken(name, out), self.again(name, out)]
            if b"Traceback" in err:
                faults.append(f"{name}: {err.decode()[-500:]}")
            left = [path for path in held(out) if path not in self.whole[name]] + list(held(self.temporary))
            counts.left += len(left)
            counts.faults += [fault for fault in faults if fault]
            for fault in filter(None, faults):
                print(f"kill {at}: {fault}", flush=True)
        return counts


def held(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, by its path there."""
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


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
        if held(out) != {"precious": b"mine", _target(attacker, name): b"mine"}:
            faults.append(f"{name} changed {sorted(held(out))}")
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
        faults += [] if held(out) == {"file": b""} else [f"{name} changed {sorted(held(out))}"]
    return faults


def full_disk(attacker: Attacker) -> list[str]:
    """No file may have more than some bytes, as on a full disk."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        most = attacker.chance.choice([0, 100, 4096])
        limit = partial(_no_room, most)
        faults += refused(name, attacker.run(name, out, preexec_fn=limit), 0, 4)
        fault = attacker.broken(name, out) or attacker.again(name, out)
        faults += [fault] if fault else []
    return faults


def _no_room(most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def names(attacker: Attacker) -> list[str]:
    """Outputs in folders with odd names."""
    faults = []
    for name in attacker.commands:
        for odd in ("a b", "*[x]?", "-o", "é\u202e", "n" * 240, "'\"$(x)", "%20", "#?"):
            out = attacker.new() / odd
            out.mkdir()
            faults += refused(f"{name} in {odd}", attacker.run(name, out), 0)
            break_ = set(held(out)) != set(attacker.whole[name])
            faults += [f"{name} in {odd}: {sorted(held(out))}"] if break_ else []
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
            if held(out) != {**attacker.whole[name], "precious": b"mine"}:
                faults.append(f"{name} with {text[:20]!r} left {sorted(held(out))}")
    return faults


def growing(attacker: Attacker) -> list[str]:
    """Inputs to which another program appends, or that it truncates, while they are read."""
    faults = []
    rows = (attacker.folder / "rows.jsonl").read_bytes()
    for change in ("append", "truncate"):
        out = attacker.new()
        path = attacker.folder / "growing.jsonl"
        path.write_bytes(rows * 40)
        run = attacker.start(("score", "growing.jsonl", "-o", str(out / "o.parquet"), *METRICS, "--threads", "1"))
        work = out / "o.parquet.partial"
        while run.poll() is None and not work.exists():
            time.sleep(0.001)
        with open(path, "r+b") as file:
            if change == "append":
                file.seek(0, 2)
                file.write(rows[: rows.index(b"\n") + 1])
            else:
                file.truncate(len(rows) * 39)
        _, err = run.communicate(timeout=600)
        faults += refused(f"score of a file with {change}", Done(run.returncode, "", err.decode()), 3)
        path.unlink()
    return faults


def both(attacker: Attacker) -> list[str]:
    """Two runs of one command into one output at once: one output, whole, and nothing else."""
    faults = []
    for name in attacker.commands:
        out = attacker.new()
        runs = [attacker.start(attacker.words(name, out)) for _ in range(2)]
        ended = [Done(run.wait(600), "", run.communicate()[1].decode()) for run in runs]
        for done in ended:
            faults += refused(name, done, 0, 4)
        if 0 not in [done.code for done in ended] or held(out) != attacker.whole[name]:
            faults.append(f"{name} left {sorted(held(out))}")
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
