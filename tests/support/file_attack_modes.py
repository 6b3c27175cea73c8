"""Attacks on the commands that write files, and what must hold after each: see ``scripts/attack_files``."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from tests.support.attacked_commands import METRICS, RESUMABLE, contents
from tests.support.file_attacks import Attacker
from tests.support.program import Done, name_of


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
