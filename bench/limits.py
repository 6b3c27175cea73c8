"""What the steps of a lexical score take for each word, beside plain C loops over the same bytes: where the limits are.

::

    taskset -c 0 python -m bench.limits

writes ``bench/results/limits.json``.  It needs gcc.  Times are processor time of one thread, the least of some runs;
instructions are counted one by one (``bench.instructions``), so they do not depend on what else the machine does.
Bytes are those that a step reads and writes, where they can be told from its arrays.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench import data
from bench.compare import RESULTS
from bench.instructions import instructions
from bench.machine import machine
from fastmetrics.base.arrays import Text, Tokens, text_of_arrow
from fastmetrics.kernels import token_overlap
from fastmetrics.kernels.lcs import lcs_lengths
from fastmetrics.kernels.ngrams import Lists, count_ngrams
from fastmetrics.metrics.pair_counts import lists
from fastmetrics.text.conventions import convention
from fastmetrics.text.text_keys import is_utf8
from fastmetrics.text.tokenize import SECRET, Rewriter, Vocabulary

SOURCE = Path(__file__).with_suffix(".c")
PAGE = 1 << 20
"""Bytes of text compressed together, as in a page of Parquet."""
FEW, MORE = 4, 12
"""Rows of two calls whose instructions are counted; the difference leaves out what a call costs besides its rows."""
ID, EDGES, HEAD, KEY = 4, 8, 16, 8
"""Bytes of a word's number, of its start and end, of its first sixteen bytes and of its hash."""


class Pairs(NamedTuple):
    """Rows of answers and references: as Arrow arrays, as text and as numbers of words."""

    columns: tuple[pa.Array, pa.Array]
    texts: tuple[Text, Text]
    tokens: tuple[Tokens, Tokens]

    @property
    def n_words(self) -> int:
        """The words of both columns."""
        return sum(len(tokens.ids) for tokens in self.tokens)

    @property
    def bytes_per_word(self) -> float:
        """The bytes of the texts for each word."""
        return sum(int(text.stops[-1] - text.starts[0]) for text in self.texts) / self.n_words


Call = Callable[[], object]


class Step(NamedTuple):
    """A step: the call that does it to some rows, and how many bytes it reads and writes for each word."""

    name: str
    call: Callable[[Pairs], Call]
    moved: Callable[[Pairs], float] | None


def pairs(table: pa.Table, first: int, rows: int, words: Vocabulary) -> Pairs:
    """Some rows of a table; new words are added."""
    answers, references = (table[name].slice(first, rows).combine_chunks() for name in ("answer", "reference"))
    texts = text_of_arrow(answers, "answer"), text_of_arrow(references, "reference")
    return Pairs((answers, references), texts, (words.tokenize(texts[0]), words.tokenize(texts[1])))


def steps_of_scoring(split: Vocabulary, plain: Rewriter) -> list[Step]:
    """What the package does to the words of both columns."""

    def check(rows: Pairs) -> Call:
        return lambda: [is_utf8(column) for column in rows.columns]

    def cut(rows: Pairs) -> Call:
        return lambda: [split.tokenize(text) for text in rows.texts]

    def convert(rows: Pairs) -> Call:
        return lambda: [plain.tokens(tokens) for tokens in rows.tokens]

    def multisets(rows: Pairs) -> Call:
        return partial(token_overlap.count_shared, *_flat(rows))

    def sets(rows: Pairs) -> Call:
        return partial(token_overlap.count_sets, *_flat(rows))

    def bigrams(rows: Pairs) -> Call:
        a, b, n_words = _listed(rows)
        return partial(count_ngrams, a, b, np.arange(len(rows.tokens[0]) + 1), n_words, 2, False, SECRET[1])

    def subsequences(rows: Pairs) -> Call:
        return partial(lcs_lengths, *_listed(rows))

    return [
        Step("UTF-8 checked", check, lambda rows: rows.bytes_per_word),
        # the text, folded text, edges, heads and hashes of words, and from the vocabulary a slot and a head
        Step(
            "words folded, cut and numbered",
            cut,
            lambda rows: 3 * rows.bytes_per_word + 2 * (EDGES + HEAD + KEY) + KEY + HEAD + ID,
        ),
        Step("numbers of another convention", convert, lambda _: 3 * ID),
        # of a: twice the number, the counter thrice; of b: the number, the counter twice
        Step("multisets compared", multisets, lambda _: (5 * ID + 3 * ID) / 2),
        Step("sets compared", sets, lambda _: (3 * ID + 4 * ID) / 2),
        Step("words and bigrams counted", bigrams, None),
        # of a: twice the number, the mask of 64 places thrice; of b: each once
        Step("longest common subsequence", subsequences, lambda _: (2 * ID + 3 * KEY + ID + KEY) / 2),
    ]


def _flat(rows: Pairs) -> tuple[Any, ...]:
    a, b = rows.tokens
    groups, n_words = np.arange(len(a) + 1), max(a.n_words, b.n_words)
    return a.ids, a.starts, a.stops, b.ids, b.starts, b.stops, groups, n_words


def _listed(rows: Pairs) -> tuple[Lists, Lists, int]:
    a, b = rows.tokens
    return lists(a), lists(b), max(a.n_words, b.n_words)


def plain_loops(library: ctypes.CDLL) -> list[Step]:
    """The loops in C, and pyarrow's decompression."""
    slots = np.zeros(1 << 20, np.uint64)

    def loop(name: str, room: Callable[[int], tuple[Any, ...]]) -> Callable[[Pairs], Call]:
        function = getattr(library, name)
        function.restype = ctypes.c_int64

        def call(rows: Pairs) -> Call:
            content = [text.data[int(text.starts[0]) : int(text.stops[-1])] for text in rows.texts]
            arguments = [(array, ctypes.c_int64(len(array)), *room(len(array))) for array in content]
            return lambda: [function(*map(_address, those)) for those in arguments]

        return call

    def edges(size: int) -> tuple[Any, ...]:
        return (np.empty(size + 1, np.uint32),)

    def numbers(size: int) -> tuple[Any, ...]:
        return slots, ctypes.c_uint64(len(slots) // 2 - 1), np.empty(size, np.int32)

    return [
        Step("C: spaces counted", loop("count_gaps", lambda _: ()), lambda rows: rows.bytes_per_word),
        Step(
            "C: bytes copied",
            loop("copy_bytes", lambda size: (np.empty(size, np.uint8),)),
            lambda rows: 2 * rows.bytes_per_word,
        ),
        Step("C: words cut at spaces", loop("cut_words", edges), lambda rows: rows.bytes_per_word + EDGES),
        Step(
            "C: words cut, hashed and numbered",
            loop("number_words", numbers),
            lambda rows: rows.bytes_per_word + 2 * KEY + ID,
        ),
        Step(
            "snappy: pages decompressed",
            lambda rows: partial(_decompress, _pages(rows)),
            lambda rows: sum(len(packed) + size for packed, size in _pages(rows)) / rows.n_words,
        ),
    ]


def _address(argument: Any) -> Any:
    return ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else argument


def _pages(rows: Pairs) -> list[tuple[bytes, int]]:
    """The bytes of the texts, compressed as in Parquet, and how many they are."""
    codec, pages = pa.Codec("snappy"), []
    for text in rows.texts:
        content = text.data[int(text.starts[0]) : int(text.stops[-1])].tobytes()
        for first in range(0, len(content), PAGE):
            page = content[first : first + PAGE]
            pages.append((codec.compress(page, asbytes=True), len(page)))
    return pages


def _decompress(pages: list[tuple[bytes, int]]) -> None:
    codec = pa.Codec("snappy")
    for packed, size in pages:
        codec.decompress(packed, decompressed_size=size)


def seconds(call: Call, repeats: int) -> float:
    """The least processor time of some calls, after one that is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times[1:])


def measure(rows: int, repeats: int, beginning: str = "") -> list[dict[str, Any]]:
    """Each step on the same rows, for each word; of those whose names have this beginning."""
    table = data.table(rows + FEW + MORE)
    split, plain = Vocabulary(convention("split")), Vocabulary(convention("plain"))
    many, fewer, more = (
        pairs(table, first, size, split) for first, size in ((0, rows), (rows, FEW), (rows + FEW, MORE))
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(compiled(Path(folder, "limits.so")))
        for step in steps_of_scoring(split, Rewriter(split, plain)) + plain_loops(library):
            if not step.name.startswith(beginning):
                continue
            took = seconds(step.call(many), repeats)
            added = counted(step.call(more)) - counted(step.call(fewer))
            results.append(
                {
                    "name": step.name,
                    "rows": rows,
                    "nanoseconds_per_word": round(took / many.n_words * 1e9, 3),
                    "instructions_per_word": round(added / (more.n_words - fewer.n_words), 1),
                    "bytes_per_word": None if step.moved is None else round(step.moved(many), 1),
                    "microseconds_per_row": round(took / rows * 1e6, 3),
                }
            )
            print(json.dumps(results[-1]), flush=True)
    return results


def counted(call: Call) -> int:
    """The instructions of a call, after one that is not counted."""
    call()
    return instructions(call)


def compiled(target: Path) -> str:
    """The library of the loops."""
    subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(target), str(SOURCE)], check=True)
    return str(target)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=8_192, help="rows measured together; the default is a batch")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--step", default="", help="how the names of the steps to measure begin; nothing is written")
    options = parser.parse_args()
    results = measure(options.rows, options.repeats, options.step)
    if options.step:
        return
    report = {"name": "limits", "machine": machine(), "results": results}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "limits.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
