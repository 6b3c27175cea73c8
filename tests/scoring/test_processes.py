"""Threads, children, cold starts, installs that cannot be written to, and no compiler: the same bits everywhere."""

import json
import pickle
import resource
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fastmetrics.cli.commands import COMMANDS
from tests.support.every_metric import READERS, bits
from tests.support.program import ENVIRONMENT, ROOT

FEW = ("answer_length", "repeated_ids")
ROWS = 30
SCORES = f"import json; from tests.support.every_metric import bits; print(json.dumps(bits({ROWS}, {FEW})))"
HEAVY = ("numba", "numpy", "pyarrow", "sklearn", "faiss", "scipy", "pandas", "polars", "rich", "typer", "sacrebleu")


def start(code, **environment):
    settings = {**ENVIRONMENT, **{name: str(value) for name, value in environment.items()}}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_import_does_not_load_heavy_packages():
    code = f"import sys, json, fastmetrics; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    assert said(start(code)) == []
    names = (
        "import json, fastmetrics; assert 'token_f1' in dir(fastmetrics); print(json.dumps(fastmetrics.__version__))"
    )
    assert said(start(names))


LOADED = "import json, sys; print(json.dumps([name for name in sys.modules if name.startswith('fastmetrics')]))"


def test_program_imports_only_the_command_that_is_called():
    commands = {f"fastmetrics.cli.{command.module}" for command in COMMANDS.values()}
    assert not commands & set(said(start(f"import fastmetrics.cli.program\n{LOADED}")))
    arguments = "['judge', 'store', '--help']"
    call = f"import sys\nfrom fastmetrics.cli import program\nsys.argv[1:] = {arguments}\ntry:\n    program.main()"
    assert commands & set(said(start(f"{call}\nexcept SystemExit:\n    pass\n{LOADED}"))) == {"fastmetrics.cli.judging"}


def test_importing_a_package_does_not_load_the_metrics():
    assert "fastmetrics.metrics.suites" not in said(start(f"from fastmetrics.base import errors\n{LOADED}"))


def test_concurrent_threads_give_the_same_bits():
    expected = bits(ROWS, READERS)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(bits, [ROWS] * 4, [READERS] * 4))


CHILDREN = """
import json, multiprocessing, sys
from tests.support.every_metric import bits

if __name__ == "__main__":
    some = ({rows}, {names})
    expected = bits(*some) if {warm} else None
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        found = pool.starmap(bits, [some] * 3)
    expected = expected or bits(*some)
    print(json.dumps(all(one == expected for one in found)))
"""


@pytest.mark.parametrize(
    ("method", "warm"),
    [("fork", True), *(pytest.param(*one, marks=pytest.mark.full) for one in (("fork", False), ("spawn", True)))],
)
def test_forked_processes_give_the_same_bits(tmp_path, full, method, warm):
    """Before and after the parent has used threads and kernels."""
    script = tmp_path / "children.py"
    script.write_text(CHILDREN.format(rows=ROWS, names=() if full else FEW, method=method, warm=warm))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr


USED = """
import json, sys
import fastmetrics as fm
from tests.support.every_metric import bits
warmed = fm.scoring.warm_up({few}) if {warm} else 0
made = bits({rows}, {few})
kernels = [k for n, m in sys.modules.items() if n.startswith("fastmetrics.kernels.")
           for k in vars(m).values() if hasattr(k, "py_func")]
hits, misses = (sum(sum(getattr(k.stats, name).values()) for k in kernels) for name in ("cache_hits", "cache_misses"))
print(json.dumps([made, hits, misses + warmed]))
"""


def used(rows, few, *, warm=False):
    """The code of a process that scores: the scores, and how many kernels were cached and how many were not."""
    return USED.format(rows=rows, few=few, warm=warm)


@pytest.mark.full
def test_concurrent_cold_starts_then_cached_and_broken_cache_starts(tmp_path):
    cold = [start(SCORES, NUMBA_CACHE_DIR=tmp_path) for _ in range(3)]
    expected = bits(ROWS, FEW)
    assert [said(process) for process in cold] == [expected] * 3
    code = used(ROWS, FEW)
    made, hits, misses = said(start(code, NUMBA_CACHE_DIR=tmp_path))
    assert (made, misses) == (expected, 0)
    assert hits >= 2
    for suffix in ("nbi", "nbc"):
        for number, path in enumerate(sorted(tmp_path.rglob(f"*.{suffix}"))):
            whole = path.read_bytes()
            path.write_bytes((b"", whole[:40], whole[:-40], bytes(len(whole)), pickle.dumps(([], 1)))[number % 5])
        made, _, misses = said(start(code, NUMBA_CACHE_DIR=tmp_path))
        assert made == expected
        assert misses >= 2
        assert said(start(code, NUMBA_CACHE_DIR=tmp_path))[2] == 0


@pytest.mark.full
def test_cache_of_another_machine_is_not_run(tmp_path):
    code = used(ROWS, FEW)
    made, _, misses = said(start(code, NUMBA_CACHE_DIR=tmp_path, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES=""))
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) == [made, 0, misses]


SWAPPED = """
import json, os, pathlib
import numpy as np
from fastmetrics.kernels import rankings as ids
found = [ids.longest_row(np.array([0, 2, 5], kind)) for kind in (np.int64, np.int32)]
one, other = sorted(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc"))
first = one.read_bytes()
one.write_bytes(other.read_bytes())
other.write_bytes(first)
print(json.dumps([*map(int, found), sum(ids.longest_row.stats.cache_misses.values())]))
"""
"""Two processes that compile a kernel for different types at once can each name a file that holds the other's code."""


ONE = """
import json
import numpy as np
from fastmetrics.kernels import rankings as ids
found = ids.longest_row(np.array([0, 2, 5], np.int64))
print(json.dumps([int(found), sum(ids.longest_row.stats.cache_misses.values())]))
"""


def test_a_broken_cache_file_is_made_anew(tmp_path, full):
    assert said(start(ONE, NUMBA_CACHE_DIR=tmp_path)) == [3, 1]
    for suffix in ("nbi", "nbc") if full else ("nbc",):
        (path,) = tmp_path.rglob(f"*.{suffix}")
        path.write_bytes(path.read_bytes()[:-40])
        assert said(start(ONE, NUMBA_CACHE_DIR=tmp_path)) == [3, 1], suffix
    if full:
        assert said(start(ONE, NUMBA_CACHE_DIR=tmp_path)) == [3, 0]


@pytest.mark.full
def test_machine_code_for_other_types_is_not_run(tmp_path):
    for _ in range(2):
        assert said(start(SWAPPED, NUMBA_CACHE_DIR=tmp_path)) == [3, 3, 2]


@pytest.mark.full
def test_warm_up_leaves_nothing_to_compile(tmp_path):
    code = f"import json, fastmetrics as fm; print(json.dumps(fm.scoring.warm_up({FEW})))"
    assert said(start(code, NUMBA_CACHE_DIR=tmp_path)) >= len(FEW)
    made, hits, misses = said(start(used(ROWS, FEW, warm=True), NUMBA_CACHE_DIR=tmp_path))
    assert (made, misses) == (bits(ROWS, FEW), 0)
    assert hits >= len(FEW)


def copied(tmp_path):
    """The package and what tests it, in a folder whose caches cannot be made: a file stands where each would go."""
    for name in ("fastmetrics", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (tmp_path / "fastmetrics").rglob("**/"):
        (folder / "__pycache__").touch()
    return {"PYTHONPATH": tmp_path, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.full
def test_read_only_install_caches_kernels_in_home_folder(tmp_path):
    install = copied(tmp_path)
    home = tmp_path / "home"
    nowhere = tmp_path / "fastmetrics" / "__init__.py" / "cache"
    expected = bits(ROWS, FEW)
    kept = {"HOME": home, "XDG_CACHE_HOME": home / "cache", "NUMBA_CACHE_DIR": ""}
    assert said(start(SCORES, **install, **kept)) == expected
    assert list(home.rglob("*.nbc"))
    lost = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": nowhere}
    assert said(start(SCORES, **install, **lost)) == expected


@pytest.mark.full
def test_full_cache_disk_is_not_an_error(tmp_path):
    def cramped():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [sys.executable, "-P", "-c", SCORES],
        env={**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        preexec_fn=cramped,
        check=True,
    )
    assert json.loads(done.stdout) == bits(ROWS, FEW)


@pytest.mark.full
def test_changed_kernel_invalidates_its_callers(tmp_path):
    install = copied(tmp_path)
    caches = {"NUMBA_CACHE_DIR": tmp_path / "cache"}
    code = used(5, ("answer_length",))
    said(start(code, **install, **caches))
    assert said(start(code, **install, **caches))[2] == 0
    other = tmp_path / "fastmetrics" / "kernels" / "exact_sums.py"
    other.write_text(other.read_text() + "\n# changed\n")
    assert said(start(code, **install, **caches))[2] > 0


def test_scores_are_equal_without_a_compiler(full):
    rows, names = (ROWS, ()) if full else (4, ("token_f1", "ndcg"))
    code = f"import json; from tests.support.every_metric import bits; print(json.dumps(bits({rows}, {names})))"
    assert said(start(code, NUMBA_DISABLE_JIT=1)) == bits(rows, names)
