"""Writing a small text file atomically."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fastmetrics.errors import OutputError


def write_small(path: str | Path, text: str) -> None:
    """Write ``text`` to a file, replacing it; raises ``OutputError`` if that is not possible."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
