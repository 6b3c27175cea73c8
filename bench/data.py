"""Made rows of any number, the same for the same seed: questions, answers, references, operational columns.

Words follow Zipf's law over about 50,000 made-up ones; an answer repeats part of its reference; one row in twenty is
Cyrillic.  Text is put together in Arrow, so a million rows take seconds::

    python -m bench.data rows.parquet --rows 1000000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BATCH = 50_000
VOCABULARY = 50_000
QUESTION, ANSWER, REFERENCE, PASSAGE = 10, 60, 60, 40
PASSAGES = 3
CYRILLIC_SHARE = 0.05
SHARED = 0.5  # part of an answer's words that its reference holds at the same place
LETTERS = {
    "latin": ("etaoinshrdlcumwfgypbvkxjqz", np.geomspace(12, 0.1, 26)),
    "cyrillic": ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", np.geomspace(11, 0.04, 33)),
}
FREQUENT = {
    "latin": "the of and to a in is that for it was on as with be by at an this from".split(),  # noqa: SIM905
    "cyrillic": "и в не на что с по это как к из у за от для то но о же его".split(),  # noqa: SIM905
}

Strings = pa.Array
Table = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Vocabulary:
    """Every form of every word, form after form: plain, capitalised, with a comma, with a full stop, in brackets."""

    forms: Strings
    size: int
    cumulative: Table

    def draw(self, rng: np.random.Generator, rows: int, length: int) -> Table:
        """Words by rank, the frequent ones first: rows × length."""
        ranks = np.searchsorted(self.cumulative, rng.random(rows * length))
        return ranks.astype(np.int32).reshape(rows, length)

    def write(self, rng: np.random.Generator, words: Table, cite: bool = False) -> Strings:
        """One string a row, in sentences of about twelve words."""
        rows, length = words.shape
        chance = rng.random(words.shape)
        stop = chance < 1 / 12
        stop[:, -1] = True
        opens = np.roll(stop, 1, axis=1)
        form = np.select([stop, opens, chance < 0.18, chance < 0.19], [3, 1, 2, 4], 0)
        if cite:
            form = np.where(stop, 5 + rng.integers(PASSAGES, size=words.shape), form)
        chosen = self.forms.take(pa.array((words + form.astype(np.int32) * self.size).ravel()))
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * length)
        return pc.binary_join(pa.ListArray.from_arrays(offsets, chosen), " ")


def in_cyrillic(texts: Strings) -> Strings:
    """The texts with each Latin letter exchanged for a Cyrillic one."""
    latin, cyrillic = LETTERS["latin"][0], LETTERS["cyrillic"][0][:26]
    exchange = str.maketrans(latin + latin.upper(), cyrillic + cyrillic.upper())
    return pa.array([text.translate(exchange) for text in texts.to_pylist()])


def vocabulary(script: str, seed: int) -> Vocabulary:
    """Made-up words of realistic lengths, the frequent ones real and short."""
    rng = np.random.default_rng([seed, len(script)])
    letters, weights = LETTERS[script]
    typical = 3 + np.log(np.arange(1, VOCABULARY + 1)) / 2  # frequent words are short
    lengths = np.clip(rng.gamma(9, typical / 9).astype(int), 2, 24)
    spelt = rng.choice(np.array(list(letters)), size=lengths.sum(), p=weights / weights.sum())
    ends = np.cumsum(lengths)
    text = "".join(spelt)
    texts = (text[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True))
    words = list(dict.fromkeys([*FREQUENT[script], *texts]))
    frequency = 1 / np.arange(1.0, len(words) + 1)
    forms = [
        *words,
        *(word.capitalize() for word in words),
        *(f"{word}," for word in words),
        *(f"{word}." for word in words),
        *(f"({word})" for word in words),
        *(f"{word} [{number + 1}]." for number in range(PASSAGES) for word in words),
    ]
    return Vocabulary(pa.array(forms), len(words), np.cumsum(frequency / frequency.sum())[:-1])


def _batch(start: int, rows: int, seed: int, contexts: bool, scripts: tuple[Vocabulary, Vocabulary]) -> pa.RecordBatch:
    rng = np.random.default_rng([seed, start])
    columns = _texts(rng, rows, contexts, scripts)
    prompt = rng.integers(200, 3000, rows)
    completion = rng.integers(60, 120, rows)
    columns = {"id": pa.array(np.arange(start, start + rows))} | columns
    columns |= {
        "latency_ms": pa.array(np.round(rng.lognormal(6.5, 0.6, rows), 1)),
        "prompt_tokens": pa.array(prompt),
        "completion_tokens": pa.array(completion),
        "total_tokens": pa.array(prompt + completion),
    }
    return pa.record_batch(columns)


def _texts(
    rng: np.random.Generator, rows: int, contexts: bool, scripts: tuple[Vocabulary, Vocabulary]
) -> dict[str, pa.Array]:
    """The columns of text: each script's rows are made together, then put in a random order."""
    cyrillic = round(rows * CYRILLIC_SHARE)
    parts = [
        _script(rng, count, contexts, words) for count, words in zip((rows - cyrillic, cyrillic), scripts, strict=True)
    ]
    order = pa.array(rng.permutation(rows))
    return {name: pa.concat_arrays([part[name] for part in parts]).take(order) for name in parts[0]}


def _script(rng: np.random.Generator, rows: int, contexts: bool, words: Vocabulary) -> dict[str, pa.Array]:
    reference = words.draw(rng, rows, REFERENCE)
    answer = np.where(rng.random((rows, ANSWER)) < SHARED, reference[:, :ANSWER], words.draw(rng, rows, ANSWER))
    columns = {
        "question": words.write(rng, np.concatenate([words.draw(rng, rows, QUESTION - 2), answer[:, :2]], axis=1)),
        "answer": words.write(rng, answer, cite=contexts),
        "reference": words.write(rng, reference),
    }
    if contexts:
        passages = words.draw(rng, rows * PASSAGES, PASSAGE)
        copied = rng.random(passages.shape) < SHARED
        passages = np.where(copied, np.repeat(answer[:, :PASSAGE], PASSAGES, axis=0), passages)
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * PASSAGES)
        columns["contexts"] = pa.ListArray.from_arrays(offsets, words.write(rng, passages))
    return columns


def batches(rows: int, seed: int = 0, contexts: bool = False) -> Iterator[pa.RecordBatch]:
    """Record batches of at most ``BATCH`` rows; with ``contexts``, passages and answers that cite them."""
    scripts = vocabulary("latin", seed), vocabulary("cyrillic", seed)
    for start in range(0, rows, BATCH):
        yield _batch(start, min(BATCH, rows - start), seed, contexts, scripts)


def table(rows: int, seed: int = 0, contexts: bool = False) -> pa.Table:
    """All rows in memory."""
    return pa.Table.from_batches(batches(rows, seed, contexts))


def write(path: str, rows: int, seed: int = 0, contexts: bool = False) -> None:
    """Stream ``rows`` rows into the Parquet file ``path``, a row group a batch."""
    parts = batches(rows, seed, contexts)
    head = next(parts)
    with pq.ParquetWriter(path, head.schema) as file:
        file.write_batch(head)
        for part in parts:
            file.write_batch(part)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.data", description="Write made rows to a Parquet file.")
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--contexts", action="store_true", help="add passages, and citations to the answers")
    options = parser.parse_args()
    if options.rows < 1:
        parser.error("--rows: expected at least 1")
    write(options.out, options.rows, options.seed, options.contexts)


if __name__ == "__main__":
    main()
