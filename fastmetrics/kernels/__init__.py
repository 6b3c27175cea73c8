"""Compiled functions: they take and return flat arrays of counts and sums.

An array has the same shape under the same name in all kernels, unless the docstring of a kernel or its module says
otherwise:

- ``data``: the bytes of all texts, one after another; ``starts`` and ``stops`` have one entry per text, which is
  ``data[starts[i]:stops[i]]``
- ``ids``: the numbers of all words (tokens) or documents; row i has ``ids[starts[i]:stops[i]]``. ``a_starts``,
  ``a_stops``, ``b_starts``, ``b_stops``: those of the first and the second text of each pair
- ``starts`` without ``stops``, and ``bounds``, ``groups``, ``judged_starts``, ``ideal_starts``: one entry more than
  there are rows, the last being the end; row i has the entries ``bounds[i]:bounds[i + 1]``
- ``grades``, ``gains``, ``docs``, ``scores``: one entry per retrieved document, all queries one after another;
  ``ideal`` has the grades of all judged documents of a query, best first
- ``out``: where results are written, as large as the caller knows that they can become
- ``classes``, ``codemap``, ``is_word``, ``is_space``: one entry per code point; ``bytemap``: 256 entries, one per byte
- ``letters``: per word its column of ``table``, or -1; ``table``: the states of an automaton × letters, with the next
  state; ``final``: per state, whether a phrase ends there
- ``marked``, ``roles``: one entry per word of the vocabulary or of the text, as the kernel says
- ``slots``: the slots of a hash table, a power of two, with an entry's number or -1; ``stored``: the keys of the
  entries
- ``masks``: one 64-bit word per id, with a bit for each of 64 places where it occurs; ``carry``: one entry per row of
  ids
- ``left_rows`` and ``right_rows``, ``left_scales`` and ``right_scales``: the pairs' row numbers and factors
- ``halves``: half the squared norm of each row; ``tile``: scalar products, rows down × rows across
"""
