"""Kernels with a Numba whose private classes are not known: the same bits, and a cache on disk, by public options."""

import sys
from types import ModuleType
from unittest.mock import patch

import numba
import numpy as np
import pytest
from numba.core.registry import CPUDispatcher
from numba.core.target_extension import cpu_target, dispatcher_registry

from fastmetrics.kernels.jit import kernel, tried
from fastmetrics.kernels.jit_cache import CheckedFiles
from fastmetrics.kernels.jit_compiler import LinkedDispatcher
from tests.scoring.test_processes import FEW, ROWS, SCORES, USED, copied, said, start
from tests.support.every_metric import bits

pytestmark = pytest.mark.slow

UNKNOWN = {
    "newer": "import numba; numba.__version__ = '9.1.0'\n",
    "without a class": "import numba.core.ccallback, numba.core.caching as caching; del caching.FunctionCache\n",
}
OWN = "\nimport fastmetrics.kernels.jit as jit; assert jit._private_classes() is None\n"


@pytest.mark.parametrize("numba", UNKNOWN)
def test_a_numba_that_was_not_tried_caches_by_itself(tmp_path, numba):
    expected = bits(ROWS, FEW)
    code = UNKNOWN[numba] + USED.format(rows=ROWS, few=FEW) + OWN
    made, _, misses = said(start(code, NUMBA_CACHE_DIR=tmp_path))
    assert made == expected
    assert misses >= 2
    made, hits, misses = said(start(code, NUMBA_CACHE_DIR=tmp_path))
    assert (made, misses) == (expected, 0)
    assert hits >= 2


def test_kernels_of_words_count_references_with_a_numba_that_was_not_tried(tmp_path):
    names = ("token_f1",)
    code = f"import json; from tests.support.every_metric import bits; print(json.dumps(bits({ROWS}, {names})))"
    assert said(start(UNKNOWN["newer"] + code + OWN, NUMBA_CACHE_DIR=tmp_path)) == bits(ROWS, names)


def test_a_change_in_any_kernel_makes_its_cache_stale_too(tmp_path):
    install = copied(tmp_path)
    caches = {"NUMBA_CACHE_DIR": tmp_path / "cache"}
    code = UNKNOWN["newer"] + USED.format(rows=5, few=("answer_length",))
    said(start(code, **install, **caches))
    assert said(start(code, **install, **caches))[2] == 0
    other = tmp_path / "fastmetrics" / "kernels" / "stats" / "exact_sums.py"
    other.write_text(other.read_text() + "\n# changed\n")
    assert said(start(code, **install, **caches))[2] > 0


def test_without_a_folder_for_the_cache_it_compiles_in_each_process(tmp_path):
    install = copied(tmp_path)
    nowhere = tmp_path / "fastmetrics" / "cli.py" / "cache"
    lost = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": nowhere}
    assert said(start(UNKNOWN["newer"] + SCORES + OWN, **install, **lost)) == bits(ROWS, FEW)


@pytest.mark.parametrize(
    ("version", "known"),
    [
        *(("0.60.9", False), ("0.61.0", True), ("0.68.1", True), ("0.68.0rc1", True), ("0.69.0", False)),
        *(("0.100.0", False), ("1.0.0", False), ("1.62.0", False), ("0+unknown", False), ("", False)),
    ],
)
def test_versions_are_compared_as_numbers(version, known):
    assert tried(version) is known


@pytest.mark.parametrize("lost", ["the class", "the module"])
def test_a_cache_with_names_of_an_earlier_version_counts_as_missing(tmp_path, monkeypatch, lost):
    module = ModuleType("earlier_kernels")
    kind = type("Key", (), {"__module__": module.__name__})
    module.Key = kind
    monkeypatch.setitem(sys.modules, module.__name__, module)
    index, data = (CheckedFiles(str(tmp_path), name, "stamp") for name in ("index", "data"))
    index._save_index({kind: "index.1.nbc"})
    data.save("key", kind)
    assert data.load("key") is kind
    if lost == "the class":
        del module.Key
    else:
        monkeypatch.delitem(sys.modules, module.__name__)
    assert index.load("key") is None
    assert data.load("key") is None
    index.save("key", 1)
    assert index.load("key") == 1


def test_a_kernel_that_calls_loaded_ones_is_compiled(tmp_path):
    code = (
        "import json\nimport numpy as np\nfrom fastmetrics.kernels.ranking import ids\n"
        "starts, nothing = np.array([0, 2, 5]), np.zeros(0, np.int64)\n"
        "rows = ids.Ids(np.zeros(5, np.uint64), np.zeros(0, np.uint8), nothing, nothing)\n"
        "longest, repeats = ids.longest_row(starts), ids.repeats(rows, starts).tolist()\n"
        "hits = [sum(kernel.stats.cache_hits.values()) for kernel in (ids.longest_row, ids.repeats)]\n"
        "print(json.dumps([longest, repeats, hits]))\n"
    )
    results = [3, [False, True, False, True, True]]
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [0, 0]]
    for entry in tmp_path.rglob("ids.repeats*"):
        entry.unlink()
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [1, 0]]
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [1, 1]]


def test_a_part_of_a_kernel_is_compiled_on_its_own_once_python_calls_it(tmp_path):
    code = (
        "import json\nimport numpy as np\nfrom fastmetrics.kernels.ranking import ids\n"
        "starts, nothing = np.array([0, 2, 5]), np.zeros(0, np.int64)\n"
        "rows = ids.Ids(np.zeros(5, np.uint64), np.zeros(0, np.uint8), nothing, nothing)\n"
        "repeats = ids.repeats(rows, starts).tolist()\n"
        'is_part = [getattr(kernel.library, "is_part", False) for kernel in ids.longest_row.overloads.values()]\n'
        "hits = [sum(kernel.stats.cache_hits.values()) for kernel in (ids.repeats, ids.longest_row)]\n"
        "longest = [ids.longest_row(starts), ids.longest_row(starts)]\n"
        "hits.append(sum(ids.longest_row.stats.cache_hits.values()))\n"
        "print(json.dumps([repeats, longest, is_part, hits]))\n"
    )
    results = [[False, True, False, True, True], [3, 3]]
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [True], [0, 0, 0]]
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [], [1, 0, 1]]
    for entry in tmp_path.rglob("ids.longest_row*"):
        entry.unlink()
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [], [1, 0, 0]]
    for entry in tmp_path.rglob("ids.repeats*"):
        entry.unlink()
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [*results, [False], [0, 1, 1]]


def test_a_call_of_a_stored_kernel_imports_nothing_for_the_types_of_its_arrays(tmp_path):
    code = (
        "import json, sys\nimport numpy as np\nfrom fastmetrics.kernels.ranking import ids\n"
        "from numba.core import entrypoints\n"
        "starts, nothing = np.array([0, 2, 5]), np.zeros(0, np.int64)\n"
        "rows = ids.Ids(np.zeros(5, np.uint64), np.zeros(0, np.uint8), nothing, nothing)\n"
        "repeats = ids.repeats(rows, starts).tolist()\n"
        'print(json.dumps([repeats, "numpy.ma" in sys.modules, entrypoints._already_initialized]))\n'
    )
    repeats = [False, True, False, True, True]
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path))[0] == repeats
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [repeats, False, False]


def test_a_literal_number_counts_as_any_number_of_its_type():
    @kernel
    def shifted(value: int, by: int) -> int:
        return value + by

    @kernel
    def moved(value: int) -> int:
        return shifted(shifted(shifted(value, 1), 2), 2**40)

    assert moved(5) == 8 + 2**40
    assert moved(5.5) == 8.5 + 2**40
    assert len(shifted.overloads) == 2


def test_functions_of_numba_that_kernels_call_are_parts_of_them():
    @kernel
    def ones_and_zeros(n: int) -> tuple[object, object]:
        return np.full(n, 1.5), np.zeros((n, 2), np.int16)

    made: list[object] = []
    init = LinkedDispatcher.__init__
    with patch.object(
        LinkedDispatcher, "__init__", lambda self, *args, **options: made.append(self) or init(self, *args, **options)
    ):
        ones, zeros = ones_and_zeros(3)
    assert (ones.tolist(), zeros.tolist()) == ([1.5] * 3, [[0, 0]] * 3)
    assert made
    assert all(compiled.library.is_part for function in made for compiled in function.overloads.values())
    assert dispatcher_registry[cpu_target] is CPUDispatcher
    with pytest.raises(ValueError, match="negative dimensions not allowed"):
        ones_and_zeros(-1)


def test_other_functions_use_parts_of_kernels_too():
    def zeros(n: int) -> object:
        return np.zeros((n, 3), np.uint16)

    made = kernel(zeros)(2)
    same_options = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(zeros)(2)
    assert made.tolist() == same_options.tolist() == numba.njit(zeros)(2).tolist() == [[0] * 3] * 2
