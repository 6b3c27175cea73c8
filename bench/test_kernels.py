"""Public functions under pytest-benchmark, by the family of their kernels: to follow a change, not to assert a time.

::

    pytest bench/test_kernels.py --benchmark-enable
    pytest bench/test_kernels.py --benchmark-enable -k ranking --benchmark-autosave

``bench.kernels`` has the calls; each is made once before it is timed.
"""

from typing import Any

import pytest

from bench.kernels import BENCHES, Rows

ROWS = 5_000


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of all benchmarks."""
    return Rows(ROWS, tmp_path_factory.mktemp("rows"))


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in BENCHES.items() for name in names])
def test_kernels(benchmark: Any, rows: Rows, family: str, name: str) -> None:
    call = BENCHES[family][name]
    call(rows)
    benchmark(call, rows)
