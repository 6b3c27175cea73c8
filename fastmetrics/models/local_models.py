"""Columns of local models: entailment, relevance, BERTScore, and the labels of a text.

A model is a folder on this machine, read by sentence-transformers and transformers without any network, or a function.
What it computes of a pair of texts is stored in the cache of embeddings (``vectors/embedder.py``), under a digest of
all files of the folder, so a changed model is another one. The dear step is the model: rows are handled one by one.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints, is_list, text_of_arrow
from fastmetrics.base.errors import Argument, InputError, OptionError, quoted
from fastmetrics.base.notes import Note
from fastmetrics.metrics.cited_support import cut
from fastmetrics.metrics.local_models import RELEVANCE
from fastmetrics.models.local_folders import Loaded, LocalSettings, of_folder, of_function, of_vectors
from fastmetrics.tables.input_files import read_text
from fastmetrics.tables.targets import cache_folder
from fastmetrics.vectors.embedder import KEY_BYTES, VectorCache, as_keys, compute_distinct, encoded

_BATCH_CHARACTERS, _BATCH_PAIRS = 1 << 13, (8, 64)
"""The characters of a batch of pairs, and the fewest and most pairs of one: on a CPU larger ones leave its caches."""
EXACT = 1000
"""The first pairs, of which a lower precision is compared with float32."""


class LocalModel(ABC):
    """A local model with its columns: what :func:`entailment` and its like return, for :func:`apply`."""

    reads: tuple[str, ...] = ()
    """The canonical names of the columns that it reads."""
    kind = ""

    def __init__(self, source: Any, settings: LocalSettings, **own: Any) -> None:
        self.source, self.settings, self.own = source, settings, own
        self.computed = 0
        """The pairs that were computed, rather than found in the store."""
        self.notes: list[str] = []
        self.model = self._load()

    def _load(self) -> Loaded:
        return (
            of_function(self.source, self.settings) if callable(self.source) else of_folder(self.source, self.settings)
        )

    def __repr__(self) -> str:
        return f"<{self.kind} {self.model.signature}>"

    @property
    def signature(self) -> dict[str, Any]:
        """All settings that the columns depend on."""
        return {"model": self.model.signature, **self.own}

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, tuple[float, float] | None]:
        """The columns that it makes, with the range of their numbers; None for lists of numbers."""

    @abstractmethod
    def pairs(self, columns: Mapping[str, pa.Array]) -> _Pairs:
        """What the model is to compute for a batch of rows."""

    @abstractmethod
    def values(self, pairs: _Pairs, scores: Floats) -> Mapping[str, pa.Array]:
        """The columns from the score of each pair."""

    @cached_property
    def cache(self) -> VectorCache:
        """The store of what this model computes; of a function, whose revision nobody knows, for this run alone."""
        name = hashlib.sha256(f"{self.kind} {self.stored_as}".encode()).hexdigest()[:KEY_BYTES]
        if callable(self.source):
            folder = Path(tempfile.mkdtemp(prefix="fastmetrics-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            return VectorCache(folder, self.width)
        folder = cache_folder() / "local_models" if self.settings.cache is None else Path(self.settings.cache)
        return VectorCache(folder / name, self.width)

    @property
    def stored_as(self) -> str:
        """What a stored number depends on besides the texts."""
        return self.model.signature

    @property
    def width(self) -> int:
        """The numbers of a pair."""
        return max(1, len(self.model.labels))

    def sizes(self, pairs: Sequence[tuple[str, ...]]) -> Ints:
        """What pairs are sorted by, largest first, before they are computed in batches."""
        return np.array([sum(map(len, pair)) for pair in pairs], np.int64)

    def batch(self, size: int) -> int:
        """The pairs of a batch whose largest has this size."""
        return int(np.clip(_BATCH_CHARACTERS // max(size, 1), *_BATCH_PAIRS))

    def scores(self, pairs: Sequence[tuple[str, ...]]) -> Floats:
        """The numbers of each pair, each distinct pair computed once, or found in the store."""
        distinct = list(dict.fromkeys(pairs))
        numbers = {pair: number for number, pair in enumerate(distinct)}
        results = np.full((len(distinct), self.width), np.nan, np.float32)

        def compute(some: Ints) -> npt.NDArray[Any]:
            return self.compute([distinct[number] for number in some.tolist()])

        if distinct:
            keys = [key_of(pair) for pair in distinct]
            self.computed += compute_distinct(results, self.sizes(distinct), compute, self.batch, self.cache, keys)
        return results[[numbers[pair] for pair in pairs]].astype(np.float64).reshape(-1, self.width)

    def compute(self, pairs: Sequence[tuple[str, ...]]) -> npt.NDArray[Any]:
        """The numbers of pairs, by the model.

        Raises ``InputError`` where it fails, or returns another array.
        """
        found = encoded(f"model {self.source}", self.model.compute, pairs)
        shape = len(pairs), self.width
        if found.shape != shape and not (self.width == 1 and found.shape == shape[:1]):
            raise InputError(f"model {self.source}: expected an array of shape {shape}, got {found.shape}")
        return found.reshape(shape)

    def places(self, keys: Sequence[bytes]) -> Ints:
        """Where the store has the numbers of pairs, -1 without them."""
        return self.cache.find(as_keys(keys))

    @property
    def is_exact(self) -> bool:
        """Whether nothing is lost by its precision."""
        return self.settings.precision == "float32" or callable(self.source)

    def measure(self, pairs: Sequence[tuple[str, ...]]) -> None:
        """Take note of the largest and the mean difference of some pairs from float32."""
        exact = type(self)(self.source, replace(self.settings, precision="float32"), **self.own)
        vars(exact).update({name: value for name, value in vars(self).items() if name == "weights"})
        lost = np.abs(self.scores(pairs) - exact.scores(pairs)) if pairs else np.zeros((1, 1))
        self.computed += exact.computed
        precision = self.settings.precision
        self.notes = [Note("precision", precision=precision, n=len(pairs), mean=lost.mean(), most=lost.max())]


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a batch of rows: the group of each (a sentence, a context), the row of each group.

    ``known`` are the rows with a value, ``is_cut`` those with a text of which the model does not read all.
    """

    texts: Sequence[tuple[str, ...]]
    groups: Ints
    rows: Ints
    known: Flags
    is_cut: Flags


def key_of(pair: tuple[str, ...]) -> bytes:
    """The key of a pair in the store."""
    text = "".join([f"{len(pair[0])} ", *pair]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=KEY_BYTES).digest()


def _texts(column: pa.Array, name: str) -> list[str | None]:
    """The texts of a column, None for a null and a blank one."""
    text_of_arrow(column, name)
    return [text if text and not text.isspace() else None for text in column.to_pylist()]


def _lists(column: pa.Array, name: str) -> list[list[str | None] | None]:
    """The lists of texts of a column, in which a blank text is None; a text alone is a list of one."""
    text_of_arrow(column, name, lists=True)
    values = (
        column.to_pylist()
        if is_list(column.type)
        else [None if text is None else [text] for text in column.to_pylist()]
    )
    return [
        None if texts is None else [text if text and not text.isspace() else None for text in texts] for texts in values
    ]


def _numbers(values: Floats, known: Flags) -> pa.Array:
    return pa.array(values, mask=~known | np.isnan(values))


class Entailment(LocalModel):
    """Whether contexts entail the sentences of answers."""

    reads = ("answer", "contexts")
    kind = "entailment"

    def __init__(self, source: Any, settings: LocalSettings, **own: Any) -> None:
        super().__init__(source, settings, **own)
        names = [label.casefold() for label in self.model.labels]
        self._places = {name: names.index(name) for name in ("entailment", "contradiction") if name in names}
        if not names:
            self._places = {"entailment": 0}
        if "entailment" not in self._places:
            raise OptionError(
                f"model {source}: none of its labels {quoted(self.model.labels)} is entailment; state them in their "
                "order with ",
                Argument("labels", "contradiction,neutral,entailment"),
            )

    @property
    def outputs(self) -> Mapping[str, tuple[float, float] | None]:
        """The probabilities that the model has labels for."""
        return dict.fromkeys(self._places, (0.0, 1.0))

    def pairs(self, columns: Mapping[str, pa.Array]) -> _Pairs:
        """Each sentence with each context of its row, in windows."""
        answers, contexts = _texts(columns["answer"], "answer"), _lists(columns["contexts"], "contexts")
        found = cut(text_of_arrow(columns["answer"], "answer"))
        bare = found.bare(np.arange(len(found.rows))).to_pylist()
        texts: list[tuple[str, str]] = []
        groups: list[int] = []
        rows: list[int] = []
        known = np.zeros(len(answers), np.bool_)
        said: dict[int, list[str]] = {}
        for row, sentence in zip(found.rows.tolist(), bare, strict=True):
            if sentence:
                said.setdefault(row, []).append(sentence)
        for row, passages in enumerate(contexts):
            if answers[row] is None or passages is None or row not in said:
                continue
            present = [passage for passage in passages if passage is not None]
            known[row] = bool(present) or not passages  # of no passage at all, none supports the answer
            for sentence in said[row] if present else ():
                texts += [(passage, sentence) for passage in present]
                groups += [len(rows)] * len(present)
                rows.append(row)
        made, owners, cuts = self.model.windows(texts, 0)
        of_rows, of_groups = np.array(rows, np.int64), np.array(groups, np.int64)
        is_cut = np.zeros(len(answers), np.bool_)
        is_cut[of_rows[of_groups[cuts]]] = True
        return _Pairs(made, of_groups[owners], of_rows, known, is_cut)

    def values(self, pairs: _Pairs, scores: Floats) -> Mapping[str, pa.Array]:
        """The best window of each sentence, then the mean or the worst of the sentences."""
        made: dict[str, pa.Array] = {}
        sizes = np.bincount(pairs.rows, minlength=len(pairs.known))
        for name, place in self._places.items():
            best = np.zeros(len(pairs.rows))
            np.maximum.at(best, pairs.groups, scores[:, place])
            if self.own["sentences"] == "mean":
                values = np.bincount(pairs.rows, best, len(pairs.known)) / np.maximum(sizes, 1)
            else:
                worst, start = (np.minimum, 1.0) if name == "entailment" else (np.maximum, 0.0)
                values = np.full(len(pairs.known), start)
                worst.at(values, pairs.rows, best)
                values[sizes == 0] = 0.0
            made[name] = _numbers(values, pairs.known)
        return made


class Rerank(LocalModel):
    """How relevant each context is to the question."""

    reads = ("question", "contexts")
    kind = "rerank"

    def __init__(self, source: Any, settings: LocalSettings, **own: Any) -> None:
        super().__init__(source, settings, **own)
        if self.model.labels:
            raise OptionError(f"model {source}: expected one score, as rerankers have, got {quoted(self.model.labels)}")

    @property
    def outputs(self) -> Mapping[str, tuple[float, float] | None]:
        """The score of each context, and their mean."""
        return {RELEVANCE: None, f"{RELEVANCE}@{self.own['k']}": (-math.inf, math.inf)}

    def pairs(self, columns: Mapping[str, pa.Array]) -> _Pairs:
        """The question with each context, in windows; the groups are the contexts, also those without a text."""
        questions, contexts = _texts(columns["question"], "question"), _lists(columns["contexts"], "contexts")
        texts: list[tuple[str, str]] = []
        groups: list[int] = []
        rows: list[int] = []
        known = np.array([a is not None and b is not None for a, b in zip(questions, contexts, strict=True)], np.bool_)
        for row in np.flatnonzero(known).tolist():
            for passage in contexts[row] or ():
                if passage is not None:
                    texts.append((str(questions[row]), passage))
                    groups.append(len(rows))
                rows.append(row)
        made, owners, cuts = self.model.windows(texts, 1)
        of_rows, of_groups = np.array(rows, np.int64), np.array(groups, np.int64)
        is_cut = np.zeros(len(known), np.bool_)
        is_cut[of_rows[of_groups[cuts]]] = True
        return _Pairs(made, of_groups[owners], of_rows, known, is_cut)

    def values(self, pairs: _Pairs, scores: Floats) -> Mapping[str, pa.Array]:
        """The best window of each context; the mean of the first k."""
        best = np.full(len(pairs.rows), np.nan)
        np.fmax.at(best, pairs.groups, scores[:, 0])
        sizes = np.bincount(pairs.rows, minlength=len(pairs.known))
        ends = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(len(best)) - np.repeat(ends[:-1], sizes)
        counted = (place < self.own["k"]) & ~np.isnan(best)
        totals = np.bincount(pairs.rows[counted], best[counted], len(pairs.known))
        number = np.bincount(pairs.rows[counted], minlength=len(pairs.known))
        means = np.divide(totals, number, out=np.full(len(totals), np.nan), where=number > 0)
        lists = pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), pa.array(best, mask=np.isnan(best)), mask=pa.array(~pairs.known)
        )
        return dict(zip(self.outputs, (lists, _numbers(means, pairs.known)), strict=True))


class Classifier(LocalModel):
    """The probability of each label of a text."""

    kind = "classifier"

    def __init__(self, source: Any, settings: LocalSettings, **own: Any) -> None:
        self.reads = (own["column"],)
        super().__init__(source, settings, **own)
        if len(self.model.labels) < 2:
            raise OptionError(
                f"model {source}: expected two labels or more, got one score, whose meaning nobody states"
            )

    @property
    def outputs(self) -> Mapping[str, tuple[float, float] | None]:
        """A column for each label."""
        names = [re.sub(r"\W+", "_", label) for label in self.model.labels]
        return {f"{self.own['column']}_{name}": (0.0, 1.0) for name in names}

    def pairs(self, columns: Mapping[str, pa.Array]) -> _Pairs:
        """The texts."""
        texts = _texts(columns[self.reads[0]], self.reads[0])
        known = np.array([text is not None for text in texts], np.bool_)
        rows = np.flatnonzero(known)
        alone = [(text,) for text in texts if text is not None]
        tokens = self.model.offsets([text for (text,) in alone if len(text.encode()) > self.model.room])
        is_cut = np.array(
            [text is not None and len(tokens.get(text, ())) > self.model.room for text in texts], np.bool_
        )
        return _Pairs(alone, np.arange(len(rows)), rows, known, is_cut)

    def values(self, pairs: _Pairs, scores: Floats) -> Mapping[str, pa.Array]:
        """One column for each label."""
        table = np.full((len(pairs.known), self.width), np.nan)
        table[pairs.rows] = scores
        return {name: _numbers(table[:, place], pairs.known) for place, name in enumerate(self.outputs)}


class BertScore(LocalModel):
    """BERTScore, as the package bert-score computes it."""

    reads = ("answer", "reference")
    kind = "bert_score"
    weights: Floats | None = None
    """The weight of each token by its number; None for equal weights."""

    def _load(self) -> Loaded:
        if callable(self.source):
            raise OptionError("bert_score compares the vectors of tokens: name the folder of a model")
        model, self.own["layer"] = of_vectors(self.source, self.settings, self.own["layer"], lambda: self.weights)
        return model

    @property
    def outputs(self) -> Mapping[str, tuple[float, float] | None]:
        """Precision, recall and F1."""
        return dict.fromkeys(("bert_score_precision", "bert_score_recall", "bert_score_f1"), (-math.inf, math.inf))

    @property
    def stored_as(self) -> str:
        """The model, and the weights of tokens."""
        weights = b"" if self.weights is None else self.weights.tobytes()
        return f"{self.model.signature}|layer:{self.own['layer']}|{hashlib.sha256(weights).hexdigest()}"

    def weigh(self, batches: Iterable[Mapping[str, pa.Array]]) -> None:
        """Weigh tokens by the references of the table, or the lines of a file: log((N + 1) / (n + 1)) for n of N."""
        idf = self.own["idf"]
        if idf is False or self.weights is not None:
            return
        counts: Counter[int] = Counter()
        total = 0
        each = (
            [read_text(idf).splitlines()]
            if idf is not True
            else ([reference for _, reference in self.pairs(batch).texts] for batch in batches)
        )
        for texts in each:
            total += len(texts)
            for ids in self.model.ids(texts):
                counts.update(set(ids))
        weights = np.full(len(self.model.tokenizer), math.log(total + 1))
        for token, number in counts.items():
            weights[token] = math.log((total + 1) / (number + 1))
        self.weights = weights

    def sizes(self, pairs: Sequence[tuple[str, ...]]) -> Ints:
        """Pairs of one reference go together, so that its vectors are computed once."""
        numbers = {reference: number for number, reference in enumerate(dict.fromkeys(pair[1] for pair in pairs))}
        return np.array([(len(pair[1]) << 32) + numbers[pair[1]] for pair in pairs], np.int64)

    def batch(self, size: int) -> int:
        """Several batches of the model: texts are sorted by length once more, and references found again."""
        return int(np.clip((_BATCH_CHARACTERS << 2) // max(size >> 32, 1), 16, 1024))

    @property
    def width(self) -> int:
        """Precision, recall and F1."""
        return 3

    def pairs(self, columns: Mapping[str, pa.Array]) -> _Pairs:
        """The answer with each reference; an empty text is one, with the score 0."""
        answers, references = columns["answer"].to_pylist(), columns["reference"].to_pylist()
        text_of_arrow(columns["answer"], "answer"), text_of_arrow(columns["reference"], "reference", lists=True)
        texts, rows = [], []
        for row, (answer, given) in enumerate(zip(answers, references, strict=True)):
            if answer is not None and given is not None:
                some = [text for text in ([given] if isinstance(given, str) else given) if text is not None]
                texts += [(answer, text) for text in some]
                rows += [row] * len(some)
        of_rows = np.array(rows, np.int64)
        known, is_cut = np.zeros((2, len(answers)), np.bool_)
        known[of_rows] = True
        long = [
            number for number, pair in enumerate(texts) if max(len(text.encode()) for text in pair) > self.model.room
        ]
        tokens = self.model.offsets(list(dict.fromkeys(text for number in long for text in texts[number])))
        room = self.model.room - self.model.tokenizer.num_special_tokens_to_add()
        is_cut[[rows[number] for number in long if max(len(tokens[text]) for text in texts[number]) > room]] = True
        return _Pairs(texts, np.arange(len(texts)), of_rows, known, is_cut)

    def values(self, pairs: _Pairs, scores: Floats) -> Mapping[str, pa.Array]:
        """The best reference, for each of the three, rescaled by the baseline."""
        best = np.full((len(pairs.known), 3), -np.inf)
        np.maximum.at(best, pairs.rows, scores)
        if self.own["baseline"] is not None:
            base = baseline_of(self.own["baseline"], self.own["layer"])
            best = (best - base) / (1 - base)
        return {name: _numbers(best[:, place], pairs.known) for place, name in enumerate(self.outputs)}


def baseline_of(path: str, layer: int) -> Floats:
    """Precision, recall and F1 of unrelated texts, from the line of a layer in a file of the package bert-score.

    Raises ``InputError`` for a file without such a line.
    """
    for line in read_text(path).splitlines()[1:]:
        cells = re.split(r"[,\t]", line)
        if cells[0].strip() == str(layer):
            try:
                numbers = np.array(cells[1:4], np.float32).astype(np.float64)
            except ValueError:
                break
            if len(numbers) == 3 and (numbers < 1).all():
                return numbers
    raise InputError(
        f"{path}: expected lines of LAYER,P,R,F with the layer {layer}, as in the package's baseline files"
    )
