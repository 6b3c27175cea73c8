"""Sentences, paragraphs and lines against their plain definitions, around the borders of blocks of bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fastmetrics.base.arrays import Text, text_of_strings
from fastmetrics.text import segmentation
from tests.reference import text as reference

ENDS = [
    *".!?。！？…",
    *("\n", "\n\n", "\n\u3000\n", "\r\n \u2028\n", "?!", ". ", "。\u00a0", "\u2003.", "’", "“", "ï", "あ"),
]
KINDS: dict[str, tuple[Callable[[Text], Text], Callable[[str], list[str]]]] = {
    "sentences": (segmentation.sentences, reference.sentences),
    "paragraphs": (segmentation.paragraphs, reference.paragraphs),
    "lines": (segmentation.lines, lambda string: [line for line in string.split("\n") if line]),
}


def pieces(split: Callable[[Text], Text], text: Text) -> list[list[str]]:
    """The pieces of each text."""
    parts = split(text)
    assert parts.groups is not None
    strings = parts.strings()
    return [strings[first:last] for first, last in zip(parts.groups[:-1], parts.groups[1:], strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_that_span_blocks_of_bytes(kind: str) -> None:
    """Each end of a piece at every place around a border, in texts that stand alone and in a column of all."""
    split, definition = KINDS[kind]
    sizes = (0, 1, *range(59, 67), *range(123, 131))
    texts = [f"{'a' * size}{end}b {end}{' ' * gap}c" for size in sizes for end in ENDS for gap in (0, 1, 63)]
    texts += [string[:-1] for string in texts]
    expected = [definition(string) for string in texts]
    assert pieces(split, text_of_strings(texts)) == expected
    assert [pieces(split, text_of_strings([string]))[0] for string in texts] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_outside_a_text_end_no_piece(kind: str) -> None:
    """Texts are slices of longer bytes."""
    split, definition = KINDS[kind]
    whole = "a.\n\nb。c\n\nd… e! " * 9
    data = np.frombuffer(whole.encode(), np.uint8)
    borders = np.flatnonzero((data & 0xC0) != 0x80)
    starts, stops = (np.sort(column) for column in np.random.default_rng(7).choice(borders, (2, 200)))
    starts, stops = np.minimum(starts, stops), np.maximum(starts, stops)
    text = Text(data, starts, stops, np.ones(len(starts), np.bool_))
    assert pieces(split, text) == [definition(string) for string in text.strings()]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_without_bytes_have_no_pieces(kind: str) -> None:
    assert pieces(KINDS[kind][0], text_of_strings([])) == []
    assert pieces(KINDS[kind][0], text_of_strings(["", "", ""])) == [[], [], []]
