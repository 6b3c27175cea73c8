"""The differences between two runs as text: versions, metrics, options, columns and inputs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fastmetrics.base.errors import shown

_NAMES = {
    "fastmetrics": "the version of fastmetrics",
    "unicode": "the version of Unicode",
    "pyarrow": "the version of pyarrow",
    "sources": "the source of",
    "columns": "the column of",
    "declared": "the declaration of",
    "kinds": "the kind of column",
    "passed_over": "the ignored columns for",
    "keep": "the list of kept columns",
    "lists": "the list of columns that hold lists as text",
    "order": "the order of the scores",
    "on_error": "the handling of bad rows",
    "part": "the size of a part (rows, bytes)",
}
_FOLLOWS = ("order", "kinds", "passed_over", "options")
"""Differences that follow from others and are not reported."""


_LISTED = 5
"""Number of input files that scores name."""


class RunDifference(NamedTuple):
    """A difference, with the values of both sides."""

    what: str
    first: str
    second: str


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[RunDifference]:
    """The differences between two signatures, or two runs, whose ``signature`` is one of several entries.

    >>> one = {"scores": {"f1@5": {"metric": "f1", "k": 5}}, "columns": {"reference": "gold"}}
    >>> for what, first, second in differences(one, {"scores": {"f1@5": {"metric": "f1", "k": 6}}, "columns": {}}):
    ...     print(f"{what}: {first}, {second}")
    option 'k' of 'f1@5': 5, 6
    the column of 'reference': 'gold', none
    """
    flat = [{**_mapping(side.get("signature")), **side} for side in (first, second)]
    names = [name for name in {**flat[0], **flat[1]} if name != "signature"]
    by_name = {name: list(_of(name, *(side.get(name) for side in flat))) for name in names}
    main = [difference for name, some in by_name.items() if name not in _FOLLOWS for difference in some]
    return main or [difference for some in by_name.values() for difference in some]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of(name: str, first: Any, second: Any) -> Iterator[RunDifference]:
    title = _NAMES.get(name, name)
    if first == second:
        return
    if name == "input" and _are_files(first) and _are_files(second):
        yield from _inputs(first, second)
    elif not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        yield RunDifference(title, _value_text(first), _value_text(second))
    elif name == "scores":
        yield from _scores(first, second)
    else:
        for key in dict.fromkeys([*first, *second]):
            if first.get(key) != second.get(key):
                yield RunDifference(f"{title} {shown(key)}", _value_text(first.get(key)), _value_text(second.get(key)))


def _are_files(value: Any) -> bool:
    """Whether this is a list of fingerprints: name, size and modification time."""
    if not isinstance(value, list):
        return False
    return all(isinstance(file, list) and len(file) == 3 and list(map(type, file[:2])) == [str, int] for file in value)


def _scores(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[RunDifference]:
    """Metrics that one side lacks, and options that differ."""
    for name in dict.fromkeys([*first, *second]):
        if name not in first or name not in second:
            requests = ("requested" if name in side else "not requested" for side in (first, second))
            yield RunDifference(f"metric {shown(name)}", *requests)
            continue
        own, other = _mapping(first[name]), _mapping(second[name])
        for option in dict.fromkeys([*own, *other]):
            if own.get(option) != other.get(option):
                what = f"option {shown(option)} of {shown(name)}"
                yield RunDifference(what, _value_text(own.get(option)), _value_text(other.get(option)))


def _inputs(first: Sequence[Sequence[Any]], second: Sequence[Sequence[Any]]) -> Iterator[RunDifference]:
    """Files that one side lacks, and files that changed."""
    own, other = sides = [{file[0]: file[1:] for file in side} for side in (first, second)]
    for name in dict.fromkeys([*own, *other]):
        if name not in own or name not in other:
            yield RunDifference(f"input {name}", *("there" if name in side else "not there" for side in sides))
        elif own[name][:1] != other[name][:1]:
            yield RunDifference(f"the size of {name}", *(f"{side[name][0]:,} bytes" for side in sides))
        elif own[name] != other[name]:
            yield RunDifference(f"the content of {name}", *(_mark(name, side[name][1]) for side in sides))
    if own == other:
        yield RunDifference(
            "the order of the inputs", *(_value_text([file[0] for file in side]) for side in (first, second))
        )


def describe_inputs(files: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """The description of input files in scores: names and sizes of some, and a digest of all."""
    listed = [list(file) for file in files]
    digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    return {"files": len(files), "bytes": sum(size for _, size in files), "first": listed[:_LISTED], "digest": digest}


def described_inputs(described: Any) -> str | None:
    """The description of the input files in a score file's metadata as text; None if unknown.

    >>> described_inputs({"files": 1, "bytes": 1200, "first": [["rows.jsonl", 1200]], "digest": "89ab"})
    'rows.jsonl (1,200 bytes)'
    >>> described_inputs({"files": 9, "bytes": 9900, "first": [["0.csv", 1100]], "digest": "89ab"})
    '0.csv (1,100 bytes) and 8 more, 9,900 bytes in all, digest 89ab'
    """
    inputs = _mapping(described)
    first, count, size = inputs.get("first"), inputs.get("files"), inputs.get("bytes")
    if not (first and isinstance(first, list) and isinstance(count, int) and isinstance(size, int)):
        return None
    if not _are_files([[*file, None] if isinstance(file, list) else file for file in first]):
        return None
    names = ", ".join(f"{name} ({size:,} bytes)" for name, size in first)
    if count <= len(first):
        return names
    return f"{names} and {count - len(first):,} more, {size:,} bytes in all, digest {inputs.get('digest')}"


def _mark(name: str, mark: Any) -> str:
    """The identity of a content: for a local file, its modification time in nanoseconds."""
    if os.path.isabs(name) and isinstance(mark, int):
        return f"of {datetime.fromtimestamp(mark / 1e9, UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
    return f"with the mark {_value_text(mark)}"


def _value_text(value: Any) -> str:
    return "none" if value is None or value == [] else shown(value)
