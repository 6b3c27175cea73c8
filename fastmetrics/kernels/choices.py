"""The letter of the choice that a text states, in the forms that models write, and the choice that its words name."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.ngrams import Lists
from fastmetrics.kernels.token_overlap import fall_backs, occurs

NONE, SEVERAL = -1, -2
"""What a text states that names no choice, and one that names more than one."""

# Words of a text in bytes.  Bytes of characters that are not ASCII count as letters, but not those of punctuation
# (dashes and quotes, guillemets, full-width forms) and of Chinese and Japanese, where no space is before a letter.


@inline
def letter(byte: int) -> int:
    """The number of an ASCII letter, -1 for other bytes."""
    return byte - 65 if 65 <= byte <= 90 else byte - 97 if 97 <= byte <= 122 else -1


@inline
def sign(byte: int, digits: bool) -> int:
    """The number of an ASCII letter, or the value of a digit if choices are stated by ``digits``; -1 for others."""
    return (byte - 48 if 48 <= byte <= 57 else -1) if digits else letter(byte)


@inline
def is_clear(byte: int, digits: bool) -> bool:
    """Whether a byte can only state a choice and is no word: a capital, or a digit."""
    return 48 <= byte <= 57 if digits else 65 <= byte <= 90


@leaf
def in_word(data: Bytes, i: int, start: int, stop: int) -> bool:
    """Whether the byte at ``i`` is within the text and part of a word."""
    if not start <= i < stop:
        return False
    byte = data[i]
    if byte < 128:
        return letter(byte) >= 0 or 48 <= byte <= 57 or byte == 95
    # The first byte of the character, and the next one.
    while i > start and data[i] & 0xC0 == 0x80:
        i -= 1
    second = data[i + 1] if i + 1 < stop else np.uint8(0)
    if 0xE3 <= data[i] <= 0xE9:
        return False
    return not ((data[i] == 0xE2 and second == 0x80) or data[i] == 0xC2 or (data[i] == 0xEF and second == 0xBC))


@leaf
def is_here(data: Bytes, i: int, stop: int, word: Bytes) -> bool:
    """Whether the bytes at ``i`` are those of a ``word`` in lower case."""
    if i + len(word) > stop:
        return False
    for k in range(len(word)):
        byte = data[i + k]
        if (byte | 32 if letter(byte) >= 0 else byte) != word[k]:
            return False
    return True


@leaf
def word_at(data: Bytes, i: int, start: int, stop: int, words: Bytes, bounds: Ints) -> int:
    """The size of the one of ``words`` that is the whole word at ``i``, 0 if none is."""
    for k in range(len(bounds) - 1):
        size = bounds[k + 1] - bounds[k]
        if is_here(data, i, stop, words[bounds[k] : bounds[k + 1]]) and not in_word(data, i + size, start, stop):
            return size
    return 0


@leaf
def skip(data: Bytes, i: int, start: int, stop: int) -> int:
    """The place of the next byte of a word, on the same line or a later one."""
    while i < stop and not in_word(data, i, start, stop):
        i += 1
    return i


@leaf
def stated_at(data: Bytes, i: int, start: int, stop: int, strict: bool, digits: bool) -> int:
    """The letter, or digit, that stands alone at ``i``, ``SEVERAL`` if another is joined to it, ``NONE`` if none does.

    A small letter, and any letter if ``strict``, must be followed by punctuation or the end of a line, as in "b)" but
    not in "a cat"; so must "I", which may begin a sentence.
    """
    number = sign(data[i], digits) if i < stop else NONE
    after = i + 1
    if number < 0 or in_word(data, i - 1, start, stop) or in_word(data, after, start, stop):
        return NONE
    if after + 1 < stop and data[after] in (43, 35) and data[after + 1] not in (32, 10):  # + # as in C++
        return NONE
    if after + 1 < stop and data[after] == 39 and in_word(data, after + 1, start, stop):  # as in I'm
        return NONE
    if digits and (data[after] in (46, 44) if after < stop else False) and in_word(data, after + 1, start, stop):
        return NONE  # a decimal, or thousands
    if strict or data[i] >= 97 or data[i] == 73:
        following = after
        while following < stop and data[following] in (32, 9):
            following += 1
        ends = following in (after, stop) or data[following] in (10, 13, 45)  # a line break or a dash
        if not ends and (data[following] < 128 or in_word(data, following, start, stop)):
            return NONE
    # Another letter behind "and", "or", a comma or a stroke: no single choice.
    other = skip(data, after, start, stop)
    joined = False
    for k in range(after, other):
        joined = joined or data[k] in (44, 47, 38)  # , / &
        if data[k] in (10, 46, 58):  # a new line, a full stop or a colon ends what is joined
            return number
    if is_here(data, other, stop, AND) or is_here(data, other, stop, OR):
        other = skip(data, other + (3 if is_here(data, other, stop, AND) else 2), start, stop)
        joined = True
    if joined and other < stop and is_clear(data[other], digits) and not in_word(data, other + 1, start, stop):
        return number if sign(data[other], digits) == number else SEVERAL
    return number


AND, OR = np.frombuffer(b"and", np.uint8), np.frombuffer(b"or", np.uint8)
BOXED = np.frombuffer(b"\\boxed{", np.uint8)


@leaf
def after_cue(data: Bytes, i: int, start: int, stop: int, links: Bytes, link_bounds: Ints, digits: bool) -> int:
    """The letter behind a cue that ends at ``i``, and behind at most six linking words."""
    for _ in range(7):
        i = skip(data, i, start, stop)
        found = stated_at(data, i, start, stop, False, digits)
        if found != NONE:
            return found
        size = word_at(data, i, start, stop, links, link_bounds)
        if size == 0:
            return NONE
        i += size
    return NONE


@leaf
def at_start(data: Bytes, start: int, stop: int, digits: bool) -> int:
    """The letter with which a text or a line begins."""
    return stated_at(data, skip(data, start, start, stop), start, stop, True, digits)


@leaf
def in_box(data: Bytes, i: int, start: int, stop: int, digits: bool) -> int:
    r"""The letter in a box, as in ``\boxed{B}`` and ``\boxed{\text{(B)}}``."""
    end = i
    while end < stop and data[end] not in (125, 10):
        end += 1
    if i < end and data[i] == 92:  # a command of LaTeX
        while i < end and data[i] != 123:
            i += 1
    return stated_at(data, skip(data, i, start, end), start, end, False, digits)


@leaf
def in_brackets(data: Bytes, start: int, stop: int, digits: bool) -> int:
    """The capital that alone stands in round brackets somewhere; ``NONE`` if several do."""
    found = NONE
    for i in range(start, stop - 2):
        if data[np.uint64(i)] == 40 and data[i + 2] == 41 and is_clear(data[i + 1], digits):
            number = sign(data[i + 1], digits)
            if found not in (NONE, number):
                return NONE
            found = number
    return found


@leaf
def called_correct(data: Bytes, start: int, stop: int, digits: bool) -> int:
    """The one of which it is said somewhere that it is correct, as in "So C is the right one"; ``NONE`` if several."""
    found = NONE
    for i in range(start, stop - 9):  # "X is right", "X is the correct"
        if not is_clear(data[np.uint64(i)], digits) or data[i + 1] != 32 or in_word(data, i - 1, start, stop):
            continue
        if is_here(data, i + 2, stop, IS):
            after = i + 2 + len(IS)
            after += len(THE) if is_here(data, after, stop, THE) else 0
            if is_here(data, after, stop, CORRECT) or is_here(data, after, stop, RIGHT):
                number = sign(data[i], digits)
                if found not in (NONE, number):
                    return NONE
                found = number
    return found


IS, THE = np.frombuffer(b"is ", np.uint8), np.frombuffer(b"the ", np.uint8)
CORRECT, RIGHT = np.frombuffer(b"correct", np.uint8), np.frombuffer(b"right", np.uint8)


@leaf
def stated_letter(
    data: Bytes,
    start: int,
    stop: int,
    cues: Bytes,
    cue_bounds: Ints,
    begins: Flags,
    links: Bytes,
    link_bounds: Ints,
    digits: bool,
) -> int:
    """The letter of a text: in its last box, behind its last cue, at its start, on its last line, called correct, or in
    brackets.

    ``begins`` says for each pair of bytes whether a box, a line or a cue may begin with them.
    """
    while stop > start and data[stop - 1] in (32, 10, 13, 9):
        stop -= 1
    cued = last_line = NONE
    new_line = False
    for i in range(stop - 1, start - 1, -1):
        byte = data[np.uint64(i)]
        following = data[np.uint64(i + 1)] if i + 1 < stop else np.uint8(0)
        if not begins[(np.uint64(byte) << np.uint64(8)) | np.uint64(following)]:
            continue
        if byte == 92 and is_here(data, i, stop, BOXED):
            found = in_box(data, i + len(BOXED), start, stop, digits)
            if found != NONE:
                return found
        elif byte == 10 and not new_line:
            new_line = True
            last_line = at_start(data, i + 1, stop, digits)
        elif cued == NONE and not in_word(data, i - 1, start, stop):
            for k in range(len(cue_bounds) - 1):
                if is_here(data, i, stop, cues[cue_bounds[k] : cue_bounds[k + 1]]):
                    behind = i + cue_bounds[k + 1] - cue_bounds[k]
                    cued = after_cue(data, behind, start, stop, links, link_bounds, digits)
                    break
    if cued != NONE:
        return cued
    first = at_start(data, start, stop, digits)
    if first != NONE:
        return first
    if last_line != NONE:
        return last_line
    correct = called_correct(data, start, stop, digits)
    return correct if correct != NONE else in_brackets(data, start, stop, digits)


@kernel
def stated_letters(
    data: Bytes, starts: Ints, stops: Ints, cues: Bytes, cue_bounds: Ints, links: Bytes, link_bounds: Ints, digits: bool
) -> Ids:
    """The number of the letter that each text states, A being 0; ``NONE`` or ``SEVERAL``.  With ``digits`` the digit.

    A cue, as "answer", is a word behind which the letter stands, if only linking words such as "is" are between.
    """
    begins = np.zeros((256, 256), np.bool_)  # cues have two bytes or more
    begins[10] = begins[92] = True
    for k in range(len(cue_bounds) - 1):
        first, second = cues[cue_bounds[k]], cues[cue_bounds[k] + 1]
        capitals = first - 32 if letter(first) >= 0 else first, second - 32 if letter(second) >= 0 else second
        begins[first, second] = begins[first, capitals[1]] = True
        begins[capitals[0], second] = begins[capitals[0], capitals[1]] = True
    found = np.empty(len(starts), np.int32)
    for row in range(len(starts)):
        begin, end = starts[row], stops[row]
        found[row] = stated_letter(data, begin, end, cues, cue_bounds, begins.ravel(), links, link_bounds, digits)
    return found


@kernel
def lone_letters(data: Bytes, starts: Ints, stops: Ints) -> Ids:
    """The number of the letter that a text consists of, punctuation and white space aside; -1 for other texts."""
    found = np.full(len(starts), -1, np.int32)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        i = skip(data, start, start, stop)
        if i < stop and not in_word(data, i + 1, start, stop) and skip(data, i + 1, start, stop) == stop:
            found[row] = letter(data[i])
    return found


@kernel
def lone_numbers(data: Bytes, starts: Ints, stops: Ints) -> Ids:
    """The whole number that a text consists of, punctuation and white space aside; -1 for other texts.

    A number with a sign, a decimal or more than six digits is no number of a choice.
    """
    found = np.full(len(starts), -1, np.int32)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        i = skip(data, start, start, stop)
        value, end = 0, i
        while end < stop and 48 <= data[end] <= 57 and end - i < 7:
            value = 10 * value + data[end] - 48
            end += 1
        if i < end < i + 7 and skip(data, end, start, stop) == stop:
            signed = i > start and data[i - 1] in (45, 0x92)  # the last byte of the minus sign, as of no other mark
            found[row] = -1 if signed else value
    return found


@kernel
def named_choices(a: Lists, choices: Lists, groups: Ints) -> Ids:
    """Per row: the number of the choice whose words are a stretch of the list of ``a``.

    Of several, that which contains all others; ``SEVERAL`` if none does, ``NONE`` if there is none.
    """
    found = np.empty(len(a.starts), np.int32)
    longest = 1
    for k in range(len(choices.starts)):
        longest = max(longest, choices.stops[k] - choices.starts[k])
    borders = np.zeros(longest, np.int32)
    held = np.zeros(len(choices.starts), np.bool_)
    for row in range(len(a.starts)):
        begin, best, most = groups[row], NONE, 0
        for k in range(begin, groups[row + 1]):
            first, last = choices.starts[k], choices.stops[k]
            held[k] = False
            if first < last:
                fall_backs(choices.ids, first, last, borders)
                held[k] = occurs(a.ids, a.starts[row], a.stops[row], choices.ids, first, last, borders)
            if held[k] and last - first > most:
                best, most = k - begin, last - first
        for k in range(begin, groups[row + 1]):
            if held[k] and best >= 0 and k - begin != best:
                fall_backs(choices.ids, choices.starts[k], choices.stops[k], borders)
                start, stop = choices.starts[begin + best], choices.stops[begin + best]
                if not occurs(choices.ids, start, stop, choices.ids, choices.starts[k], choices.stops[k], borders):
                    best = SEVERAL
        found[row] = best
    return found
