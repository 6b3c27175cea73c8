"""The instructions on blocks of bytes, by what they mean, on all processors, and their scalar twins."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.extending import intrinsic

from fastmetrics import text
from fastmetrics.kernels.simd import blocks
from fastmetrics.kernels.simd.blocks import KINDS_SIZE, kinds_of
from fastmetrics.text import tokenize
from fastmetrics.text.conventions import CONVENTIONS, convention, rules_of
from tests.reference.text import CONVENTIONS as REFERENCES
from tests.support.program import ROOT

U = np.uint64


def kinds_by_blocks(instruction):
    """Which bytes of an array are of each kind."""

    @njit
    def kinds_of_each(data, kinds, out):
        for p in range(0, len(data), 64):
            out[:, p // 64] = 0
            for first in range(0, len(kinds), KINDS_SIZE):
                for k, bits in enumerate(instruction(data, U(p), kinds, U(first))):
                    out[k, p // 64] |= bits

    def flags(data, kinds):
        out = np.empty((3, len(data) // 64), np.uint64)
        kinds_of_each(data, kinds, out)
        return np.unpackbits(out.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)

    return flags


@pytest.mark.parametrize("shuffle", [None, ("llvm.x86.ssse3.pshuf.b.128", 16), ("", 64)])
def test_bytes_are_of_the_kinds_that_the_tables_of_a_convention_say(shuffle, monkeypatch) -> None:
    if shuffle is not None:
        if "x86" in shuffle[0] and platform.machine() not in ("x86_64", "AMD64"):
            pytest.skip("not an x86 processor")
        monkeypatch.setattr(blocks, "_shuffle", lambda context: shuffle)
    flags = kinds_by_blocks(kinds_of if shuffle is None else intrinsic(blocks._kinds_of))
    data = np.arange(256).astype(np.uint8)
    capital = (data >= ord("A")) & (data <= ord("Z"))
    for name in [name for name in CONVENTIONS if convention(name).frame is None]:
        rules = convention(name)
        entry = rules.bytemap[:128]
        separators, marks, rare = flags(data, rules_of(rules).kinds)
        looked_at = ~capital[:128] if entry[ord("A")] & 0xFF == ord("a") else np.ones(128, np.bool_)
        assert not (separators | marks | rare)[128:].any()
        assert (separators[:128] == (entry & 0x1FF == 0x120))[looked_at].all(), name
        assert (marks[:128] == ((entry == 0) | rules.strip[:128]))[looked_at].all(), name
        odd = (entry != np.arange(128) | 0x100) & (entry & 0x1FF != 0x120) & (entry != 0)
        assert (rare[:128] == odd)[looked_at].all(), name


def test_texts_of_more_bytes_than_32_bits_count(monkeypatch, full) -> None:
    """Their places have another type: here all texts are taken for so long."""
    texts = ["The Cat, sat. " * 9, "", "Жёлтый дом — «Дом» " * 7, "a", "don't (stop) " + "x" * 300]
    monkeypatch.setattr(tokenize, "_NARROW", 0)
    for name in ("plain", "light", "squad", "split") if full else ("squad",):
        assert text.tokens(texts, name) == [REFERENCES[name](value) for value in texts]


TWINS = "FASTMETRICS_SCALAR_TWINS"


@pytest.mark.full
@pytest.mark.skipif(TWINS in os.environ, reason="these are the tests on the scalar twins")
def test_scalar_twins_pass_the_tests_of_text() -> None:
    """For a Numba or a processor on which the instructions do not compile."""
    run = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", str(Path(__file__).parent)]
    done = subprocess.run(run, cwd=ROOT, env={**os.environ, TWINS: "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
