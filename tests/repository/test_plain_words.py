"""Plain words: a name says what a thing is (``scores``, ``column``, ``path``), not what was done to it (``found``)."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fastmetrics"
VAGUE = {
    *("found", "one", "held", "said", "told", "asked", "given", "wanted", "made", "taken", "known", "named", "kept"),
    *("rest", "these", "there", "yours", "mine", "his"),
}
# How many names of a room may be vague; a room that is not listed has none. These numbers only fall.
MOST = {
    "core": 8,
    "declaration": 1,
}


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


def room(path: Path) -> str:
    """The folder of the package, or the name of a file directly in it."""
    return path.relative_to(PACKAGE).parts[0]


ROOMS = sorted({room(path) for path in PACKAGE.rglob("*.py")})


@pytest.mark.parametrize("name", ROOMS)
def test_names_of_a_room_say_what_a_thing_is(name):
    vague = [
        f"{path.relative_to(PACKAGE)}:{line}: {bound}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if room(path) == name
        for bound, line in bindings(ast.parse(path.read_text(encoding="utf-8")))
        if bound.strip("_").lower() in VAGUE
    ]
    assert len(vague) <= MOST.get(name, 0), "\n".join(vague)


# Names of several classes, of rooms that are still to be gone through; this set only shrinks.
TWINS = {"Correction", "Estimate", "Index", "Output", "Points", "Rows", "Sample"}


def test_classes_have_different_names():
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} <= TWINS
