"""Every option of every command arrives at the functions behind it, by the arguments of its name."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import fastmetrics.cli.commands
from fastmetrics.base.public_names import HOMES
from fastmetrics.cli.commands import all_commands, load
from fastmetrics.cli.options import Arguments

pytestmark = pytest.mark.slow

REAL = (
    "fastmetrics.cli",
    "fastmetrics.base",
    "fastmetrics.metrics.corpus_values",
    "fastmetrics.metrics.plan",
    "fastmetrics.metrics.score_batch",
    "fastmetrics.metrics.stored_metadata",
)
"""Modules whose functions stay: they check and convert options, or format results."""
KEPT = {
    "Label",
    "labelled",
    "typed",
    "labels_of",
    "described",
    "HowToCompare",
    "how_to_compare",
    "check_unpaired",
    "FileSettings",
    "RayCluster",
    "CallOptions",
    "JudgeOptions",
    "BotOptions",
    "CutPromises",
    "ChunkSettings",
}
"""Functions and classes that stay, of modules whose other functions are replaced."""

NUMBER, SHARE = 17, 0.731
PAIRS = {
    "on_error": "skip",
    "columns": "question=v_columns",
    "better": "v_better=lower",
    "ranges": "v_ranges=2:9",
    "parameters": "p=0.25",
    "thresholds": "v_thresholds=0.731",
    "delimiter": "|",
    "encoding": "cp1251",
}
REQUIRED: dict[str, dict[str, Any]] = {
    "compare": {"runs": ["a", "b"]},
    "compare-rankings": {"rankings": ["a", "b", "qrels"]},
    "gate": {"require": ["token_f1 >= 0"]},
    "plot": {"kind": "comparison"},
    "answer": {"bot": "given-contexts", "model": "m", "output": "o.csv"},
    "evaluate-rag": {"bot": "given-contexts", "model": "m", "output": "o"},
    "judge": {"output": "o.csv"},
    "index": {"output": "absent_index"},
    "rubric": {"source": "r"},
}
"""What a command needs besides the option under test."""

BOTS = ("answer", "evaluate-rag")
FULL = {"bot": "full-context", "knowledge": ["k.txt"]}
NEEDS: dict[tuple[str, str], dict[str, Any]] = {
    ("compare", "system"): {"runs": ["a"]},
    **{("score", name): {"output": "o.csv"} for name in ("resume", "quiet", "on_error")},
    ("score", "workers"): {"engine": "ray"},
    ("score", "address"): {"engine": "ray"},
    **{(command, "bot"): {"faq": "other.csv"} for command in BOTS},
    **{(command, "faq"): {"bot": "faq", "faq": "other.csv"} for command in BOTS},
    **{(command, "knowledge"): FULL for command in BOTS},
    **{("evaluate-rag", name): {"rubrics": ["safety"]} for name in ("judge_model", "judge_base_url")},
    ("gate", "rules"): {"rules": "other.toml", "require": None},
    ("plot", "bins"): {"kind": "histograms"},
    ("plot", "embedder"): {"kind": "cache"},
    **{("plot", name): {"kind": "projection"} for name in ("method", "dims", "column", "color")},
}
"""Options that count only with others."""

VALUES: dict[tuple[str, str], Any] = {
    ("metrics", "name"): "token_f1",
    ("rubric", "language"): "ru",
    ("compare", "names"): ["v_names,other"],
    ("rank", "rankings"): ["v_rankings", "v_qrels"],
    ("compare-rankings", "rankings"): ["v_rankings", "other", "v_qrels"],
    **{(command, "bot"): "faq" for command in BOTS},
}
"""Values of options that take only some."""

EXPECTED: dict[tuple[str, str], str] = {
    ("compare", "names"): "{'v_names': 'a', 'other': 'b'}",
    ("plot", "color"): "{'v_color': 'any'}",
    ("embed", "embedder"): "'model': 'v_embedder'",
    **{(command, "bot"): "read_faq" for command in BOTS},
    ("evaluate-rag", "text"): "text='v_text'",
    **{(command, "knowledge"): "'paths': ['v_knowledge']" for command in BOTS},
    **{(command, "template"): "'paths': ['v_template']" for command in BOTS},
    ("judge-report", "ranges"): "{'v_ranges': (2.0, 9.0)}",
    ("chunk-utilization", "table"): "'path': 'v_table'",
    ("stored-calls", "store"): "PosixPath('v_store')",
}
"""What arrives of options that are converted, or that have another name in the function behind."""

SETTINGS = "template context_window client base_url parameters store concurrency max_calls max_cost"
PROJECTION = {"kind": "projection"}
MODES: list[tuple[str, dict[str, Any], str]] = [
    ("judge", {"dry_run": True}, "table columns schema lists sample seed format max_row_bytes store"),
    ("answer", {"dry_run": True}, "table columns repeats retry sample seed format max_row_bytes store"),
    ("answer", FULL, SETTINGS),
    ("answer", {"bot": "faq", "faq": "faq.csv"}, "columns output system keep repeats retry sample seed"),
    ("plot", {"kind": "histograms"}, "inputs metrics"),
    ("plot", {"kind": "means", "metrics": ["jaccard"]}, "inputs metrics by threads"),
    ("plot", {"kind": "trend", "metrics": ["jaccard"]}, "inputs metrics threads"),
    ("plot", {"kind": "cache"}, "inputs threads"),
    ("plot", PROJECTION, "inputs threads"),
    ("gate", {"junit": "o.xml"}, "scores rules baseline"),
    ("stored-calls", {"output": "o.csv"}, "store"),
    ("stored-calls", {"prune": ["failures"]}, "store"),
]
"""Other ways of commands that call functions of their own, with the options that these take."""

PRINTED = ("quiet", "as_json", "as_markdown", "as_latex", "json")
"""Options about what is printed, which are compared by what is printed."""


class Result(str):
    """Anything that a function may return, a text too: it records what is done with it."""

    def __new__(cls, events: list[Any], name: str) -> Any:
        return super().__new__(cls, "token_f1")

    def __init__(self, events: list[Any], name: str) -> None:
        self._events, self._name = events, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("clean", "failed"):
            return False
        if name == "notes":
            return []
        return Result(self._events, f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        self._events.append((self._name, dict(enumerate(arguments)) | more))
        if self._name.endswith("to_pylist"):
            return []
        return "{}" if self._name.endswith(("to_json", "to_markdown", "to_latex")) else self

    def __iter__(self) -> Iterator[Any]:
        return iter([self, self])

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __getitem__(self, key: Any) -> Any:
        return self

    def __format__(self, spec: str) -> str:
        return "text"

    def __repr__(self) -> str:
        return self._name

    def __len__(self) -> int:
        return 2

    def __lt__(self, other: Any) -> bool:
        return False

    def __floordiv__(self, other: Any) -> Any:
        return self

    __truediv__ = __sub__ = __add__ = __radd__ = __floordiv__
    __gt__ = __lt__


@functools.cache
def replaced() -> dict[tuple[types.ModuleType, str], Any]:
    """The functions and classes to replace, by their places."""
    return {(place, name): getattr(place, name) for place, name in imported()}


def imported() -> Iterator[tuple[types.ModuleType, str]]:
    """Every function and class that a module of commands imports from a package that is no exception."""
    for info in pkgutil.walk_packages(fastmetrics.cli.__path__, "fastmetrics.cli."):
        module = importlib.import_module(info.name)
        yield from functions_of(module)
        tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
        top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("fastmetrics"):
                continue
            if (node.module or "").startswith(REAL):
                continue
            source = importlib.import_module(node.module or "")
            for name in node.names:
                if name.name in KEPT:
                    continue
                place, attribute = (module, name.asname or name.name) if id(node) in top else (source, name.name)
                value = getattr(place, attribute, None)
                if isinstance(value, types.FunctionType) or (
                    inspect.isclass(value) and not issubclass(value, enum.Enum)
                ):
                    yield place, attribute
                elif isinstance(value, types.ModuleType):
                    for inner, function in vars(value).items():
                        if isinstance(function, types.FunctionType) and function.__module__ == value.__name__:
                            yield value, inner


def functions_of(module: types.ModuleType) -> Iterator[tuple[types.ModuleType, str]]:
    """The functions whose parameters are options of the commands in a module."""
    for command in vars(module).values():
        name = getattr(command, "__name__", "")
        own = isinstance(command, types.FunctionType) and command.__module__ == module.__name__
        if own and name in HOMES and Arguments in typing.get_type_hints(command).values():
            yield importlib.import_module(f"fastmetrics.{HOMES[name]}"), name


def recorder(function: Callable[..., Any], events: list[Any]) -> Any:
    """A function that records its arguments by name."""
    signature = inspect.signature(function)
    name = function.__name__

    def record(*arguments: Any, **more: Any) -> Any:
        bound = signature.bind(*arguments, **more).arguments
        kept = {key: value for key, value in bound.items() if key != "self"}
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                kept |= kept.pop(parameter.name, {})
        events.append((name, kept))
        return [] if signature.return_annotation == "list[str]" else Result(events, name)

    record.__signature__ = signature  # type: ignore[attr-defined]
    record.load = record  # type: ignore[attr-defined]  # Index.load
    return record


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What the functions behind the commands get, and what is printed."""
    monkeypatch.chdir(tmp_path)
    made: list[Any] = []
    for (place, name), real in replaced().items():
        if real.__module__.startswith(REAL):
            continue
        replacement = recorder(real, made)
        if hasattr(real, "load"):
            replacement.load = recorder(real.load, made)
        monkeypatch.setattr(place, name, replacement)
    monkeypatch.setattr(
        typer, "echo", lambda *arguments, **more: made.append(("echo", {"text": str(arguments), **more}))
    )
    return made


def run(command: str, events: list[Any], arguments: dict[str, Any]) -> list[Any]:
    """What arrives for these arguments of a command, with the defaults of the program for the others."""
    del events[:]
    function = load(command)
    call: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        call[name] = arguments.get(name, parameter.default)
        if call[name] is parameter.empty:
            call[name] = value_of(command, name)
        kind = kind_of(command, name)
        if inspect.isclass(kind) and issubclass(kind, enum.Enum) and isinstance(call[name], str):
            call[name] = kind(call[name])
    try:
        function(**call)
    except typer.Exit as left:
        events.append(("exit", {"code": left.exit_code}))
    return list(events)


def kind_of(command: str, name: str) -> Any:
    """The type of a parameter: list[str] of ``Annotated[list[str] | None, ...]``."""
    hint = typing.get_type_hints(load(command))[name]
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)] if _is_union(hint) else [hint]
    return kinds[0]


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def value_of(command: str, name: str) -> Any:
    """A value that is not the default and that no other argument has."""
    if (command, name) in VALUES:
        return VALUES[command, name]
    kind, default = kind_of(command, name), inspect.signature(load(command)).parameters[name].default
    if kind is bool:
        return not default
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return next(one for one in reversed(kind) if one != default)
    text = PAIRS.get(name, f"v_{name}")
    simple = {int: NUMBER, float: SHARE, str: text, Path: Path(text)}
    if typing.get_origin(kind) is list:
        inner = typing.get_args(kind)[0]
        return [simple[inner]]
    return simple[kind]


def arrives(command: str, name: str, value: Any, log: list[Any]) -> bool:
    """Whether a value is in an argument of its option's name, or else anywhere."""
    if (command, name) in EXPECTED:
        return EXPECTED[command, name] in repr(log)
    named = [arguments[name] for _, arguments in log if name in arguments]
    if isinstance(value, bool):  # some options choose the function
        return not named or value in named
    plain = value.value if isinstance(value, enum.Enum) else value
    inside = plain[0] if isinstance(plain, list) else plain
    text = str(inside).partition("=")[2] or str(inside) if isinstance(inside, str) else repr(inside)
    return any(text in repr(one) for one in (named or [arguments for _, arguments in log]))


CASES = [(command, name, {}) for command, call in all_commands().items() for name in inspect.signature(call).parameters]
OTHER_CASES = [(command, name, mode) for command, mode, names in MODES for name in names.split()]


@pytest.mark.parametrize("command", all_commands())
def test_options_arrive(events: list[Any], command: str) -> None:
    """What arrives differs from what arrives by default, and holds the value."""
    parameters = inspect.signature(load(command)).parameters
    for _, name, mode in (case for case in [*CASES, *OTHER_CASES] if case[0] == command):
        writes = {"output": "o.csv"} if name in ("overwrite", "guard", "excel") and "output" in parameters else {}
        needed = {**REQUIRED.get(command, {}), **writes, **mode, **({} if mode else NEEDS.get((command, name), {}))}
        plain = run(command, events, needed)
        value = value_of(command, name)
        log = run(command, events, {**needed, name: value})
        required = parameters[name].default is inspect.Parameter.empty
        assert required or repr(log) != repr(plain), f"the option {name} changes nothing"
        if name not in PRINTED:
            assert arrives(command, name, value, log), (name, log)


def test_the_tables_name_options_that_exist() -> None:
    """A parameter that is gone, or a new command, needs no look at these tables."""
    options = {(command, name) for command, name, _ in CASES}
    assert {*NEEDS, *VALUES, *EXPECTED} <= options
    assert {(command, name) for command, needed in REQUIRED.items() for name in needed} <= options
    assert {(command, name) for command, name, _ in OTHER_CASES} <= options
