"""What conventions, extractors and normalizations of texts refuse."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.errors import ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.text.lexicons import lexicon
from tests.support.goldens import errors_of

ROWS = {"answer": ["a"], "reference": ["a"]}
EXTRACTORS: list[tuple[Any, ...]] = [
    *[("strip_thoughts+boxd", UnknownNameError, "boxed"), ("boxd", UnknownNameError, "boxed")],
    *[("regex:(", OptionError), ("regex:abc", OptionError), (r"regex:(a)\1", OptionError)],
    *[("regex:(?<=a)(b)", OptionError), ("json", UnknownNameError, "json:PATH")],
]
COLUMNS: list[Any] = [[1, 2], ["a", 1], "a string", [["nested"]], [["a", "b"], ["c"]]]


def damaged(bad: bytes) -> pa.Array:
    """Arrow does not look at the bytes of a string; a reader of them must."""
    return pa.Array.from_buffers(pa.string(), 2, pa.array([b"fine", bad], pa.binary()).buffers())


ERRORS: list[tuple[Any, ...]] = [
    ("convention", lambda: text.tokens(["x"], "word"), UnknownNameError, "word", "words"),
    ("word list", lambda: lexicon("stop_enn"), UnknownNameError, "stop_enn", "stop_en"),
    *[(f"no text: {column}", lambda column=column: text.tokens(column, "words"), ColumnError) for column in COLUMNS],
    *[(f"no UTF-8: {bad!r}", lambda bad=bad: text.tokens(damaged(bad), "words"), InputError, "row 1", "UTF-8")
     for bad in (b"\xff", b"\xf7\xbf\xbf\xbf", b"ok \xc3", b"\xe4\xb8", b"\x80", b"\xc0\x80", b"\xf0\x9f")],
    *[(f"extract {spec}", lambda spec=spec: fm.score(ROWS, "exact_match", extract=spec), error, *said)
     for spec, error, *said in EXTRACTORS],
    ("normalize", lambda: fm.exact_match(["a"], ["a"], normalize=["nfc", 3]), OptionError, "normalize"),
    ("normalize: unknown", lambda: fm.score(ROWS, "exact_match", normalize="ascii"), OptionError, "ascii"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
