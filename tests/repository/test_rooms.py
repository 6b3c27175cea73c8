"""Imports run one way: a module reaches only for those before it in the list of docs/design.md."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fastmetrics"
TABLE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("| package |")[2].partition("\n\n")[0]
ROOMS = [room for line in TABLE.splitlines()[2:] for room in re.findall(r"`(\w+)`", line.split("|")[1])]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def reached(source: str) -> set[str]:
    """The rooms that a module imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            package, *inner = node.module.split(".")
            if package == "fastmetrics":
                found |= {inner[0]} if inner else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            dotted = [name.name.split(".") for name in node.names]
            found |= {parts[1] for parts in dotted if parts[0] == "fastmetrics" and len(parts) > 1}
    return found


def test_list_holds_every_room_once() -> None:
    assert len(ROOMS) == len(set(ROOMS))
    assert set(ROOMS) == {room(path) for path in PACKAGE.rglob("*.py")}, "docs/design.md lists the rooms in order"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_in_one_direction(path: Path) -> None:
    allowed = ROOMS[: ROOMS.index(room(path)) + 1]
    assert reached(path.read_text(encoding="utf-8")) <= set(allowed)


def test_imports_in_modules_and_functions_are_detected() -> None:
    source = (
        "import fastmetrics.cli\nfrom fastmetrics.text.lexicons import x\ndef f():\n    from fastmetrics import plan"
    )
    assert reached(source) == {"cli", "text", "plan"}


def test_top_level_has_few_rooms() -> None:
    assert len([room for room in ROOMS if not room.startswith("__")]) <= 21
