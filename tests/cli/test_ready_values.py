"""Values of options that Typer need not convert, and those that it must."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest
import typer
import typer.main

from fastmetrics.commands.program.help_pages import CommandHelp


def parsed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """What a command gets for the words, and the options whose values Typer converted."""

    def command(
        files: list[str],
        names: Annotated[list[str] | None, typer.Option("--name")] = None,
        numbers: Annotated[list[int] | None, typer.Option("--number")] = None,
        threads: int | None = None,
        level: float = 1,
        engine: str = "local",
        quiet: bool = False,
    ) -> None:
        got.update(locals())

    got: dict[str, Any] = {}
    command.__annotations__ = inspect.get_annotations(command, eval_str=True)
    app = typer.Typer(add_completion=False)
    app.command(cls=CommandHelp)(command)
    made = typer.main.get_command(app)
    converted = []
    for param in made.params:
        convert = param.process_value
        monkeypatch.setattr(
            param,
            "process_value",
            lambda context, value, name=param.name, convert=convert: converted.append(name) or convert(context, value),
        )
    made.main(words, standalone_mode=False)
    return {name: value for name, value in got.items() if name != "got"}, converted


DEFAULTS = {"names": None, "numbers": None, "threads": None, "level": 1.0, "engine": "local", "quiet": False}


def test_texts_and_defaults_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    got, converted = parsed(["a", "b", "--name", "x", "--name", "y", "--quiet"], monkeypatch)
    assert got == {**DEFAULTS, "files": ["a", "b"], "names": ["x", "y"], "quiet": True}
    assert type(got["level"]) is float
    assert converted == []


def test_other_values_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    got, converted = parsed(["a", "--threads", "2", "--level", "2", "--number", "3", "--engine", "ray"], monkeypatch)
    assert got == {**DEFAULTS, "files": ["a"], "threads": 2, "level": 2.0, "numbers": [3], "engine": "ray"}
    assert sorted(converted) == ["level", "numbers", "threads"]


@pytest.mark.parametrize("words", [["a", "--threads", "x"], ["a", "--number", "1", "--number", "x"], []])
def test_wrong_and_missing_values_are_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Exception, match=r"integer|Missing") as raised:
        parsed(words, monkeypatch)
    assert type(raised.value).__name__ in ("BadParameter", "MissingParameter")
