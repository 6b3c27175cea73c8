"""Word lists as plain text files: one entry a line, ``#`` starts a comment."""

from __future__ import annotations

import functools
from importlib import resources

from fastmetrics.errors import UnknownNameError


@functools.cache
def lexicon(name: str) -> tuple[str, ...]:
    """The entries of the list ``name``, each once.

    >>> "dr" in lexicon("abbreviations")
    True
    """
    file = resources.files(__name__) / f"{name}.txt"
    if not file.is_file():
        known = [entry.name[:-4] for entry in resources.files(__name__).iterdir() if entry.name.endswith(".txt")]
        raise UnknownNameError.of("lexicon", name, known)
    lines = (line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))
