"""Loading Numba for the ``fastmetrics`` program."""

from __future__ import annotations

import sys
from typing import Any

_BLAS = "scipy.linalg.cython_blas"


def load_numba() -> None:
    """Load Numba's array functions without ``scipy.linalg``, whose import takes a tenth of the time of a short run.

    They import it to learn whether it exists, which ``numpy.cov`` in compiled code needs; SciPy is a requirement of
    this package, so it does.  Compiled code that uses linear algebra imports it later.  Only for the main thread of a
    program: another thread could not import the module meanwhile.
    """
    import numba  # not with the command's module: the program checks the variables that Numba reads first

    from fastmetrics.kernels.jit import tried

    if not tried(numba.__version__) or not {_BLAS, "numba.np.arraymath"}.isdisjoint(sys.modules):
        return
    modules: dict[str, Any] = sys.modules
    modules[_BLAS] = None
    try:
        from numba.np import arraymath
    finally:
        del modules[_BLAS]
    arraymath._HAVE_BLAS = True
