"""The arrays of kernels: their shapes are in the docstring of the kernel, of its module or of the kernels' package."""

import ast
import re
from pathlib import Path

from fastmetrics import kernels

KERNELS = Path(kernels.__file__).parent
COMPILED = re.compile(r"\b(kernel|inline|leaf)\b")
ARRAY = re.compile(r"\b(NDArray|Array|Bytes|Ints|Ids|Floats|Flags|Uint64s)\b")


def undescribed() -> list[str]:
    """The arrays of compiled functions that no docstring names."""
    common = kernels.__doc__ or ""
    missing = []
    for path in sorted(KERNELS.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any(
                COMPILED.search(ast.unparse(mark)) for mark in node.decorator_list
            ):
                texts = f"{common}{ast.get_docstring(tree)}{ast.get_docstring(node)}"
                missing += [
                    f"{path.relative_to(KERNELS)}: {node.name}: {argument.arg}"
                    for argument in node.args.args
                    if argument.annotation is not None
                    and ARRAY.search(ast.unparse(argument.annotation))
                    and f"``{argument.arg}``" not in texts
                    and not re.search(rf"``[^`]*\b{argument.arg}\b[^`]*``", texts)
                ]
    return missing


def test_arrays_of_kernels_have_their_shape_in_a_docstring() -> None:
    missing = undescribed()
    assert not missing, "\n".join(missing)
