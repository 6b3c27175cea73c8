"""Counts over the sentences of texts: connectors and pronouns, answered questions, first and last sentences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.phrases import phrase_end

# Flags of words.
STOP, PRONOUN, COMMON, TASK, QUESTION, BRIEF, LENGTHY, OPENS = (1 << k for k in range(8))
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
    return role & (STOP | PRONOUN | BRIEF) == 0


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
                role = roles[ids[k]] if k < stops[s] else np.uint8(TASK)
                if role & TASK:
                    counts[4, row] += tasks and task_total > 0
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
def count_kinds(prose: Prose) -> Ints:
    """Per row, in four rows: words, distinct words, sophisticated words, distinct words that occur over 3 times."""
    ids, _, _, groups, roles = prose
    counts = np.zeros((4, len(groups) - 1), np.int64)
    times = np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        first, last = bounds_of(prose, row)
        distinct = sophisticated = repeated = 0
        for k in range(first, last):
            word = np.uint32(ids[k])
            n = times[word] + 1
            times[word] = n
            distinct += n == 1
            repeated += n == 4
            sophisticated += roles[word] & (LENGTHY | COMMON) == LENGTHY
        for k in range(first, last):
            times[np.uint32(ids[k])] = 0
        counts[0, row], counts[1, row], counts[2, row], counts[3, row] = last - first, distinct, sophisticated, repeated
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
