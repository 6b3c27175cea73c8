"""Messages name arguments by ``Argument``, so that each front end writes them as its users do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastmetrics

ROOT = Path(fastmetrics.__file__).parent
SPELLED = re.compile(r"(?<![\w.&?(])[a-z_]+=(?!=)")
SAME_EVERYWHERE = {
    "fastmetrics/metrics/": "options of metrics, which the command line writes so too: bleu(tokenizer='char')",
    "fastmetrics/declaration/metric_checks.py": "arguments of the decorator @metric, which no command has",
    "expected option=value": "options of metrics and measures",
    "fm.Embedder(..., download=True)": "a call without an equivalent on the command line",
}


def spelled(path: Path) -> Iterator[tuple[int, str]]:
    """The pieces of text in what a module raises that spell an argument."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for piece in ast.walk(node.exc):
                if isinstance(piece, ast.Constant) and isinstance(piece.value, str) and SPELLED.search(piece.value):
                    yield piece.lineno, piece.value


@pytest.mark.slow
def test_messages_use_argument_objects() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT.parent).as_posix()
        for line, text in spelled(path):
            if not any(one in text or where.startswith(one) for one in SAME_EVERYWHERE):
                found.append(f"{where}:{line}: {text!r}")
    assert not found, "write messages.Argument instead:\n" + "\n".join(found)


def test_hand_written_arguments_are_detected(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text('def f(x):\n    raise OptionError(f"order={x}: no", "a == b", "give level=")\n')
    assert sorted(text for _, text in spelled(tmp_path / "m.py")) == ["give level=", "order="]
