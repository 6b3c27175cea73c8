"""Guarding text that a spreadsheet would run as a formula with a leading quote, and removing the quote.

Excel and LibreOffice treat a CSV cell that begins with ``=``, ``+``, ``-``, ``@`` or whitespace other than a space as a
formula, and a formula can send the sheet to a server.  Numbers (``-5``) are harmless and unchanged.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrow import is_text, plain

_RISKY = r"[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def holds_text(type_: pa.DataType) -> bool:
    """Whether CSV writes values of the type as text: strings in any layout, and bytes."""
    type_ = plain(type_)
    return is_text(type_) or any(test(type_) for test in (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary))


def plain_text(text: pa.Array) -> pa.Array:
    """Text of any layout as consecutive strings or bytes."""
    text = text.cast(plain(text.type))
    return text.cast(pa.binary()) if pt.is_fixed_size_binary(text.type) else text


def guarded(text: pa.Array) -> tuple[pa.Array, int]:
    """The texts with a leading quote before formulas, and the number of quoted texts.

    Texts that already look quoted get another quote, so the original can be restored.

    >>> texts, count = guarded(pa.array(["=1+1", "-5", "- five", "'=1", "five"]))
    >>> texts.to_pylist(), count
    (["'=1+1", '-5', "'- five", "''=1", 'five'], 3)
    """
    text = plain_text(text)
    seen = text.view(pa.large_string() if pt.is_large_binary(text.type) else pa.string()) if _is_bytes(text) else text
    begins = pc.match_substring_regex(seen, f"^'*{_RISKY}")
    risky = pc.and_not(begins, pc.match_substring_regex(seen, _NUMBER)) if pc.any(begins).as_py() else begins
    count = pc.sum(risky).as_py() or 0
    if not count:
        return text, 0
    quote, nothing = (pa.scalar(character, text.type) for character in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(quote, text, nothing), text), count


def _is_bytes(text: pa.Array) -> bool:
    return bool(pt.is_binary(text.type) or pt.is_large_binary(text.type))


def unguarded(text: pa.Array) -> pa.Array:
    """The texts as they were before ``guarded``.

    >>> unguarded(pa.array(["'=1+1", "''=1", "it's", None])).to_pylist()
    ['=1+1', "'=1", "it's", None]
    """
    return pc.replace_substring_regex(text, f"^'('*{_RISKY})", r"\1")
