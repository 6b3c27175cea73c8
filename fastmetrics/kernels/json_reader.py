"""Reading texts of JSON: strings, numbers and literals as places in the text, and the tree of all values of a text.

``kernels.json_trees`` compares the trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.rankings import same_bytes
from fastmetrics.kernels.simd.blocks import eight, read_only
from fastmetrics.kernels.tokenize import folded_product

# The tree of a text: its values in the order of the text, each a row of numbers.
#
# No value is copied or converted: a string or a number is a place in the text, so most texts are read once and compared
# byte by byte.  A string with escapes is decoded into a buffer; its place is negative.  Depth costs nothing but rows:
# a value knows its parent, and there is neither recursion nor a stack.


KIND, PARENT, KEY, KEY_AT, KEY_SIZE, AT, SIZE, NEXT, COUNT, PAIR, STATE, RULE, HASH, BEGIN, END, LEAVES = range(16)
"""The columns of a tree.

``KEY`` is the hash of a member's key, or the position of an item; the key itself is at ``KEY_AT``, the text of a value
at ``AT``.  ``NEXT`` is the row behind all that a value contains, and ``COUNT`` the number of values directly in it.
``PAIR`` is the value of the other tree at the same place, or -1; in the second tree, the value to look at next.
``STATE`` and ``RULE`` say which field of ``Fields`` a value belongs to.  ``BEGIN`` and ``END`` are the bounds of a
value in the text, with its key; ``LEAVES`` is the number of values before it that contain no others.
"""
_WIDTH = 16

OBJECT, LIST, STRING, NUMBER, TRUE, FALSE, NULL, GONE = range(8)
"""The kinds of values; a member is ``GONE`` if a later one of its object has the same key."""

INVALID, _MORE_ROOM = -1, -2
FEW = 8
"""Objects of up to so many members are searched one by one, larger ones with a hash table."""

_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _ESCAPES, _SPACES = (np.uint64(0x0101010101010101 * byte) for byte in (0x22, 0x5C, 0x20))
_PLACES = np.uint64(0x0001020304050607)
_U0, _U2, _U7, _U56 = (np.uint64(n) for n in (0, 2, 7, 56))
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(8)], np.uint64)


class Texts(NamedTuple):
    """Texts ``data[starts[i]:stops[i]]`` in UTF-8."""

    data: Bytes
    starts: Ints
    stops: Ints


class Room(NamedTuple):
    """Room for one tree, its decoded strings, and a hash table of (stamp, row)."""

    nodes: Ints
    buffer: Bytes
    slots: Ints


@inline
def skip_space(data: Bytes, i: int, stop: int) -> int:
    """The place of the next byte that is no white space of JSON."""
    while i < stop and (data[i] == 32 or data[i] == 10 or data[i] == 13 or data[i] == 9):
        i += 1
    return i


# Strings, and the hashes of keys.


@inline
def next_eight(data: Bytes, i: int, stop: int) -> np.uint64:
    """Eight bytes from ``i`` on, those behind ``stop`` zero if the data end there."""
    if i + 8 <= len(data):
        return eight(data, np.uint64(i))
    word = _U0
    for k in range(min(8, stop - i)):
        word |= np.uint64(data[i + k]) << np.uint64(8 * k)
    return word


@inline
def ends_in(word: np.uint64) -> np.uint64:
    """The high bit of the first byte that ends a plain stretch of a string: a quote, a backslash, a control byte."""
    quote, escape = word ^ _QUOTES, word ^ _ESCAPES
    return (((quote - _ONES) & ~quote) | ((escape - _ONES) & ~escape) | ((word - _SPACES) & ~word)) & _HIGH


@inline
def mixed(key: np.uint64, word: np.uint64, secret: Uint64s) -> np.uint64:
    """The hash ``key`` with eight more bytes."""
    return folded_product(key ^ word) * secret[1] ^ (word * secret[0])


@inline
def last_mixed(key: np.uint64, word: np.uint64, left: int, size: int, secret: Uint64s) -> np.uint64:
    """The hash with the last ``left`` bytes, fewer than eight, and the number of all: a zero byte counts too."""
    return mixed(key, (word & _MASKS[left]) | np.uint64(size) << _U56, secret) >> _U2


@leaf
def hash_of(data: Bytes, at: int, size: int, secret: Uint64s) -> np.uint64:
    """The hash of ``size`` bytes: the same as ``scan_key`` finds."""
    key, i, stop = secret[0], at, at + size
    while i + 8 <= stop:
        key = mixed(key, eight(data, np.uint64(i)), secret)
        i += 8
    return last_mixed(key, next_eight(data, i, stop), stop - i, size, secret)


@inline
def string_end(data: Bytes, i: int, stop: int) -> int:
    """The place of the first quote, backslash or control byte from ``i`` on, or ``stop``."""
    while i < stop:
        found = ends_in(next_eight(data, i, stop))
        if found != _U0:
            return min(i + np.int64((((found & (_U0 - found)) >> _U7) * _PLACES) >> _U56), stop)
        i += 8
    return stop


@inline
def scan_key(data: Bytes, i: int, stop: int, secret: Uint64s) -> tuple[int, np.uint64]:
    """The place of the first quote, backslash or control byte from ``i`` on, or ``stop``, and the hash up to it."""
    key, start = secret[0], i
    while i < stop:
        word = next_eight(data, i, stop)
        found = ends_in(word)
        if found != _U0:
            ahead = (((found & (_U0 - found)) >> _U7) * _PLACES) >> _U56
            end: int = min(i + np.int64(ahead), stop)
            return end, last_mixed(key, word, int(ahead), end - start, secret)
        key = mixed(key, word, secret)
        i += 8
    return stop, key


@leaf
def four_digits(data: Bytes, i: int, stop: int) -> int:
    """The number of four hexadecimal digits; -1 for anything else."""
    if i + 4 > stop:
        return -1
    code = 0
    for k in range(i, i + 4):
        byte = np.int64(data[k])
        if 48 <= byte <= 57:
            byte -= 48
        elif 65 <= (byte & 0xDF) <= 70:
            byte = (byte & 0xDF) - 55
        else:
            return -1
        code = code * 16 + byte
    return code


@leaf
def put_character(buffer: Bytes, at: int, code: int) -> int:
    """Write a character in UTF-8; return the place behind it."""
    if code < 0x80:
        buffer[at] = code
        return at + 1
    if code < 0x800:
        buffer[at] = 0xC0 | code >> 6
    else:
        if code < 0x10000:
            buffer[at] = 0xE0 | code >> 12
        else:
            buffer[at] = 0xF0 | code >> 18
            at += 1
            buffer[at] = 0x80 | (code >> 12 & 0x3F)
        at += 1
        buffer[at] = 0x80 | (code >> 6 & 0x3F)
    buffer[at + 1] = 0x80 | (code & 0x3F)
    return at + 2


@leaf
def decode_string(data: Bytes, i: int, stop: int, buffer: Bytes, at: int) -> tuple[int, int]:
    """Write a string with escapes from ``i`` on to ``buffer[at:]``: the place of its last quote, or -1, and the end.

    Half of a surrogate pair becomes U+FFFD, as everywhere in the package.
    """
    while i < stop:
        byte = data[i]
        if byte == 34:
            return i, at
        if byte < 32:
            return -1, at
        if byte != 92:
            buffer[at] = byte
            at += 1
            i += 1
            continue
        i += 1
        if i >= stop:
            return -1, at
        byte = data[i]
        i += 1
        if byte == 117:  # u
            code = four_digits(data, i, stop)
            if code < 0:
                return -1, at
            i += 4
            if 0xD800 <= code < 0xDC00 and i + 6 <= stop and data[i] == 92 and data[i + 1] == 117:
                low = four_digits(data, i + 2, stop)
                if 0xDC00 <= low < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    i += 6
            if 0xD800 <= code < 0xE000:
                code = 0xFFFD
            at = put_character(buffer, at, code)
            continue
        if byte == 98:  # b
            byte = 8
        elif byte == 102:  # f
            byte = 12
        elif byte == 110:  # n
            byte = 10
        elif byte == 114:  # r
            byte = 13
        elif byte == 116:  # t
            byte = 9
        elif byte not in (34, 92, 47):
            return -1, at
        buffer[at] = byte
        at += 1
    return -1, at


@inline
def scan_string(data: Bytes, i: int, stop: int, buffer: Bytes) -> tuple[int, int, int]:
    """The place of the last quote of a string from ``i`` on, -1 for none, and the place and size of the string."""
    end = string_end(data, i, stop)
    at, size = i, end - i
    if end < stop and data[end] == 92:
        end, size = decode_string(data, i, stop, buffer, 0)
        at = ~0
    return (end if 0 <= end < stop and data[end] == 34 else -1), at, size


# Numbers and literals.


@leaf
def number_end(data: Bytes, i: int, stop: int) -> int:
    """The place behind the number that begins at ``i``; -1 if it is none of JSON."""
    if i < stop and data[i] == 45:
        i += 1
    first = i
    while i < stop and 48 <= data[i] <= 57:
        i += 1
    if i == first or (data[first] == 48 and i > first + 1):
        return -1
    if i < stop and data[i] == 46:
        i += 1
        first = i
        while i < stop and 48 <= data[i] <= 57:
            i += 1
        if i == first:
            return -1
    if i < stop and (data[i] | 32) == 101:
        i += 1
        if i < stop and (data[i] == 43 or data[i] == 45):
            i += 1
        first = i
        while i < stop and 48 <= data[i] <= 57:
            i += 1
        if i == first:
            return -1
    return i


@leaf
def digits_of(data: Bytes, at: int, size: int) -> tuple[int, int, int, int, int]:
    """A number's sign, the place of its first digit but zeros, how many digits count, and the power of ten behind them.

    The last is the hash of the digits.  Digits are followed over the point; of 0 none counts.  An exponent beyond a
    quadrillion is one.
    """
    stop, negative = at + size, np.int64(data[at] == 45)
    first, digits, nonzero, hashed, power = at, 0, 0, 0, 0
    i, pointed = at + negative, False
    while i < stop and (data[i] | 32) != 101:
        if data[i] == 46:
            pointed = True
        else:
            power -= pointed
            if digits or data[i] != 48:
                if not digits:
                    first = i
                digits += 1
                if data[i] != 48:
                    nonzero = digits
        i += 1
    exponent = 0
    if i < stop:
        i += 1
        down = data[i] == 45
        i += data[i] == 45 or data[i] == 43
        while i < stop:
            exponent = min(exponent * 10 + np.int64(data[i]) - 48, _QUADRILLION)
            i += 1
        exponent = -exponent if down else exponent
    if not nonzero:
        return 0, at, 0, 0, 0
    i, left = first, nonzero
    while left:
        if data[i] != 46:
            hashed = (hashed * 31 + np.int64(data[i])) & _MOST
            left -= 1
        i += 1
    return negative, first, nonzero, power + exponent + digits - nonzero, hashed


_QUADRILLION = 10**15
_MOST = (1 << 57) - 1


@leaf
def same_number(data: Bytes, at: int, size: int, other: Bytes, place: int, length: int) -> bool:
    """Whether two numbers are the same decimal, as 1, 1.0 and 10e-1 are."""
    if size == length and same_bytes(data, at, other, place, size):
        return True
    sign, i, digits, power, hashed = digits_of(data, at, size)
    sign_b, k, digits_b, power_b, hashed_b = digits_of(other, place, length)
    if sign != sign_b or digits != digits_b or power != power_b or hashed != hashed_b:
        return False
    while digits:
        i += data[i] == 46
        k += other[k] == 46
        if data[i] != other[k]:
            return False
        i += 1
        k += 1
        digits -= 1
    return True


@leaf
def literal(data: Bytes, i: int, stop: int) -> tuple[int, int]:
    """The kind of true, false or null at ``i``, and the place behind it; -1 for anything else."""
    if i + 4 <= stop and same_bytes(data, i, _TRUE, 0, 4):
        return TRUE, i + 4
    if i + 5 <= stop and same_bytes(data, i, _FALSE, 0, 5):
        return FALSE, i + 5
    if i + 4 <= stop and same_bytes(data, i, _NULL, 0, 4):
        return NULL, i + 4
    return NULL, -1


_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))


# Trees.


@inline
def same_piece(data: Bytes, a: Bytes, at: int, size: int, other: Bytes, b: Bytes, place: int, length: int) -> bool:
    """Whether two pieces of texts are equal; a negative place is one of the buffer."""
    if size != length:
        return False
    if at >= 0:
        if place >= 0:
            return same_bytes(data, at, other, place, size)
        return same_bytes(data, at, b, ~place, size)
    if place >= 0:
        return same_bytes(a, ~at, other, place, size)
    return same_bytes(a, ~at, b, ~place, size)


@leaf
def copy_piece(data: Bytes, buffer: Bytes, at: int, size: int, target: Bytes, place: int) -> int:
    """Copy a piece of a text; return the place behind it."""
    for k in range(size):
        target[place + k] = data[at + k] if at >= 0 else buffer[~at + k]
    return place + size


@inline
def same_key(data: Bytes, a: Bytes, nodes: Ints, one: int, other: Bytes, b: Bytes, trees: Ints, two: int) -> bool:
    """Whether two members have the same key."""
    at, size, place, length = nodes[one, KEY_AT], nodes[one, KEY_SIZE], trees[two, KEY_AT], trees[two, KEY_SIZE]
    return same_piece(data, a, at, size, other, b, place, length)


@leaf
def drop_repeated(data: Bytes, room: Room, parent: int, stop: int, stamp: int) -> int:
    """Mark the members of an object as gone behind which another one has the same key; return the next stamp."""
    nodes, buffer, slots = room.nodes, read_only(room.buffer), room.slots
    many = nodes[parent, COUNT] > FEW
    mask = len(slots) // 2 - 1
    stamp += many
    child = parent + 1
    while child < stop:
        key = nodes[child, KEY]
        slot = key & mask
        other = parent + 1
        while True:
            if many:
                if slots[2 * slot] != stamp:
                    slots[2 * slot] = stamp
                    slots[2 * slot + 1] = child
                    break
                other = slots[2 * slot + 1]
            elif other == child:
                break
            if nodes[other, KEY] == key and same_key(data, buffer, nodes, other, data, buffer, nodes, child):
                if nodes[other, KIND] != GONE:
                    nodes[parent, STATE] = 1
                    nodes[other, KIND] = GONE
                    nodes[parent, COUNT] -= 1
                if many:
                    slots[2 * slot + 1] = child
                    break
            slot = (slot + 1) & mask
            other = nodes[other, NEXT]
        child = nodes[child, NEXT]
    return stamp


@leaf
def parse(data: Bytes, start: int, stop: int, room: Room, secret: Uint64s, stamp: int) -> tuple[int, int, int]:
    """The number of rows of the tree of a text, ``INVALID`` or ``_MORE_ROOM``, its leaves, and the next stamp.

    Leaves are the values that contain no others, -1 if a key is repeated.  JSON is that of RFC 8259: no NaN or
    Infinity, no comments, no comma at the end.  Of equal keys the last counts.
    """
    nodes, buffer = room.nodes, room.buffer
    n, current, filled, leaves, repeated = 0, -1, 0, 0, False
    key, key_at, key_size, begin = 0, 0, 0, 0
    i = skip_space(data, start, stop)
    keyed = False  # whether a key comes next
    while True:
        begun = i
        if keyed or (i < stop and data[i] == 34):  # a key, or a value that is a string
            if i >= stop or data[i] != 34:
                return INVALID, 0, stamp
            hashed = _U0
            if keyed:
                end, hashed = scan_key(data, i + 1, stop, secret)
            else:
                end = string_end(data, i + 1, stop)
            at, size = i + 1, end - i - 1
            if end < stop and data[end] == 92:
                end, until = decode_string(data, i + 1, stop, buffer, filled)
                at, size = ~filled, until - filled
                hashed = hash_of(read_only(buffer), filled, size, secret)
                filled = until
            if end < 0 or end >= stop or data[end] != 34:
                return INVALID, 0, stamp
            i = end + 1
            if keyed:
                begin = begun
                i = skip_space(data, i, stop)
                if i >= stop or data[i] != 58:
                    return INVALID, 0, stamp
                i = skip_space(data, i + 1, stop)
                key, key_at, key_size, keyed = np.int64(hashed), at, size, False
                continue
            kind = STRING
        else:
            if i >= stop:
                return INVALID, 0, stamp
            at, size, byte = i, 0, data[i]
            if byte in (123, 91):
                kind = OBJECT if byte == 123 else LIST
                i += 1
            elif byte == 45 or 48 <= byte <= 57:
                kind = NUMBER
                i = number_end(data, i, stop)
            else:
                kind, i = literal(data, i, stop)
            if i < 0:
                return INVALID, 0, stamp
            size = i - at
        if n + 1 == len(nodes):  # a row is left for the number of all leaves
            return _MORE_ROOM, 0, stamp
        if current >= 0:
            if nodes[current, KIND] == LIST:
                key, key_size, begin = nodes[current, COUNT], 0, begun
            else:
                bit = np.int64(1) << (key & 63)
                nodes[current, HASH] |= nodes[current, PAIR] & bit
                nodes[current, PAIR] |= bit
            nodes[current, COUNT] += 1
        nodes[n, KIND], nodes[n, PARENT] = kind, current
        nodes[n, KEY], nodes[n, KEY_AT], nodes[n, KEY_SIZE] = key, key_at, key_size
        nodes[n, AT], nodes[n, SIZE], nodes[n, NEXT], nodes[n, COUNT] = at, size, n + 1, 0
        nodes[n, PAIR] = nodes[n, HASH] = nodes[n, STATE] = 0
        nodes[n, BEGIN], nodes[n, END], nodes[n, LEAVES] = begin if current >= 0 else begun, i, leaves
        n += 1
        if kind <= LIST:
            i = skip_space(data, i, stop)
            if i >= stop or data[i] != data[at] + 2:  # not empty
                current = n - 1
                keyed = kind == OBJECT
                continue
            i += 1
            nodes[n - 1, END] = i
        leaves += 1
        while True:  # behind a value
            i = skip_space(data, i, stop)
            if current < 0:
                nodes[n, LEAVES] = leaves
                return (n if i == stop else INVALID), -1 if repeated else leaves, stamp
            if i >= stop:
                return INVALID, 0, stamp
            byte = data[i]
            i += 1
            if byte == 44:
                i = skip_space(data, i, stop)
                keyed = nodes[current, KIND] == OBJECT
                break
            if byte != data[nodes[current, AT]] + 2:  # } and ] are two behind { and [
                return INVALID, 0, stamp
            nodes[current, NEXT], nodes[current, END] = n, i
            if nodes[current, HASH] != 0:
                stamp = drop_repeated(data, room, current, n, stamp)
                repeated |= nodes[current, STATE] != 0
            current = nodes[current, PARENT]


@kernel
def make_room(values: int, longest: int) -> Room:
    """Room for trees of so many values of texts of at most so many bytes."""
    slots = 2
    while slots < 4 * values:
        slots *= 2
    return Room(np.empty((values, _WIDTH), np.int64), np.empty(longest, np.uint8), np.zeros(slots, np.int64))


ROOM_AT_FIRST = 256
"""The values for which there is room at first."""


class Read(NamedTuple):
    """The size of a tree, or ``INVALID``, its leaves; the room, which may be a larger one; and the next stamp."""

    n: int
    leaves: int
    room: Room
    stamp: int


@kernel
def read_tree(texts: Texts, row: int, room: Room, secret: Uint64s, stamp: int) -> Read:
    """Parse a text, in more room if it needs it."""
    while True:
        n, leaves, stamp = parse(texts.data, texts.starts[row], texts.stops[row], room, secret, stamp)
        if n != _MORE_ROOM:
            return Read(n, leaves, room, stamp)
        room = make_room(2 * len(room.nodes), len(room.buffer))
        stamp = 0


@kernel
def longest(texts: Texts) -> int:
    """The bytes of the longest text."""
    most = 0
    for row in range(len(texts.starts)):
        most = max(most, texts.stops[row] - texts.starts[row])
    return most


@kernel
def depths(texts: Texts, secret: Uint64s) -> Ints:
    """How deep the values of each text are nested, 1 for a single one; -1 for a text that is no JSON."""
    found = np.full(len(texts.starts), -1, np.int64)
    room, stamp = make_room(ROOM_AT_FIRST, longest(texts)), 0
    for row in range(len(texts.starts)):
        n, _, room, stamp = read_tree(texts, row, room, secret, stamp)
        nodes = room.nodes
        for node in range(n):
            nodes[node, HASH] = 1 if node == 0 else nodes[nodes[node, PARENT], HASH] + 1
            found[row] = max(found[row], nodes[node, HASH])
    return found
