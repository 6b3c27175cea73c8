"""Comparing texts of JSON: which values of two texts are at the same place, whatever the order of keys, and are equal.

``kernels.json_reader`` reads the texts.  Without options, a text is compared with the tree of the other while it is
read; what this cannot decide needs two trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.json_reader import (
    AT,
    BEGIN,
    COUNT,
    END,
    FEW,
    GONE,
    HASH,
    INVALID,
    KEY,
    KEY_AT,
    KEY_SIZE,
    KIND,
    LEAVES,
    LIST,
    NEXT,
    NULL,
    NUMBER,
    OBJECT,
    PAIR,
    PARENT,
    ROOM_AT_FIRST,
    RULE,
    SIZE,
    STATE,
    STRING,
    Room,
    Texts,
    copy_piece,
    digits_of,
    hash_of,
    literal,
    longest,
    make_room,
    mixed,
    number_end,
    read_tree,
    same_key,
    same_number,
    same_piece,
    scan_string,
    skip_space,
)
from fastmetrics.kernels.simd.blocks import BLOCK, read_only, trailing_zeros, unequal

_U0, _U3 = np.uint64(0), np.uint64(3)

# Comparing two trees.


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
        if parent < 0 or nodes[node, KIND] == GONE or nodes[parent, KIND] != OBJECT or nodes[parent, COUNT] <= FEW:
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
    if found < 0 and trees[parent, COUNT] <= FEW:
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


_UNSURE = -3
_MANY = 64
"""The most members of an object of the tree that are searched for a key one by one."""


class Walked(NamedTuple):
    """Of a text: its values that contain no others, those at a place of the tree, and the equal ones.

    ``of_text`` is ``INVALID``, or ``_UNSURE`` if only two trees tell.
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


_LEVELS = 64
"""The levels of a text that is compared with a tree while it is read."""

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
    none, unsure = Walked(INVALID, 0, 0), Walked(_UNSURE, 0, 0)
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
                    return Walked(of_text if i == stop else INVALID, shared, equal)
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
    room, stamp = make_room(ROOM_AT_FIRST, longest(a)), 0
    room_b, stamp_b = make_room(ROOM_AT_FIRST, longest(b)), 0
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
                found[row, VALID_A] = walked.of_text != INVALID
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
