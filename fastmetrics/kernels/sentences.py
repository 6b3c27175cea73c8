"""Sentences and paragraphs as positions, phrases of words in them, and the counts that the writing scores need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels import folding as words
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import BLOCK, trailing_zeros
from fastmetrics.kernels.word_boundaries import any_of, inside

# Splitting of texts into sentences, paragraphs and statements, as positions.


_BLOCK = np.uint64(BLOCK)

# Classes of code points.
OTHER, SPACE, BREAK, HALF, STOP, CLOSER, LOWER, UPPER, DIGIT, OPEN, LETTER = range(11)
"""BREAK ends a piece, as do two HALFs (line ends) in one run of white space; STOP is a full stop, a possible end;
CLOSER can follow an end and belongs to the piece; OPEN begins a citation mark."""


@leaf
def character(data: Bytes, i: int) -> tuple[int, int]:
    """``decode`` as a call instead of inlined code, which would take seconds to compile in these kernels."""
    return words.decode(data, i)


@leaf
def split(data: Bytes, starts: Ints, stops: Ints, marks: Bytes, classes: Bytes, pieces: Ints, groups: Ints) -> int:
    """Split at every BREAK, and at white space with two HALFs; return the number of stripped, non-empty pieces.

    ``marks`` are the first bytes of the BREAKs and HALFs, as ranges for ``any_of``; ``data`` has a block or more.
    ``pieces`` gets a start and a stop for each piece, ``groups`` the number of pieces before each text.
    """
    n = 0
    for row in range(len(starts)):
        first, stop = starts[row], stops[row]
        p, end = np.uint64(first), np.uint64(stop)
        while p < end:
            at = min(p, np.uint64(len(data)) - _BLOCK)  # the last block of the data begins before the bytes to look at
            # Only these bytes can begin a BREAK or a HALF: the rest of the text is never decoded.
            bits = (any_of(marks, data, at) >> (p - at)) & inside(end, p)
            while bits != np.uint64(0):
                i = np.int64(p + trailing_zeros(bits))
                bits &= bits - np.uint64(1)
                after = past_end(data, i, stop, classes)
                if after > 0:
                    n = put_stripped(data, classes, pieces, n, first, i)
                    first = after
            p += _BLOCK
        n = put_stripped(data, classes, pieces, n, first, stop)
        groups[row + 1] = n
    return n


@inline
def past_end(data: Bytes, i: int, stop: int, classes: Bytes) -> int:
    """The byte after a BREAK at ``i``, or after a HALF with another one in the white space after it; 0 for others."""
    kind, after = kind_at(data, i, classes)
    if kind == HALF:
        k = after
        kind = SPACE
        while k < stop and kind == SPACE:
            kind, k = kind_at(data, k, classes)
        return after if kind == HALF else 0
    return after if kind == BREAK else 0


@inline
def kind_at(data: Bytes, i: int, classes: Bytes) -> tuple[int, int]:
    """The class of the character at byte ``i``, and the byte after it."""
    code, after = np.int64(data[i]), i + 1
    if code > 127:
        code, after = character(data, i)
    return np.int64(classes[code]), after


@inline
def put_stripped(data: Bytes, classes: Bytes, pieces: Ints, n: int, first: int, last: int) -> int:
    """Add ``first:last`` without the white space at both ends to ``pieces``, as ``put`` does."""
    while first < last:
        kind, after = kind_at(data, first, classes)
        if kind not in (SPACE, HALF):
            break
        first = after
    while first < last:
        begin = last - 1
        # Back over continuation bytes, 10xxxxxx, to the first byte of the last character.
        while data[begin] & 0xC0 == 0x80:
            begin -= 1
        kind, _ = kind_at(data, begin, classes)
        if kind not in (SPACE, HALF):
            break
        last = begin
    return put(pieces, n, first if first < last else -1, last)


@leaf
def put(pieces: Ints, n: int, first: int, last: int) -> int:
    """Add ``first:last`` to the ``n`` in ``pieces``, two numbers each, unless it is empty; return their number."""
    if first >= 0:
        pieces[2 * n] = first
        pieces[2 * n + 1] = last
        n += 1
    return n


@leaf
def split_statements(
    data: Bytes, starts: Ints, stops: Ints, classes: Bytes, abbreviations: Uint64s, pieces: Ints, groups: Ints
) -> int:
    """Split into sentences with the citation marks after them; see ``text.segmentation.statements`` for the rules.

    ``abbreviations`` are sorted keys of known ones; ``pieces`` get the start and the end of each sentence.
    """
    n = 0
    for row in range(len(starts)):
        i, first, last, stop = starts[row], -1, -1, stops[row]
        while i < stop:
            code, after = character(data, i)
            kind = classes[code]
            if kind == HALF and new_line_cuts(data, after, stop, classes):
                n = put(pieces, n, first, last)
                first = -1
            elif kind in (BREAK, STOP):
                # What is attached to the end, as in ``."`` or ``. [1]``, belongs to the sentence.
                after = past_marks(data, after, stop, classes)
                ends = kind == BREAK or after == stop
                if not ends:
                    ends = stop_ends(data, first, i, after, stop, classes, abbreviations)
                # A stop before any word, as in "... and", begins nothing.
                if first >= 0:
                    last = after
                if ends:
                    n = put(pieces, n, first, last)
                    first = -1
            elif kind not in (SPACE, HALF):
                first = i if first < 0 else first
                last = after
            i = after
        n = put(pieces, n, first, last)
        groups[row + 1] = n
    return n


@leaf
def past_marks(data: Bytes, i: int, stop: int, classes: Bytes) -> int:
    """The position after further stops, closing quotes and brackets, and citation marks like `` [1]`` or ``[2, 3]``.

    A quote after white space opens the next sentence.
    """
    end = i
    while i < stop:
        code, after = character(data, i)
        kind = classes[code]
        if kind in (STOP, BREAK) or (kind == CLOSER and i == end):
            i = end = after
        elif kind == SPACE:
            i = after
        elif kind == OPEN:
            digits = 0
            i = after
            # digits, commas (44) and spaces (32), then a closing bracket (93)
            while i < stop and (48 <= data[i] <= 57 or ((data[i] == 44 or data[i] == 32) and digits > 0)):
                digits += 1
                i += 1
            if digits == 0 or i >= stop or data[i] != 93:
                return end
            i += 1
            end = i
        else:
            return end
    return end


@leaf
def new_line_cuts(data: Bytes, i: int, stop: int, classes: Bytes) -> bool:
    """Whether a line end splits: a blank line or the mark of a list item follows."""
    while i < stop:
        code, after = character(data, i)
        kind = classes[code]
        if kind == HALF:
            return True
        if kind != SPACE:
            break
        i = after
    if i >= stop:
        return True
    # The marks of list items: "-" (45), "*" (42) or a bullet, and a space
    if data[i] == 45 or data[i] == 42 or code == 0x2022:
        return after < stop and data[after] == 32
    digits = 0
    while i < stop and 48 <= data[i] <= 57:
        digits += 1
        i += 1
    # or a number of at most three digits, then "." (46) or ")" (41), and a space; a year is no such number
    return 0 < digits < 4 and i + 1 < stop and (data[i] == 46 or data[i] == 41) and data[i + 1] == 32


@leaf
def follows_citation(data: Bytes, first: int, i: int) -> bool:
    """Whether a mark ``[1]`` or ``[2, 3]`` ends before ``i``, in a sentence that begins at ``first``."""
    i -= 1
    if first < 0 or i <= first or data[i] != 93:
        return False
    digits = 0
    i -= 1
    # back over digits, commas (44) and spaces (32) to the opening bracket (91)
    while i > first and (48 <= data[i] <= 57 or data[i] == 44 or data[i] == 32):
        digits += 48 <= data[i] <= 57
        i -= 1
    return digits > 0 and data[i] == 91


@leaf
def stop_ends(data: Bytes, first: int, i: int, after: int, stop: int, classes: Bytes, abbreviations: Uint64s) -> bool:
    """Whether the full stop at ``i``, with the characters attached to it up to ``after``, ends a sentence.

    ``abbreviations`` are sorted keys of known ones.
    """
    code, j = character(data, after)
    kind = classes[code]
    # as in "3.5", "e.g." and "example.org"
    if kind not in (SPACE, HALF):
        return False
    while j < stop and (kind in (SPACE, HALF)):
        code, j = character(data, j)
        kind = classes[code]
    # A sentence does not begin with a small letter, so the stop belonged to an abbreviation, but not after a citation.
    if kind == LOWER and not follows_citation(data, first, i):
        return False
    # Only the ASCII full stop (46) abbreviates.  Without a word before it there is nothing to look at.
    if data[i] != 46 or first < 0:
        return True
    # The word before the stop, of which nine characters are enough: no abbreviation has more than eight.
    begin, letters, digits, key = i, 0, 0, np.uint64(0)
    while begin > first and letters < 9:
        back = begin - 1
        while back > first and (data[back] & 0xC0) == 0x80:
            back -= 1
        code, _ = character(data, back)
        kind = classes[code]
        if kind not in (LOWER, UPPER, DIGIT, LETTER):
            break
        letters += 1
        digits += kind == DIGIT
        begin = back
    # No word, as behind a bracket, or a number ends a sentence, unless the number is all that there is,
    # as "3." at the start of a list item.
    if digits == letters:
        return digits == 0 or begin > first
    # a capital alone is an initial
    if letters == 1:
        return classes[character(data, begin)[0]] != UPPER
    if i - begin > 8:
        return True
    for k in range(begin, i):
        # Up to eight bytes, as in the keys of abbreviations
        key = (key << np.uint64(8)) | np.uint64(data[k])
    is_abbreviation = False
    for abbreviation in abbreviations:
        is_abbreviation |= abbreviation == key
    return not is_abbreviation


# Counts over the sentences of texts: connectors and pronouns, answered questions, first and last sentences.


# Flags of words.
STOP_WORD, PRONOUN, COMMON, TASK, QUESTION, BRIEF, LENGTHY, OPENS = (1 << k for k in range(8))
"""A BRIEF word has up to two characters, a LENGTHY word more than six; a phrase can begin with a word that OPENS."""


class Prose(NamedTuple):
    """Words by sentence, without gaps: sentence s has ``ids[starts[s]:stops[s]]``, row r has the sentences
    ``groups[r]:groups[r + 1]``; ``roles`` holds the possible roles of each word of the vocabulary."""

    ids: Ids
    starts: Ints
    stops: Ints
    groups: Ints
    roles: Bytes


@inline
def is_content(role: int) -> bool:
    """Whether a word is a content word."""
    return role & (STOP_WORD | PRONOUN | BRIEF) == 0


@inline
def bounds_of(prose: Prose, row: int) -> tuple[np.uint64, np.uint64]:
    """The first word of a row and the word after its last."""
    first, last = prose.groups[row], prose.groups[row + 1]
    if first == last:
        return np.uint64(0), np.uint64(0)
    return np.uint64(prose.starts[first]), np.uint64(prose.stops[last - 1])


@kernel
def count_ties(prose: Prose, letters: Ids, table: Ids, final: Flags) -> Ints:
    """Per row, in four rows: connectors, pronouns, unclear pronouns, and sentences that shift the topic."""
    ids, starts, stops, groups, roles = prose
    counts = np.zeros((4, len(groups) - 1), np.int64)
    seen = np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        content_before = False
        connectors = pronouns = unclear = shifts = 0
        for s in range(groups[row], groups[row + 1]):
            start, stop = np.uint64(starts[s]), np.uint64(stops[s])
            k, has_content, linked = start, False, False
            # ``seen`` has the last sentence of each word, plus 1: ``s`` there is the sentence before this one, which
            # links them.
            before = s if s > groups[row] else -1
            while k < stop:
                word = np.uint32(ids[k])
                role = roles[word]
                if role & (PRONOUN | OPENS):
                    end = phrase_end(ids, np.int64(k), stops[s], letters, table, final) if role & OPENS else -1
                    if end > 0:
                        connectors += 1
                        linked |= k == start
                        k = np.uint64(end)
                        continue
                    if role & PRONOUN:
                        # A pronoun is clear if a content word, to which it could refer, comes before it here or in the
                        # sentence before.
                        clear = has_content or content_before
                        pronouns += 1
                        unclear += not clear
                        linked |= clear and k == start
                content = is_content(role)  # without a branch, which the processor would have to guess
                has_content |= content
                linked |= content & (seen[word] == before)
                seen[word] = s + 1
                k += np.uint64(1)
            shifts += not linked
            content_before = has_content
        counts[0, row], counts[1, row], counts[2, row], counts[3, row] = connectors, pronouns, unclear, shifts
    return counts


@kernel
def count_fulfilled(question: Prose, asks: Flags, answer: Prose) -> Ints:
    """Per row, in six rows: keywords of the question, those in the answer, questions, answered questions, tasks,
    fulfilled tasks.  ``asks`` has one entry per sentence of the question: whether it is one for its form.
    """
    ids, starts, stops, groups, roles = question
    counts = np.zeros((6, len(groups) - 1), np.int64)
    in_answer, counted = np.full(len(roles), -1, np.int32), np.full(len(roles), -1, np.int32)
    for row in range(len(groups) - 1):
        first, last = bounds_of(answer, row)
        for k in range(first, last):
            in_answer[np.uint32(answer.ids[k])] = row
        for s in range(groups[row], groups[row + 1]):
            total = shared = task_total = task_shared = 0
            tasks = False
            for k in range(starts[s], stops[s] + 1):
                # One place past the end counts as another task, which closes the last one.
                role = roles[ids[k]] if k < stops[s] else np.uint8(TASK)
                if role & TASK:
                    counts[4, row] += tasks and task_total > 0
                    # A task, as a question, is fulfilled if the answer has at least half of its keywords.
                    counts[5, row] += tasks and task_total > 0 and 2 * task_shared >= task_total
                    tasks, task_total, task_shared = True, 0, 0
                elif is_content(role):
                    hit = in_answer[ids[k]] == row
                    total, shared = total + 1, shared + hit
                    task_total, task_shared = task_total + 1, task_shared + hit
                    if counted[ids[k]] != row:
                        counted[ids[k]] = row
                        counts[0, row] += 1
                        counts[1, row] += hit
            is_question = asks[s] or (stops[s] > starts[s] and roles[ids[starts[s]]] & QUESTION != 0)
            if is_question and total > 0:
                counts[2, row] += 1
                counts[3, row] += 2 * shared >= total
    return counts


@leaf
def mark_topics(question: Prose, answer: Prose, row: int, topics: Ids, times: Ids, most: int) -> None:
    """Write ``row`` for the keywords of the row's question or, without any, the ``most`` most frequent of the answer.

    Among equally frequent words the first is chosen; ``times`` is 0 for all words before and after the call.
    Both ``topics`` and ``times`` have one entry per word of the vocabulary.
    """
    roles = question.roles
    any_topic = False
    for s in range(question.groups[row], question.groups[row + 1]):
        for k in range(question.starts[s], question.stops[s]):
            word = question.ids[k]
            if is_content(roles[word]) and not roles[word] & TASK:
                topics[word] = row
                any_topic = True
    if any_topic:
        return
    begin, end = bounds_of(answer, row)
    words = answer.ids[begin:end]
    for word in words:
        times[word] += is_content(roles[word])
    for _ in range(min(most, len(words))):
        best = words[0]
        for word in words:
            best = word if times[word] > times[best] else best
        if times[best] > 0:
            # Its count is cleared, so that the next round finds the next word.
            topics[best], times[best] = row, 0
    for word in words:
        times[word] = 0


@kernel
def opens_and_closes(question: Prose, answer: Prose, letters: Ids, table: Ids, final: Flags) -> Flags:
    """Per row, in two rows: whether the first sentence has a topic word, whether the last sentence has a phrase."""
    ids, starts, stops, groups, roles = answer
    flags = np.zeros((2, len(groups) - 1), np.bool_)
    topics, times = np.full(len(roles), -1, np.int32), np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        if groups[row] == groups[row + 1]:
            continue
        mark_topics(question, answer, row, topics, times, 5)
        first, last = groups[row], groups[row + 1] - 1
        for k in range(starts[first], stops[first]):
            flags[0, row] |= topics[ids[k]] == row
        for k in range(starts[last], stops[last]):
            if roles[ids[k]] & OPENS and phrase_end(ids, k, stops[last], letters, table, final) > 0:
                flags[1, row] = True
    return flags


@kernel
def count_kinds(prose: Prose, most: int) -> Ints:
    """Per row, in five rows: words, distinct words, sophisticated words, distinct words that occur over ``most`` times,
    and their occurrences.
    """
    ids, _, _, groups, roles = prose
    counts = np.zeros((5, len(groups) - 1), np.int64)
    times = np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        first, last = bounds_of(prose, row)
        distinct = sophisticated = repeated = occurrences = 0
        for k in range(first, last):
            word = np.uint32(ids[k])
            n = times[word] + 1
            times[word] = n
            distinct += n == 1
            # once for each word, at the first occurrence that is too many, which brings those before it along
            repeated += n == most + 1
            occurrences += (n > most) + most * (n == most + 1)
            sophisticated += roles[word] & (LENGTHY | COMMON) == LENGTHY
        for k in range(first, last):
            times[np.uint32(ids[k])] = 0
        counts[0, row], counts[1, row], counts[2, row], counts[3, row] = last - first, distinct, sophisticated, repeated
        counts[4, row] = occurrences
    return counts


@kernel
def holds_mark(data: Bytes, starts: Ints, stops: Ints) -> Flags:
    """Whether each span of bytes contains ``?`` or its full-width form."""
    flags = np.zeros(len(starts), np.bool_)
    for i in range(len(starts)):
        for k in range(starts[i], stops[i]):
            wide = k + 2 < stops[i] and data[k] == 0xEF and data[k + 1] == 0xBC and data[k + 2] == 0x9F
            flags[i] |= data[k] == 63 or wide
    return flags


# Search of phrases in word ids with an automaton.


START = 0
"""The state of the automaton before a phrase."""


@leaf
def phrase_end(ids: Ids, k: int, stop: int, letters: Ids, table: Ids, final: Flags) -> int:
    """The token after the longest phrase that begins at token ``k``, or -1."""
    state, end = START, -1
    while k < stop and state >= 0:
        letter = letters[np.uint32(ids[np.uint64(k)])]
        state = table[state, letter] if letter >= 0 else -1
        k += 1
        # Not the first end: a longer phrase may begin with this one.
        if state >= 0 and final[state]:
            end = k
    return end


@kernel
def holds_phrase(ids: Ids, starts: Ints, stops: Ints, openings: Flags, letters: Ids, table: Ids, final: Flags) -> Flags:
    """Whether each text holds a phrase; ``openings`` marks the words of the vocabulary that can begin one."""
    flags = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            opens = openings[np.uint32(ids[k])]
            if opens and phrase_end(ids, np.int64(k), stops[row], letters, table, final) >= 0:
                flags[row] = True
                break
    return flags


@kernel
def last_phrase(ids: Ids, starts: Ints, stops: Ints, letters: Ids, table: Ids, final: Flags) -> Ints:
    """Per text, in two rows: start and end of its last phrase, relative to the text's start; -1 if none."""
    places = np.full((2, len(starts)), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            end = phrase_end(ids, k, stops[row], letters, table, final)
            if end >= 0:
                places[0, row] = k - starts[row]
                places[1, row] = end - starts[row]
    return places


@kernel
def words_after(ids: Ids, starts: Ints, stops: Ints, places: Ids) -> Ints:
    """Per text: number of tokens after the first one in a list; -1 without one.

    ``places`` has the place of each word of the vocabulary in the list, or -1.
    """
    counts = np.full(len(starts), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            if places[ids[k]] >= 0:
                counts[row] = stops[row] - k - 1
                break
    return counts


@kernel
def abstains(groups: Ints, idk: Flags, filler: Flags, turns: Flags, sizes: Ints, preamble: int) -> Flags:
    """Whether each answer, made of the sentences ``groups[row]:groups[row + 1]``, is an abstention ("I don't know").

    ``idk``, ``filler``, ``turns`` and ``sizes`` have one entry per sentence: whether it says so, is filler, or turns to
    an answer, and its number of words.  Sentences before the first "I don't know", except filler, may have at most
    ``preamble`` words, and no later sentence may begin an answer.
    """
    abstained = np.zeros(len(groups) - 1, np.bool_)
    for row in range(len(abstained)):
        refused, answered, before = False, False, 0
        for k in range(groups[row], groups[row + 1]):
            if idk[k]:
                refused = True
            elif not refused and not filler[k]:
                before += sizes[k]
            elif refused and turns[k]:
                answered = True
        abstained[row] = refused and not answered and before <= preamble
    return abstained
