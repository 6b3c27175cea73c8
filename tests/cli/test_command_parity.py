"""A command is its function: the same name, the same parameters, the same defaults."""

from __future__ import annotations

import ast
import collections
import enum
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer.models

import fastmetrics as fm
import fastmetrics.cli.commands
from fastmetrics.cli.commands import COMMANDS, all_commands, load
from fastmetrics.cli.options import parameter_texts
from scripts import parameters as parameter_lists

NO_FUNCTION = {
    "metrics": "lists the metrics, as fm.__all__ and their docstrings do",
    "rubric": "prints a file of the package",
    "index": "is Index.build and Index.save",
}
"""Commands without a function of their name, and why."""

TERMINAL = {
    "plugin": "loads metrics for one run, as fm.load_plugin does for a session",
    "as_json": "prints what to_json returns",
    "as_markdown": "prints what to_markdown returns",
    "as_latex": "prints what to_latex returns",
    "quiet": "prints less",
}
"""Options about what a program loads and prints."""

WRITES = {
    "output": "writes what the function returns",
    "overwrite": "belongs to --output",
    "guard": "belongs to --output",
    "excel": "belongs to --output",
}
"""Options about files, of commands whose functions return a table."""


def _all(names: str, reason: str) -> dict[str, str]:
    """One reason for several names."""
    return dict.fromkeys(names.split(), reason)


ONLY_COMMAND = {
    "compare": {"names": "the names that the function takes as keys of a dict"},
    "gate": {"junit": "writes what to_junit returns"},
    "check-dataset": {"strict": "an exit code"},
    "chunk-utilization": {"table": "writes what to_arrow returns"},
    "stored-calls": {"prune": "deletes calls"},
    "plot": _all(
        "kind inputs metrics by bins method dims column embedder threads", "make the result that the function draws"
    ),
    "answer": {"faq": "makes the bot that the function takes", "dry_run": "estimates the cost"},
    "evaluate-rag": {
        "faq": "makes the bot that the function takes",
        **_all("rubrics judge_model judge_base_url", "make the judge that the function takes"),
    },
    "judge": {"dry_run": "estimates the cost"},
    "embed": {"cache": "of the embedder that the function takes"},
}
"""Options that no function has."""

ONLY_FUNCTION = {
    "summarize": _all("statistics labels finish budget", "of scores in memory, whose metadata are gone"),
    "plot": {"result": "the result that the command makes"},
    "evaluate-rag": {"judges": "the judge that the command makes"},
    "rank": {"qrels": "the last of the files"},
    "compare-rankings": {"qrels": "the last of the files"},
}
"""Parameters that no option has."""

NO_OPTIONS = {"answer": {"name"}}
"""The name of a bot, which is its --system."""

SETTINGS = {
    "files": fm.FileSettings,
    "reading": fm.ReadSettings,
    "settings": fm.JudgeSettings,
    "bot": fm.FullContextBot,
    "promises": fm.CutPromises,
    "chunk_settings": fm.ChunkSettings,
}
"""The classes of settings by the parameters that take them."""

CALLBACKS = {"progress", "watch"}
"""Functions, which a command line cannot give."""

DEFAULTS = {("embed", "embedder"): "wordllama"} | {
    (command, name): None for command in ("answer", "evaluate-rag") for name in ("knowledge", "model")
}
"""Defaults of options whose parameter is required."""
OWN = {("answer", "template"), ("evaluate-rag", "template")}
"""Options whose default depends on another option."""


def behind(command: str) -> Callable[..., Any]:
    """The function of a command."""
    name = command.replace("-", "_")
    function: Callable[..., Any] = getattr(fm, name)
    return function


def parameters(command: str) -> dict[str, inspect.Parameter]:
    """The parameters of the function of a command; settings in one object are counted one by one."""
    by_name: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(behind(command)).parameters.items():
        settings = SETTINGS.get(name)
        if settings is None or (command, name) in (("answer", "bot"), ("evaluate-rag", "bot")):
            by_name[name] = parameter
        by_name |= inspect.signature(settings).parameters if settings is not None else {}
        by_name |= inspect.signature(fm.RayCluster).parameters if name == "engine" else {}
    return {name: parameter for name, parameter in by_name.items() if name not in NO_OPTIONS.get(command, ())}


WITH_FUNCTION = [command for command in COMMANDS if command not in NO_FUNCTION]


def test_every_command_has_the_name_of_its_function() -> None:
    assert {command for command in COMMANDS if command.replace("-", "_") in dir(fm)} >= {
        command for command in WITH_FUNCTION if behind(command).__name__ == command.replace("-", "_")
    }
    assert not [command for command in NO_FUNCTION if command in fm.HOMES]


def test_options_are_the_parameters_of_the_function() -> None:
    for command in WITH_FUNCTION:
        _compare_names(command)


def _compare_names(command: str) -> None:
    of_function = parameters(command)
    options = inspect.signature(load(command)).parameters
    writes = set() if {"output", "overwrite"} & set(of_function) else set(WRITES)
    only_command = {*TERMINAL, *writes, *ONLY_COMMAND.get(command, {})} & set(options)
    only_function = {*CALLBACKS, *ONLY_FUNCTION.get(command, {})} & set(of_function)
    assert set(options) - only_command == set(of_function) - only_function
    assert set(ONLY_COMMAND.get(command, {})) <= set(options) - set(of_function)
    assert set(ONLY_FUNCTION.get(command, {})) <= set(of_function) - set(options)


def test_options_have_the_defaults_of_the_function() -> None:
    for command in WITH_FUNCTION:
        _compare_defaults(command)


def _compare_defaults(command: str) -> None:
    of_function = parameters(command)
    hints = typing.get_type_hints(load(command))
    for name, option in inspect.signature(load(command)).parameters.items():
        if name not in of_function or (command, name) in OWN:
            continue
        default = option.default.value if isinstance(option.default, enum.Enum) else option.default
        expected = of_function[name].default
        if (command, name) in DEFAULTS:
            assert (default, expected) == (DEFAULTS[command, name], inspect.Parameter.empty)
        elif "list[" in str(hints[name]) and default is None:
            # a repeatable option that is absent leaves the default to the function
            assert expected is not inspect.Parameter.empty or ONLY_FUNCTION.get(command), name
        elif default is inspect.Parameter.empty or expected is inspect.Parameter.empty:
            assert expected in (inspect.Parameter.empty, None) or name == "output", name
        else:
            assert default == expected, name


SOURCES = sorted(Path(fastmetrics.cli.__path__[0]).rglob("*.py"))


def test_an_option_of_several_commands_is_declared_once() -> None:
    """No annotation of a parameter stands in two commands."""
    places = collections.defaultdict(set)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.replace("_", "-") in COMMANDS:
                for argument in [*node.args.args, *node.args.kwonlyargs]:
                    if isinstance(argument.annotation, ast.Subscript):
                        places[argument.arg, ast.unparse(argument.annotation)].add(node.name)
    assert {key: stems for key, stems in places.items() if len(stems) > 1} == {}


OTHER_MEANINGS = {
    **_all("output", "pages, pictures, tables, figures and indexes"),
    **_all("baseline", "a name, a file of scores, or judgements"),
    **_all("suites", "what is scored by default: the suite core, or the tiers"),
    **_all("metrics metric", "what to compute, or which of the computed ones; a distance"),
    **_all("confidence correction repeats", "of tests, of intervals, of the design of a study, or of calls"),
    **_all("system on", "of compared runs, or of a bot, a question and a rule"),
    **_all("table", "the table of an output, or of vectors"),
    **_all("id vector", "of a table of vectors, or of chunks"),
    **_all("n k sample other texts label labels language method best recall", "of the subject of the command"),
}
"""Options whose name means another thing in another command."""


def test_an_option_has_one_help_text() -> None:
    """Options of the same name have the same help text, unless they mean another thing."""
    texts = collections.defaultdict(set)
    for function in all_commands().values():
        hints = typing.get_type_hints(function, include_extras=True)
        for name in inspect.signature(function).parameters:
            info = next(one for one in hints[name].__metadata__ if isinstance(one, typer.models.ParameterInfo))
            if isinstance(info, typer.models.OptionInfo):
                texts[name].add(info.help)
    assert {name for name, helps in texts.items() if len(helps) > 1} == set(OTHER_MEANINGS)


def test_a_parameter_and_its_option_have_one_text() -> None:
    """The list of parameters in a docstring has the help texts of the options, and no function with many lacks it."""
    for command, name in parameter_lists.commands():
        _compare_texts(command, name)


def _compare_texts(command: str, name: str) -> None:
    path, text = parameter_lists.page(name, parameter_lists.help_texts(command))
    assert text == path.read_text(encoding="utf-8"), "run python -m scripts.parameters"
    listed = parameter_texts(inspect.getdoc(getattr(fm, name)) or "")
    assert all(listed.values())
    shared = {key: value for key, value in parameter_lists.help_texts(command).items() if key in listed}
    assert {key: listed[key] for key in shared} == shared
