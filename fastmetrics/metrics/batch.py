"""One batch of rows, a cache of everything derived from it, and notes about rows that a metric cannot score well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import (
    Bytes,
    Flags,
    Floats,
    Ints,
    Memo,
    Text,
    Tokens,
    Uint64s,
    Watch,
    floats_of_arrow,
    is_list,
    numpy_values,
    text_of_arrow,
)
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.columns import totals
from fastmetrics.base.token_counts import Told
from fastmetrics.kernels.folding import FOREIGN, ONE_WORD, UNLISTED
from fastmetrics.text.conventions import convention, joined_lines
from fastmetrics.text.extraction import extracted, without_working
from fastmetrics.text.normalization import Normalizer
from fastmetrics.text.text_keys import scripts, signs_of
from fastmetrics.text.tokenize import Folded, Vocabularies, Vocabulary, fold

# One batch of rows, a cache of everything derived from it, and the representations that metrics request of it.
#
# A column is tokenised once per convention for all metrics.  Everything derived from a column is computed at the first
# request and cached for the lifetime of the batch.


T = TypeVar("T")
Options = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; null rows are NaN."""

    values: Floats

    def take(self, rows: Ints) -> Numbers:
        """The numbers of ``rows``."""
        return Numbers(self.values[rows])


@dataclass(frozen=True, eq=False)
class Unread:
    """Rows that hold a value which a reader cannot tell, or which is out of bounds.

    They are undefined and counted by ``reason``, which continues "3 of 200 rows" in a note ("hold a number beside a
    word that may change it"); ``advice`` says what to do.  ``scored`` are rows that a convention scores all the same:
    they are only counted.
    """

    reason: str
    rows: Flags
    advice: str = ""
    scored: bool = False

    @property
    def key(self) -> str:
        """Reason and advice, as they are stored with the scores."""
        return f"{self.reason}; {self.advice}" if self.advice else self.reason

    def counted(self) -> list[int]:
        """The number of rows, the first of them, and 1 if they are scored."""
        return [int(np.count_nonzero(self.rows)), int(np.argmax(self.rows)), int(self.scored)]


def apart(found: Iterable[Unread], present: Flags) -> list[Unread]:
    """Only rows that are present, and each for the first reason that applies; none for reasons without rows."""
    parts, left = [], present
    for unread in found:
        rows = unread.rows & left
        if rows.any():
            parts.append(replace(unread, rows=rows))
            left = left & ~rows
    return parts


class RowMetric(Protocol):
    """A row metric, as a batch knows it."""

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """The score of each row, and whether it has one."""

    def unread(self, batch: Batch, options: Options) -> Iterable[Unread]:
        """The rows with a value that cannot be read."""


_ALL_TOLD = Told()


class Batch(Memo):
    """Rows by canonical column name, with a cache of derived data."""

    def __init__(
        self,
        columns: Mapping[str, pa.Array],
        shared: Collection[str] = (),
        words: Vocabularies | None = None,
        watch: Watch | None = None,
        numeric: Collection[str] = (),
        told: Told = _ALL_TOLD,
    ) -> None:
        """``shared`` are the columns needed under several conventions: they are tokenised for all at once.

        ``numeric`` are the columns that held numbers, although they are texts here; ``told`` is what the names of
        columns tell of tokens and latencies.
        """
        super().__init__(watch)
        self.columns = columns
        self.words = Vocabularies() if words is None else words
        self._shared = frozenset(shared)
        self._untimed = Memo()
        self.numeric = frozenset(numeric)
        self.told = told
        self.n_rows = len(next(iter(columns.values()))) if columns else 0

    def read(self, options: Options) -> Batch:
        """The rows as a metric reads them: the answers that ``extract`` finds, and texts as ``normalize`` spells them.

        Metrics with the same of these options share one batch.
        """
        batch, extract, normalize = self, options.get("extract"), options.get("normalize")
        if extract is not None and "answer" in self.columns:
            batch = batch.remember(("extracted", extract), lambda: self._with(_extracted(self.columns, extract)))
        if normalize is not None:
            before = batch.columns
            batch = batch.remember(("normalized", normalize), lambda: self._with(_Normalized(before, normalize)))
        return batch

    def _with(self, columns: Mapping[str, pa.Array]) -> Batch:
        return Batch(columns, self._shared, self.words, self._watch, self.numeric, self.told)

    def scores(self, metric: RowMetric, options: Options) -> tuple[Floats, Flags]:
        """The scores of a row metric, NaN where it is undefined or a value is unread, and whether each row has all."""
        return self.scored(metric, options)[:2]

    def unread(self, metric: RowMetric, options: Options) -> list[Unread]:
        """The rows of a row metric with a value that could not be read, each for one reason."""
        return self.scored(metric, options)[2]

    def scored(self, metric: RowMetric, options: Options) -> tuple[Floats, Flags, list[Unread]]:
        """Both of them, computed once for all that read them."""

        def make() -> tuple[Floats, Flags, list[Unread]]:
            scores, present = metric.compute(self, options)
            unread = apart(metric.unread(self, options), present)
            for some in unread:
                scores = scores if some.scored else np.where(some.rows, np.nan, scores)
            return scores, present, unread

        return self._untimed.remember(repr(options), make, metric)

    def with_item(self, column: str, found: Flags) -> Flags:
        """The rows of which some item of a column is among those ``found``; the flags themselves without lists."""
        owner = self.owners(column)
        return found if owner is None else np.bincount(owner[found], minlength=self.n_rows) > 0

    def text(self, column: str) -> Text:
        """The strings of a column; in a column that may contain lists, each item is a separate string."""
        lists = COLUMNS[column].kind == "texts"
        return self.remember(("text", column), lambda: text_of_arrow(self.columns[column], column, lists, signs_of))

    def vocabulary(self, name: str) -> Vocabulary:
        """The words of this batch under the convention ``name``."""
        return self.words.vocabulary(name)

    def tokens(self, column: str, name: str) -> Tokens:
        """The tokens of a column under the convention ``name``."""

        return self.remember(("tokens", column, name), lambda: self._tokens(column, name))

    def _tokens(self, column: str, name: str) -> Tokens:
        base = convention(name).base
        if base is None or (base == "split" and column not in self._shared):
            return self.vocabulary(name).tokenize(self.text(column))
        tokens = self.words.rewriter(name).tokens(self.tokens(column, base))
        if convention(name).frame is None:
            return tokens
        rows = joined_lines(self.text(column))
        return tokens.with_rows(rows, self.vocabulary(name).tokenize(self.text(column).take(rows)))

    def folded(self, column: str, name: str) -> Folded:
        """The characters of a column under the convention ``name``, before tokenisation."""
        return self.remember(("folded", column, name), lambda: fold(self.text(column), convention(name)))

    def numbers(self, column: str) -> Numbers:
        """A column of numbers as float64; lists are summed."""
        return self.remember(("numbers", column), lambda: Numbers(floats_of_arrow(self._amounts(column), column)))

    def _amounts(self, column: str) -> pa.Array:
        array = self.columns[column]
        if COLUMNS[column].kind != "amounts":
            return array
        return self.remember(("amounts", column), lambda: totals(array, column))

    def owners(self, column: str) -> Ints | None:
        """The row of each item of a column of lists of texts or vectors; None for a column with one item per row."""
        groups = self._vector_groups(column) if COLUMNS[column].kind == "vectors" else self.text(column).groups
        if groups is None:
            return None
        return self.remember(("owners", column), lambda: np.repeat(np.arange(self.n_rows), np.diff(groups)))

    def _vector_groups(self, column: str) -> Ints | None:
        """The vectors of each row in a column of lists of vectors; None for a column with one vector per row."""
        array = self.columns[column]
        if not (is_list(array.type) and is_list(array.type.value_type)):
            return None
        sizes = numpy_values(pc.list_value_length(array), null=0)
        return self.remember(("groups", column), lambda: np.concatenate([[0], np.cumsum(sizes)]))

    def complete(self, columns: tuple[str, ...]) -> Flags:
        """Whether each row has a value in all of these columns."""

        def look() -> Flags:
            present = np.ones(self.n_rows, np.bool_)
            for column in columns:
                present = present & self.present(column)
            return present

        return self._untimed.remember(("complete", columns), look)

    def present(self, column: str) -> Flags:
        """Whether each row has a value: not null, a list not empty, amounts without null.

        An empty list of contexts is a value: nothing was retrieved.  One of nulls is none, as is null.
        """

        def look() -> Flags:
            of_ids = pa.types.is_integer(self.columns[column].type)  # some metrics accept integer ids instead of text
            if COLUMNS[column].kind in ("text", "texts") and not of_ids:
                text = self.text(column)
                if text.groups is None:
                    return text.valid
                filled = np.diff(text.groups) > 0
                if column == "contexts":
                    filled |= numpy_values(pc.list_value_length(self.columns[column]), null=0) == 0
                return text.valid & filled
            valid: Flags = numpy_values(self._amounts(column).is_valid())
            groups = self._vector_groups(column) if COLUMNS[column].kind == "vectors" else None
            return valid if groups is None else valid & (np.diff(groups) > 0)

        return self.remember(("present", column), look)


def _extracted(columns: Mapping[str, pa.Array], extract: Sequence[str] | str) -> Mapping[str, pa.Array]:
    specs = [extract] if isinstance(extract, str) else extract
    for name in {"answer", "reference"} & columns.keys():
        _check_text(name, columns[name])
    changed = {"answer": extracted(columns["answer"], specs)}
    if "reference" in columns:
        changed["reference"] = without_working(columns["reference"], specs)
    return {**columns, **changed}


def _check_text(name: str, column: pa.Array) -> None:
    """Raise ``InputError`` for text that is not UTF-8, ``ColumnError`` for what is no text."""
    text_of_arrow(column, name, COLUMNS[name].kind == "texts", signs_of)


class _Normalized(Mapping[str, pa.Array]):
    """Columns, those of texts normalised when they are first read."""

    def __init__(self, columns: Mapping[str, pa.Array], normalize: Sequence[str] | str) -> None:
        self._columns, self._normalizer = columns, Normalizer(normalize)
        self._changed: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._changed:
            column = self._columns[name]
            if name in COLUMNS and COLUMNS[name].kind in ("text", "texts"):
                _check_text(name, column)
                column = self._normalizer.column(column)
            self._changed[name] = column
        return self._changed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Need(Protocol):
    """How to compute a representation from a column; ``options`` are those of the requesting metric.

    A need based on tokens has an attribute ``convention``, the name of the text convention.  A need with a true
    attribute ``by_item`` reads the items of a column of lists of vectors one by one.

    What a need reads beside its column is declared with it, and each metric that requests it has it without naming it:
    an attribute ``options`` is a dataclass of options with defaults, ``columns`` are further, optional columns, each
    with its representation.  A method ``unread(batch, column, options)`` yields the rows that it cannot read
    (``Unread``), for all metrics that request it.
    """

    def of(self, batch: Batch, column: str, options: Options) -> Any:
        """The representation of ``column``, or of each of its strings if it contains lists."""


class _Computed:
    def __init__(self, **told: Any) -> None:
        vars(self).update(told)


def need(of: Callable[[Batch, str, Options], Any], **told: Any) -> Any:
    """The representation that a function computes; what is ``told`` of it are attributes of a need."""
    return _Computed(of=of, **told)


@dataclass(frozen=True)
class TokensIn:
    """Tokens under one text convention."""

    convention: str

    def of(self, batch: Batch, column: str, options: Options) -> Tokens:
        """The column's tokens."""
        return batch.tokens(column, self.convention)


def text_in(batch: Batch, column: str, options: Options) -> Text:
    """The bytes themselves."""
    return batch.text(column)


@dataclass(frozen=True)
class NumbersIn:
    """Numbers as given."""

    def of(self, batch: Batch, column: str, options: Options) -> Numbers:
        """The column's numbers."""
        return batch.numbers(column)

    def unread(self, batch: Batch, column: str, options: Options) -> Iterator[Unread]:
        """The rows with a number that is none of floats, such as 1e999."""
        yield Unread("hold a number beyond the range of floats", np.isinf(batch.numbers(column).values))


@dataclass(frozen=True)
class ScoresIn:
    """Scores in a column that only the metrics that name it know: the numbers, and whether each is there."""

    kind: str = "number"

    def of(self, batch: Batch, column: str, options: Options) -> tuple[Floats, Flags]:
        """The column's numbers; a null is missing, NaN is undefined."""
        array = batch.columns[column]
        return floats_of_arrow(array, column), array.is_valid().to_numpy(zero_copy_only=False)


Words = Annotated[Tokens, TokensIn("words")]
Light = Annotated[Tokens, TokensIn("light")]
Squad = Annotated[Tokens, TokensIn("squad")]
Raw = Annotated[Text, need(text_in)]
Number = Annotated[Numbers, NumbersIn()]


# The lists of integers that a run stores for each row, for corpus metrics that need all rows at once.


KeptRows: TypeAlias = Callable[[], Iterable[tuple[pa.Array, ...]]]
"""Returns the stored column batch by batch at each call; null for an incomplete row."""


def row_lists(heads: Uint64s, values: Uint64s, sizes: Ints) -> pa.ListArray:
    """Lists of integers: for each row its ``heads``, equally many in all rows, followed by its ``values``."""
    offsets = np.concatenate([[0], np.cumsum(sizes + heads.shape[1])])
    flat = np.empty(offsets[-1], np.uint64)
    at_head = np.zeros(len(flat), np.bool_)
    for place in range(heads.shape[1]):
        flat[offsets[:-1] + place] = heads[:, place]
        at_head[offsets[:-1] + place] = True
    flat[~at_head] = values
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat.view(np.int64)))


def where_present(lists: pa.ListArray, present: Flags) -> pa.ListArray:
    """The lists of complete rows; null for the others."""
    if present.all():
        return lists
    offsets = np.concatenate([[0], np.cumsum(np.diff(lists.offsets.to_numpy()) * present)])
    values = lists.filter(pa.array(present)).flatten()
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~present))


def heads_of(lists: pa.Array, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Ints]:
    """The heads, the values and the number of values of the rows that are not null: the inverse of ``row_lists``."""
    present = lists.drop_null()
    flat = present.flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
    sizes = present.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    at_head = np.zeros(len(flat), np.bool_)
    places = starts[:, None] + np.arange(count)
    at_head[places.ravel()] = True
    return flat[places], flat[~at_head], sizes - count


def numbered(keys: Uint64s) -> Ints:
    """A number for each distinct row of keys, in order of first occurrence."""
    width = keys.shape[1] * keys.itemsize
    data = pa.py_buffer(np.ascontiguousarray(keys))
    encoded = pa.Array.from_buffers(pa.binary(width), len(keys), [None, data]).dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


# Cautions: notes about rows that a metric cannot score well, with their number and advice.
#
# A metric declares its cautions.  The affected rows are counted in each batch as ``[rows, scored rows]``, and the
# counts are summed like those of corpus metrics.  ``plans/notes.py`` makes one note per cause of them.


MANY = 0.05
"""The default share of the scored rows that triggers a note."""

Finder: TypeAlias = Callable[[Batch, Options, Iterable[str]], Flags | None]
"""A function that finds rows in the columns of a metric; None for no rows."""


@dataclass(frozen=True)
class Caution:
    """One cause for caution, and advice.

    A note states ``cause`` for the rows found by ``rows``, if there are any and they are at least the share ``least``
    of the scored rows; ``advice`` may contain the metric's options in braces.  ``rows`` is None for a metric that needs
    all rows to find them: ``cautioned`` of its value then has both numbers.
    """

    cause: str
    advice: str
    rows: Finder | None
    least: float = MANY

    def applies(self, rows: int, scored: int) -> bool:
        """Whether a note is needed."""
        return rows > 0 and rows >= self.least * scored


def written(bit: int) -> Finder:
    """A finder of rows with text in one of ``scripts``."""

    def rows(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
        def make() -> Flags | None:
            texts = [column for column in columns if COLUMNS[column].kind in ("text", "texts")]
            masks = [bits for bits in (_bits(batch, column) for column in texts) if bits is not None]
            return np.bitwise_or.reduce(masks) & bit != 0 if masks else None

        return batch.remember(("written", bit, *columns), make)

    return rows


def _bits(batch: Batch, column: str) -> Bytes | None:
    """The bits of ``scripts`` of each row, combined over its texts; None if no row has any."""

    def make() -> Bytes | None:
        bits, owner = scripts(batch.text(column)), batch.owners(column)
        if bits is None or owner is None:
            return bits
        together = np.zeros(batch.n_rows, np.uint8)
        np.bitwise_or.at(together, owner, bits)
        return together

    return batch.remember(("scripts", column), make)


def one_word(advice: str) -> Caution:
    """The caution of tokenisers that split at spaces, which some scripts do not use."""
    cause = "are in a script without spaces between words (such as Chinese or Thai), where a sentence is one word"
    return Caution(cause, advice, written(ONE_WORD))


def no_word(advice: str) -> Caution:
    """The caution of tokenisers with Latin words only."""
    return Caution("are in a script other than Latin, whose words this tokenizer drops", advice, written(FOREIGN))


def english_words(words: str, advice: str) -> Caution:
    """The caution of word lists in English alone; ``words`` names their words."""
    return Caution(f"are in a script other than Latin, and the {words} are English", advice, written(FOREIGN))


def english_and_russian_words(words: str, advice: str) -> Caution:
    """The caution of word lists in English and Russian; ``words`` names their words."""
    cause = f"are in a script other than Latin and Cyrillic, and the {words} are English and Russian"
    return Caution(cause, advice, written(UNLISTED))


UNSPACED = one_word(
    "tokenizer='unicode', as in token_f1(tokenizer='unicode'), treats each character as a word, and chrf needs no words"
)
"""The caution of word metrics that can only split at spaces."""
