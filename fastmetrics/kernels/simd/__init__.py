"""The only code that talks to LLVM: instructions on several bytes or ids at a time, each with a scalar twin.

**Instructions on blocks of 64 bytes** are written for LLVM in ``kernels.simd`` alone, the one folder that uses parts of
Numba and llvmlite which these do not promise to keep. Each has a scalar twin, a loop that says the same; with
``FASTMETRICS_SCALAR_TWINS=1`` the twins are compiled instead, on which a test runs all tests of text.
``scripts/newest_numba`` tells what the newest Numba breaks.
"""
