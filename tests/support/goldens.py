"""Golden files: what a reader sees, whole, in a file that a reviewer reads from top to bottom.

The fixture ``golden`` compares with the files of the folder ``golden`` in the test's room, in an empty folder::

    def test_the_table(golden):
        golden("summary.txt", str(result))            # terminal, Markdown, text of a page
        golden("summary.json", result.to_dict())      # what is no text: as JSON, numbers to ten digits

    ERRORS = [
        # name, call, class (or exit code of ``program``), what the message names: arguments, columns, rows
        ("ndcg without a depth", lambda: fm.ndcg([["a"]], [["a"]], k=True), OptionError, "k", "True"),
    ]

    test_errors = errors_of(ERRORS)

The messages of a room stand in its ``golden/messages.txt``, each below its name.  ``scripts/golden [FILES]`` writes the
files anew; look at them with ``git diff``.  They have no paths, times, versions and temporary folders, and are the same
with and without extras, on any machine.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fastmetrics as fm
from tests.support.program import ROOT, Done

ADVICE = "differs from the golden file; scripts/golden writes it anew"
MESSAGES = "messages.txt"


def tables(name: str) -> dict[str, Any]:
    """The tables of worked values in a file of ``tests/data``, by their names."""
    found: dict[str, Any] = json.loads((ROOT / "tests" / "data" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def rounded(value: Any) -> Any:
    """What JSON can hold, with numbers of ten significant digits."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, Mapping):
        return {str(key): rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, (list, tuple)) else value


class Golden:
    """The golden files of a room, compared or (``write``) written."""

    def __init__(self, room: Path, here: Path, write: bool) -> None:
        self.folder, self.here, self.write = room / "golden", here, write

    def __call__(self, name: str, content: Any) -> None:
        """Compare a text, or a value as JSON, with the file of this name."""
        text = content if isinstance(content, str) else json.dumps(rounded(content), indent=1, ensure_ascii=False)
        text = text.rstrip("\n") + "\n"
        for changing in (str(self.here), str(ROOT), fm.__version__):
            assert changing not in text, f"{name}: {changing!r} is not the same everywhere"
        if self.write:
            self.folder.mkdir(exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        expected = (self.folder / name).read_text(encoding="utf-8")
        lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", lineterm="")
        assert expected == text, "\n".join([f"{name} {ADVICE}", *lines])

    def parts(self, file: str = MESSAGES) -> dict[str, str]:
        """The parts of a file of the room, such as its messages, by their name."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        parts = [part.partition("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]]
        return {name: part.strip("\n") for name, _, part in parts}

    def error(self, name: str, call: Callable[[], object], error: Any, *names: str) -> None:
        """A call fails (or warns) with this class or exit code, names what it must, and says what it did."""
        message = message_of(call, error).replace(str(self.here), "FOLDER").replace(fm.__version__, "VERSION")
        for word in names:
            assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message), f"{word!r} is not named: {message}"
        self.part(name, message)

    def part(self, name: str, text: str, file: str = MESSAGES) -> None:
        """Compare a text with the part of this name in a file that several cases share."""
        if self.write:
            self._write({**self.parts(file), name: text}, file)
        expected = self.parts(file).get(name)
        assert text == expected, f"{name!r} of {file} {ADVICE}:\n{expected}\n{text}"

    def complete(self, names: Sequence[str], file: str = MESSAGES) -> None:
        """A file has parts of these names alone, in their order."""
        assert len({*names}) == len(names), "two parts have one name"
        if self.write:
            found = self.parts(file)
            self._write({name: found[name] for name in names}, file)
        assert [*self.parts(file)] == [*names], f"{file} {ADVICE}"

    def _write(self, parts: Mapping[str, str], file: str) -> None:
        self(file, "\n\n".join(f"## {name}\n{text}" for name, text in parts.items()))


def message_of(call: Callable[[], object], error: Any) -> str:
    """What a call says that fails or warns."""
    if isinstance(error, int):
        done = call()
        assert isinstance(done, Done)
        assert done.code == error, done
        return done.err.strip()
    if issubclass(error, Warning):
        with pytest.warns(error) as warned:
            call()
        return "\n".join(str(warning.message) for warning in warned)
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error, f"{raised.type} is not {error}"
    return str(raised.value)


def refused(error: type[Exception], words: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """A call within a test fails with this class and names these things, in whatever sentence."""
    with pytest.raises(error) as raised:
        call(*arguments, **options)
    for word in words.split():
        assert word in str(raised.value), f"{word!r} is not named: {raised.value}"


def errors_of(rows: Sequence[tuple[Any, ...]]) -> Callable[..., None]:
    """The test of a room's errors: each row of a name, call, class and named things; the last case: no other."""
    cases = [*(pytest.param(row, id=row[0]) for row in rows), pytest.param(None, id="no other messages")]

    @pytest.mark.parametrize("row", cases)
    def test_errors(row: tuple[Any, ...] | None, golden: Golden) -> None:
        if row is None:
            golden.complete([row[0] for row in rows])
        else:
            golden.error(*row)

    return test_errors
