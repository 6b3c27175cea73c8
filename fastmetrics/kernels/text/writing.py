"""Counts over the sentences of texts: connectors and pronouns, answered questions, first and last sentences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.phrases import phrase_end

# Flags of words.
STOP, PRONOUN, COMMON, TASK, QUESTION, BRIEF, LENGTHY = (1 << k for k in range(7))
"""A BRIEF word has up to two characters, a LENGTHY word more than six."""


class Prose(NamedTuple):
    """Words by sentence: sentence s has ``ids[starts[s]:stops[s]]``, row r has the sentences
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


@kernel
def count_ties(prose: Prose, letters: Ids, table: Ids, final: Flags) -> Ints:
    """Per row, in four rows: connectors, pronouns, unclear pronouns, and sentences that shift the topic."""
    ids, starts, stops, groups, roles = prose
    counts = np.zeros((4, len(groups) - 1), np.int64)
    seen = np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        content_before = False
        for s in range(groups[row], groups[row + 1]):
            k, has_content, linked = starts[s], False, False
            before = s if s > groups[row] else -1
            while k < stops[s]:
                word = ids[k]
                end = phrase_end(ids, k, stops[s], letters, table, final) if letters[word] >= 0 else -1
                if end > 0:
                    counts[0, row] += 1
                    linked |= k == starts[s]
                    k = end
                    continue
                role = roles[word]
                if role & PRONOUN:
                    clear = has_content or content_before
                    counts[1, row] += 1
                    counts[2, row] += not clear
                    linked |= clear and k == starts[s]
                elif is_content(role):
                    has_content = True
                    linked |= seen[word] == before
                    seen[word] = s + 1
                k += 1
            counts[3, row] += not linked
            content_before = has_content
    return counts


@kernel
def count_fulfilled(question: Prose, asks: Flags, answer: Prose) -> Ints:
    """Per row, in six rows: keywords of the question, those in the answer, questions, answered questions, tasks,
    fulfilled tasks.  ``asks`` has one entry per sentence of the question: whether it is one for its form.
    """
    ids, starts, stops, groups, roles = question
    a_ids, a_starts, a_stops, a_groups, _ = answer
    counts = np.zeros((6, len(groups) - 1), np.int64)
    in_answer, counted = np.full(len(roles), -1, np.int32), np.full(len(roles), -1, np.int32)
    for row in range(len(groups) - 1):
        for s in range(a_groups[row], a_groups[row + 1]):
            for k in range(a_starts[s], a_stops[s]):
                in_answer[a_ids[k]] = row
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
    first, last = answer.groups[row], answer.groups[row + 1]
    words = answer.ids[answer.starts[first] : answer.stops[last - 1]]
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
            if letters[ids[k]] >= 0 and phrase_end(ids, k, stops[last], letters, table, final) > 0:
                flags[1, row] = True
    return flags


@kernel
def count_kinds(prose: Prose) -> Ints:
    """Per row, in four rows: words, distinct words, sophisticated words, distinct words that occur over 3 times."""
    ids, starts, stops, groups, roles = prose
    counts = np.zeros((4, len(groups) - 1), np.int64)
    times = np.zeros(len(roles), np.int32)
    for row in range(len(groups) - 1):
        for s in range(groups[row], groups[row + 1]):
            counts[0, row] += stops[s] - starts[s]
            for k in range(starts[s], stops[s]):
                word = ids[k]
                times[word] += 1
                counts[1, row] += times[word] == 1
                counts[2, row] += roles[word] & (LENGTHY | COMMON) == LENGTHY
                counts[3, row] += times[word] == 4
        for s in range(groups[row], groups[row + 1]):
            for k in range(starts[s], stops[s]):
                times[ids[k]] = 0
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
