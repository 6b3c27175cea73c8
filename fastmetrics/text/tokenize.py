"""Tokenisation: compiled code folds and splits the bytes of a column and numbers each distinct word, stemmed if
asked."""

from __future__ import annotations

import functools
import secrets
import string
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, GrowingArray, Ids, Ints, Text, Tokens, text_of_strings
from fastmetrics.base.limits import SIZES
from fastmetrics.kernels import folding as words
from fastmetrics.kernels import sacrebleu_tokenizers as bleu
from fastmetrics.kernels import sacrebleu_tokenizers as kernels
from fastmetrics.kernels import tokenize as kernel
from fastmetrics.kernels import tokenize as rewrite
from fastmetrics.kernels import tokenize as vocabulary
from fastmetrics.kernels import word_boundaries
from fastmetrics.kernels.simd.blocks import BLOCK, KINDS_SIZE
from fastmetrics.kernels.simd.words import WIDENED
from fastmetrics.kernels.word_boundaries import Blocks, Rules
from fastmetrics.text import conventions
from fastmetrics.text.conventions import NUL, Convention, convention, folded_rules, rules_of

# Stemming of English words, cached per process.


@functools.lru_cache(maxsize=1 << 18)
def stem(word: bytes) -> str:
    """rouge-score's stem of an ASCII word: that of NLTK's Porter stemmer if the word is longer than 3 letters.

    >>> stem(b"running"), stem(b"ties"), stem(b"was")
    ('run', 'tie', 'was')
    """
    [stemmed] = _tokenizer().tokenize(word.decode("ascii"))
    return stemmed


@functools.cache
def _tokenizer() -> Any:
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)


# Tokenisation: compiled code folds and splits the bytes of a column and numbers each distinct word.


T = TypeVar("T")

SECRET = np.array([secrets.randbits(64), secrets.randbits(64) | 1], np.uint64)
"""What the hashes of this process depend on, drawn once: a number and an odd number.

Kernels receive them as an argument, since machine code is cached on disk; no result depends on them.
"""

_FEW_PIECES = 8
"""Words with up to as many pieces: room for so many ids each costs less than to count them."""

_KEPT = 1 << 16
"""The longest text, in bytes, for which the arrays to work in are kept."""

_NARROW = 1 << 32
"""Bytes of texts whose places are numbers of 32 bits: those of longer ones need another kernel."""


class Vocabulary:
    """The distinct words of one batch under one convention, shared by its columns: equal words have equal ids.

    ``memo`` caches what metrics computed for the words.
    """

    def __init__(self, convention: Convention) -> None:
        self.convention = convention
        self.memo: dict[Any, Any] = {}
        self._longest = 512
        self._work = _work(self._longest)
        self.arrays = vocabulary.Words(
            slots=np.zeros(1 << 14, np.uint64),
            heads=np.zeros(1 << 14, np.uint64),
            tails=np.empty(1 << 10, np.uint64),
            begins=np.empty(1 << 13, np.int64),
            lengths=np.empty(1 << 13, np.int32),
            sizes=np.zeros(2, np.int64),
            secret=SECRET,
        )
        self.arrays.heads[:2] = np.iinfo(np.uint64).max  # that of word 0 equals no word's before there is one
        if convention.leave_out:
            self._number(text_of_strings(convention.leave_out), rules_of(convention), skip=0)

    def __len__(self) -> int:
        return int(self.arrays.sizes[0])

    def words(self, first: int = 0) -> list[str]:
        """Every distinct word from number ``first`` on."""
        heads, tails = self.arrays.heads.view(np.uint8), self.arrays.tails.view(np.uint8)
        spelt = []
        for i, n in enumerate(self.arrays.lengths[first : len(self)].tolist(), first):
            word = heads[16 * i : 16 * i + min(n, 16)].tobytes()
            if n > 16:
                begin = 8 * int(self.arrays.begins[i])
                word += tails[begin : begin + n - 16].tobytes()
            spelt.append(self.convention.spell(word))
        return spelt

    def spelled(self, first: int) -> Text:
        """The folded bytes of the words from number ``first`` on."""
        lengths = self.arrays.lengths[first : len(self)]
        bounds = np.zeros(len(lengths) + 1, np.int64)
        data = np.empty(int(lengths.sum()) + 2 * BLOCK, np.uint8)  # blocks that begin in a word
        rewrite.spell(self.arrays, first, data, bounds)
        data.setflags(write=False)
        return Text(data, bounds[:-1], bounds[1:], np.ones(len(lengths), np.bool_))

    def ids_of(self, words: Iterable[str]) -> Ids:
        """The number of each of ``words``, added if necessary; each must be one word of the convention."""
        return self.tokenize(text_of_strings(words)).ids

    def places_in(self, words: tuple[str, ...]) -> Ids:
        """Per word its place in ``words``, -1 for others; the array has room for later words, and is cached."""
        places: Ids | None = self.memo.get(("places", words))
        if places is None or len(places) < len(self.arrays.begins):
            place = dict(zip(words, range(len(words)), strict=True))
            numbered = self.convention.words_of(words)
            ids = self.ids_of(numbered)
            places = self.memo["places", words] = np.full(len(self.arrays.begins), -1, np.int32)
            places[ids] = [place[word] for word in numbered]
        return places

    def tokenize(self, text: Text) -> Tokens:
        """The tokens of every string in ``text``."""
        if self.convention.frame is not None:
            return self.cut(fold(text, self.convention))
        return self._number(text, rules_of(self.convention), skip=len(self.convention.leave_out))

    def retokenize(self, words: Text) -> Tokens:
        """The tokens of each of ``words``, which another convention folded."""
        if self.convention.frame is not None:
            words = replace(words, data=frozen(np.where(words.data == NUL, np.uint8(0), words.data)))
        return self.tokenize(words)

    def cut(self, folded: Folded) -> Tokens:
        """The words of text that is already folded."""
        bounds = folded.bounds
        text = Text(folded.data, bounds[:-1], bounds[1:] - 1, np.ones(len(bounds) - 1, np.bool_))
        tokens = self._number(text, folded_rules(), skip=0)
        return tokens if folded.places is None else tokens.take(folded.places)

    def _number(self, text: Text, rules: Rules, skip: int) -> Tokens:
        lengths = text.stops - text.starts
        size = int(lengths.sum())
        output = kernel.WordIds(
            ids=np.empty(size // 2 + len(text) + 1, np.int32),
            bounds=np.zeros(len(text) + 1, np.uint64),
            left=np.zeros(len(text), np.bool_),
            state=np.zeros(3, np.int64),
        )
        data, starts, stops = frozen(text.data), frozen(text.starts), frozen(text.stops)
        work = self._room_for(int(lengths.max(initial=0)))
        self._grow(size // 64 - len(self), 0)  # grow in advance for one new word in ten
        while not kernel.tokenize(data, starts, stops, rules, np.uint64(skip), self.arrays, work, output):
            self._grow(int(output.state[1]), int(output.state[2]))
        bounds = output.bounds.view(np.int64)
        tokens = Tokens(output.ids[: bounds[-1]], bounds[:-1], bounds[1:], len(self))
        left = np.flatnonzero(output.left)
        return tokens if len(left) == 0 else self._with_prepared(tokens, text, left, rules, skip)

    def _room_for(self, longest: int) -> kernel.Work:
        """Arrays to work in, kept for the texts of later batches unless a text is very long."""
        if longest > _KEPT:
            return _work(longest)
        if longest > self._longest:
            self._longest = min(_KEPT, 2 * longest)
            self._work = _work(self._longest)
        return self._work

    def _with_prepared(self, tokens: Tokens, text: Text, rows: Ints, rules: Rules, skip: int) -> Tokens:
        """The tokens, with those of the texts ``rows``, which Python prepares, after the others."""
        prepared = text_of_strings([self.convention.prepare(string) for string in text.take(rows).strings()])
        return tokens.with_rows(rows, self._number(prepared, rules, skip))

    def _grow(self, n_words: int, n_tails: int) -> None:
        """Make room for more words and bytes; words keep their numbers."""
        old = self.arrays
        number, used = old.sizes.tolist()
        words, tails = _enough(len(old.begins), number + n_words), _enough(len(old.tails), used + n_tails)
        slots = old.slots
        if words > len(old.begins):
            slots = np.zeros(2 * words, np.uint64)
            vocabulary.rehash(old.slots, slots)
        self.arrays = vocabulary.Words(
            slots,
            _longer(old.heads, 2 * words),
            _longer(old.tails, tails),
            _longer(old.begins, words),
            _longer(old.lengths, words),
            old.sizes,
            old.secret,
        )


class Stems(Vocabulary):
    """The distinct stems of a batch's words, numbered in order of first occurrence."""

    def __init__(self, convention: Convention) -> None:
        super().__init__(convention)
        self._stems: dict[str, int] = {}
        self._stem_of = GrowingArray(np.zeros(0, np.int32))

    def words(self, first: int = 0) -> list[str]:
        """Every distinct stem from number ``first`` on."""
        return list(self._stems)[first:]

    def tokenize(self, text: Text) -> Tokens:
        """The stems of every string in ``text``."""
        tokens, stems = super().tokenize(text), self._stems
        forms = list(map(stem, self._bytes_from(len(self._stem_of))))
        fresh = [form for form in dict.fromkeys(forms) if form not in stems]
        stems.update(zip(fresh, range(len(stems), len(stems) + len(fresh)), strict=True))
        numbers = np.fromiter(map(stems.__getitem__, forms), np.int32, len(forms))
        self._stem_of.extend(numbers)
        return replace(tokens, ids=self._stem_of.values[tokens.ids])

    def _bytes_from(self, first: int) -> list[bytes]:
        """The words from number ``first`` on, none of which holds a zero byte."""
        last, arrays = len(self), self.arrays
        words: list[bytes] = arrays.heads[2 * first : 2 * last].view("S16").tolist()
        for i in np.flatnonzero(arrays.lengths[first:last] > 16).tolist():
            begin, n = arrays.begins[first + i], arrays.lengths[first + i] - 16
            words[i] += arrays.tails[begin : begin + (n + 7) // 8].tobytes()[:n]
        return words


class Target(Protocol):
    """What a ``Rewriter`` asks for the tokens of a word."""

    def __len__(self) -> int: ...

    def retokenize(self, words: Text) -> Tokens:
        """The tokens of each of ``words``, which the base convention folded."""


class Rewriter:
    """Tokens of one convention from those of its base in a batch; each distinct word is processed only once.

    The result for a word must not depend on the neighbouring words.
    """

    def __init__(self, base: Vocabulary, target: Target) -> None:
        self._base, self._target = base, target
        self._become = GrowingArray(np.zeros(0, np.int32))
        self._pieces = GrowingArray(np.zeros(0, np.int32))
        self._places = GrowingArray(np.zeros(1, np.int64))
        self._most = 1

    def tokens(self, base: Tokens) -> Tokens:
        """The same texts under the target's convention."""
        if len(self._become) < len(self._base):
            self._catch_up()
        out = np.empty(self._room(base.ids), np.int32)
        become, pieces, places = self._become.values, self._pieces.values, self._places.values
        bounds = rewrite.rewrite(base.ids, base.starts, base.stops, become, pieces, places, out)
        return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], len(self._target))

    def _room(self, ids: Ids) -> int:
        """Enough space for the pieces of ``ids``, counted exactly only if a bound would be wasteful."""
        if self._most <= _FEW_PIECES:
            return len(ids) * self._most + 1
        become, places = self._become.values[ids], self._places.values
        several = -2 - become[become < -1]
        return len(ids) + int((places[several + 1] - places[several]).sum()) + 1

    def _catch_up(self) -> None:
        """Process the words added since the last call."""
        new = self._target.retokenize(self._base.spelled(len(self._become)))
        counts = new.counts
        several = np.flatnonzero(counts > 1)
        become = np.full(len(new), -1, np.int32)
        become[counts == 1] = new.ids[new.starts[counts == 1]]
        become[several] = -2 - (len(self._places) - 1 + np.arange(len(several)))
        ends = np.cumsum(counts[several])
        places = np.repeat(new.stops[several] - ends, counts[several]) + np.arange(ends[-1] if len(ends) else 0)
        self._become.extend(become)
        self._pieces.extend(new.ids[places])
        self._places.extend(self._places.values[-1] + ends)
        self._most = max(self._most, int(counts.max(initial=1)))


class Vocabularies:
    """Vocabularies shared by successive batches, so that a word is processed once instead of once per batch.

    Only one thread at a time may use it.  Its contents do not change scores: ids are compared only with ids of the same
    book.
    """

    def __init__(self) -> None:
        self._vocabularies: dict[str, Vocabulary] = {}
        self._rewriters: dict[str, Rewriter] = {}
        self._memory: dict[Hashable, Any] = {}

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached result of ``make`` for ``key``, about the words of a vocabulary."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def vocabulary(self, name: str) -> Vocabulary:
        """The words so far under the convention ``name``."""
        if name not in self._vocabularies:
            rules = convention(name)
            self._vocabularies[name] = Stems(rules) if rules.stem else Vocabulary(rules)
        return self._vocabularies[name]

    def rewriter(self, name: str) -> Rewriter:
        """The converter to tokens under the convention ``name`` from those of its base."""
        if name not in self._rewriters:
            base = convention(name).base
            assert base is not None
            self._rewriters[name] = Rewriter(self.vocabulary(base), self.vocabulary(name))
        return self._rewriters[name]

    @property
    def full(self) -> bool:
        """Whether a new book is needed."""
        return any(len(vocabulary) > SIZES.vocabulary_words for vocabulary in self._vocabularies.values())


def _work(longest: int) -> kernel.Work:
    """Arrays to work in, for texts of at most ``longest`` bytes."""
    longest = max(longest, int(kernel.SHORT_BYTES))
    size = max(kernel.CHUNK_BYTES, 2 * longest) + longest + 4 * BLOCK
    n_words = kernel.CHUNK_WORDS + longest // 2 + 2
    blocks = Blocks(
        raw=np.zeros(size, np.uint8),
        folded=np.zeros(size, np.uint8),
        spaces=np.empty(longest // (BLOCK // 2) + 4, np.uint64),
        marks=np.empty(longest // (BLOCK // 2) + 4, np.uint64),
        joints=np.empty(longest // 2 + 2, np.uint64),
    )
    ends = np.empty(kernel.CHUNK_WORDS, np.uint64)
    word_keys = vocabulary.WordKeys(*(np.empty(n, np.uint64) for n in (2 * n_words, n_words, n_words + 8)))
    place = np.uint32 if size <= _NARROW else np.uint64
    return kernel.Work(blocks, np.empty(2 * n_words + 8, place), ends, word_keys)


def frozen(array: Any) -> Any:
    """A contiguous view without the right to write, the only kind that the kernel is compiled for."""
    if not array.flags.writeable and array.flags.c_contiguous:
        return array
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def _enough(size: int, least: int) -> int:
    """``size`` doubled until it is ``least`` or more."""
    while size < least:
        size *= 2
    return size


def _longer(array: Any, size: int) -> Any:
    if size == len(array):
        return array
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


class Folded(NamedTuple):
    """Folded text: with j = ``places[i]`` (i if there are none), text i is ``data[bounds[j] : bounds[j + 1] - 1]``."""

    data: Bytes
    bounds: Ints
    places: Ints | None

    @property
    def starts(self) -> Ints:
        """The first byte of each text."""
        return self.bounds[:-1] if self.places is None else self.bounds[self.places]

    @property
    def stops(self) -> Ints:
        """The byte after the last of each text."""
        return self.bounds[1:] - 1 if self.places is None else self.bounds[self.places + 1] - 1

    def take(self, rows: Ints) -> Folded:
        """The texts ``rows``, which may repeat; the bytes are shared."""
        return self._replace(places=rows if self.places is None else self.places[rows])


def fold(text: Text, convention: Convention) -> Folded:
    """Every string of ``text`` with its characters replaced according to ``convention``.

    Rare strings whose lowercase is not one character for one are prepared in Python and folded again after the others,
    and so are articles next to a character that is not a letter, which only ``squad`` handles.
    """
    bounds = np.zeros(len(text) + 1, np.int64)
    data = np.empty(_room(text), np.uint8)
    marks = _fold_into(data, bounds, text, convention)
    places = None
    odd = np.flatnonzero(marks & words.CONTEXT)
    if len(odd):
        lowered = text_of_strings([convention.prepare(string) for string in text.take(odd).strings()])
        data = np.concatenate([data[: -(-int(bounds[-1]) // 8) * 8], np.empty(_room(lowered), np.uint8)])
        tail = np.full(len(odd) + 1, bounds[-1])
        marks = np.concatenate([marks, _fold_into(data, tail, lowered, convention)])
        words.blank(data, bounds, odd)
        places = np.arange(len(text))
        places[odd] = np.arange(len(text), len(marks))
        bounds = np.concatenate([bounds, tail[1:]])
    edge = np.flatnonzero(marks & words.EDGE)
    if len(edge):
        words.drop_articles(data, bounds, edge, conventions.is_word())
    return Folded(data, bounds, places)


def _fold_into(data: Bytes, bounds: Ints, text: Text, convention: Convention) -> Ids:
    if convention.frame is not None:
        return bleu.separate(text.data, text.starts, text.stops, convention.codemap, convention.frame, data, bounds)
    rules = rules_of(convention)
    if rules.kinds.reshape(-1, KINDS_SIZE)[:, KINDS_SIZE - 3 : -1].any():  # separators or marks
        return words.fold(text.data, text.starts, text.stops, convention.bytemap, convention.codemap, data, bounds)
    flags = np.zeros(len(text), np.int32)
    longest = int((text.stops - text.starts).max(initial=0))
    strings = frozen(text.data), frozen(text.starts), frozen(text.stops)
    word_boundaries.fold_texts(*strings, rules, _work(longest).blocks, data, bounds, flags)
    return flags


def _room(text: Text) -> int:
    """Enough bytes for any folding of ``text``, plus padding for blocks that begin in a text."""
    size = 2 * int((text.stops - text.starts).sum()) + len(text) + 2 * BLOCK + 8
    return size - size % 8


# Characters and words for chrF.


N_CHARACTERS = 0x110100
"""All code points, followed by the bytes that encode others in folded text."""


def characters(folded: Folded, whitespace: bool) -> Tokens:
    """The characters of each folded text, without spaces unless ``whitespace``."""
    bounds = np.zeros(len(folded.starts) + 1, np.int64)
    out = np.empty(int((folded.stops - folded.starts).sum()) + 1, np.int32)
    kernels.characters(folded.data, folded.starts, folded.stops, -1 if whitespace else 0x20, out, bounds)
    return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], N_CHARACTERS)


def visible_characters(text: Text) -> Tokens:
    """The characters of each text but white space."""
    bounds = np.zeros(len(text) + 1, np.int64)
    out = np.empty(int((text.stops - text.starts).sum()) + 1 + WIDENED, np.int32)
    kernels.visible_characters(text.data, text.starts, text.stops, conventions.is_space(), out, bounds)
    return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], N_CHARACTERS)


def chrf_words(tokens: Tokens, name: str, vocabularies: Vocabularies) -> Tokens:
    """chrF's words of each text from its words under ``name``, which is ``none`` or ``split``."""
    rewriter = vocabularies.remember(
        ("chrf words", name), lambda: Rewriter(vocabularies.vocabulary(name), WordEnds(Vocabulary(convention(name))))
    )
    return rewriter.tokens(tokens)


class WordEnds:
    """The words of chrF: an ASCII punctuation mark at a word's end, or else at its start, is a word."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self._vocabulary)

    def retokenize(self, words: Text) -> Tokens:
        """The parts of each of ``words``, which are folded."""
        bounds = np.zeros(len(words) + 1, np.int64)
        size = 2 * int((words.stops - words.starts + 1).sum()) + 32
        data = np.empty(size - size % 8, np.uint8)
        kernels.split_ends(words.data, words.starts, words.stops, _punctuation(), data, bounds)
        return self._vocabulary.cut(Folded(data, bounds, None))


@functools.cache
def _punctuation() -> Flags:
    flags = np.zeros(256, np.bool_)
    flags[[ord(character) for character in string.punctuation]] = True
    return flags
