"""Bytes spoilt at random: what a bad disk, a cut connection or an adversary makes of a file."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable, Sequence

import pyarrow as pa

Mutation = Callable[[bytearray, random.Random, Sequence[bytes]], None]

_NARROW = (0, -1, 1, 2, 7, 8, 127, 128, 255, 256, 65_535, 65_536, 2**24, 2**30, 2**31 - 1, -(2**31), 1_000_000)
_WIDE = (*_NARROW, 2**32, 2**33, 2**40, 2**59, 2**60, 2**62, 2**63 - 1, -(2**63), -(2**33))
_TOKENS = (
    *(b'"', b"'", b",", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\\", b"\\u0000", b"\\ud800"),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400, b"1e-400"),
    *(b"[" * 300, b'{"a":' * 300, b"[" * 30_000, b'{"a":' * 30_000, b'"' * 999, b" " * 5000, b"\n" * 5000),
    b"x" * 70_000,
    *(b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\x1a", b"\x85", b"#", b"#\n", b"Q0"),
    *(b"PAR1", b"ARROW1"),
)


def _place(data: bytearray, rng: random.Random) -> int:
    """An offset; half of them near either end, where headers and footers are."""
    chance = rng.random()
    near = min(len(data), 400)
    if chance < 0.25:
        return rng.randrange(near + 1)
    if chance < 0.5:
        return len(data) - rng.randrange(near + 1)
    return rng.randrange(len(data) + 1)


def _slice(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 16, 64, 256, 4096)))


def flip(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """One bit, or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 8, 32))):
        if data:
            data[min(_place(data, rng), len(data) - 1)] ^= 1 << rng.randrange(8)


def replace(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice by other bytes."""
    start, stop = _slice(data, rng)
    filling = rng.choice((b"\x00", b"\xff", b"\x80", b"\x7f", None))
    size = stop - start
    data[start:stop] = rng.randbytes(size) if filling is None else filling * size


def truncate(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """The end, or the beginning, cut off."""
    at = _place(data, rng)
    del data[slice(at, None) if rng.random() < 0.8 else slice(0, at)]


def duplicate(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice put somewhere once more, or in place of what is there."""
    start, stop = _slice(data, rng)
    to = _place(data, rng)
    piece = bytes(data[start:stop]) * rng.choice((1, 1, 2, 50))
    data[to : to + (len(piece) if rng.random() < 0.5 else 0)] = piece


def delete(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice taken out."""
    start, stop = _slice(data, rng)
    del data[start:stop]


def splice(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """The beginning of one file with the end of another."""
    other = rng.choice(list(others))
    at = _place(data, rng)
    data[at:] = other[min(at, len(other)) if rng.random() < 0.5 else rng.randrange(len(other) + 1) :]


def number(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """Aligned whole numbers replaced by extreme ones, as an offset, a length or a count would be."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        form, values = rng.choice((("<i", _NARROW), ("<q", _WIDE)))
        size = struct.calcsize(form)
        if len(data) < size:
            return
        at = min(_place(data, rng), len(data) - size)
        at -= at % rng.choice((size, size, 1))
        (present,) = struct.unpack_from(form, data, at)
        value = rng.choice((*values, present + 1, present - 1, present * 2, len(data), -present))
        data[at : at + size] = struct.pack(form, max(-(2 ** (8 * size - 1)), min(value, 2 ** (8 * size - 1) - 1)))


def token(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """Bytes that mean something to a parser, put in or in place of others."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, piece = _place(data, rng), rng.choice(_TOKENS)
        data[at : at + (len(piece) if rng.random() < 0.3 else 0)] = piece


MUTATIONS: tuple[Mutation, ...] = (flip, replace, truncate, duplicate, delete, splice, number, token)


def mutate(data: bytes, rng: random.Random, others: Sequence[bytes]) -> tuple[bytes, str]:
    """The bytes spoilt in one to three ways, and which; of a compressed file half the time what it holds."""
    inside = _unpacked(data) if rng.random() < 0.5 else None
    spoilt = bytearray(data if inside is None else inside[0])
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        chosen = rng.choice(MUTATIONS)
        chosen(spoilt, rng, others)
        names.append(chosen.__name__)
    return (bytes(spoilt) if inside is None else inside[1](bytes(spoilt))), "+".join(names)


def _unpacked(data: bytes) -> tuple[bytes, Callable[[bytes], bytes]] | None:
    """What a compressed file holds, and how to compress it again."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data), lambda content: gzip.compress(content, 1, mtime=0)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            return stream.read(), lambda content: bytes(pa.compress(content, "zstd", asbytes=True))
    return None
