"""Texts of JSON: their trees, and which values of two trees are at the same place, whatever the order of the keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.rankings import same_bytes
from fastmetrics.kernels.simd.blocks import BLOCK, eight, read_only, trailing_zeros, unequal
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

_INVALID, _MORE_ROOM, _UNSURE = -1, -2, -3
_FEW, _MANY = 8, 64
"""Objects of few members are searched one by one, those of many with a hash table only."""

_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _ESCAPES, _SPACES = (np.uint64(0x0101010101010101 * byte) for byte in (0x22, 0x5C, 0x20))
_PLACES = np.uint64(0x0001020304050607)
_U0, _U2, _U3, _U7, _U56 = (np.uint64(n) for n in (0, 2, 3, 7, 56))
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


@inline
def same_key(data: Bytes, a: Bytes, nodes: Ints, one: int, other: Bytes, b: Bytes, trees: Ints, two: int) -> bool:
    """Whether two members have the same key."""
    at, size, place, length = nodes[one, KEY_AT], nodes[one, KEY_SIZE], trees[two, KEY_AT], trees[two, KEY_SIZE]
    return same_piece(data, a, at, size, other, b, place, length)


@leaf
def drop_repeated(data: Bytes, room: Room, parent: int, stop: int, stamp: int) -> int:
    """Mark the members of an object as gone behind which another one has the same key; return the next stamp."""
    nodes, buffer, slots = room.nodes, read_only(room.buffer), room.slots
    many = nodes[parent, COUNT] > _FEW
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
    """The number of rows of the tree of a text, ``_INVALID`` or ``_MORE_ROOM``, its leaves, and the next stamp.

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
                return _INVALID, 0, stamp
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
                return _INVALID, 0, stamp
            i = end + 1
            if keyed:
                begin = begun
                i = skip_space(data, i, stop)
                if i >= stop or data[i] != 58:
                    return _INVALID, 0, stamp
                i = skip_space(data, i + 1, stop)
                key, key_at, key_size, keyed = np.int64(hashed), at, size, False
                continue
            kind = STRING
        else:
            if i >= stop:
                return _INVALID, 0, stamp
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
                return _INVALID, 0, stamp
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
                return (n if i == stop else _INVALID), -1 if repeated else leaves, stamp
            if i >= stop:
                return _INVALID, 0, stamp
            byte = data[i]
            i += 1
            if byte == 44:
                i = skip_space(data, i, stop)
                keyed = nodes[current, KIND] == OBJECT
                break
            if byte != data[nodes[current, AT]] + 2:  # } and ] are two behind { and [
                return _INVALID, 0, stamp
            nodes[current, NEXT], nodes[current, END] = n, i
            if nodes[current, HASH] != 0:
                stamp = drop_repeated(data, room, current, n, stamp)
                repeated |= nodes[current, STATE] != 0
            current = nodes[current, PARENT]


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


# Comparing two trees.


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


class Fields(NamedTuple):
    """Paths with rules, as a tree of states: ``states[k]`` has the step k to ``targets[k]``.

    A step is a key ``data[starts[k]:stops[k]]``, or, if it is empty from -1 on, any item of a list.  ``rules`` has the
    rule of each state: ``IGNORED``, 0 for none, or the number of a comparison by text.
    """

    data: Bytes
    starts: Ints
    stops: Ints
    states: Ints
    targets: Ints
    rules: Ints


IGNORED = -1


@leaf
def apply_fields(data: Bytes, room: Room, n: int, fields: Fields) -> None:
    """Set state and rule of each value; what a field contains has its rule."""
    nodes, buffer = room.nodes, read_only(room.buffer)
    nodes[0, STATE], nodes[0, RULE] = 0, fields.rules[0]
    for node in range(1, n):
        parent = nodes[node, PARENT]
        nodes[node, STATE], nodes[node, RULE] = -1, nodes[parent, RULE]
        state = nodes[parent, STATE]
        if state < 0:
            continue
        for k in range(len(fields.states)):
            if fields.states[k] != state or (fields.starts[k] < 0) != (nodes[parent, KIND] == LIST):
                continue
            size = fields.stops[k] - fields.starts[k]
            at, length = nodes[node, KEY_AT], nodes[node, KEY_SIZE]
            if fields.starts[k] < 0 or same_piece(
                data, buffer, at, length, fields.data, buffer, fields.starts[k], size
            ):
                nodes[node, STATE] = fields.targets[k]
                if fields.rules[fields.targets[k]] != 0:
                    nodes[node, RULE] = fields.rules[fields.targets[k]]
                break


@leaf
def hash_values(data: Bytes, room: Room, n: int, secret: Uint64s) -> None:
    """The hash of each value: equal for equal ones, whatever the order of members and items."""
    nodes, buffer = room.nodes, read_only(room.buffer)
    for node in range(n):
        nodes[node, HASH] = nodes[node, KIND] + 1
    for node in range(n - 1, -1, -1):
        kind = nodes[node, KIND]
        if kind == GONE or nodes[node, RULE] == IGNORED:
            continue
        key = np.uint64(nodes[node, HASH])
        if kind == STRING:
            at = nodes[node, AT]
            if at >= 0:
                key ^= hash_of(data, at, nodes[node, SIZE], secret)
            else:
                key ^= hash_of(buffer, ~at, nodes[node, SIZE], secret)
        elif kind == NUMBER:
            sign, _, digits, power, hashed = digits_of(data, nodes[node, AT], nodes[node, SIZE])
            key ^= mixed(secret[0] ^ np.uint64(hashed), np.uint64(digits * 2 + sign), secret)
            key = mixed(key, np.uint64(power & _LARGEST), secret)
        parent = nodes[node, PARENT]
        key = mixed(key ^ secret[0], _U3, secret) >> _U3
        nodes[node, HASH] = np.int64(key)
        if parent >= 0:
            if nodes[parent, KIND] == OBJECT:
                key = mixed(key ^ secret[0], np.uint64(nodes[node, KEY]), secret) >> _U3
            nodes[parent, HASH] = (nodes[parent, HASH] + np.int64(key)) & _LARGEST


_LARGEST = (1 << 62) - 1


@kernel
def pair_items(a: Ints, one: int, b: Ints, two: int) -> None:
    """Pair the items of two lists in any order: equal ones first, the others one after another."""
    ours, theirs = np.empty(a[one, COUNT], np.int64), np.empty(b[two, COUNT], np.int64)
    child = one + 1
    for k in range(len(ours)):
        ours[k] = child
        a[child, PAIR] = -1
        child = a[child, NEXT]
    child = two + 1
    for k in range(len(theirs)):
        theirs[k] = child
        child = b[child, NEXT]
    by_hash = np.argsort(a[ours, HASH], kind="mergesort")
    by_hash_b = np.argsort(b[theirs, HASH], kind="mergesort")
    left = np.ones(len(theirs), np.bool_)
    i = k = 0
    while i < len(ours) and k < len(theirs):
        hashed, other = a[ours[by_hash[i]], HASH], b[theirs[by_hash_b[k]], HASH]
        if hashed == other:
            a[ours[by_hash[i]], PAIR] = theirs[by_hash_b[k]]
            left[by_hash_b[k]] = False
        i += hashed <= other
        k += other <= hashed
    k = 0
    for i in range(len(ours)):
        if a[ours[i], PAIR] >= 0:
            continue
        while k < len(theirs) and not left[k]:
            k += 1
        if k == len(theirs):
            return
        a[ours[i], PAIR] = theirs[k]
        k += 1


@leaf
def list_members(room: Room, n: int, stamp: int) -> None:
    """Put the members of all objects with many into the hash table; begin each search at the first value."""
    nodes, slots = room.nodes, room.slots
    mask = len(slots) // 2 - 1
    for node in range(n):
        nodes[node, PAIR] = node + 1
        parent = nodes[node, PARENT]
        if parent < 0 or nodes[node, KIND] == GONE or nodes[parent, KIND] != OBJECT or nodes[parent, COUNT] <= _FEW:
            continue
        slot = (nodes[node, KEY] + parent) & mask
        while slots[2 * slot] == stamp:
            slot = (slot + 1) & mask
        slots[2 * slot], slots[2 * slot + 1] = stamp, node


@inline
def find_member(data: Bytes, a: Room, node: int, other: Bytes, b: Room, parent: int, stamp: int) -> int:
    """The member of the object ``parent`` of b that has the key of ``node`` of a; -1 without one."""
    nodes, trees, buffer, buffer_b = a.nodes, b.nodes, read_only(a.buffer), read_only(b.buffer)
    key, stop, found = nodes[node, KEY], trees[parent, NEXT], -1
    member = trees[parent, PAIR]
    if member < stop and trees[member, KIND] != GONE and trees[member, KEY] == key:  # the keys have the same order
        found = member if same_key(data, buffer, nodes, node, other, buffer_b, trees, member) else -1
    if found < 0 and trees[parent, COUNT] <= _FEW:
        member = parent + 1
        while member < stop and found < 0:
            if trees[member, KIND] != GONE and trees[member, KEY] == key:
                found = member if same_key(data, buffer, nodes, node, other, buffer_b, trees, member) else -1
            member = trees[member, NEXT]
    elif found < 0:
        mask = len(b.slots) // 2 - 1
        slot = (key + parent) & mask
        while b.slots[2 * slot] == stamp and found < 0:
            member = b.slots[2 * slot + 1]
            if trees[member, PARENT] == parent and trees[member, KEY] == key:
                found = member if same_key(data, buffer, nodes, node, other, buffer_b, trees, member) else -1
            slot = (slot + 1) & mask
    if found >= 0:
        trees[parent, PAIR] = trees[found, NEXT]
    return found


@leaf
def count_values(nodes: Ints, n: int) -> int:
    """The values that contain no others, without those of ignored fields."""
    count = node = 0
    while node < n:
        if nodes[node, KIND] == GONE:
            node = nodes[node, NEXT]
            continue
        count += nodes[node, COUNT] == 0 and nodes[node, RULE] != IGNORED
        node += 1
    return count


class Counts(NamedTuple):
    """Of two trees: the values at the same place in both, the equal ones, the open ones, and the bytes of these."""

    shared: int
    equal: int
    open: int
    size: int


OPEN_NUMBER = 0
"""The rule of two numbers that differ, and may be near enough."""


@kernel
def match_values(
    data: Bytes, a: Room, n: int, other: Bytes, b: Room, n_b: int, any_order: bool, near: bool, stamp: int
) -> Counts:
    """Find for each value of a that contains no others the one of b at the same place, and compare them.

    Pairs that another comparison must decide are open: they keep their ``PAIR``; that of all others is -1.
    """
    nodes, trees, buffer, buffer_b = a.nodes, b.nodes, read_only(a.buffer), read_only(b.buffer)
    list_members(b, n_b, stamp)
    shared = equal = opened = size = node = 0
    while node < n:
        kind = nodes[node, KIND]
        if kind == GONE:
            node = nodes[node, NEXT]
            continue
        parent, pair = nodes[node, PARENT], -1
        if parent < 0:
            pair = 0
        elif nodes[parent, PAIR] >= 0 and trees[nodes[parent, PAIR], KIND] == nodes[parent, KIND]:
            above = nodes[parent, PAIR]
            if nodes[parent, KIND] == OBJECT:
                pair = find_member(data, a, node, other, b, above, stamp)
            elif any_order:
                pair = nodes[node, PAIR]
            elif trees[above, PAIR] < trees[above, NEXT]:
                pair = trees[above, PAIR]
                trees[above, PAIR] = trees[pair, NEXT]
        nodes[node, PAIR] = pair
        if any_order and pair >= 0 and kind == LIST and trees[pair, KIND] == LIST:
            pair_items(nodes, node, trees, pair)
        if nodes[node, COUNT] == 0:
            nodes[node, PAIR] = -1
            rule = nodes[node, RULE]
            if pair >= 0 and trees[pair, COUNT] == 0 and rule != IGNORED:
                shared += 1
                at, place, length = nodes[node, AT], trees[pair, AT], trees[pair, SIZE]
                same = kind == trees[pair, KIND]
                if same and kind == STRING:
                    same = same_piece(data, buffer, at, nodes[node, SIZE], other, buffer_b, place, length)
                elif same and kind == NUMBER:
                    same = same_number(data, at, nodes[node, SIZE], other, place, length)
                texts = LIST < kind < NULL and LIST < trees[pair, KIND] < NULL
                numbers = near and kind == NUMBER and trees[pair, KIND] == NUMBER
                if (rule > 0 and texts) or (rule == 0 and numbers and not same):
                    nodes[node, PAIR] = pair
                    opened += 1
                    size += nodes[node, SIZE] + length
                else:
                    equal += same
        node += 1
    return Counts(shared, equal, opened, size)


# Comparing a text with a tree, without one of its own.


class Walked(NamedTuple):
    """Of a text: its values that contain no others, those at a place of the tree, and the equal ones.

    ``of_text`` is ``_INVALID``, or ``_UNSURE`` if only two trees tell.
    """

    of_text: int
    shared: int
    equal: int


@leaf
def find_key(
    data: Bytes, buffer: Bytes, key: int, at: int, size: int, other: Bytes, b: Room, parent: int, first: int
) -> int:
    """The member of an object that has a key, from ``first`` on and then from the beginning; -1 without one."""
    trees, member = b.nodes, first
    for _ in range(trees[parent, COUNT]):
        if member == trees[parent, NEXT]:
            member = parent + 1
        if trees[member, KEY] == key:
            place, length = trees[member, KEY_AT], trees[member, KEY_SIZE]
            if same_piece(data, buffer, at, size, other, read_only(b.buffer), place, length):
                return member
        member = trees[member, NEXT]
    return -1


@inline
def scan_string(data: Bytes, i: int, stop: int, buffer: Bytes) -> tuple[int, int, int]:
    """The place of the last quote of a string from ``i`` on, -1 for none, and the place and size of the string."""
    end = string_end(data, i, stop)
    at, size = i, end - i
    if end < stop and data[end] == 92:
        end, size = decode_string(data, i, stop, buffer, 0)
        at = ~0
    return (end if 0 <= end < stop and data[end] == 34 else -1), at, size


@inline
def agreed_until(data: Bytes, i: int, stop: int, other: Bytes, k: int, end: int) -> int:
    """The place of the first byte from ``i`` on that differs from that of the other text, or is behind one of them."""
    until = min(stop, i + end - k)
    while i < until:
        if i + BLOCK <= len(data) and k + BLOCK <= len(other):
            differ = unequal(data, np.uint64(i), other, np.uint64(k))
            if differ != _U0:
                return min(i + np.int64(trailing_zeros(differ)), until)
            i, k = i + BLOCK, k + BLOCK
        elif data[i] != other[k]:
            return i
        else:
            i, k = i + 1, k + 1
    return until


OF_OPEN = 4
"""What is known of an open object or list of a text: the value of the tree, the next one to expect in it, whether it is
a list, and the hashes of the keys that the tree does not have, as bits."""


@leaf
def walk(texts: Texts, row: int, buffer: Bytes, others: Texts, b: Room, opened: Ints, secret: Uint64s) -> Walked:
    """Compare a text with the tree of another, while it is read.

    What is equal byte by byte, from the beginning of a member or item of the tree to behind its end, is not read again.
    A text with a key twice, of two keys whose hashes have a bit in common, or of too many levels needs a tree.
    """
    data, stop, other, end_b = texts.data, texts.stops[row], others.data, others.stops[row]
    trees, buffer_b, stamp = b.nodes, read_only(b.buffer), row + 1
    depth = of_text = shared = equal = pair = 0
    above, ahead, is_list, unknown = -1, 0, True, np.int64(0)
    none, unsure = Walked(_INVALID, 0, 0), Walked(_UNSURE, 0, 0)
    i = skip_space(data, texts.starts[row], stop)
    shift = i - trees[0, BEGIN]
    agreed = agreed_until(data, i, stop, other, trees[0, BEGIN], end_b)
    if agreed == stop and stop - shift == end_b:
        n = trees[trees[0, NEXT], LEAVES]
        return Walked(n, n, n)
    while True:
        if i >= stop:
            return none
        byte, same, is_open = data[i], False, False
        kind = trees[pair, KIND] if pair >= 0 else GONE
        if byte == 34:
            end, at, size = scan_string(data, i + 1, stop, buffer)
            if end < 0:
                return none
            if kind == STRING:
                place, length = trees[pair, AT], trees[pair, SIZE]
                same = same_piece(data, read_only(buffer), at, size, other, buffer_b, place, length)
            i = end + 1
        elif byte in (123, 91):
            same = kind == (OBJECT if byte == 123 else LIST)
            i = skip_space(data, i + 1, stop)
            is_open = i >= stop or data[i] != byte + 2
            if not is_open:
                same = same and trees[pair, COUNT] == 0
                i += 1
        elif byte == 45 or 48 <= byte <= 57:
            end = number_end(data, i, stop)
            if end < 0:
                return none
            same = kind == NUMBER and same_number(data, i, end - i, other, trees[pair, AT], trees[pair, SIZE])
            i = end
        else:
            found, i = literal(data, i, stop)
            if i < 0:
                return none
            same = kind == found
        if is_open:
            if depth == len(opened):
                return unsure
            opened[depth, 0], opened[depth, 1], opened[depth, 2], opened[depth, 3] = above, ahead, is_list, unknown
            depth += 1
            above, ahead, is_list, unknown = pair if same else -1, pair + 1, byte == 91, 0
        else:
            of_text += 1
            if pair >= 0 and trees[pair, COUNT] == 0:
                shared += 1
                equal += same
        while True:
            while not is_open:  # behind a value
                i = skip_space(data, i, stop)
                if depth == 0:
                    return Walked(of_text if i == stop else _INVALID, shared, equal)
                if i >= stop:
                    return none
                byte = data[i]
                i += 1
                if byte == 44:
                    i = skip_space(data, i, stop)
                    break
                if byte != (93 if is_list else 125):
                    return none
                depth -= 1
                above, ahead, is_list, unknown = (
                    opened[depth, 0],
                    opened[depth, 1],
                    opened[depth, 2] != 0,
                    opened[depth, 3],
                )
            is_open = False
            pair = ahead if above >= 0 and ahead < trees[above, NEXT] else -1
            if pair >= 0 and (i >= agreed or shift != i - trees[pair, BEGIN]):
                shift = i - trees[pair, BEGIN]
                agreed = agreed_until(data, i, stop, other, trees[pair, BEGIN], end_b)
            end = i - 1
            if not is_list:
                if i >= stop or data[i] != 34:
                    return none
                if pair >= 0 and trees[pair, KEY_AT] >= 0 and agreed > i + 1 + trees[pair, KEY_SIZE]:
                    end = i + 1 + trees[pair, KEY_SIZE]
                else:
                    end, at, size = scan_string(data, i + 1, stop, buffer)
                    if end < 0 or (above >= 0 and trees[above, COUNT] > _MANY):
                        return none if end < 0 else unsure
                    hashed = hash_of(data, at, size, secret) if at >= 0 else hash_of(read_only(buffer), 0, size, secret)
                    key, pair = np.int64(hashed), -1
                    if above >= 0:
                        pair = find_key(data, read_only(buffer), key, at, size, other, b, above, ahead)
                    if pair < 0:
                        bit = np.int64(1) << (key & 63)
                        if unknown & bit:
                            return unsure
                        unknown |= bit
                    elif shift != i - trees[pair, BEGIN]:
                        shift = i - trees[pair, BEGIN]
                        agreed = agreed_until(data, i, stop, other, trees[pair, BEGIN], end_b)
                if pair >= 0 and trees[pair, STATE] == stamp:
                    return unsure
            if pair >= 0:
                trees[pair, STATE] = stamp
                ahead = trees[pair, NEXT]
                if agreed > trees[pair, END] + shift:
                    first = pair
                    while (
                        ahead < trees[above, NEXT]
                        and agreed > trees[ahead, END] + shift
                        and trees[ahead, STATE] != stamp
                    ):
                        trees[ahead, STATE] = stamp
                        pair, ahead = ahead, trees[ahead, NEXT]
                    n = trees[ahead, LEAVES] - trees[first, LEAVES]
                    of_text, shared, equal = of_text + n, shared + n, equal + n
                    i = trees[pair, END] + shift
                    continue
            if not is_list:
                i = skip_space(data, end + 1, stop)
                if i >= stop or data[i] != 58:
                    return none
                i = skip_space(data, i + 1, stop)
            break


# Whole columns.


@kernel
def make_room(values: int, longest: int) -> Room:
    """Room for trees of so many values of texts of at most so many bytes."""
    slots = 2
    while slots < 4 * values:
        slots *= 2
    return Room(np.empty((values, _WIDTH), np.int64), np.empty(longest, np.uint8), np.zeros(slots, np.int64))


class Read(NamedTuple):
    """The size of a tree, or ``_INVALID``, its leaves; the room, which may be a larger one; and the next stamp."""

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


_LEVELS = 64
"""The levels of a text that is compared with a tree while it is read."""
_VALUES = 256
"""The values for which there is room at first."""


@kernel
def depths(texts: Texts, secret: Uint64s) -> Ints:
    """How deep the values of each text are nested, 1 for a single one; -1 for a text that is no JSON."""
    found = np.full(len(texts.starts), -1, np.int64)
    room, stamp = make_room(_VALUES, longest(texts)), 0
    for row in range(len(texts.starts)):
        n, _, room, stamp = read_tree(texts, row, room, secret, stamp)
        nodes = room.nodes
        for node in range(n):
            nodes[node, HASH] = 1 if node == 0 else nodes[nodes[node, PARENT], HASH] + 1
            found[row] = max(found[row], nodes[node, HASH])
    return found


class Open(NamedTuple):
    """Pairs of values that another comparison must decide, of the row ``rows[k]`` by the rule ``rules[k]``.

    The texts are ``data[bounds[2 * k]:bounds[2 * k + 1]]`` and the next; ``equal`` says whether they are equal.
    """

    rows: Ints
    rules: Ints
    equal: Flags
    data: Bytes
    bounds: Ints


@leaf
def copy_piece(data: Bytes, buffer: Bytes, at: int, size: int, target: Bytes, place: int) -> int:
    """Copy a piece of a text; return the place behind it."""
    for k in range(size):
        target[place + k] = data[at + k] if at >= 0 else buffer[~at + k]
    return place + size


@leaf
def keep_open(data: Bytes, a: Room, n: int, other: Bytes, b: Room, row: int, kept: Open, k: int) -> int:
    """Copy the open pairs of a row behind the ``k`` that are kept; return how many are then kept."""
    nodes, trees, buffer, buffer_b = a.nodes, b.nodes, read_only(a.buffer), read_only(b.buffer)
    node = 0
    while node < n:
        here, pair = node, nodes[node, PAIR]
        node = node + 1 if nodes[node, KIND] != GONE else nodes[node, NEXT]
        if nodes[here, COUNT] or pair < 0 or nodes[here, KIND] == GONE:
            continue
        at, size, place, length = nodes[here, AT], nodes[here, SIZE], trees[pair, AT], trees[pair, SIZE]
        kept.rows[k], kept.rules[k] = row, nodes[here, RULE]
        kept.equal[k] = nodes[here, KIND] == trees[pair, KIND] and same_piece(
            data, buffer, at, size, other, buffer_b, place, length
        )
        kept.bounds[2 * k + 1] = copy_piece(data, buffer, at, size, kept.data, kept.bounds[2 * k])
        kept.bounds[2 * k + 2] = copy_piece(other, buffer_b, place, length, kept.data, kept.bounds[2 * k + 1])
        k += 1
    return k


@kernel
def grown(kept: Open, k: int, more: int, size: int) -> Open:
    """``k`` open pairs with room for ``more`` of ``size`` bytes together."""
    used = kept.bounds[2 * k]
    if k + more <= len(kept.rows) and used + size <= len(kept.data):
        return kept
    n, m = 2 * (k + more), 2 * (used + size)
    rows, rules, bounds = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2 * n + 1, np.int64)
    new = Open(rows, rules, np.empty(n, np.bool_), np.empty(m, np.uint8), bounds)
    new.rows[:k], new.rules[:k], new.equal[:k] = kept.rows[:k], kept.rules[:k], kept.equal[:k]
    new.data[:used] = kept.data[:used]
    new.bounds[: 2 * k + 1] = kept.bounds[: 2 * k + 1]
    return new


VALID_A, VALID_B, OF_A, OF_B, SHARED, EQUAL = range(6)
"""The columns of what is counted of two texts: whether each is JSON, their values, those at one place, equal ones."""


@kernel
def compare(a: Texts, b: Texts, secret: Uint64s, fields: Fields, any_order: bool, near: bool) -> tuple[Ints, Open, int]:
    """What is counted of each pair of texts, and the open pairs of values with their number."""
    found = np.zeros((len(a.starts), 6), np.int64)
    room, stamp = make_room(_VALUES, longest(a)), 0
    room_b, stamp_b = make_room(_VALUES, longest(b)), 0
    nothing = np.empty(0, np.int64)
    kept, k = Open(nothing, nothing, np.empty(0, np.bool_), np.empty(0, np.uint8), np.zeros(1, np.int64)), 0
    ruled = len(fields.states) > 0 or fields.rules[0] != 0
    plain = not (ruled or any_order or near)
    opened, before = np.empty((_LEVELS, OF_OPEN), np.int64), -1
    n_b = leaves = 0
    for row in range(len(a.starts)):
        if before < 0 or b.starts[row] != b.starts[before] or b.stops[row] != b.stops[before]:
            n_b, leaves, room_b, stamp_b = read_tree(b, row, room_b, secret, stamp_b)
        before = row
        found[row, VALID_B] = n_b >= 0
        if n_b < 0:
            continue
        if plain and leaves >= 0:
            walked = walk(a, row, room.buffer, b, room_b, opened, secret)
            if walked.of_text != _UNSURE:
                found[row, VALID_A] = walked.of_text != _INVALID
                found[row, OF_A], found[row, OF_B] = walked.of_text, leaves
                found[row, SHARED], found[row, EQUAL] = walked.shared, walked.equal
                continue
        n, _, room, stamp = read_tree(a, row, room, secret, stamp)
        found[row, VALID_A] = n >= 0
        if n < 0:
            continue
        before = -1  # what follows writes to the tree
        if ruled:
            apply_fields(a.data, room, n, fields)
            apply_fields(b.data, room_b, n_b, fields)
        else:
            room.nodes[:n, RULE] = 0
            room_b.nodes[:n_b, RULE] = 0
        if any_order:
            hash_values(a.data, room, n, secret)
            hash_values(b.data, room_b, n_b, secret)
        stamp_b += 1
        counts = match_values(a.data, room, n, b.data, room_b, n_b, any_order, near, stamp_b)
        found[row, OF_A], found[row, OF_B] = count_values(room.nodes, n), count_values(room_b.nodes, n_b)
        found[row, SHARED], found[row, EQUAL] = counts.shared, counts.equal
        if counts.open:
            kept = grown(kept, k, counts.open, counts.size)
            k = keep_open(a.data, room, n, b.data, room_b, row, kept, k)
    return found, kept, k
