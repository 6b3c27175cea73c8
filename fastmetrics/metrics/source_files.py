"""The files of code that custom metrics run: the file of each, and what it imports from beside it.

A digest of a function alone would miss a constant, a helper or an imported module that changes between the halves of a
resumed run.  Imports are read from the text, so a module that is imported inside a function counts too.  What a file
opens by itself, and installed packages, are not seen.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fastmetrics.base.plugin_files import LOADED
from fastmetrics.base.public_names import PACKAGE
from fastmetrics.metrics.fitted_metric import FittedMetric
from fastmetrics.metrics.plan import Plan
from fastmetrics.metrics.tokenizers import TOKENIZERS

_INSTALLED = {"site-packages", "dist-packages"}


def source_digests(planned: Plan) -> dict[str, str]:
    """A digest per file of code outside this package that the scores of a plan depend on.

    A file is named by its path in the folder of the metric's file or package.  A metric of a notebook has no file.
    """
    digests: dict[str, str] = {}
    for start, text in _files(_functions(planned)):
        folder = _folder(start)
        for path, content in _with_imports(start, text, folder):
            name, digest = path.relative_to(folder).as_posix(), hashlib.sha256(content).hexdigest()[:16]
            known = digests.setdefault(name, digest)
            if digest not in known:  # files of the same name, beside metrics in different folders
                digests[name] = f"{known} {digest}"
    return digests


def _functions(planned: Plan) -> Iterator[Callable[..., Any]]:
    """The functions of the metrics, of the metrics that fitted ones read, and of the tokenizers in their options."""
    for score in planned.scores:
        parts = [(score.metric, score.options)]
        if isinstance(score.metric, FittedMetric):
            parts = [(part.metric, part.options) for part in score.metric.parts if part.metric is not None]
        for metric, options in parts:
            yield metric.function
            tokenizer = TOKENIZERS.get(str(options.get("tokenizer")))
            if tokenizer is not None:
                yield tokenizer


def _files(functions: Iterable[Callable[..., Any]]) -> list[tuple[Path, bytes]]:
    """The files that declare functions, each once, with their content: of a plugin the text that was run."""
    found: dict[Path, bytes] = {}
    for module in sorted({inspect.unwrap(function).__module__ for function in functions}):
        path, text = LOADED.get(module) or (getattr(sys.modules.get(module), "__file__", None), None)
        if path is None or Path(path).resolve().is_relative_to(PACKAGE):
            continue
        content = _content(Path(path)) if text is None else text.encode()
        if content is not None:
            found[Path(path).resolve()] = content
    return list(found.items())


def _folder(path: Path) -> Path:
    """The folder of a file, or of the outermost package that has it."""
    folder = path.parent
    while (folder / "__init__.py").exists() and (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


def _with_imports(start: Path, content: bytes, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """A file and all files in the folder that it imports, directly or not, with their contents."""
    waiting, seen = [(start, content)], {start}
    while waiting:
        path, content = waiting.pop()
        yield path, content
        for found in _imports(path, content, folder):
            if found not in seen and (further := _content(found)) is not None:
                seen.add(found)
                waiting.append((found, further))


def _content(path: Path) -> bytes | None:
    """The bytes of a file, or None if there is no such file, as for a module in an archive."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _imports(path: Path, content: bytes, folder: Path) -> Iterator[Path]:
    """The files in the folder that the import statements of a file name; some may not exist."""
    yield from _inside(folder, [path.parent / "__init__.py"])
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError):  # not Python, such as a compiled module
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _inside(folder, _modules(folder, alias.name))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if node.module else alias.name
                if node.level:
                    yield from _inside(folder, _places(path.parents[node.level - 1], name.split(".")))
                else:
                    yield from _inside(folder, _modules(folder, name))


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """The places of an absolute name and of the packages above it: where they were loaded from, or in the folder."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        file = getattr(sys.modules.get(".".join(parts[:count])), "__file__", None)
        if file is not None:
            yield Path(file)
        else:
            for above in (folder, folder.parent):  # whose name is the first of a package's names
                yield from _places(above, parts[:count])


def _places(above: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Where a module below a folder may be, and the packages above it."""
    for count in range(1, len(parts) + 1):
        stem = above.joinpath(*parts[:count])
        yield from (stem.with_suffix(".py"), stem / "__init__.py")


def _inside(folder: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """The paths that lie in the folder and in no folder of installed packages."""
    for path in paths:
        resolved = path.resolve()
        if not resolved.is_relative_to(folder) or resolved.is_relative_to(PACKAGE):
            continue
        if _INSTALLED.isdisjoint([folder.name, *resolved.relative_to(folder).parts]):
            yield resolved
