"""Where the answer stands in each text: behind marks, in a box, on a line, in a fence, as a number, or behind a cue."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ints
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, kernel, leaf

# White space as ``str.strip`` has it, and ends of lines as ``str.splitlines`` has them, in UTF-8.


@leaf
def space_at(data: Bytes, i: int, stop: int) -> int:
    """The size of the white space character at ``i``; 0 for another character."""
    byte = data[i]
    if byte < 128:
        return int(byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31)
    if byte == 0xC2:
        return 2 * int(i + 1 < stop and data[i + 1] in (0x85, 0xA0))
    if i + 2 >= stop or byte not in (0xE1, 0xE2, 0xE3):
        return 0
    second, third = data[i + 1], data[i + 2]
    if byte == 0xE1:
        return 3 * int(second == 0x9A and third == 0x80)
    if byte == 0xE3:
        return 3 * int(second == 0x80 and third == 0x80)
    spaces = second == 0x80 and (0x80 <= third <= 0x8A or third in (0xA8, 0xA9, 0xAF))
    return 3 * int(spaces or (second == 0x81 and third == 0x9F))


@leaf
def break_at(data: Bytes, i: int, stop: int) -> int:
    """The size of the end of a line at ``i``; 0 for another character."""
    byte = data[i]
    if byte < 128:
        return int(10 <= byte <= 13 or 28 <= byte <= 30)
    if byte == 0xC2:
        return 2 * int(i + 1 < stop and data[i + 1] == 0x85)
    return 3 * int(byte == 0xE2 and i + 2 < stop and data[i + 1] == 0x80 and data[i + 2] in (0xA8, 0xA9))


@leaf
def ends_line(data: Bytes, start: int, i: int, stop: int) -> bool:
    """Whether an end of a line is right before ``i``."""
    one = i > start and break_at(data, i - 1, stop) == 1
    two = i - 1 > start and break_at(data, i - 2, stop) == 2
    return one or two or (i - 2 > start and break_at(data, i - 3, stop) == 3)


@leaf
def after_space(data: Bytes, i: int, stop: int) -> int:
    """The place of the first character that is no white space."""
    size = 1
    while i < stop and size > 0:
        size = space_at(data, i, stop)
        i += size
    return i


@leaf
def before_space(data: Bytes, start: int, stop: int) -> int:
    """The end of the last character that is no white space."""
    while stop > start:
        size = 1
        while size < 3 and stop - size > start and data[stop - size] & 0xC0 == 0x80:
            size += 1
        if space_at(data, stop - size, stop) != size:
            return stop
        stop -= size
    return stop


@leaf
def begins_with(data: Bytes, i: int, stop: int, word: Bytes) -> bool:
    """Whether the bytes at ``i`` are a word."""
    same, k = i + len(word) <= stop, 0
    while same and k < len(word):
        same = data[i + k] == word[k]
        k += 1
    return same


# The span of the answer in each text, which is empty if there is none.


@kernel
def behind_hashes(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The rest of the line behind the last ``####``."""
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        i, stop = stops[row] - 4, stops[row]
        while i >= starts[row]:
            if data[i] == 35 and data[i + 1] == 35 and data[i + 2] == 35 and data[i + 3] == 35:
                begin = after_space(data, i + 4, stop)
                end = begin
                while end < stop and data[end] != 10:
                    end += 1
                begins[row], ends[row] = begin, before_space(data, begin, end)
                break
            i -= 1
    return begins, ends


@kernel
def whole_texts(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The text without the white space around it."""
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        begins[row] = after_space(data, starts[row], stops[row])
        ends[row] = before_space(data, begins[row], stops[row])
    return begins, ends


@kernel
def lines_at(data: Bytes, starts: Ints, stops: Ints, last: bool) -> tuple[Ints, Ints]:
    """The first or the last line that is not blank."""
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        start = after_space(data, starts[row], stops[row])
        stop = before_space(data, start, stops[row])
        if last:
            i = stop
            while i > start and not ends_line(data, start, i, stop):
                i -= 1
            begins[row], ends[row] = after_space(data, i, stop), stop
        else:
            i = start
            while i < stop and break_at(data, i, stop) == 0:
                i += 1
            begins[row], ends[row] = start, before_space(data, start, i)
    return begins, ends


BOXED, FBOX = np.frombuffer(b"\\boxed", np.uint8), np.frombuffer(b"\\fbox", np.uint8)


@kernel
def in_boxes(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints, Flags]:
    r"""The contents of the last ``\boxed{…}``, whose braces may be nested, or the word after ``\boxed``.

    Also whether there are commands of LaTeX in braces.
    """
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    commands = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        i = stop - 5
        while i >= start:
            size = 0
            if data[i] == 92:
                size = 6 * int(begins_with(data, i, stop, BOXED)) + 5 * int(begins_with(data, i, stop, FBOX))
            if size > 0:
                at = after_space(data, i + size, stop)
                begins[row], ends[row] = box_at(data, at, stop)
                for k in range(begins[row], ends[row]):
                    commands[row] = commands[row] or (data[k] == 92 and data[at] == 123)
                break
            i -= 1
    return begins, ends, commands


@leaf
def box_at(data: Bytes, i: int, stop: int) -> tuple[int, int]:
    """The contents of the braces at ``i``, or the word there."""
    if i < stop and data[i] != 123:
        end = i
        while end < stop and space_at(data, end, stop) == 0:
            end += 1
        while end > i and data[end - 1] in (36, 46):  # $ .
            end -= 1
        return i, end
    depth, end = 0, i
    while end < stop:
        depth += int(data[end] == 123) - int(data[end] == 125)
        if depth == 0:
            begin = after_space(data, i + 1, end)
            return begin, before_space(data, begin, end)
        end += 1
    return i, i


@leaf
def is_fence(data: Bytes, i: int, stop: int) -> bool:
    """Whether three backticks stand at ``i``."""
    return i + 2 < stop and data[i] == 96 and data[i + 1] == 96 and data[i + 2] == 96


@kernel
def in_fences(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The contents of the last fenced block, up to the next fence that begins a line."""
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        while i < stop:
            head = i + 3
            if is_fence(data, i, stop):
                while head < stop and data[head] not in (10, 96):
                    head += 1
            if not is_fence(data, i, stop) or head >= stop or data[head] != 10:
                i += 1
                continue
            end, after = head + 1, stop
            while end < stop:
                if data[end] == 10:
                    after = end + 1
                    while after < stop and data[after] in (32, 9):
                        after += 1
                    if is_fence(data, after, stop):
                        after += 3
                        break
                end += 1
            begin = after_space(data, head + 1, end)
            begins[row], ends[row] = begin, before_space(data, begin, end)
            i = after if end < stop else stop
    return begins, ends


@leaf
def number_at(data: Bytes, i: int, stop: int, is_digit: Flags, is_word: Flags) -> int:
    """The end of the number that begins at ``i`` with its sign or currency; ``i`` if none does."""
    begin = i
    sign = int(data[i] in (45, 43)) if data[i] < 128 else 3 * int(begins_with(data, i, stop, MINUS))
    i += sign
    if i >= stop:
        return begin
    code, after = decode(data, i)
    if code in (0x24, 0x20AC, 0xA3, 0xA5, 0x20BD):
        i = after
        if i < stop:
            i += space_at(data, i, stop)
    i = digits_at(data, i, stop, is_digit, ALL)
    if i < 0:
        return begin
    # Groups of three digits, of which the last are given up one by one if the number does not end behind them.
    groups = 0
    ends = i
    while ends < stop and data[ends] in (44, 32, 39):
        group = digits_at(data, ends + 1, stop, is_digit, 3)
        if group < 0:
            break
        ends = group
        groups += 1
    while True:
        at = i
        for _ in range(groups):
            at = digits_at(data, at + 1, stop, is_digit, 3)
        decimals = digits_at(data, at + 1, stop, is_digit, ALL) if at < stop and data[at] in (46, 44) else -1
        for place in (decimals, at):
            if place >= 0:
                sized = place + space_at(data, place, stop) if place < stop else place
                for percent in (sized, place):
                    if percent < stop and data[percent] == 37 and not word_at(data, percent + 1, stop, is_word):
                        return percent + 1
                if not word_at(data, place, stop, is_word):
                    return place
        if groups == 0:
            return begin
        groups -= 1


ALL = 1 << 60
MINUS = np.frombuffer("−".encode(), np.uint8)


@leaf
def digits_at(data: Bytes, i: int, stop: int, is_digit: Flags, most: int) -> int:
    """The end of the digits at ``i``: of ``ALL``, one or more, or of so many; -1 if there are fewer."""
    count = 0
    while i < stop and count < most:
        code, after = decode(data, i)
        if not is_digit[code]:
            break
        i = after
        count += 1
    return i if count == most or (most == ALL and count > 0) else -1


@leaf
def word_at(data: Bytes, i: int, stop: int, is_word: Flags) -> bool:
    """Whether a character of a word stands at ``i``."""
    if i >= stop:
        return False
    return is_word[decode(data, i)[0]]


@kernel
def last_numbers(data: Bytes, starts: Ints, stops: Ints, is_digit: Flags, is_word: Flags) -> tuple[Ints, Ints]:
    """The last number as it is written, with its sign, thousands and per cent."""
    begins, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        free = True  # no character before that belongs to a word or a number
        while i < stop:
            byte = data[np.uint64(i)]
            code, after = decode(data, i)
            if byte < 128:
                may = 48 <= byte <= 57 or byte in (43, 45, 36)
            else:
                may = is_digit[code] or code in (0x2212, 0x20AC, 0xA3, 0xA5, 0x20BD)
            if free and may:
                end = number_at(data, i, stop, is_digit, is_word)
                if end > i:
                    begins[row], ends[row] = i, end
                    free = data[end - 1] == 37
                    i = end
                    continue
            free = not (is_word[code] or code in (46, 44))
            i = after
    return begins, ends


# Cues of an answer, such as "the answer is", in texts with Markdown.
#
# Python reads the answer by regular expressions, from the line on that these kernels find: a text without its Markdown
# has the same lines, so that what is before that line does not matter unless the line has no answer.


CUE, MARK = 1, 2
"""What the pair of a byte and the next one may begin: a cue, or a mark of Markdown."""


@inline
def is_mark(byte: int) -> bool:
    """Whether a byte is one of the marks that stand around words: * ` ~ _."""
    return byte in (42, 96, 126, 95)


@inline
def is_letter(byte: int) -> bool:
    """Whether a byte may belong to a letter."""
    return byte >= 128 or 97 <= byte | 32 <= 122


@leaf
def is_head(data: Bytes, i: int, stop: int) -> bool:
    """Whether a line may begin at ``i`` as a heading, a quote or an item of a list does."""
    for _ in range(4):
        if i < stop and data[i] in (35, 62, 45, 42, 43):  # # > - * +
            return True
        if i >= stop or data[i] not in (32, 9):
            return False
        i += 1
    return False


@leaf
def is_active(data: Bytes, i: int, stop: int) -> bool:
    """Whether the byte at ``i`` may be part of a mark of Markdown within a line."""
    following = data[i + 1] if i + 1 < stop else np.uint8(0)
    if data[i] in (126, 95):  # ~~ and __
        return following == data[i]
    return data[i] in (42, 96) or (data[i] == 93 and following == 40)  # ](


@leaf
def may_hide(data: Bytes, i: int, start: int, stop: int) -> bool:
    """Whether a word may hide behind what stands at ``i``, as "answer" in "ans**wer**"."""
    if not is_mark(data[i]):
        return True
    if i + 1 >= stop or not is_letter(data[i + 1]):
        return False
    first = i
    while first > start and is_mark(data[first - 1]):
        first -= 1
    active = False
    for k in range(first, i + 1):
        active = active or is_active(data, k, stop)
    return active and first > start and is_letter(data[first - 1])


@kernel
def marked(data: Bytes, starts: Ints, stops: Ints) -> Flags:
    """Whether each text may hold a mark of Markdown."""
    found = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        stop = stops[row]
        found[row] = is_head(data, starts[row], stop)
        for i in range(starts[row], stop):
            if is_active(data, np.int64(i), stop) or (data[i] == 10 and is_head(data, i + 1, stop)):
                found[row] = True
                break
    return found


@kernel
def last_cues(
    data: Bytes, starts: Ints, stops: Ints, small: Bytes, capital: Bytes, bounds: Ints, begins: Bytes
) -> tuple[Ints, Ints, Flags]:
    """Where the line of the last cue begins, -1 without one, where the cue is, and whether Markdown may be from there.

    Cue k is ``small[bounds[k]:bounds[k + 1]]``, each byte of which may be that of ``capital`` instead.  A place where a
    cue may hide counts as one, too.
    """
    lines, places = np.full(len(starts), -1, np.int64), np.zeros(len(starts), np.int64)
    marks = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        has_marks = found = False
        i = stop
        while i > start and not found:
            i -= 1
            byte = data[np.uint64(i)]
            following = data[np.uint64(i + 1)] if i + 1 < stop else np.uint8(0)
            kind = begins[(np.uint64(byte) << np.uint64(8)) | np.uint64(following)]
            if kind & MARK:
                if byte == 10:
                    has_marks = has_marks or is_head(data, i + 1, stop)
                else:
                    has_marks = has_marks or is_active(data, i, stop) or not is_mark(byte)
                    found = may_hide(data, i, start, stop)
            if kind & CUE and not found:
                for k in range(len(bounds) - 1):
                    first, size = bounds[k], bounds[k + 1] - bounds[k]
                    same = i + size <= stop
                    at = 0
                    while same and at < size:
                        same = data[i + at] == small[first + at] or data[i + at] == capital[first + at]
                        at += 1
                    if same:
                        found = True
                        break
        if found:
            places[row] = i
            while i > start and data[i - 1] != 10:
                i -= 1
                has_marks = has_marks or is_active(data, i, stop)
            lines[row], marks[row] = i, has_marks or is_head(data, i, stop)
    return lines, places, marks
