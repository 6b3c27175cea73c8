"""Long lists of parameters: only those that users see, since settings that travel together are one object."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.commands import COMMANDS

PACKAGE = Path(__file__).parents[2] / "fastmetrics"
SEVERAL, MOST = 12, 20


@functools.cache
def counts() -> dict[str, int]:
    """The number of parameters of each function with several, by module and name."""
    numbers = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # `arguments` holds the other parameters of a command once more, converted: no user sees it
                number = sum(each.arg != "arguments" for each in [*node.args.args, *node.args.kwonlyargs])
                if number > SEVERAL:
                    numbers[f"{module}.{node.name}"] = number
    return numbers


@pytest.mark.slow
def test_only_public_functions_and_commands_have_many_parameters() -> None:
    commands = {f"commands.{module}.{name}".replace("-", "_") for name, module in COMMANDS.items()}
    public = {f"{home}.{name}" for name, home in fm.HOMES.items()}
    assert set(counts()) <= commands | public
    assert len(counts()) > 10


@pytest.mark.slow
def test_no_function_has_more_than_the_most() -> None:
    assert {name: number for name, number in counts().items() if number > MOST} == {}
