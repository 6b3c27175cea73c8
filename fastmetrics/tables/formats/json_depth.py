"""The maximum nesting of JSON: parsers recurse, and crash the process at some depth."""

from __future__ import annotations

import numpy as np

from fastmetrics.kernels.byte_search import deepest

DEPTH = 100
"""Maximum nesting of brackets."""


def is_deep(block: bytes) -> bool:
    """Whether a line of the block is nested more than ``DEPTH`` levels deep.

    >>> is_deep(b"[[1]]"), is_deep(b"[" * 101)
    (False, True)
    """
    return bool(deepest(np.frombuffer(block, np.uint8), DEPTH) >= 0)
