"""The version of the package, and a digest of its source, which also tells two clones of one version apart."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of the package."""


@functools.cache
def source_digest() -> str:
    """A digest of the names and contents of the package's Python files and word lists."""
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("py", "txt", "toml") for path in PACKAGE.rglob(f"*.{kind}")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
