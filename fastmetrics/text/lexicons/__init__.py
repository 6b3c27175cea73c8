"""Word lists as plain text files: one entry per line, ``#`` starts a comment.

A custom folder can replace any list by a file of the same name.
"""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path

from fastmetrics.base.errors import UnknownNameError

LANGUAGES = ("en", "ru")
"""The languages of lists with one file per language, such as ``stop_en.txt``."""


@functools.cache
def lexicon(name: str, folder: str | None = None) -> tuple[str, ...]:
    """The entries of the list ``name``, each once, from ``folder`` if it has the file.

    >>> "dr" in lexicon("abbreviations")
    True
    """
    custom = None if folder is None else Path(folder) / f"{name}.txt"
    file = custom if custom is not None and custom.is_file() else resources.files(__name__) / f"{name}.txt"
    if not file.is_file():
        names = [entry.name[:-4] for entry in resources.files(__name__).iterdir() if entry.name.endswith(".txt")]
        raise UnknownNameError.of("lexicon", name, names)
    lines = (line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def lexicons(name: str, language: str = "any", folder: str | None = None) -> tuple[str, ...]:
    """The entries of a list that has one file a language; ``"any"`` takes them all.

    >>> "however" in lexicons("connectors", "en"), "however" in lexicons("connectors", "ru")
    (True, False)
    """
    languages = LANGUAGES if language == "any" else (language,)
    return tuple(dict.fromkeys(entry for tongue in languages for entry in lexicon(f"{name}_{tongue}", folder)))
