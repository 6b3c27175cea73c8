"""Plain words: a name says what a thing is (``scores``, ``column``, ``path``), not what was done to it (``found``)."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fastmetrics"
VAGUE = {
    *("found", "one", "held", "said", "told", "asked", "given", "wanted", "made", "taken", "known", "named", "kept"),
    *("rest", "these", "there", "yours", "mine", "his", "called"),
}
OUTSIDE = ("bench", "scripts", "tests/support", "tests/reference")
"""Folders besides the package whose names are checked."""


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that a file binds, and its line: variables, parameters, attributes, functions and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, 0


def vague(paths: Iterable[Path]) -> list[str]:
    """The vague names that files bind, with file and line."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in paths
        for name, line in bindings(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_").lower() in VAGUE
    ]


def is_python(path: Path) -> bool:
    """Whether a file is Python, by its suffix or, of a script without one, by its first line."""
    return path.suffix == ".py" or (
        path.is_file() and not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python")
    )


def room(path: Path) -> str:
    """The folder of the package, or the name of a file directly in it."""
    return path.relative_to(PACKAGE).parts[0]


ROOMS = sorted({room(path) for path in PACKAGE.rglob("*.py")})


@pytest.mark.slow
@pytest.mark.parametrize("name", ROOMS)
def test_names_of_a_room_say_what_a_thing_is(name):
    assert vague(path for path in sorted(PACKAGE.rglob("*.py")) if room(path) == name) == []


@pytest.mark.parametrize("folder", OUTSIDE)
def test_names_outside_the_package_say_what_a_thing_is(folder):
    assert vague(path for path in sorted((ROOT / folder).rglob("*")) if is_python(path)) == []


def test_names_in_the_script_of_the_report_say_what_a_thing_is():
    declared = re.compile(r"\b(?:const|let|function) (\w+)|\b(\w+) =>|^  (\w+)(?::|\()", re.MULTILINE)
    for path in sorted(PACKAGE.rglob("*.js")):
        names = {name for match in declared.findall(path.read_text(encoding="utf-8")) for name in match}
        assert names & VAGUE == set(), path.name


@pytest.mark.slow
def test_classes_have_different_names():
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()
