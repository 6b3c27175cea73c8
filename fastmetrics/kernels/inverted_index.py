"""Search of the rows with the most similar sets of words, with an inverted index.

Similarity is the cosine of token sets, shared / √(own · other). Rows are sorted by their number
of words: rows too short or too long to reach the current score are skipped together, and rows of equal length are
compared by their counts only.

``counts``, one entry per position of the index, has the number of words that the question shares with its row;
``tops``, one entry per group of rows of equal length, the best score of the group. ``mark``, one entry per word, has
the last question with the word, and at its end the current question.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastmetrics.kernels.jit import kernel

Array = npt.NDArray[Any]

SLACK = 1.0 - 1e-9  # tolerance, because bounds and scores are rounded differently
WALKED = 32  # queries with more words rarely allow early termination
STRETCH = 256  # number of postings that are skipped together


class TokenSets(NamedTuple):
    """Token sets: row r has the distinct words ``words[bounds[r]:bounds[r + 1]]``."""

    words: Array
    bounds: Array


class InvertedIndex(NamedTuple):
    """Rows sorted by length, ties in the original order; ``order`` holds the row at each position.

    Word w is in the rows at ``places[starts[w]:starts[w + 1]]``; a frequent word also has the line ``slots[w]`` of
    ``lines`` with a 1 at each such position. ``groups`` holds the first position of each length, and the end.
    """

    order: Array
    sets: TokenSets
    places: Array
    starts: Array
    groups: Array
    slots: Array
    lines: Array


class Best(NamedTuple):
    """The best rows of each question so far, by (score descending, row ascending); row past the end: empty."""

    scores: Array
    rows: Array


@kernel
def distinct(ids: Array, starts: Array, stops: Array, n_words: int, words: Array, bounds: Array) -> None:
    """Write the distinct words of each text to ``words``, in order of first occurrence."""
    seen = np.full(n_words, -1, np.int64)
    size = 0
    for row in range(len(starts)):
        for place in range(starts[row], stops[row]):
            word = ids[place]
            if seen[word] != row:
                seen[word] = row
                words[size] = word
                size += 1
        bounds[row + 1] = size


@kernel
def invert(sets: TokenSets, order: Array, words: Array, bounds: Array, places: Array, starts: Array) -> None:
    """Write the sets in the given order of rows, and the positions of each word; ``starts`` holds the word counts."""
    filled = starts[:-1].copy()
    size = 0
    for place in range(len(order)):
        for at in range(sets.bounds[order[place]], sets.bounds[order[place] + 1]):
            word = sets.words[at]
            words[size] = word
            places[filled[word]] = place
            filled[word] += 1
            size += 1
        bounds[place + 1] = size


@kernel
def keep(scores: Array, rows: Array, score: float, row: int) -> None:
    """Insert a row into the best rows of one question if its score is high enough."""
    place = len(scores) - 1
    if score < scores[place] or (score == scores[place] and row > rows[place]):
        return
    while place > 0 and (score > scores[place - 1] or (score == scores[place - 1] and row < rows[place - 1])):
        scores[place] = scores[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    scores[place] = score
    rows[place] = row


@kernel
def known_words(words: Array, index: InvertedIndex, out: Array) -> int:
    """Write the words found in the index to ``out``, starting with the few rarest; return how many."""
    n = 0
    for word in words:
        if word + 1 < len(index.starts):
            length = index.starts[word + 1] - index.starts[word]
            place = n
            # Questions with more words are not walked, so no more than these have to be in order.
            while 0 < place <= WALKED and index.starts[out[place - 1] + 1] - index.starts[out[place - 1]] > length:
                out[place] = out[place - 1]
                place -= 1
            out[place] = word
            n += 1
    return n


@kernel
def walk(words: Array, own: int, mark: Array, seen: Array, index: InvertedIndex, scores: Array, rows: Array) -> bool:
    """Visit the rows of each word, rarest first, until no other row can be better; return False if that took too long.

    ``mark`` and ``seen`` hold ``mark[-1]`` for the question's words and for the visited positions.
    """
    sets, question = index.sets, mark[-1]
    # Words of visited rows; beyond it, to count the words of all rows in order costs less than to visit rows at random.
    budget = len(seen) // 64
    for turn in range(len(words)):
        n_left = len(words) - turn
        worst = scores[-1] * SLACK
        # A row without the words before shares at most n_left, and has at least as many: its score is at most √(n_left
        # / own).
        if n_left < worst * worst * own:
            break
        for at in range(index.starts[words[turn]], index.starts[words[turn] + 1]):
            place = index.places[at]
            size = sets.bounds[place + 1] - sets.bounds[place]
            worst = scores[-1] * SLACK
            # It shares at most its size, so its score is at most √(size / own).
            if size < worst * worst * own:
                continue
            # The rows of a word come by size: all further ones score less still.
            if n_left < worst * np.sqrt(float(own * size)):
                break
            if seen[place] != question:
                seen[place] = question
                shared = 0
                for word in range(sets.bounds[place], sets.bounds[place + 1]):
                    shared += mark[sets.words[word]] == question
                keep(scores, rows, shared / np.sqrt(float(own * size)), index.order[place])
                budget -= size
                if budget < 0:
                    return False
    return True


@kernel
def count(words: Array, index: InvertedIndex, counts: Array) -> None:
    """Number of known words in the row at each position."""
    counts[:] = 0
    for word in words:
        # A frequent word is in so many rows that adding a line of 0 and 1 in order is faster than its positions.
        if index.slots[word] >= 0:
            line = index.lines[index.slots[word]]
            for place in range(len(counts)):
                counts[place] += line[place]
        else:
            for at in range(index.starts[word], index.starts[word + 1]):
                counts[index.places[at]] += 1


@kernel
def peak(counts: Array) -> int:
    """The largest count."""
    most = counts[0]
    for count in counts:
        most = max(most, count)
    return int(most)


@kernel
def tops_of(counts: Array, own: int, index: InvertedIndex, tops: Array) -> None:
    """The best score of each group of rows of equal length."""
    for group in range(len(tops)):
        first, stop = index.groups[group], index.groups[group + 1]
        most = peak(counts[first:stop])
        # In a group only the count differs, so the largest count has the best score.
        size = index.sets.bounds[first + 1] - index.sets.bounds[first]
        tops[group] = most / np.sqrt(float(own * size)) if most > 0 else 0.0


@kernel
def collect(counts: Array, own: int, index: InvertedIndex, tops: Array, scores: Array, rows: Array) -> None:
    """Collect the best rows group by group, in descending order of the groups' best scores."""
    while True:
        group = np.argmax(tops)
        # An equal score can still enter, by a smaller row.
        if tops[group] <= 0 or tops[group] < scores[-1]:
            return
        tops[group] = 0.0
        first, stop = index.groups[group], index.groups[group + 1]
        root = np.sqrt(float(own * (index.sets.bounds[first + 1] - index.sets.bounds[first])))
        # Rounded down and with slack: whether a count suffices is decided by ``keep``.
        least = max(int(scores[-1] * SLACK * root), 1)
        for start in range(first, stop, STRETCH):
            end = min(start + STRETCH, stop)
            if peak(counts[start:end]) < least:
                continue
            for place in range(start, end):
                if counts[place] >= least:
                    keep(scores, rows, counts[place] / root, index.order[place])
                    least = max(least, least_of_use(scores, rows, root, index.order[place]))


@kernel
def least_of_use(scores: Array, rows: Array, root: float, row: int) -> int:
    """The smallest count with which a row after ``row`` would enter the list; score = count / root."""
    least = int(scores[-1] * SLACK * root)
    while least / root < scores[-1] or (least / root == scores[-1] and rows[-1] <= row):
        least += 1
    return least


@kernel
def match_rows(questions: TokenSets, index: InvertedIndex, best: Best, mark: Array, counts: Array) -> None:
    """The most similar rows of each question: by ``walk`` if it ends early, else by counting the words of all rows."""
    n, k = len(index.order), best.rows.shape[1]
    seen = np.full(n, -1, np.int64)
    buffer = np.empty(len(mark), np.int64)
    tops = np.empty(len(index.groups) - 1)
    for q in range(len(questions.bounds) - 1):
        words = questions.words[questions.bounds[q] : questions.bounds[q + 1]]
        own, scores, rows = len(words), best.scores[q], best.rows[q]
        indexed = buffer[: known_words(words, index, buffer)]
        mark[words] = q
        mark[-1] = q
        if len(indexed) > WALKED or not walk(indexed, own, mark, seen, index, scores, rows):
            # The walk may have kept some rows, which would be met again.
            scores[:] = 0.0
            # Numbers past the last row are empty entries.
            rows[:] = np.arange(n, n + k)
            count(indexed, index, counts)
            tops_of(counts, own, index, tops)
            collect(counts, own, index, tops, scores, rows)


@kernel
def fill(rows: Array, n: int) -> None:
    """Fill the empty entries of a list (numbers from ``n`` on) with the first rows not in it."""
    k = rows.shape[1]
    # At most k rows are in use, so the first k others are below 2k.
    used = np.empty(2 * k, np.bool_)
    for q in range(len(rows)):
        if rows[q, k - 1] < n:
            continue
        used[:] = False
        for place in range(k):
            if rows[q, place] < len(used):
                used[rows[q, place]] = rows[q, place] < n
        row = 0
        for place in range(k):
            if rows[q, place] >= n:
                while used[row]:
                    row += 1
                rows[q, place] = row
                row += 1
