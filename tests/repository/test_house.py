"""The rules of the house: no circles, short files, and what is public is documented; ``test_rooms`` has the order."""

import ast
import graphlib
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.metrics import FAMILIES, REGISTRY, functions

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fastmetrics"
FILES = sorted(PACKAGE.rglob("*.py"))
CODE = sorted(
    path
    for folder in ("fastmetrics", "bench", "scripts", "examples", "tests")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts and path.suffix in (".py", ".txt", ".md", ".toml", "")
)


def module(path: Path) -> str:
    """The dotted name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> str:
    """The path within the repository."""
    return str(path.relative_to(ROOT))


MODULES = {module(path): path for path in FILES}


def imports(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, at its top or inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [one if one in MODULES else str(node.module) for one in inner]
        for name in names:
            if name in MODULES and name != "fastmetrics":
                yield name


def room(name: str) -> str:
    """The file or folder directly in the package."""
    return name.split(".")[1]


@pytest.mark.slow
def test_no_imports_go_in_a_circle():
    graph = {name: set(imports(path)) - {name} for name, path in MODULES.items()}
    list(graphlib.TopologicalSorter(graph).static_order())
    rooms: dict[str, set[str]] = {}
    for name, others in graph.items():
        if name != "fastmetrics":
            rooms.setdefault(room(name), set()).update(room(other) for other in others if room(other) != room(name))
    list(graphlib.TopologicalSorter(rooms).static_order())


@pytest.mark.parametrize("path", [path for path in CODE if path.parts[len(ROOT.parts)] != "tests"], ids=shown)
def test_no_file_is_long(path):
    # 300 lines are a reason to look twice; more than 400 are two subjects
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


CATALOGUES = ("fastmetrics", "metrics", "lexicons", "rubrics", "static")
"""Folders whose files are all of one kind: a reader looks for a name, not for a subject."""


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES if path.parent.name not in CATALOGUES}), ids=shown
)
def test_no_room_has_many_doors(folder):
    doors = [path for path in folder.iterdir() if not path.name.startswith("__")]
    assert len(doors) <= 16, "files of one subject go into a folder of their own"


def test_every_family_and_every_public_name_is_there():
    declared = {name for family in FAMILIES for name in _declared(family)}
    assert declared == set(REGISTRY)
    assert {"__version__", *fm.HOMES, *fm.EXCEPTIONS, *functions()} == set(fm.__all__)
    for name in fm.__all__:
        assert name in dir(fm)
        assert callable(getattr(fm, name)) or name == "__version__"
    with pytest.raises(AttributeError, match=r"^module 'fastmetrics' has no attribute 'nonsense'$"):
        _ = fm.nonsense


def _declared(family):
    home = f"fastmetrics.metrics.{family}"
    importlib.import_module(home)
    return [name for name, metric in REGISTRY.items() if metric.function.__module__ == home]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_module_exports_exist_and_are_documented(name):
    if name == "fastmetrics.__main__":
        return  # importing it would run the program
    loaded = importlib.import_module(name)
    assert loaded.__doc__
    for offered in getattr(loaded, "__all__", ()):
        assert hasattr(loaded, offered)
    for key, value in vars(loaded).items():
        own = getattr(value, "__module__", None) == name and not key.startswith("_")
        if own and (inspect.isfunction(value) or inspect.isclass(value)):
            assert inspect.getdoc(value), key


@pytest.mark.parametrize("name", [*fm.HOMES, *functions(), *(name for name in REGISTRY if not name.isidentifier())])
def test_every_public_function_has_an_example(name):
    function = getattr(fm, name)  # a function can have two names
    described = inspect.getdoc(function) or ""
    assert ">>> " in described
    called = rf"\b{function.__name__}[.(]" if name.isidentifier() else re.escape(name)
    assert re.search(called, described)


PRIVATE = re.compile(r"(?<![\w.])/(?:home|root|work|Users|mnt)/\w")


@pytest.mark.parametrize("path", CODE, ids=shown)
def test_no_file_contains_local_paths(path):
    found = PRIVATE.search(path.read_text(encoding="utf-8"))
    assert found is None, found


def test_the_kernels_import_nothing_but_numpy_and_each_other():
    for path in (PACKAGE / "kernels").rglob("[!_]*.py"):
        instructions = ("block_code", "byte_blocks", "id_blocks", "letter_blocks", "word_heads")
        if path.stem in ("jit", *instructions):  # these talk to the compiler
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= {"numpy", "numpy.typing", "math"}, path
            elif isinstance(node, ast.ImportFrom):
                allowed = ("__future__", "typing", "numpy.typing", "fastmetrics.kernels", "fastmetrics.core.arrays")
                assert str(node.module).startswith(allowed), path
