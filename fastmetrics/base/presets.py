"""Presets: where the files of other tools have the columns, from the table of paths ``presets.toml``.

A preset says what path leads to each column, where the records are in a document, and by what its files are known.
Its paths are those of :mod:`fastmetrics.base.paths`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path


@dataclass(frozen=True)
class Preset:
    """What the files of a tool hold: an entry of the table, with its lists of alternatives joined by ``||``."""

    name: str
    files: str
    """What it is for."""
    paths: Mapping[str, str]
    records: str | None = None
    only: str | None = None
    one_of: str | None = None
    reason: str | None = None
    signs: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The paths, under canonical names alone."""
        return {"latency_ms" if name == "latency_s" else name: path for name, path in self.paths.items()}


@cache
def presets() -> Mapping[str, Preset]:
    """The presets by name; the table is read when it is first needed."""
    import tomllib

    def joined(path: str | list[str]) -> str:
        return path if isinstance(path, str) else " || ".join(path)

    found = {}
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items():
        paths = {column: joined(path) for column, path in entry.pop("paths").items()}
        signs = tuple(map(tuple, entry.pop("signs", ())))
        found[name] = Preset(name, paths=paths, signs=signs, **{key: joined(path) for key, path in entry.items()})
    return found


def recognised(paths: Collection[str], records: str | None = None) -> Preset | None:
    """The preset by whose signs a file is known that has these ``paths``, and its records at ``records``.

    >>> recognised({"question", "answers", "ctxs", "ctxs[].text"}).name
    'dpr'
    >>> recognised({"samples[].epoch", "samples[].target", "samples[].output.completion", "samples[].store"}).name
    'inspect_ai'
    """
    for preset in presets().values():
        for place in (records or preset.records, None):
            for signs in preset.signs:
                within = signs if place is None else [f"{place}[].{sign}" for sign in signs]
                if all(map(paths.__contains__, within)):
                    return preset
    return None


@cache
def _marks() -> list[list[bytes]]:
    """The ends of the names of signs, as JSON has them."""
    signs = (signs for preset in presets().values() for signs in preset.signs)
    return [[f'{sign.rpartition(".")[2].removesuffix("[]")}"'.encode() for sign in some] for some in signs]


def may_be_known(data: bytes) -> bool:
    """Whether JSON may have the signs of a preset, which is to be known before it is parsed for them.

    >>> may_be_known(b'{"question": "q", "answers": ["a"], "ctxs": [{"text": "t"}]}'), may_be_known(b'{"answer": "a"}')
    (True, False)
    """
    return any(all(mark in data for mark in marks) for marks in _marks())
