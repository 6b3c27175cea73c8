"""The processes below one process, what they are, and how much memory each takes: from Linux's ``/proc``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

ROLES = {"ray::MapWorker": "worker", "raylet/raylet": "raylet", "/bin/java ": "jvm", "pyspark.daemon": "worker"}


def below(pid: int) -> list[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children[int(fields[1])].append(int(path.parent.name))
    pids = [pid]
    for parent in pids:
        pids.extend(children[parent])
    return pids


def role(pid: int) -> str:
    """What a process is, by its command line: a worker, Java, one of Ray's own, or another."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "ended"
    return next((role for mark, role in ROLES.items() if mark in line), "other")


def workers(pid: int) -> list[int]:
    """The processes below that score now."""
    return [child for child in below(pid) if role(child) == "worker"]


class Memory:
    """Looks at a process and all below it from time to time."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._peaks: dict[int, float] = defaultdict(float)
        self._roles: dict[int, str] = {}

    def look(self) -> None:
        """Note what each process holds now, without what it shares with others, such as Ray's store of objects."""
        for pid in below(self.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            lines = dict(line.split(":", 1) for line in status.splitlines())
            resident = sum(int(lines[name].split()[0]) for name in ("RssAnon", "RssFile") if name in lines)
            self._peaks[pid] = max(self._peaks[pid], resident * 1024.0)
            name_of_role = "driver" if pid == self.pid else role(pid)
            if name_of_role not in ("ended", "other") or pid not in self._roles:  # a worker at its end has no name
                self._roles[pid] = name_of_role

    def peaks(self) -> dict[str, float]:
        """The most that a process of each role held, in MB."""
        largest: dict[str, float] = defaultdict(float)
        for pid, peak in self._peaks.items():
            largest[self._roles.get(pid, "other")] = max(largest[self._roles.get(pid, "other")], peak / 1e6)
        return {name: round(peak, 1) for name, peak in sorted(largest.items())}
