"""The contract of imports: a room reaches only for rooms below it, no module for itself in a circle."""

import ast
import graphlib
from pathlib import Path

import pytest

import fastmetrics as fm

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fastmetrics"

ORDER = [
    *("base", "kernels", "text", "stats", "tables", "vectors", "retrieval", "metrics", "plans", "engines", "results"),
    *("scoring", "fitting", "models", "logs", "reporting", "cli", "__main__", "__init__"),
]
"""The rooms of the package, folders and files, from the lowest; each imports from those before it in this list."""

KERNELS = ("numpy", "math", "typing", "__future__", "fastmetrics.kernels", "fastmetrics.base.arrays")
"""What kernels import."""
WALLED = "fastmetrics/kernels/simd/"
"""The folder whose code alone may use what Numba and llvmlite do not promise to keep."""


def imported(source: str) -> set[str]:
    """What a module imports, at its top or inside a function: modules, and names of modules with theirs."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms(names: set[str]) -> set[str]:
    """The rooms of imported names."""
    parts = [name.split(".") for name in names]
    return {two[1] for two in parts if two[0] == "fastmetrics" and len(two) > 1}


FILES = {path.relative_to(ROOT).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """What each file of the package imports."""
    return {file: imported(path.read_text(encoding="utf-8")) for file, path in FILES.items()}


def room(file: str) -> str:
    return file.split("/")[1].removesuffix(".py")


def test_order_holds_every_room_once() -> None:
    assert sorted(ORDER) == sorted({room(file) for file in FILES})


def test_rooms_import_from_rooms_below(imports: dict[str, set[str]]) -> None:
    wrong = {
        file: above
        for file, names in imports.items()
        if (above := rooms(names) - set(ORDER[: ORDER.index(room(file)) + 1]))
    }
    assert wrong == {}


def test_no_imports_go_in_a_circle(imports: dict[str, set[str]]) -> None:
    modules = {file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): file for file in FILES}
    graph = {
        module: {inner if inner in modules else inner.rpartition(".")[0] for inner in imports[file]} - {module}
        for module, file in modules.items()
        if module != "fastmetrics"
    }
    graph = {module: {one for one in names if one in graph} for module, names in graph.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_kernels_import_nothing_but_numpy_and_each_other(imports: dict[str, set[str]]) -> None:
    wrong = {
        file: other
        for file, names in imports.items()
        if room(file) == "kernels" and file != "fastmetrics/kernels/jit.py" and not file.startswith(WALLED)
        if (other := {name for name in names if not f"{name}.".startswith(tuple(f"{one}." for one in KERNELS))})
    }
    assert wrong == {}


def test_only_the_walled_folder_imports_parts_of_the_compiler(imports: dict[str, set[str]]) -> None:
    parts = {
        file: {name for name in names if name.startswith(("numba.", "llvmlite"))} for file, names in imports.items()
    }
    assert {file for file, names in parts.items() if names and not file.startswith(WALLED)} == set()


def test_no_room_has_the_name_of_a_public_function():
    """Importing a room would replace the function in the package."""
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")}.isdisjoint(fm.__all__)
