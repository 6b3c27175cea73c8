"""Where and on what a benchmark ran."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("fastmetrics-eval", "numpy", "numba", "pyarrow", "faiss-cpu", "scikit-learn", "rouge-score", "sacrebleu")


def machine(*peers: str) -> dict[str, Any]:
    """Processor, memory, system, versions (also of ``peers``) and commit, ready for JSON."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(_memory() / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*PACKAGES, *peers)},
        "commit": _git("log", "-1", "--format=%h"),
        "commit_date": _git("log", "-1", "--format=%cs"),
    }


def _processor() -> str:
    """The name /proc gives, or else what Python knows."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """What git says of this checkout; None outside one."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
